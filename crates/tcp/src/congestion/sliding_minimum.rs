//! Minimum of the samples of a period that ends now.

use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Samples that may still become the minimum of a sliding window.
#[derive(Clone, Debug, Default)]
pub struct SlidingMinimum {
    samples: VecDeque<(Time, i64)>,
}

impl SlidingMinimum {
    /// Adds a sample, and returns the minimum of the samples of the last `period`.
    pub fn put(&mut self, now: Time, sample: i64, period: Span) -> i64 {
        while self.samples.back().is_some_and(|&(_, later)| later >= sample) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, sample));
        while self.samples.front().is_some_and(|&(time, _)| now.since(time) > period) {
            self.samples.pop_front();
        }
        self.samples.front().map_or(sample, |&(_, least)| least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sliding_minimum_is_the_minimum_of_the_samples_in_the_period() {
        let (mut minimum, mut samples) = (SlidingMinimum::default(), vec![]);
        for number in 0..500u64 {
            let (now, sample) = (Time(7 * number), (number * number * 37 % 101) as i64);
            samples.push((now, sample));
            let within = samples.iter().filter(|(time, _)| now.since(*time) <= Span(100));
            let expected = within.map(|&(_, sample)| sample).min();
            assert_eq!(Some(minimum.put(now, sample, Span(100))), expected);
        }
    }
}
