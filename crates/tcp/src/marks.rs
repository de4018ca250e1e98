//! What marks do at the sender: one reduction a window, of which the next new segment tells (RFC 3168 section 6.1.2).

use crate::config::EcnConfig;
use crate::flight::Flight;
use crate::segment::Ecn;

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// SND.MAX at the last reduction: marks of what was sent before then ask for no other.
    reduced_at: u64,
    /// Whether the next new segment says that the window was reduced.
    owes_word: bool,
    /// Whether a mark costs less than a loss (RFC 8511).
    pub costs_less: bool,
}

impl Marks {
    /// None heeded yet, if they are.
    pub fn new(config: EcnConfig) -> Option<Marks> {
        let costs_less = match config {
            EcnConfig::Off {} => return None,
            EcnConfig::Classic { abe } => abe,
            EcnConfig::Dctcp {} => false,
        };
        Some(Marks {
            reduced_at: 0,
            owes_word: false,
            costs_less,
        })
    }

    /// An ACK echoes a mark, which SND.UNA shows already; true if it is the first one of a window.
    pub fn on_echo(&mut self, flight: &Flight) -> bool {
        // The ACK of all that left before the reduction left before the receiver was told of it.
        let first = flight.una > self.reduced_at;
        if first {
            (self.reduced_at, self.owes_word) = (flight.max, true);
        }
        first
    }

    /// What the next segment says: only new data can be marked.
    pub fn on_sent(&mut self, again: bool) -> Ecn {
        if again {
            return Ecn::default();
        }
        Ecn {
            capable: true,
            marked: false,
            reduced: std::mem::take(&mut self.owes_word),
        }
    }
}
