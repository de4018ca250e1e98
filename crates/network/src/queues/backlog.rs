//! A FIFO of packets, and the properties of packets that queue disciplines use.

use super::PortState;
use crate::packets::drops::DropCause;
use longpipe_events::{Ring, Time};

/// A packet in a queue.
pub trait Queued {
    /// Returns the time of arrival at the port.
    fn arrival(&self) -> Time;
    /// Returns the length [byte], including headers.
    fn bytes(&self) -> u64;
    /// Returns the number that identifies the packet's flow and direction for fair queueing.
    fn flow(&self) -> u32 {
        0
    }
    /// Returns the index of the link within the route, which distinguishes several passes through the same port.
    fn hop(&self) -> u32 {
        0
    }
    /// Returns the class of the packet's flow at ports with classes.
    fn class(&self) -> u32 {
        0
    }
    /// Returns whether the packet belongs to the low-latency queue, because it carries ECT(1) or CE (RFC 9331 section
    /// 5.1).
    fn is_low_latency(&self) -> bool {
        false
    }
    /// Returns whether the packet carries an ECN-capable codepoint.
    fn is_capable(&self) -> bool;
    /// Sets CE if the packet is ECN-capable (RFC 3168 section 5), and returns whether it is.
    fn mark(&mut self) -> bool;
    /// Returns whether `mark` has set CE at this port.
    fn is_marked(&self) -> bool;
    /// Returns whether this is an ACK that makes the ACK `earlier` redundant (RFC 3449 section 5.2.1).
    fn supersedes(&self, _earlier: &Self) -> bool {
        false
    }
}

/// A FIFO that counts its bytes.
#[derive(Clone, Debug)]
pub struct Backlog<T> {
    packets: Ring<Option<T>>,
    bytes: u64,
}

impl<T> Default for Backlog<T> {
    fn default() -> Backlog<T> {
        Backlog {
            packets: Ring::default(),
            bytes: 0,
        }
    }
}

impl<T: Queued> Backlog<T> {
    /// Returns the number of packets.
    #[inline]
    pub fn len(&self) -> u64 {
        self.packets.len()
    }

    /// Returns whether there are no packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the total number of bytes in all packets.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the numbers of packets and bytes.
    #[inline]
    pub fn size(&self) -> (u64, u64) {
        (self.len(), self.bytes)
    }

    /// Appends a packet.
    #[inline(always)]
    pub fn push(&mut self, packet: T) {
        self.bytes += packet.bytes();
        self.packets.push(Some(packet));
    }

    /// Appends a packet, or drops it if the port is full (drop-tail).
    #[inline]
    pub fn push_unless_full(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) {
        if port.is_full(self.size(), packet.bytes()) {
            drop(packet, DropCause::Overflow);
        } else {
            self.push(packet);
        }
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let packet = self.packets.take().flatten()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes and returns the latest packet.
    pub fn pop_last(&mut self) -> Option<T> {
        let packet = self.packets.take_last().flatten()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes and returns the packet at a position; the oldest packet has position 0.
    pub fn remove_at(&mut self, position: u64) -> Option<T> {
        let packet = self.packets.remove(self.packets.head() + position).flatten()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes all packets that satisfy a condition, starting with the oldest.
    pub fn remove(&mut self, condition: impl Fn(&T) -> bool, mut removed: impl FnMut(T)) {
        let mut at = 0;
        while at < self.len() {
            if !self
                .packets
                .get(self.packets.head() + at)
                .as_ref()
                .is_some_and(&condition)
            {
                at += 1;
                continue;
            }
            self.remove_at(at).map(&mut removed);
        }
    }

    /// Drops all packets, starting with the oldest.
    pub fn purge(&mut self, drop: impl FnMut(T)) {
        self.bytes = 0;
        std::iter::from_fn(|| self.packets.take()).flatten().for_each(drop);
    }

    /// Returns the oldest packet.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.packets.first().and_then(Option::as_ref)
    }

    /// Returns all packets, starting with the oldest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.packets.iter().flatten()
    }
}
