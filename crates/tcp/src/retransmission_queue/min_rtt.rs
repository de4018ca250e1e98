//! Minimum RTT of the last 300 s (Linux: `tcp_update_rtt_min`, `minmax_running_min` with `tcp_min_rtt_wlen`).

use longpipe_events::{Span, Time};

/// Lifetime of a sample (sysctl `tcp_min_rtt_wlen`).
const WINDOW: Span = Span::seconds(300);

/// The minimum sample and its two successors, each of which is later and larger than the previous one (Kathleen
/// Nichols' algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRttFilter(Option<[(Time, Span); 3]>);

impl MinRttFilter {
    /// Returns the minimum; None before the first sample.
    #[inline]
    pub fn get(&self) -> Option<Span> {
        self.0.map(|[first, ..]| first.1)
    }

    /// Adds an RTT sample.
    #[inline]
    pub fn take(&mut self, now: Time, rtt: Span) {
        // Shortcut: a sample larger than all three changes nothing unless the minimum has become old.
        let changes_nothing =
            |[first, _, third]: &[(Time, Span); 3]| rtt > third.1 && now - first.0 <= Span(WINDOW.0 / 4);
        if !self.0.as_ref().is_some_and(changes_nothing) {
            self.update(now, rtt);
        }
    }

    #[inline(never)]
    fn update(&mut self, now: Time, rtt: Span) {
        let sample = (now, rtt);
        match &mut self.0 {
            Some([first, second, third]) if rtt > first.1 && now - third.0 <= WINDOW => {
                if rtt <= second.1 {
                    (*second, *third) = (sample, sample);
                } else if rtt <= third.1 {
                    *third = sample;
                }
                let age = now - first.0;
                if age > WINDOW {
                    (*first, *second, *third) = (*second, *third, sample);
                    if now - first.0 > WINDOW {
                        (*first, *second, *third) = (*second, *third, sample);
                    }
                } else if second.0 == first.0 && age.0 > WINDOW.0 / 4 {
                    (*second, *third) = (sample, sample);
                } else if third.0 == second.0 && age.0 > WINDOW.0 / 2 {
                    *third = sample;
                }
            }
            _ => self.0 = Some([sample; 3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// minmax_running_min of Linux 6.1: the RTT of a path is 20 ms; after 10 s it is 50 ms, and after 200 s it is 40
    /// ms.
    #[test]
    fn linux_a_minimum_expires_after_300_seconds() {
        let mut min = MinRttFilter::default();
        assert_eq!(min.get(), None);
        let mut seen = vec![];
        for second in 0..700 {
            let rtt = Span::millis(match second {
                0..10 => 20,
                10..200 => 50,
                _ => 40,
            });
            min.take(Time(Span::seconds(second).0), rtt);
            seen.push(min.get().unwrap().0 / Span::millis(1).0);
        }
        // The last sample of 20 ms was taken at 9 s.
        assert_eq!(seen[309], 20);
        assert_eq!(seen[310..], [40; 390]);
    }

    proptest! {
        #[test]
        fn skipped_min_rtt_updates_do_not_change_the_minimum(samples in prop::collection::vec((0u64..90, 1u64..9), 1..40)) {
            let (mut short, mut full, mut now) = (MinRttFilter::default(), MinRttFilter::default(), Time::ZERO);
            for (seconds, rtt) in samples {
                now += Span::seconds(seconds);
                short.take(now, Span(rtt));
                full.update(now, Span(rtt));
                prop_assert_eq!(short.0, full.0);
            }
        }
    }
}
