//! One-way delays of many packets in little room: their sum, extremes, quantiles to 1/256, and jitter.

use longpipe_events::memory::Growing;
use longpipe_events::Span;

/// Classes of delays to a power of two: a quantile is known to half of 1/256.
const CLASSES: u64 = 256;
const CLASS_BITS: u32 = CLASSES.trailing_zeros();

/// Delays [ps].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
    last: u64,
    /// J of RFC 3550 section 6.4.1.
    jitter: f64,
    /// How many fall into each class, up to the highest that was met.
    classes: Vec<u64>,
}

impl Delays {
    /// The next packet's.
    pub fn take(&mut self, delay: Span) {
        let ps = delay.0;
        if self.count == 0 {
            self.least = ps;
        } else {
            self.jitter += (ps.abs_diff(self.last) as f64 - self.jitter) / 16.0;
        }
        self.count += 1;
        self.sum += u128::from(ps);
        self.least = self.least.min(ps);
        self.most = self.most.max(ps);
        self.last = ps;
        let class = class(ps);
        while self.classes.len() <= class {
            self.classes.put(0);
        }
        self.classes[class] += 1;
    }

    /// Packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean [s]; nan of none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64 / 1e12
    }

    /// The shortest and the longest [s]; nan of none.
    pub fn extremes(&self) -> (f64, f64) {
        let seconds = |ps: u64| {
            if self.count == 0 {
                f64::NAN
            } else {
                Span(ps).as_seconds()
            }
        };
        (seconds(self.least), seconds(self.most))
    }

    /// How much the delay of one differs from that of the next, as receivers of RTP estimate it [s]; nan of fewer than two.
    pub fn jitter(&self) -> f64 {
        if self.count < 2 {
            f64::NAN
        } else {
            self.jitter / 1e12
        }
    }

    /// What this share of the packets took at most, to 1/512 [s]; nan of none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.classes.iter().position(|&count| {
            below += count;
            below >= rank
        });
        let (least, most) = self.extremes();
        found.map_or(f64::NAN, |class| (middle(class) / 1e12).clamp(least, most))
    }

    /// All of it as words.
    pub(crate) fn words(&self) -> [u64; 6] {
        [
            self.count,
            self.sum as u64,
            self.least,
            self.most,
            self.jitter.to_bits(),
            self.classes
                .iter()
                .fold(0, |all, &count| all.wrapping_mul(31).wrapping_add(count)),
        ]
    }
}

/// Delays below 512 ps have a class each; above, those of one power of two have 256.
fn class(ps: u64) -> usize {
    let octave = ps.max(1).ilog2().saturating_sub(CLASS_BITS);
    (u64::from(octave) * CLASSES + (ps >> octave)) as usize
}

/// The middle of a class [ps].
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
    fn a_class_is_where_its_middle_is_to_a_part_in_512() {
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

    /// RFC 3550 section 6.4.1: J = J + (|D| - J)/16, by hand.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut delays = Delays::default();
        [10, 26, 10]
            .into_iter()
            .for_each(|ms| delays.take(Span(ms * 1_000_000_000)));
        // 16/16 = 1 ms, then 1 + (16 - 1)/16 ms.
        assert!((delays.jitter() - 0.0019375).abs() < 1e-15, "{}", delays.jitter());
    }
}
