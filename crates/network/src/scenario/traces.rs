//! Selection of the traces that a run records.

use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Traces to record during the run.
// Disabled traces cost nothing.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, Described)]
#[described(name = "Traces")]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// cwnd and ssthresh of each flow at each change.
    #[field(default = false)]
    pub cwnd: bool,
    /// Queue of each switch port [cells or packets], sampled when the first cell of each frame arrives.
    #[field(default = false)]
    pub queue: bool,
    /// Queue of each switch port by flow [cells or packets], sampled at regular intervals.
    #[field(default = false)]
    pub vc_queue: bool,
    /// Sampling interval of vc_queue [time].
    #[field(range = "[1 us, 1000 s]", default = "1 ms")]
    pub vc_queue_interval_ps: u64,
    /// Segments sent, ACKs and SACK blocks received by each sender.
    #[field(default = false)]
    pub sequence: bool,
    /// RTT samples and RTO of each sender.
    #[field(default = false)]
    pub rtt: bool,
    /// Queueing delay of each packet at each router port, and quantiles in the results; IP only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub delay: bool,
    /// Lost packets with port, flow, first data byte and cause, and packets marked by router ports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub drops: bool,
    /// Requests, grants and transmissions of each port with medium access, with the time for which data waited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub grants: bool,
    /// State of each sender at each change: BBR's state and bandwidth estimate, the pacing rate, the recovery
    /// state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub control: bool,
    /// Lost data segments, and each sender's retransmissions, declared losses, timeouts, window reductions, undos
    /// and state changes, with causes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub events: bool,
    /// Data received by each receiver, each byte at its first arrival.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub arrivals: bool,
    /// Bytes in flight of each sender, and what limits it, at each change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub flight: bool,
    /// Packets that each real stack sends, receives and declares lost at the flow's sender.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
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
            || self.grants
            || self.arrivals
            || self.control
            || self.events
            || self.flight
            || self.packets
    }
}
