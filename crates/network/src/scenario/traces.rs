//! Selection of the traces that a run records.

use serde::{Deserialize, Serialize};

/// Traces to record; disabled traces cost nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// Whether to record each flow's cwnd and ssthresh whenever they change.
    pub cwnd: bool,
    /// Whether to record the queue length of every switch port, in cells, at the first cell of each frame.
    pub queue: bool,
    /// Whether to record the segments that every sender sends, and the ACKs and SACK blocks that it receives.
    pub sequence: bool,
    /// Whether to record the RTT samples and the RTO of every sender.
    pub rtt: bool,
    /// Whether to record the queue length of each VC at every switch port, in cells, at regular intervals.
    pub vc_queue: bool,
    /// Interval [ps] at which each VC's queue length is sampled.
    pub vc_queue_interval_ps: u64,
    /// Whether to record the time that each packet spent in each router's port.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delay: bool,
    /// Whether to record packets that were lost or that routers' ports marked, with the cause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drops: bool,
    /// Whether to record each sender's recovery state, pacing rate and controller stage at each change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Whether to record each sender's lost segments, retransmissions, timeouts, window reductions and undos, with
    /// their causes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
    /// Whether to record the data that reached each receiver for the first time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub arrivals: bool,
    /// Whether to record, at each change, each sender's bytes in flight and what keeps it from sending more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flight: bool,
    /// Whether to record the packets that each real stack sends, receives and declares lost at its sender.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packets: bool,
}

impl TraceConfig {
    /// Returns whether any trace is recorded.
    pub fn any(&self) -> bool {
        self.cwnd
            || self.queue
            || self.sequence
            || self.rtt
            || self.vc_queue
            || self.delay
            || self.drops
            || self.arrivals
            || self.control
            || self.events
            || self.flight
            || self.packets
    }
}
