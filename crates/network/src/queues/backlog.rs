//! A FIFO of packets, and what queue disciplines need to know of a packet.

use super::PortState;
use crate::drops::DropCause;
use longpipe_events::memory::Growing;
use longpipe_events::Time;
use std::collections::VecDeque;

/// A packet in a queue.
pub trait Queued {
    /// When it arrived at the port.
    fn arrival(&self) -> Time;
    /// Length, headers included [byte].
    fn bytes(&self) -> u64;
    /// Number of its flow's direction, by which fair queueing separates packets.
    fn flow(&self) -> u32 {
        0
    }
    /// Class of its flow, at ports with classes.
    fn class(&self) -> u32 {
        0
    }
    /// Whether it belongs to the low-latency queue: it carries ECT(1) or CE (RFC 9331 section 5.1).
    fn is_low_latency(&self) -> bool {
        false
    }
    /// Whether it carries an ECN-capable codepoint.
    fn is_capable(&self) -> bool;
    /// Sets CE if the packet is ECN-capable (RFC 3168 section 5), and returns whether it is.
    fn mark(&mut self) -> bool;
    /// Whether this is an ACK after which the ACK `earlier` says nothing new (RFC 3449 section 5.2.1).
    fn supersedes(&self, _earlier: &Self) -> bool {
        false
    }
}

/// A FIFO.
#[derive(Clone, Debug)]
pub struct Backlog<T> {
    packets: VecDeque<T>,
    bytes: u64,
}

impl<T> Default for Backlog<T> {
    fn default() -> Backlog<T> {
        Backlog {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T: Queued> Backlog<T> {
    /// Number of packets.
    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets and bytes.
    pub fn size(&self) -> (u64, u64) {
        (self.len(), self.bytes)
    }

    /// Appends a packet.
    pub fn push(&mut self, packet: T) {
        self.bytes += packet.bytes();
        self.packets.put(packet);
    }

    /// Appends a packet, or drops it if the port is full (drop-tail).
    pub fn push_unless_full(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) {
        if port.is_full(self.size(), packet.bytes()) {
            drop(packet, DropCause::Overflow);
        } else {
            self.push(packet);
        }
    }

    /// Removes the oldest packet.
    pub fn pop(&mut self) -> Option<T> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes the latest packet.
    pub fn pop_last(&mut self) -> Option<T> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes all packets that fulfil a condition, the oldest first.
    pub fn remove(&mut self, condition: impl Fn(&T) -> bool, mut removed: impl FnMut(T)) {
        let mut at = 0;
        while let Some(packet) = self.packets.get(at) {
            if !condition(packet) {
                at += 1;
                continue;
            }
            if let Some(packet) = self.packets.remove(at) {
                self.bytes -= packet.bytes();
                removed(packet);
            }
        }
    }

    /// Drops all packets, the oldest first.
    pub fn purge(&mut self, drop: impl FnMut(T)) {
        self.bytes = 0;
        self.packets.drain(..).for_each(drop);
    }

    /// The oldest packet.
    pub fn first(&self) -> Option<&T> {
        self.packets.front()
    }

    /// All packets, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.packets.iter()
    }
}
