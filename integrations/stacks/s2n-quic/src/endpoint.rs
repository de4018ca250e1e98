//! The library's endpoint, in virtual time: in place of the library's event loop, an end calls it.

use longpipe_end::{Ecn, NEVER};
use s2n_quic::provider::io;
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress, SocketAddressV4};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{mtu, Tuple};
use s2n_quic_core::time::Timestamp;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

const PS_PER_US: u64 = 1_000_000;
/// Time of the library's clock at time zero of a run [µs]; a timestamp must not be 0.
const ZERO_US: u64 = 1_000_000;
/// Length of the IPv4 and UDP headers [byte], which the library counts as part of its MTU.
const HEADER_BYTES: u32 = 28;
const PORT: u16 = 443;

/// A UDP datagram.
#[derive(Debug)]
pub struct Datagram {
    pub payload: Vec<u8>,
    pub ecn: Ecn,
}

/// An endpoint, whatever its type.
pub trait Driver: Send {
    /// Returns the time at which [`work`](Driver::work) must be called if nothing arrives earlier [ps], or [`NEVER`].
    fn due(&self) -> u64;

    /// Processes expired timers and received datagrams, and takes the datagrams to send. Returns whether there may be
    /// more to send.
    fn work(&mut self, now_ps: u64, received: &mut Vec<Datagram>, sent: &mut Vec<Datagram>) -> bool;
}

/// Where [`Provider`] stores the endpoint.
pub type Slot = Arc<Mutex<Option<Box<dyn Driver>>>>;

/// Takes the endpoint when it starts.
pub struct Provider {
    local: SocketAddress,
    peer: SocketAddress,
    most_bytes: u32,
    slot: Slot,
}

/// Returns the address of an end.
pub fn address(client: bool) -> SocketAddress {
    SocketAddressV4::new([10, 0, 0, if client { 1 } else { 2 }], PORT).into()
}

impl Provider {
    /// Creates the provider of an end that sends UDP payloads of at most `most_bytes`.
    pub fn new(client: bool, most_bytes: u32, slot: Slot) -> Provider {
        Provider {
            local: address(client),
            peer: address(!client),
            most_bytes,
            slot,
        }
    }
}

impl io::Provider for Provider {
    type PathHandle = Tuple;
    type Error = String;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, mut endpoint: E) -> Result<SocketAddress, String> {
        let longest = u16::try_from(self.most_bytes + HEADER_BYTES).unwrap_or(u16::MAX);
        let config = mtu::Config::builder()
            .with_max_mtu(longest)
            .and_then(mtu::Builder::build);
        endpoint.set_mtu_config(config.map_err(|_| format!("longest_packet: {longest}; needs at least 1228 bytes"))?);
        let path = Tuple {
            remote_address: self.peer.into(),
            local_address: self.local.into(),
        };
        let running = Running {
            endpoint,
            path,
            now_us: 0,
            buffer: vec![0; self.most_bytes as usize],
        };
        *self.slot.lock().map_err(|error| error.to_string())? = Some(Box::new(running));
        Ok(self.local)
    }
}

struct Running<E> {
    endpoint: E,
    path: Tuple,
    now_us: u64,
    buffer: Vec<u8>,
}

impl<E: Endpoint<PathHandle = Tuple>> Driver for Running<E> {
    fn due(&self) -> u64 {
        let Some(timeout) = self.endpoint.timeout() else {
            return NEVER;
        };
        // SAFETY: this module is the time source.
        let us = unsafe { timeout.as_duration() }.as_micros() as u64;
        // A timer that has expired but does not act yet is tried again a microsecond later.
        (us - ZERO_US).max(self.now_us + 1).saturating_mul(PS_PER_US)
    }

    fn work(&mut self, now_ps: u64, received: &mut Vec<Datagram>, sent: &mut Vec<Datagram>) -> bool {
        self.now_us = now_ps / PS_PER_US;
        // SAFETY: this module is the time source.
        let now = unsafe { Timestamp::from_duration(Duration::from_micros(ZERO_US + self.now_us)) };
        if !received.is_empty() {
            let mut queue = Received {
                path: self.path,
                datagrams: received,
            };
            self.endpoint.receive(&mut queue, &now);
        }
        let woken = self
            .endpoint
            .poll_wakeups(&mut Context::from_waker(Waker::noop()), &now);
        let before = sent.len();
        let mut queue = Sent {
            datagrams: sent,
            buffer: &mut self.buffer,
        };
        self.endpoint.transmit(&mut queue, &now);
        woken.is_ready() || sent.len() > before
    }
}

struct Received<'a> {
    path: Tuple,
    datagrams: &'a mut Vec<Datagram>,
}

impl rx::Queue for Received<'_> {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        for mut datagram in self.datagrams.drain(..) {
            let header = Header {
                path: self.path,
                ecn: ExplicitCongestionNotification::new(datagram.ecn as u8),
            };
            on_packet(header, &mut datagram.payload);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

struct Sent<'a> {
    datagrams: &'a mut Vec<Datagram>,
    buffer: &'a mut [u8],
}

impl tx::Queue for Sent<'_> {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        let ecn = Ecn::from_bits(u32::from(message.ecn() as u8));
        let len = message.write_payload(tx::PayloadBuffer::new(self.buffer), 0)?;
        let index = self.datagrams.len();
        self.datagrams.push(Datagram {
            payload: self.buffer[..len].to_vec(),
            ecn,
        });
        Ok(tx::Outcome { len, index })
    }

    fn capacity(&self) -> usize {
        usize::MAX
    }
}
