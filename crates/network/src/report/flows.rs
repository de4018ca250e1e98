//! What flows leave behind that are no plain connection of TCP.

use super::FlowReport;
use crate::hosts::datagrams::delays::Delays;

/// One flow of datagrams: results.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramReport {
    /// Flow index.
    pub flow: usize,
    /// Datagrams that the application sent.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Datagrams that came.
    pub received: u64,
    /// Their payload.
    pub received_bytes: u64,
    /// Those missing among all up to the last that came (RFC 3550 section 6.4.1).
    pub lost: u64,
    /// How long those that came took, from the application that sends to the one that receives.
    pub delays: Delays,
}

impl DatagramReport {
    /// Tells a flow's results what TCP would have counted: payload that came and that was sent.
    pub(crate) fn tell(&self, report: &mut FlowReport) {
        report.delivered_bytes = self.received_bytes;
        report.highest_sequence_bytes = self.received_bytes;
        report.sender.sent_segments = self.sent;
        report.sender.sent_bytes = self.sent_bytes;
    }
}

/// What a buffer between two connections leaves behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayReport {
    /// Index of the flow that fills it.
    pub flow: usize,
    /// Index of the flow that empties it.
    pub onward: usize,
    /// Bytes held, averaged over time.
    pub mean_bytes: f64,
    /// Most bytes ever held.
    pub peak_bytes: u64,
    /// Bytes held at the end.
    pub held_bytes: u64,
    /// ACKs that told of room and nothing else.
    pub window_updates: u64,
    /// Times that the sender asked for room (RFC 9293 section 3.8.6.1).
    pub window_probes: u64,
}
