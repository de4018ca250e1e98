//! By how much earlier than due the kernel is given a packet after a pause, so that it has passed it on by then: what handing over
//! takes, as a clock's egress latency in IEEE 1588. In the midst of others it is too little to be looked at.

use crate::clock::{nanoseconds, PS_PER_NS};
use longpipe_events::{Span, Time};

/// After so long without a packet, handing one over takes longer.
const PAUSE_NS: u64 = 1_000_000;
/// The most that it is taken to take [ns].
const LONGEST_NS: u64 = 100_000;
/// By how much what is believed moves with each packet [ns].
const STEP_NS: u64 = 1_000;

/// What handing over takes after a pause.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lead {
    /// What it takes in the median of late [ns]; none: not known yet.
    usual_ns: Option<u64>,
    /// When a packet was last handed over.
    last: Time,
}

impl Lead {
    /// By how much earlier than due it begins now [ns].
    pub fn ns(&self, now: Time) -> u64 {
        if self.is_after_pause(now) {
            self.usual_ns.unwrap_or(0)
        } else {
            0
        }
    }

    /// Up to when what is due is handed over now, if nothing is before `due`.
    pub fn reach(&self, now: Time, due: Time) -> Time {
        if due <= now + Span(self.ns(now) * PS_PER_NS) {
            due.max(now)
        } else {
            now
        }
    }

    /// A packet was handed over from one instant to another.
    pub fn took(&mut self, from: Time, to: Time) {
        if self.is_after_pause(from) {
            let took = nanoseconds(from, to).min(LONGEST_NS);
            // By equal steps, however far it is: the median, which one that took very long hardly moves.
            self.usual_ns = Some(match self.usual_ns {
                None => took,
                Some(usual) if took < usual => usual.saturating_sub(STEP_NS),
                Some(usual) => usual.saturating_add(STEP_NS).min(took),
            });
        }
        self.last = to;
    }

    fn is_after_pause(&self, now: Time) -> bool {
        nanoseconds(self.last, now) > PAUSE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    #[test]
    fn what_handing_over_takes_after_a_pause_is_learned_as_a_median() {
        let mut lead = Lead::default();
        assert_eq!(lead.ns(Time(5_000 * US)), 0);
        for (number, took) in [30, 60, 40].iter().cycle().take(300).enumerate() {
            let from = Time(2_000 * US * (number as u64 + 1));
            lead.took(from, from + Span(took * US));
        }
        let ns = lead.ns(Time(1_000_000 * US));
        assert!((38_000..=42_000).contains(&ns), "{ns}");
    }

    #[test]
    fn in_the_midst_of_others_nothing_is_early_nor_learned() {
        let mut lead = Lead::default();
        lead.took(Time(2_000 * US), Time(2_040 * US));
        lead.took(Time(2_100 * US), Time(2_110 * US));
        assert_eq!(lead.ns(Time(3_000 * US)), 0);
        assert_eq!(lead.reach(Time(3_000 * US), Time(3_020 * US)), Time(3_000 * US));
        assert_eq!(lead.ns(Time(3_200 * US)), 40_000);
    }

    #[test]
    fn it_reaches_as_far_as_what_is_due_and_no_farther() {
        let mut lead = Lead::default();
        lead.took(Time(2_000 * US), Time(2_040 * US));
        let now = Time(9_000 * US);
        assert_eq!(lead.reach(now, Time(9_030 * US)), Time(9_030 * US));
        assert_eq!(lead.reach(now, Time(9_050 * US)), now);
        assert_eq!(lead.reach(now, Time(8_000 * US)), now);
        assert_eq!(lead.reach(now, Time(u64::MAX)), now);
    }

    #[test]
    fn one_that_took_very_long_does_not_make_others_early_by_that() {
        let mut lead = Lead::default();
        lead.took(Time(2_000 * US), Time(9_000 * US));
        assert_eq!(lead.ns(Time(20_000 * US)), LONGEST_NS);
    }
}
