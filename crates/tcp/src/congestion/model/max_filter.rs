//! Windowed maximum filter over rounds (RTTs, cycles or any other count).

use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Maximum sample of the latest rounds. An expired sample is removed when the next sample is added.
#[derive(Clone, Debug, Default)]
pub struct MaxFilter {
    /// Pairs (round, sample), in order of decreasing samples.
    samples: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Returns the maximum, or 0 before the first sample was added.
    #[inline]
    pub fn get(&self) -> f64 {
        self.samples.front().map_or(0.0, |&(_, sample)| sample)
    }

    /// Adds a sample of `round`, and removes samples whose round is more than `window` rounds earlier.
    #[inline]
    pub fn add(&mut self, round: u64, sample: f64, window: u64) {
        while self.samples.back().is_some_and(|&(_, smaller)| smaller <= sample) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|&(old, _)| old + window < round) {
            self.samples.pop_front();
        }
        // Only the largest sample of a round is kept.
        if self.samples.back().is_none_or(|&(before, _)| before < round) {
            self.samples.put((round, sample));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_covers_eleven_rounds() {
        let mut peak = MaxFilter::default();
        let peaks: Vec<f64> = [9.0, 5.0, 7.0, 6.0]
            .into_iter()
            .chain(std::iter::repeat_n(1.0, 12))
            .zip(0..)
            .map(|(sample, round)| {
                peak.add(round, sample, 10);
                peak.get()
            })
            .collect();
        assert_eq!(peaks[..11], [9.0; 11]);
        assert_eq!(peaks[11..], [7.0, 7.0, 6.0, 1.0, 1.0]);
    }

    #[test]
    fn the_largest_sample_of_a_round_is_kept() {
        let mut peak = MaxFilter::default();
        [3.0, 8.0, 2.0].into_iter().for_each(|sample| peak.add(4, sample, 10));
        assert_eq!(peak.get(), 8.0);
        peak.add(15, 1.0, 10);
        assert_eq!(peak.get(), 1.0);
    }
}
