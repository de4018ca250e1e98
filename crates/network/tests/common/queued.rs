//! A packet as queues see it.

use longpipe_events::Time;
use longpipe_network::queues::Queued;

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

    fn is_low_latency(&self) -> bool {
        self.low_latency
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.capable;
        self.capable
    }
}
