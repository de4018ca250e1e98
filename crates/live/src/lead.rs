//! Lead time: after a pause, passing a packet to the kernel takes noticeable time (egress latency in IEEE 1588), so the
//! packet is passed that much earlier. Without a pause, this time is negligible.

use crate::clock::{nanoseconds, PS_PER_NS};
use longpipe_events::{Span, Time};

/// If no packet was passed for at least this time [ns], passing the next packet takes longer.
const PAUSE_NS: u64 = 1_000_000;
/// Maximum estimate [ns].
const MAX_LEAD_NS: u64 = 100_000;
/// Amount by which each packet changes the estimate [ns].
const STEP_NS: u64 = 1_000;

/// Estimate of the time that it takes to pass a packet after a pause.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lead {
    /// Running median of this time [ns]; None before the first sample.
    median_ns: Option<u64>,
    /// Time at which a packet was last passed.
    last_passed: Time,
}

impl Lead {
    /// Returns the current lead time [ns].
    pub fn lead_ns(&self, now: Time) -> u64 {
        if self.is_after_pause(now) {
            self.median_ns.unwrap_or(0)
        } else {
            0
        }
    }

    /// Returns the time up to which packets must be due to be passed at `now`: `due`, the due time of the next packet, if
    /// it is within the lead time, and otherwise `now`. Later packets are not passed early, because the pause ends with
    /// the next packet.
    pub fn pass_until(&self, now: Time, due: Time) -> Time {
        if due <= now + Span(self.lead_ns(now) * PS_PER_NS) {
            due.max(now)
        } else {
            now
        }
    }

    /// Records that a packet was passed in the time from `from` to `to`.
    pub fn record(&mut self, from: Time, to: Time) {
        if self.is_after_pause(from) {
            let duration = nanoseconds(from, to).min(MAX_LEAD_NS);
            // The estimate moves in steps of equal size, so it tracks the median, and an outlier changes it little.
            self.median_ns = Some(match self.median_ns {
                None => duration,
                Some(median) if duration < median => median.saturating_sub(STEP_NS),
                Some(median) => median.saturating_add(STEP_NS).min(duration),
            });
        }
        self.last_passed = to;
    }

    fn is_after_pause(&self, now: Time) -> bool {
        nanoseconds(self.last_passed, now) > PAUSE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PS_PER_US: u64 = 1_000_000;

    #[test]
    fn the_lead_is_the_median_time_to_pass_a_packet_after_a_pause() {
        let mut lead = Lead::default();
        assert_eq!(lead.lead_ns(Time(5_000 * PS_PER_US)), 0);
        for (number, duration) in [30, 60, 40].iter().cycle().take(300).enumerate() {
            let from = Time(2_000 * PS_PER_US * (number as u64 + 1));
            lead.record(from, from + Span(duration * PS_PER_US));
        }
        let ns = lead.lead_ns(Time(1_000_000 * PS_PER_US));
        assert!((38_000..=42_000).contains(&ns), "{ns}");
    }

    #[test]
    fn without_a_pause_there_is_no_lead_and_no_sample() {
        let mut lead = Lead::default();
        lead.record(Time(2_000 * PS_PER_US), Time(2_040 * PS_PER_US));
        lead.record(Time(2_100 * PS_PER_US), Time(2_110 * PS_PER_US));
        assert_eq!(lead.lead_ns(Time(3_000 * PS_PER_US)), 0);
        assert_eq!(
            lead.pass_until(Time(3_000 * PS_PER_US), Time(3_020 * PS_PER_US)),
            Time(3_000 * PS_PER_US)
        );
        assert_eq!(lead.lead_ns(Time(3_200 * PS_PER_US)), 40_000);
    }

    #[test]
    fn packets_are_passed_early_only_if_they_are_due_within_the_lead() {
        let mut lead = Lead::default();
        lead.record(Time(2_000 * PS_PER_US), Time(2_040 * PS_PER_US));
        let now = Time(9_000 * PS_PER_US);
        assert_eq!(lead.pass_until(now, Time(9_030 * PS_PER_US)), Time(9_030 * PS_PER_US));
        assert_eq!(lead.pass_until(now, Time(9_050 * PS_PER_US)), now);
        assert_eq!(lead.pass_until(now, Time(8_000 * PS_PER_US)), now);
        assert_eq!(lead.pass_until(now, Time(u64::MAX)), now);
    }

    #[test]
    fn an_outlier_changes_the_lead_by_one_step() {
        let mut lead = Lead::default();
        lead.record(Time(2_000 * PS_PER_US), Time(2_040 * PS_PER_US));
        lead.record(Time(4_000 * PS_PER_US), Time(11_000 * PS_PER_US));
        assert_eq!(lead.lead_ns(Time(20_000 * PS_PER_US)), 40_000 + STEP_NS);
    }

    #[test]
    fn the_first_sample_is_limited_to_the_maximum_lead() {
        let mut lead = Lead::default();
        lead.record(Time(2_000 * PS_PER_US), Time(9_000 * PS_PER_US));
        assert_eq!(lead.lead_ns(Time(20_000 * PS_PER_US)), MAX_LEAD_NS);
    }
}
