//! What a port that acts says of a packet that arrives, and what it goes by.

use longpipe_events::Time;

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It enters.
    Admit,
    /// It enters marked if its sender understands marks, else it is refused.
    Mark,
    /// It is refused.
    Refuse,
}

/// A packet that arrives, and the queue that it finds, in which the packet in service is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// Length, headers included [byte].
    pub bytes: u64,
    /// Whether its sender understands marks.
    pub capable: bool,
    /// Packets that wait.
    pub packets_waiting: u64,
    /// Their bytes.
    pub bytes_waiting: u64,
    /// Since when nothing is in service, unless something is.
    pub idle_since: Option<Time>,
}
