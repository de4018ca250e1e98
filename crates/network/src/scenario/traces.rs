//! What is recorded of a run.

use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// What to record over time; off costs nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// cwnd and ssthresh of every flow, at each change.
    pub cwnd: bool,
    /// Cells held by every switch port, at the first cell of each frame.
    pub queue: bool,
    /// Segments sent, ACKs and SACK blocks received by every sender.
    pub sequence: bool,
    /// Round trips measured by every sender, and its RTO.
    pub rtt: bool,
    /// Cells of each VC held by every switch port, at regular instants.
    pub vc_queue: bool,
    /// Time between these [ps].
    pub vc_queue_interval_ps: u64,
    /// How long every packet was at every router's port.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delay: bool,
    /// Packets that routers' ports lost or marked, with the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drops: bool,
    /// What every sender is about, its rate and what its control knows of the path, at each change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Lost segments of every sender, and its retransmissions, timeouts, reductions and undos, each with its cause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
    /// Data that reached every receiver for the first time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub arrivals: bool,
}

impl TraceConfig {
    /// Whether anything is to be recorded.
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
    }
}
