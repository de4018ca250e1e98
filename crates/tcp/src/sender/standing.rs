//! How a connection stands, as Linux's TCP_INFO tells it, for those who play scripts to a sender.

use crate::congestion::stage::Model;
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

/// What a sender is about, for those who watch it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// What its congestion control knows, of one that has a model of its path.
    pub model: Option<Model>,
    /// Rate at which segments leave: payload [bit/s]; none: as ACKs come.
    pub pacing_bps: Option<u64>,
    /// Where its recovery is.
    pub state: State,
}
