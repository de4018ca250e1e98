//! How a connection stands, as Linux's TCP_INFO tells it, for those who play scripts to a sender.

use crate::ledger::Count;
use crate::recovery::rack::State;

/// Counts are of segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Congestion window [byte].
    pub cwnd: f64,
    /// Slow start threshold [byte].
    pub ssthresh: f64,
    /// Bytes written, sent and acknowledged.
    pub written: u64,
    /// First byte never sent.
    pub max: u64,
    /// First byte not acknowledged.
    pub una: u64,
    /// What a recovery by records knows besides.
    pub records: Option<(State, Count)>,
}
