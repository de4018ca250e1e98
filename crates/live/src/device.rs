//! A host's device for real packets: a TUN device, or a packet socket at the far end of a veth pair.

use crate::joined::Joined;
use crate::segments::{process_header, Segmenter, VNET_HDR_BYTES};
use rustix::io::{read, write, writev, Errno};
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Maximum length of a packet from the kernel, including its virtio header.
const LARGEST: usize = (1 << 16) + 64;

/// A host with real programs.
#[derive(Debug)]
pub struct Host {
    /// IP addresses of the host.
    pub addresses: Vec<IpAddr>,
    /// Device of the host.
    pub device: Device,
}

/// A host's device with a nonblocking descriptor.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    /// MAC address of the kernel's end if the device carries Ethernet frames; None if it carries IP packets with virtio
    /// headers.
    ethernet: Option<[u8; 6]>,
    /// Whether the kernel accepts several datagrams as one (GSO).
    joins: bool,
    /// Last packet read, and the state of its segmentation.
    whole: Vec<u8>,
    length: usize,
    segmenter: Option<Segmenter>,
    /// Current segment, or data to be written.
    part: Vec<u8>,
}

/// Takes ownership of a descriptor that the caller has opened.
#[expect(unsafe_code)]
pub fn take_over(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the caller has opened the descriptor for this purpose and no longer uses it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

impl Device {
    /// Creates a device from its descriptor.
    pub fn new(descriptor: OwnedFd, ethernet: Option<[u8; 6]>) -> Device {
        Device {
            descriptor,
            ethernet,
            joins: ethernet.is_none(),
            whole: vec![0; LARGEST],
            length: 0,
            segmenter: None,
            part: Vec::with_capacity(LARGEST),
        }
    }

    /// Returns the descriptor, for polling.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Returns the next IP packet from the kernel, or None if no packet is available now.
    ///
    /// # Errors
    /// Returns an error if the device no longer exists.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            if let Some(segmenter) = &mut self.segmenter {
                if segmenter.next(&self.whole[VNET_HDR_BYTES..self.length], &mut self.part) {
                    return Ok(Some(&self.part));
                }
                self.segmenter = None;
            }
            self.length = match read(&self.descriptor, &mut *self.whole) {
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(None),
                // The interface is temporarily down, or the call was interrupted.
                Err(Errno::INTR | Errno::NETDOWN) => continue,
                Err(error) => return Err(error.into()),
            };
            if self.ethernet.is_some() {
                let kind = self.whole[..self.length].get(12..ETHERNET_BYTES);
                if kind == Some(&IPV4) || kind == Some(&IPV6) {
                    return Ok(Some(&self.whole[ETHERNET_BYTES..self.length]));
                }
            } else if let Some((vnet_hdr, packet)) = self.whole[..self.length].split_first_chunk_mut::<VNET_HDR_BYTES>()
            {
                self.segmenter = process_header(*vnet_hdr, packet);
                if self.segmenter.is_none() {
                    return Ok(Some(&self.whole[VNET_HDR_BYTES..self.length]));
                }
            }
        }
    }

    /// Returns whether several datagrams may be passed to the kernel as one.
    pub fn joins(&self) -> bool {
        self.joins
    }

    /// Passes packets to the kernel and clears the buffer. Returns the number of packets that the kernel did not
    /// accept.
    pub fn deliver(&mut self, joined: &mut Joined) -> usize {
        let count = joined.count();
        let (vnet_hdr, packet) = joined.finish();
        match self.write_packet(vnet_hdr, packet) {
            Ok(()) => 0,
            // The kernel does not support GSO for datagrams.
            Err(Errno::INVAL) if count > 1 => {
                self.joins = false;
                let Some(mut segmenter) = process_header(vnet_hdr, packet) else {
                    return count;
                };
                let (mut segment, mut refused) = (Vec::new(), 0);
                while segmenter.next(packet, &mut segment) {
                    refused += usize::from(self.write_packet([0; VNET_HDR_BYTES], &segment).is_err());
                }
                refused
            }
            Err(_) => count,
        }
    }

    fn write_packet(&mut self, vnet_hdr: [u8; VNET_HDR_BYTES], packet: &[u8]) -> Result<(), Errno> {
        let Some(address) = self.ethernet else {
            return writev(&self.descriptor, &[IoSlice::new(&vnet_hdr), IoSlice::new(packet)]).map(drop);
        };
        let kind = if packet.first().is_some_and(|first| first >> 4 == 6) {
            IPV6
        } else {
            IPV4
        };
        self.part.clear();
        self.part.extend_from_slice(&address);
        self.part.extend_from_slice(&[0x02, 0, 0, 0, 0, 0xff]);
        self.part.extend_from_slice(&kind);
        self.part.extend_from_slice(packet);
        write(&self.descriptor, &self.part).map(drop)
    }
}
