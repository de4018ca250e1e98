//! Independent bit errors of a link. A single wrong bit corrupts the packet or cell.
//!
//! A corrupted IP packet is discarded at the end of the wire, after it has used the transmitter. A corrupted cell is
//! forwarded, because switches check only headers; the receiving host discards its frame at reassembly.

use super::loss::{LossConfig, Probability};
use longpipe_events::Stream;

/// Decides, in order, whether each packet or each frame of one circuit is corrupted.
#[derive(Clone, Debug)]
pub struct BitErrors {
    rate: f64,
    stream: Stream,
    /// Length, in bits, for which `probability` was computed.
    bits: u32,
    /// Probability that a packet or frame of this length is corrupted.
    probability: Probability,
    /// Number of corrupted packets or frames.
    pub corrupted: u64,
    /// Total number of bits in corrupted packets or frames.
    pub corrupted_bits: u64,
}

impl BitErrors {
    /// Creates the bit errors of a link, with a separate random stream for each `entity`; None without bit errors.
    pub fn new(config: &LossConfig, seed: u64, entity: u64) -> Option<Box<BitErrors>> {
        let LossConfig::BitErrors { rate } = *config else {
            return None;
        };
        Some(Box::new(BitErrors {
            rate,
            stream: Stream::new(seed, "bit errors", entity),
            bits: 0,
            probability: Probability::new(0.0),
            corrupted: 0,
            corrupted_bits: 0,
        }))
    }

    /// Returns whether a packet or frame of `bits` bits is corrupted.
    pub fn corrupt(&mut self, bits: u32) -> bool {
        if self.bits != bits {
            (self.bits, self.probability) = (bits, Probability::new(any_of(bits, self.rate)));
        }
        let corrupted = self.probability.draw(&mut self.stream);
        self.corrupted += u64::from(corrupted);
        self.corrupted_bits += u64::from(corrupted) * u64::from(bits);
        corrupted
    }
}

/// Returns 1 − (1 − p)ⁿ, computed by doubling; this needs no logarithm from a library and is accurate for small p.
fn any_of(bits: u32, p: f64) -> f64 {
    let either = |first: f64, second: f64| first + second - first * second;
    let (mut any, mut power, mut left) = (0.0, p, bits);
    while left > 0 {
        if left & 1 == 1 {
            any = either(any, power);
        }
        power = either(power, power);
        left >>= 1;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bit_error_corrupts_a_packet() {
        for (bits, p) in [(1, 1e-9), (12_000, 1e-12), (12_000, 1e-5), (524_280, 1e-7), (424, 0.5)] {
            let closed = -f64::exp_m1(f64::from(bits) * f64::ln_1p(-p));
            let found = any_of(bits, p);
            assert!(
                (found / closed - 1.0).abs() < 1e-12,
                "{bits} bits at {p}: {found}, not {closed}"
            );
        }
        assert_eq!(
            (any_of(12_000, 0.0), any_of(1, 1.0), any_of(12_000, 1.0)),
            (0.0, 1.0, 1.0)
        );
    }
}
