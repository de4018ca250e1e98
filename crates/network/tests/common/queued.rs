//! Test support: packets as inputs of queue disciplines.

use longpipe_events::Time;
use longpipe_network::queues::{PortState, QueueDisc, Queued};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    pub index: u64,
    pub flow: u32,
    pub arrival: Time,
    pub bytes: u64,
    pub low_latency: bool,
    pub capable: bool,
    pub marked: bool,
}

impl Queued for Packet {
    fn arrival(&self) -> Time {
        self.arrival
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn is_capable(&self) -> bool {
        self.capable
    }

    fn is_low_latency(&self) -> bool {
        self.low_latency
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.capable;
        self.capable
    }

    fn is_marked(&self) -> bool {
        self.marked
    }
}

/// Returns the state at `now` of a port whose buffer holds `room_packets` packets.
pub fn port(now: Time, room_packets: u64) -> PortState {
    PortState {
        now,
        room_packets,
        room_bytes: u64::MAX,
        in_service: false,
        idle_since: None,
    }
}

/// Enqueues a packet at a port that has no limit. Returns whether the packet was accepted.
pub fn enqueue(disc: &mut impl QueueDisc<Packet>, now: Time, packet: Packet) -> bool {
    let mut stays = true;
    disc.enqueue(&port(now, u64::MAX), packet, |_, _| stays = false);
    stays
}

/// Dequeues a packet from a discipline that does not drop at dequeue.
pub fn dequeue(disc: &mut impl QueueDisc<Packet>, now: Time) -> Option<Packet> {
    disc.dequeue(now, |packet, _| panic!("{packet:?} was dropped"))
}
