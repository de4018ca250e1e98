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

/// State to restore if a reduction proves spurious (Linux: `prior_cwnd`, `prior_ssthresh`, `undo_marker`, `undo_retrans`).
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// Congestion window and threshold before the reduction; none if the reduction must stay, because of a mark.
    limits: Option<(f64, f64)>,
    /// SND.UNA at the reduction.
    una: u64,
    /// When the first retransmission left (`retrans_stamp`).
    first_again: Option<Time>,
    /// Retransmissions since.
    copies: Copies,
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

/// Steps of RACK's reordering window, in quarters of the minimum RTT, and for how many more recoveries they stay (`reo_wnd_steps`,
/// `reo_wnd_persist`; RFC 8985 section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    quarters: u64,
    persists: u32,
    /// It does not grow again before this is acknowledged.
    round: u64,
}

/// Most steps of the reordering window (Linux).
const MOST_QUARTERS: u64 = 255;
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
    /// Returns the reordering window: its steps of a quarter of the minimum RTT, at most SRTT (`tcp_rack_reo_wnd`).
    pub fn of(self, least_rtt: Span, srtt: Option<Span>) -> Span {
        let window = Span((least_rtt.0 / 4).saturating_mul(self.quarters));
        srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Adds a step, once in a round trip, because a segment that RACK had declared lost came twice.
    pub(super) fn grow(&mut self, una: u64, max: u64) {
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
    /// Saves the state to undo a recovery that begins while `copies` retransmissions are in flight (`tcp_init_undo`).
    ///
    /// The window before it is saved if the recovery `reduces` it. In the congestion avoidance of Linux the threshold before counts
    /// for at least three quarters of the window (`tcp_current_ssthresh`).
    pub(super) fn remember(&mut self, copies: u64, reduces: bool, reins: &Reins) {
        let flight = reins.flight();
        let (cwnd, mss) = ((flight.cwnd() / flight.mss()).floor(), flight.mss());
        let ssthresh = ((cwnd / 2.0).floor() + (cwnd / 4.0).floor()) * mss;
        let mut now = Before {
            limits: reduces.then_some((flight.cwnd(), flight.ssthresh().max(ssthresh))),
            una: flight.una,
            first_again: None,
            copies: Copies::default(),
        };
        if copies > 0 {
            now.first_again = self.before.and_then(|before| before.first_again);
            now.copies.add(copies);
        }
        self.before = Some(now);
    }

    /// Lets no undo restore the window, because a mark shows that the reduction was due.
    pub fn keep_reduction(&mut self) {
        if let Some(before) = &mut self.before {
            before.limits = None;
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
            match before.limits {
                Some((cwnd, ssthresh)) => reins.undo(cause, cwnd, ssthresh),
                None => reins.recovered(false),
            }
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
