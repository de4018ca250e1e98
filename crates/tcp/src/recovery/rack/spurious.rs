//! How it shows that nothing had been lost: each copy came twice (D-SACK, RFC 2883), or after a timeout what was never sent again
//! is acknowledged (F-RTO, RFC 5682 section 3). As Linux counts.

use super::*;

/// Copies sent since a reduction that are not known to have come twice; none: none was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies(Option<u64>);

impl Copies {
    /// A segment leaves again.
    pub fn add(&mut self) {
        self.0 = Some(self.0.unwrap_or(0) + 1);
    }

    /// So many segments came twice.
    fn came_twice(&mut self, segments: u64) {
        self.0 = self.0.map(|copies| copies.saturating_sub(segments));
    }

    /// Whether all that were sent did.
    pub fn all_came_twice(self) -> bool {
        self.0 == Some(0)
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
            self.take_back(ledger, reins);
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
            return self.take_back(ledger, reins);
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
