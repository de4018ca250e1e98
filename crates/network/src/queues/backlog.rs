//! Packets that wait, first in, first out.

use longpipe_events::memory::Growing;
use longpipe_events::Time;
use std::collections::VecDeque;

/// What a queue has to know of a packet.
pub trait Queued {
    /// When it came.
    fn arrival(&self) -> Time;
    /// Length, headers included [byte].
    fn bytes(&self) -> u64;
    /// Whether its sender is one of low latency, by ECT(1), or it was marked before (RFC 9331 section 5.1).
    fn is_low_latency(&self) -> bool {
        false
    }
    /// Whether it could be, and is now, marked as having met congestion (RFC 3168 section 5).
    fn mark(&mut self) -> bool;
}

/// A queue of packets.
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
    /// Packets that wait.
    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A packet comes.
    pub fn push(&mut self, packet: T) {
        self.bytes += packet.bytes();
        self.packets.put(packet);
    }

    /// The one that came first goes.
    pub fn pop(&mut self) -> Option<T> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The one that came last goes.
    pub fn pop_last(&mut self) -> Option<T> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Those that do not stay go, the oldest first.
    pub fn sift(&mut self, mut stays: impl FnMut(&T) -> bool, mut gone: impl FnMut(&T)) {
        let bytes = &mut self.bytes;
        self.packets.retain(|packet| {
            let stays = stays(packet);
            if !stays {
                *bytes -= packet.bytes();
                gone(packet);
            }
            stays
        });
    }

    /// The one that came first.
    pub fn first(&self) -> Option<&T> {
        self.packets.front()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.packets.iter()
    }
}
