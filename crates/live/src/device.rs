//! Where a host's real packets come from and go to: a TUN device, or a packet socket at the far end of a veth pair.

use rustix::io::{read, write, Errno};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The longest IP packet, with an Ethernet header.
pub const LARGEST: usize = 65_535 + ETHERNET_BYTES;

/// A host's device; its descriptor does not block.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    /// The address of the kernel's end, where frames of Ethernet pass rather than packets.
    ethernet: Option<[u8; 6]>,
    frame: Vec<u8>,
}

/// Takes over a descriptor that was opened elsewhere, and closes it in the end.
#[expect(unsafe_code)]
pub fn take_over(descriptor: RawFd) -> OwnedFd {
    // SAFETY: who calls has opened it for this alone, and uses it no more.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

impl Device {
    /// Of a descriptor that was opened for it.
    pub fn new(descriptor: OwnedFd, ethernet: Option<[u8; 6]>) -> Device {
        Device {
            descriptor,
            ethernet,
            frame: Vec::with_capacity(LARGEST),
        }
    }

    /// To wait for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The next IP packet that the kernel sends, within `buffer`, of `LARGEST` bytes; none if there is none now.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        loop {
            let length = match read(&self.descriptor, &mut *buffer) {
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(None),
                // The interface is down for now, or the call was interrupted.
                Err(Errno::INTR | Errno::NETDOWN) => continue,
                Err(error) => return Err(error.into()),
            };
            if self.ethernet.is_none() {
                return Ok(Some(&buffer[..length]));
            }
            let kind = buffer[..length].get(12..ETHERNET_BYTES);
            if kind == Some(&IPV4) || kind == Some(&IPV6) {
                return Ok(Some(&buffer[ETHERNET_BYTES..length]));
            }
        }
    }

    /// Hands an IP packet to the kernel; false if it does not take it.
    pub fn deliver(&mut self, packet: &[u8]) -> bool {
        let Some(address) = self.ethernet else {
            return write(&self.descriptor, packet).is_ok();
        };
        let kind = if packet.first().is_some_and(|first| first >> 4 == 6) {
            IPV6
        } else {
            IPV4
        };
        self.frame.clear();
        self.frame.extend_from_slice(&address);
        self.frame.extend_from_slice(&[0x02, 0, 0, 0, 0, 0xff]);
        self.frame.extend_from_slice(&kind);
        self.frame.extend_from_slice(packet);
        write(&self.descriptor, &self.frame).is_ok()
    }
}
