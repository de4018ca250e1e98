//! ECN marks at the sender: marks cause at most one reduction per window, and the next new segment signals it to the
//! receiver (RFC 3168 section 6.1.2).
//!
//! RACK itself limits reductions to one per window, because it does not react to marks while it reduces the window
//! (Linux: `TCP_CA_CWR`); as in Linux, all its reductions are signaled, including those for losses.

use crate::accurate_ecn::Feedback;
use crate::config::EcnConfig;
use crate::congestion::flight::Flight;
use crate::segment::AckSegment;

/// ECN state of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// SND.MAX at the last reduction; marks on earlier data cause no further reduction.
    reduced_at: u64,
    /// Whether the next new segment carries CWR.
    sends_cwr: bool,
    /// Whether a mark reduces the window less than a loss (ABE, RFC 8511).
    pub abe: bool,
    /// The receiver's counters, with Accurate ECN.
    feedback: Option<Feedback>,
    /// Maximum number of bytes that the latest ACK reporting a mark can have delivered.
    marked: u64,
}

impl Marks {
    /// Returns the initial ECN state, or None without ECN.
    pub fn new(config: EcnConfig) -> Option<Marks> {
        let (abe, counts) = match config {
            EcnConfig::Off {} => return None,
            EcnConfig::Classic { abe } => (abe, false),
            EcnConfig::Dctcp {} => (false, false),
            EcnConfig::Accurate { abe, .. } => (abe, true),
        };
        Some(Marks {
            reduced_at: 0,
            sends_cwr: false,
            abe,
            feedback: counts.then(Feedback::default),
            marked: 0,
        })
    }

    /// Returns whether a new segment and a retransmission, respectively, carry ECT. Retransmissions cannot be marked
    /// (RFC 3168 section 6.1.5), except with DCTCP (Linux: `tcp_ca_needs_ecn`).
    pub fn capable(config: EcnConfig) -> [bool; 2] {
        [!config.is_off(), config == EcnConfig::Dctcp {}]
    }

    /// Returns whether ACKs report marks by ECE alone.
    pub fn are_flags(&self) -> bool {
        self.feedback.is_none()
    }

    /// Returns whether the next new segment carries CWR.
    pub fn sends_cwr(&self) -> bool {
        self.sends_cwr
    }

    /// Processes an ACK with SEG.ACK >= SND.UNA, before `flight` advances.
    pub fn on_ack(&mut self, ack: &AckSegment, flight: &Flight) {
        self.marked = match &mut self.feedback {
            Some(feedback) => feedback.take(ack, flight),
            None if ack.echoes_mark() => u64::MAX,
            None => 0,
        };
    }

    /// Returns the maximum number of bytes that the latest ACK reporting a mark can have delivered.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Returns the number of marked packets that ACKs have reported, with Accurate ECN.
    #[cfg(test)]
    pub fn marked_packets(&self) -> u64 {
        self.feedback.map_or(0, |feedback| feedback.marked_packets())
    }

    /// Returns the number of marked bytes that AccECN options have reported.
    #[cfg(test)]
    pub fn marked_bytes(&self) -> u64 {
        self.feedback.map_or(0, |feedback| feedback.marked_bytes())
    }

    /// Processes a mark that an ACK reports, after `flight` has advanced. For senders without RACK, returns whether it
    /// is the first mark of a window.
    pub fn on_echo(&mut self, flight: &Flight) -> bool {
        // This ACK covers the last data sent before the reduction; it was sent before the receiver saw CWR.
        let first = flight.una > self.reduced_at;
        if first {
            self.reduced_at = flight.max;
            self.on_reduction();
        }
        first
    }

    /// Records a reduction of the window, which the next new segment signals (Linux: `tcp_ecn_queue_cwr`).
    pub fn on_reduction(&mut self) {
        // With Accurate ECN, the CWR flag belongs to the ACE field.
        self.sends_cwr = self.feedback.is_none();
    }

    /// Returns whether the segment that is sent now carries CWR.
    pub fn on_sent(&mut self, retransmission: bool) -> bool {
        !retransmission && std::mem::take(&mut self.sends_cwr)
    }
}
