//! What marks do at the sender: one reduction a window, of which the next new segment tells (RFC 3168 section 6.1.2).

use crate::accurate::Feedback;
use crate::config::EcnConfig;
use crate::flight::Flight;
use crate::segment::{AckSegment, Ecn};

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// SND.MAX at the last reduction: marks of what was sent before then ask for no other.
    reduced_at: u64,
    /// Whether the next new segment says that the window was reduced.
    owes_word: bool,
    /// Whether a mark costs less than a loss (RFC 8511).
    pub costs_less: bool,
    /// Where ACKs count marks.
    feedback: Option<Feedback>,
    /// How much of what the latest ACK says to have arrived was marked, at most [byte].
    marked: u64,
    /// Whether retransmissions can be marked, too (Linux: `tcp_ca_needs_ecn`, as of DCTCP).
    marks_retransmissions: bool,
}

impl Marks {
    /// None heeded yet, if they are.
    pub fn new(config: EcnConfig) -> Option<Marks> {
        let (costs_less, counts) = match config {
            EcnConfig::Off {} => return None,
            EcnConfig::Classic { abe } => (abe, false),
            EcnConfig::Dctcp {} => (false, false),
            EcnConfig::Accurate { abe, .. } => (abe, true),
        };
        Some(Marks {
            reduced_at: 0,
            owes_word: false,
            costs_less,
            feedback: counts.then(Feedback::default),
            marked: 0,
            marks_retransmissions: config == EcnConfig::Dctcp {},
        })
    }

    /// An ACK came that is not older than SND.UNA, which does not show it yet.
    pub fn on_ack(&mut self, ack: &AckSegment, flight: &Flight) {
        self.marked = match &mut self.feedback {
            Some(feedback) => feedback.take(ack, flight),
            None if ack.echoes_mark() => u64::MAX,
            None => 0,
        };
    }

    /// How much of what the latest ACK says to have arrived was marked, at most [byte].
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Marked packets of which ACKs have told, where they count them.
    #[cfg(test)]
    pub fn counted(&self) -> u64 {
        self.feedback.map_or(0, |feedback| feedback.counted())
    }

    /// Marked bytes of which options have told.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> u64 {
        self.feedback.map_or(0, |feedback| feedback.counted_bytes())
    }

    /// An ACK tells of a mark, which SND.UNA shows already; true if it is the first one of a window.
    pub fn on_echo(&mut self, flight: &Flight) -> bool {
        // The ACK of all that left before the reduction left before the receiver was told of it.
        let first = flight.una > self.reduced_at;
        if first {
            // Where ACKs count, the flag is part of a number.
            (self.reduced_at, self.owes_word) = (flight.max, self.feedback.is_none());
        }
        first
    }

    /// Returns the ECN fields of the next segment. Retransmissions can't be marked (RFC 3168 section 6.1.5), except DCTCP's.
    pub fn on_sent(&mut self, again: bool) -> Ecn {
        if again {
            return Ecn {
                capable: self.marks_retransmissions,
                ..Ecn::default()
            };
        }
        Ecn {
            capable: true,
            marked: false,
            reduced: std::mem::take(&mut self.owes_word),
        }
    }
}
