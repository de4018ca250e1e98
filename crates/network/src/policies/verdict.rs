//! Decisions of enqueue policies, and their inputs.

use longpipe_events::Time;

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is admitted.
    Admit,
    /// The packet is admitted with an ECN mark if it is ECN-capable, and dropped otherwise.
    Mark,
    /// The packet is dropped.
    Refuse,
}

/// An arriving packet, and the queue that it finds, which excludes the packet in transmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Time of the arrival.
    pub now: Time,
    /// Length [byte], including headers.
    pub bytes: u64,
    /// Whether the packet is ECN-capable.
    pub capable: bool,
    /// Number of waiting packets.
    pub packets_waiting: u64,
    /// Total length [byte] of the waiting packets.
    pub bytes_waiting: u64,
    /// Time since which the line has been idle; None while a packet is in transmission.
    pub idle_since: Option<Time>,
}
