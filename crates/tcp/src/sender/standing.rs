//! State of a sender for observers: as in Linux's TCP_INFO, for packetdrill scripts, and for traces.

use super::Sender;
use crate::congestion::stage::Model;
use crate::recovery::rack::CongestionState;
use crate::retransmission_queue::Count;

/// State of a connection; counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Congestion window [byte].
    pub cwnd: f64,
    /// Slow start threshold [byte].
    pub ssthresh: f64,
    /// Numbers of bytes written, sent and acknowledged.
    pub written: u64,
    /// First byte never sent.
    pub max: u64,
    /// First byte not acknowledged.
    pub una: u64,
    /// Congestion state and segment counts; only with RACK.
    pub records: Option<(CongestionState, Count)>,
}

/// State of a sender for observers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// Path model of the congestion controller, if it has one.
    pub model: Option<Model>,
    /// Pacing rate of the payload [bit/s]; None if the sender is not paced.
    pub pacing_bps: Option<u64>,
    /// Congestion state.
    pub state: CongestionState,
}

impl Sender {
    /// Returns the state for traces.
    pub fn watched(&self) -> Watched {
        Watched {
            model: self.congestion.model(),
            pacing_bps: self.pacing().map(|pacing| pacing.rate_bps),
            state: self.recovery.state(),
        }
    }
}
