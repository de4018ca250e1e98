//! What there is beside a congestion control that asks for more than how much an ACK acknowledged.

use crate::congestion::control::{Pacing, Wants};
use crate::flight::Flight;
use crate::ledger::Ledger;
use longpipe_events::Span;

/// What it is told from, and the rate that it answered.
#[derive(Clone, Debug)]
pub struct Told {
    /// A record of what is under way, if it wants one, or the recovery does.
    pub ledger: Option<Ledger>,
    /// The shortest round trip that the timer measured.
    pub least_rtt: Option<Span>,
    /// At which rate it would have segments leave.
    pub pacing: Option<Pacing>,
}

impl Told {
    /// Nothing so far.
    pub fn new(wants: Wants) -> Told {
        Told {
            ledger: if wants.losses {
                Some(Ledger::with_losses())
            } else {
                wants.records.then(Ledger::default)
            },
            least_rtt: None,
            pacing: None,
        }
    }

    /// Bytes under way: not acknowledged, nor reported by SACK blocks where records are kept.
    pub fn in_flight(&self, flight: &Flight) -> u64 {
        match &self.ledger {
            Some(ledger) => ledger.in_flight(flight.max),
            None => flight.outstanding(),
        }
    }

    /// At which rate it would have segments leave, for a recovery that calls for reductions.
    pub fn pacing(&mut self) -> &mut Option<Pacing> {
        &mut self.pacing
    }

    /// It answered an ACK or a reduction.
    pub fn pace(&mut self, pacing: Option<Pacing>) {
        if pacing.is_some() {
            self.pacing = pacing;
        }
    }
}
