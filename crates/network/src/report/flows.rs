//! Results of datagram flows and of split-TCP proxies.

use super::FlowReport;
use crate::report::delays::Delays;
use crate::report::files::File;
pub use crate::traffic::client::Playback;
use crate::traffic::media::FrameCounters;
use longpipe_events::{MaybeTime, Time};

/// Results of a datagram flow.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramReport {
    /// Flow index.
    pub flow: usize,
    /// Number of datagrams that the application sent.
    pub sent: u64,
    /// Payload [byte] of the datagrams sent.
    pub sent_bytes: u64,
    /// Number of datagrams that the receiver received, without duplicates.
    pub received: u64,
    /// Payload [byte] of these datagrams.
    pub received_bytes: u64,
    /// Number of duplicates that the receiver received.
    pub duplicates: u64,
    /// Number of datagrams that arrived after a datagram that was sent later, without duplicates.
    pub reordered: u64,
    /// Number of lost datagrams that were sent before the last one received. Datagrams in transit at the end are not
    /// lost.
    pub lost: u64,
    /// One-way delays of received datagrams, from the sending to the receiving application, without duplicates.
    pub delays: Delays,
}

impl DatagramReport {
    /// Sets the counters of a TCP flow's report: delivered and sent payload.
    pub(crate) fn fill_in(&self, report: &mut FlowReport) {
        report.delivered_bytes = self.received_bytes;
        report.highest_sequence_bytes = self.received_bytes;
        report.reordered = self.reordered;
        report.sender.sent_segments = self.sent;
        report.sender.sent_bytes = self.sent_bytes;
    }
}

/// Results of a video player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoReport {
    /// Flow index.
    pub flow: usize,
    /// Requested chunks, in order; the class of each request is the index of its bitrate in the ladder.
    pub chunks: Vec<File>,
    /// Time spent in playback and in stalls.
    pub playback: Playback,
}

/// Results of a source of live video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaReport {
    /// Flow index.
    pub flow: usize,
    /// Counters of its frames.
    pub frames: FrameCounters,
}

/// Results of an application that writes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamReport {
    /// Flow index.
    pub flow: usize,
    /// Bytes that the application has written to its socket.
    pub written_bytes: u64,
}

/// One of the arriving flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedFlow {
    /// Time of its arrival.
    pub arrived: Time,
    /// Size [byte].
    pub bytes: u64,
    /// Time at which its last byte was delivered; None if it was not.
    pub completed: MaybeTime,
}

/// Results of arriving flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedReport {
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Number of flows whose start was delayed because `most_active` flows were active.
    pub waited: u64,
    /// Maximum number of simultaneously active flows.
    pub peak: u64,
    /// All flows that arrived, in order.
    pub flows: Vec<ArrivedFlow>,
}

/// Results of the buffer of a split-TCP proxy, which lies between two connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyReport {
    /// Index of the flow that fills the buffer.
    pub flow: usize,
    /// Index of the flow that empties the buffer.
    pub forwarded_over: usize,
    /// Time-averaged occupancy [byte]; the sum over all connections of arriving flows.
    pub mean_bytes: f64,
    /// Maximum occupancy [byte]; the maximum of a single connection of arriving flows.
    pub peak_bytes: u64,
    /// Occupancy [byte] at the end of the run.
    pub held_bytes: u64,
    /// Number of ACKs that were pure window updates.
    pub window_updates: u64,
    /// Number of zero-window probes that the sender sent (RFC 9293 section 3.8.6.1).
    pub window_probes: u64,
}

impl ProxyReport {
    /// Adds the buffer of another connection of the same arriving flows.
    pub(crate) fn add(&mut self, other: &ProxyReport) {
        self.mean_bytes += other.mean_bytes;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.held_bytes += other.held_bytes;
        self.window_updates += other.window_updates;
        self.window_probes += other.window_probes;
    }
}
