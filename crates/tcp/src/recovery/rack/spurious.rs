//! How it shows that nothing had been lost: an ACK answers what left before any copy (Eifel, RFC 3522), each copy came twice (D-SACK,
//! RFC 2883), or after a timeout what was never sent again is acknowledged (F-RTO, RFC 5682 section 3). As Linux counts.

use super::*;
use crate::journal::EventCause;

/// Copies sent since a reduction that are not known to have come twice; none: none was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies(Option<u64>);

impl Copies {
    /// So many segments leave again, or had before.
    fn add(&mut self, segments: u64) {
        self.0 = Some(self.0.unwrap_or(0) + segments);
    }

    /// So many segments came twice.
    fn came_twice(&mut self, segments: u64) {
        self.0 = self.0.map(|copies| copies.saturating_sub(segments));
    }

    /// Whether all that were sent did.
    fn all_came_twice(self) -> bool {
        self.0 == Some(0)
    }
}

/// What to go back to if nothing was lost.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    cwnd: f64,
    ssthresh: f64,
    una: u64,
    /// When something was first sent again.
    first_again: Option<Time>,
    /// What was since.
    copies: Copies,
    /// Whether the recovery is over.
    over: bool,
}

impl Before {
    /// A segment leaves again.
    pub fn on_sent_again(&mut self, now: Time) {
        self.first_again.get_or_insert(now);
        self.copies.add(1);
    }
}

/// The question that F-RTO asks after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forward {
    /// It is not asked, or answered: it was a loss.
    #[default]
    Over,
    /// Will the ACK of the first copy leave data open?
    Asked,
    /// New data leave first; will what was never sent again be acknowledged?
    NewFirst,
}

/// How far RACK's tolerance grew, in quarters of the shortest round trip, and how many recoveries more it stays so
/// (RFC 8985 section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    quarters: u64,
    persists: u32,
    /// It does not grow again before this is acknowledged.
    round: u64,
}

/// A whole round trip; RFC 8985 has SRTT.
const MOST_QUARTERS: u64 = 4;
/// Recoveries.
const PERSISTS: u32 = 16;

impl Default for Steps {
    fn default() -> Steps {
        Steps {
            quarters: 1,
            persists: 0,
            round: 0,
        }
    }
}

impl Steps {
    /// How much later than others a segment may arrive.
    pub fn of(self, least_rtt: Span) -> Span {
        Span(least_rtt.0 / 4 * self.quarters)
    }

    fn grow(&mut self, una: u64, max: u64) {
        if una >= self.round {
            self.quarters = (self.quarters + 1).min(MOST_QUARTERS);
            (self.round, self.persists) = (max, PERSISTS);
        }
    }

    /// A recovery ended that was none too many.
    pub fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }
}

impl Rack {
    /// A reduction begins.
    pub(super) fn remember(&mut self, ledger: &Ledger, reins: &Reins) {
        let under_way = if self.config.successive { ledger.copies() } else { 0 };
        let flight = reins.flight();
        let mut now = Before {
            cwnd: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            una: flight.una,
            first_again: None,
            copies: Copies::default(),
            over: false,
        };
        if under_way > 0 {
            now.first_again = self.before.and_then(|before| before.first_again);
            now.copies.add(under_way as u64);
        }
        self.before = self.before.filter(|before| !before.over).or(Some(now));
    }

    /// A recovery is over, of which only what came twice, or goes on to the next one, may still tell.
    pub(super) fn outlive(&mut self) {
        self.before = self.before.filter(|_| self.config.dsack || self.config.successive);
        if let Some(before) = &mut self.before {
            before.over = true;
        }
    }

    /// Whether an ACK that advanced answers what was sent before anything was sent again (Eifel).
    pub(super) fn is_spurious(&self, echo: Option<Time>, una: u64, ledger: &Ledger) -> bool {
        let Some(before) = self.before.filter(|_| self.config.undo) else {
            return false;
        };
        let first = matches!((echo, before.first_again), (Some(echo), Some(first)) if echo < first);
        let over = || match self.phase {
            Phase::Open | Phase::Reduced(_) => false,
            Phase::Recovery(end) => una >= end || ledger.copies() == 0,
            Phase::Loss(_) => true,
        };
        first && una > before.una && over()
    }

    /// The reduction is taken back.
    pub(super) fn take_back(&mut self, cause: EventCause, una: u64, ledger: &mut Ledger, reins: &mut Reins) {
        if let Some(before) = self.before.take() {
            // What else is lost stays so (Linux).
            let rest = match self.phase {
                Phase::Recovery(end) => una >= end || before.copies.all_came_twice(),
                phase => phase == Phase::Open,
            };
            if !(rest && self.config.successive) {
                ledger.unmark_lost();
            }
            // What was taken to be lost was late.
            self.reordered |= matches!(self.phase, Phase::Recovery(_));
            self.phase = Phase::Open;
            self.forward = Forward::Over;
            reins.undo(cause, before.cwnd, before.ssthresh);
        }
    }

    /// The receiver tells that a segment came twice.
    pub(super) fn on_duplicate(&mut self, (start, end): (u64, u64), una: u64, reins: &mut Reins) {
        let mss = u64::from(reins.flight().mss);
        let of_probe = self.probe.filter(|probe| probe.again && probe.end == end);
        if of_probe.is_some() {
            // Both it and the segment came: nothing was lost (RFC 8985 section 7.4.2).
            self.probe = None;
        } else if self.reordered {
            self.steps.grow(una, reins.flight().max);
        }
        let Some(before) = self.before.as_mut().filter(|before| end > before.una) else {
            return;
        };
        before.copies.came_twice((end - start).div_ceil(mss));
    }

    /// Takes back a reduction all copies of which came twice, as far as the phase allows (Linux's tcp_try_undo_dsack).
    pub(super) fn look_at_copies(&mut self, advanced: bool, ledger: &mut Ledger, reins: &mut Reins) {
        let all = self.before.is_some_and(|before| before.copies.all_came_twice());
        let may = match self.phase {
            Phase::Open | Phase::Recovery(_) => true,
            Phase::Reduced(_) => false,
            Phase::Loss(_) => advanced,
        };
        if self.config.undo && all && may {
            self.take_back(EventCause::DSack, reins.flight().una, ledger, reins);
        }
    }

    /// After a timeout, looks whether what arrived was never sent again (RFC 5682 section 3.1, with SACK).
    /// The ACK advanced, or told of what came twice.
    pub(super) fn look_forward(
        &mut self,
        news: &News,
        (advanced, twice): (bool, bool),
        ledger: &mut Ledger,
        reins: &mut Reins,
    ) {
        let (Phase::Loss(end), true) = (self.phase, self.forward != Forward::Over) else {
            return;
        };
        let (una, max) = (reins.flight().una, reins.flight().max);
        if news.original_end <= end {
            return self.take_back(EventCause::FRto, una, ledger, reins);
        }
        if max > end {
            // New data arrived, and nothing older (step 3a).
            if !(advanced || twice) || news.sacked {
                self.forward = Forward::Over;
            }
        } else if advanced && una < end {
            self.forward = Forward::NewFirst;
        }
    }

    /// New data leave before what is lost.
    #[inline]
    pub fn sends_new_first(&self) -> bool {
        self.forward == Forward::NewFirst
    }

    /// No new data could leave: it goes on as after a loss; false if some did.
    pub fn give_up_forward(&mut self, max: u64) -> bool {
        let none = matches!(self.phase, Phase::Loss(end) if max <= end);
        self.forward = if none { Forward::Over } else { Forward::Asked };
        none
    }
}
