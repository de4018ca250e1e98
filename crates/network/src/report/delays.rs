//! Statistics of one-way delays in constant memory: mean, extremes, quantiles with a relative error of 1/512, and
//! jitter.

use longpipe_events::memory::Growing;
use longpipe_events::Span;

/// Number of histogram classes per power of two.
const CLASSES: u64 = 256;
const CLASS_BITS: u32 = CLASSES.trailing_zeros();

/// Statistics of delays; values are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    last: u64,
    /// Jitter J of RFC 3550 section 6.4.1 [ps].
    jitter: f64,
    /// Number of delays in each class, up to the highest class that occurred.
    classes: Vec<u64>,
}

impl Delays {
    /// Records the delay of the next packet.
    pub fn take(&mut self, delay: Span) {
        let ps = delay.0;
        if self.count == 0 {
            self.min = ps;
        } else {
            self.jitter += (ps.abs_diff(self.last) as f64 - self.jitter) / 16.0;
        }
        self.count += 1;
        self.sum += u128::from(ps);
        self.min = self.min.min(ps);
        self.max = self.max.max(ps);
        self.last = ps;
        let class = class(ps);
        while self.classes.len() <= class {
            self.classes.put(0);
        }
        self.classes[class] += 1;
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean [s]; NaN if there are no packets.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64 / 1e12
    }

    /// Returns the smallest and the largest delay [s]; NaN if there are no packets.
    pub fn extremes(&self) -> (f64, f64) {
        let seconds = |ps: u64| {
            if self.count == 0 {
                f64::NAN
            } else {
                Span(ps).as_seconds()
            }
        };
        (seconds(self.min), seconds(self.max))
    }

    /// Returns the jitter [s] as RTP receivers estimate it: the smoothed difference between consecutive delays; NaN
    /// with fewer than two packets.
    pub fn jitter(&self) -> f64 {
        if self.count < 2 {
            f64::NAN
        } else {
            self.jitter / 1e12
        }
    }

    /// Returns the delay [s] that the given share of the packets does not exceed, with a relative error of 1/512; NaN
    /// if there are no packets.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let quantile_class = self.classes.iter().position(|&count| {
            below += count;
            below >= rank
        });
        let (min, max) = self.extremes();
        quantile_class.map_or(f64::NAN, |class| (middle(class) / 1e12).clamp(min, max))
    }

    /// Returns the statistics of the packets after those in `earlier`, which are the statistics of a shorter run of the
    /// same scenario. The extremes and the jitter still cover all packets.
    #[must_use]
    pub fn since(&self, earlier: &Delays) -> Delays {
        let mut later = self.clone();
        later.count -= earlier.count;
        later.sum -= earlier.sum;
        for (class, before) in later.classes.iter_mut().zip(&earlier.classes) {
            *class -= before;
        }
        later
    }

    /// Returns the statistics as words, for the state hash.
    pub(crate) fn words(&self) -> [u64; 6] {
        [
            self.count,
            self.sum as u64,
            self.min,
            self.max,
            self.jitter.to_bits(),
            self.classes
                .iter()
                .fold(0, |all, &count| all.wrapping_mul(31).wrapping_add(count)),
        ]
    }
}

/// Returns the class of a delay. Each delay below 512 ps has its own class; above that, each power of two is divided
/// into 256 classes.
fn class(ps: u64) -> usize {
    let octave = ps.max(1).ilog2().saturating_sub(CLASS_BITS);
    (u64::from(octave) * CLASSES + (ps >> octave)) as usize
}

/// Returns the midpoint [ps] of a class.
fn middle(class: usize) -> f64 {
    let class = class as u64;
    if class < 2 * CLASSES {
        return class as f64;
    }
    let octave = class / CLASSES - 1;
    let begin = (class - octave * CLASSES) << octave;
    begin as f64 + 0.5 * ((1u64 << octave) - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_class_is_within_a_512th_of_its_delays() {
        for ps in (0..64).flat_map(|bits| [1u64 << bits, (1 << bits) + 1, (1u64 << bits) / 3 * 5]) {
            let near = middle(class(ps));
            assert!((near - ps as f64).abs() <= ps as f64 / 512.0, "{ps}: {near}");
        }
        assert!((0..100_000u64).all(|ps| class(ps) <= class(ps + 1)));
    }

    #[test]
    fn quantiles_and_mean_of_known_delays() {
        let mut delays = Delays::default();
        (1..=1000u64).for_each(|ms| delays.take(Span(ms * 1_000_000_000)));
        assert!((delays.mean() - 0.5005).abs() < 1e-12);
        for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99), (1.0, 1.0)] {
            let found = delays.quantile(share);
            assert!((found / expected - 1.0).abs() < 1.0 / 512.0, "{share}: {found}");
        }
        assert_eq!(delays.extremes(), (0.001, 1.0));
    }

    /// The quantiles of the delays from 501 ms to 1000 ms remain after the first 500 of the delays from 1 ms to 1000 ms
    /// are removed.
    #[test]
    fn statistics_without_the_first_packets_cover_the_remaining_ones() {
        let (mut all, mut earlier, mut others) = (Delays::default(), Delays::default(), Delays::default());
        for ms in 1..=1000u64 {
            let delay = Span(ms * 1_000_000_000);
            all.take(delay);
            let part = if ms <= 500 { &mut earlier } else { &mut others };
            part.take(delay);
        }
        let later = all.since(&earlier);
        assert_eq!((later.count(), later.mean()), (500, others.mean()));
        for share in [0.01, 0.5, 0.95, 1.0] {
            assert_eq!(later.quantile(share), others.quantile(share));
        }
        assert!((later.quantile(0.5) / 0.75 - 1.0).abs() < 1.0 / 512.0);
        assert!(all.since(&all).quantile(0.5).is_nan());
        assert_eq!(all.since(&Delays::default()), all);
    }

    /// Compares the jitter with a calculation by hand according to RFC 3550 section 6.4.1: J = J + (|D| - J)/16.
    #[test]
    fn jitter_follows_rfc_3550() {
        let mut delays = Delays::default();
        [10, 26, 10]
            .into_iter()
            .for_each(|ms| delays.take(Span(ms * 1_000_000_000)));
        // The jitter is first 16/16 = 1 ms, and then 1 + (16 - 1)/16 ms.
        assert!((delays.jitter() - 0.0019375).abs() < 1e-15, "{}", delays.jitter());
    }
}
