//! Named random streams. The random numbers of one entity do not depend on the number of other entities.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64;

/// Mixes the bits of a 64-bit word (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of random numbers for one purpose and one entity, derived from one seed.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// Creates the stream that (seed, purpose, entity) identify.
    pub fn new(seed: u64, purpose: &str, entity: u64) -> Stream {
        let mut state = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        for byte in purpose.bytes() {
            state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Stream(Pcg64::seed_from_u64(mix(state ^ mix(entity.wrapping_add(1)))))
    }

    /// Returns a uniformly distributed integer in `0..bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniformly distributed number in [0, 1), which is a multiple of 2⁻⁵³.
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws an exponentially distributed time with the given mean, using only comparisons (von Neumann 1951), so that
    /// results are bit-identical on all machines.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let mut whole = 0u64;
        loop {
            let first = self.below(u64::MAX);
            let (mut last, mut run) = (first, 1u32);
            loop {
                let next = self.below(u64::MAX);
                if next >= last {
                    break;
                }
                (last, run) = (next, run + 1);
            }
            if run % 2 == 1 {
                let fraction = (u128::from(first) * u128::from(mean)) >> 64;
                return mean.saturating_mul(whole).saturating_add(fraction as u64);
            }
            whole += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_entity() {
        let draw = |seed, purpose, entity| Stream::new(seed, purpose, entity).below(u64::MAX);
        let all = [
            draw(1, "start", 0),
            draw(2, "start", 0),
            draw(1, "phase", 0),
            draw(1, "start", 1),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(draw(7, "start", 3), draw(7, "start", 3));
    }

    #[test]
    fn below_is_less_than_its_bound_and_takes_all_values() {
        let mut stream = Stream::new(1, "test", 0);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[stream.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn exponential_times_have_the_exponential_distribution() {
        let mut stream = Stream::new(1, "test", 0);
        let drawn: Vec<f64> = (0..1_000_000)
            .map(|_| stream.exponential(1_000_000) as f64 / 1e6)
            .collect();
        let mean = drawn.iter().sum::<f64>() / 1e6;
        assert!((mean - 1.0).abs() < 0.003, "{mean}");
        for at in [0.1, 0.5, 1.0, 2.0, 4.0f64] {
            let above = drawn.iter().filter(|&&value| value > at).count() as f64 / 1e6;
            let expected = (-at).exp();
            let deviation = (expected * (1.0 - expected) / 1e6).sqrt();
            assert!((above - expected).abs() < 3.5 * deviation, "{at}: {above}");
        }
    }
}
