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
}
