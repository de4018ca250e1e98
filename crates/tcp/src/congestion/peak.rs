//! The most of the latest round trips, or of the latest of anything that is counted.

use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// The largest sample of a window of rounds; what grew too old leaves when the next sample comes.
#[derive(Clone, Debug, Default)]
pub struct Peak {
    /// Round and sample, each smaller than those before it.
    samples: VecDeque<(u64, f64)>,
}

impl Peak {
    /// The largest; 0 before the first.
    #[inline]
    pub fn get(&self) -> f64 {
        self.samples.front().map_or(0.0, |&(_, sample)| sample)
    }

    /// A sample of a round, where so many rounds are looked at beside that one.
    #[inline]
    pub fn add(&mut self, round: u64, sample: f64, window: u64) {
        while self.samples.back().is_some_and(|&(_, smaller)| smaller <= sample) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|&(old, _)| old + window < round) {
            self.samples.pop_front();
        }
        // Of those of one round the largest is enough.
        if self.samples.back().is_none_or(|&(before, _)| before < round) {
            self.samples.put((round, sample));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_eleven_rounds_is_the_peak() {
        let mut peak = Peak::default();
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
    fn of_a_round_the_largest_stays() {
        let mut peak = Peak::default();
        [3.0, 8.0, 2.0].into_iter().for_each(|sample| peak.add(4, sample, 10));
        assert_eq!(peak.get(), 8.0);
        peak.add(15, 1.0, 10);
        assert_eq!(peak.get(), 1.0);
    }
}
