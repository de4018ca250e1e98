//! Independent bit errors of a link. A single wrong bit corrupts the packet or cell.
//!
//! A corrupted IP packet is discarded at the end of the wire, after it has used the transmitter. A corrupted cell is
//! forwarded, because switches check only headers; the receiving host discards its frame at reassembly.

use super::loss::Probability;
use crate::packets::Circuit;
use crate::scenario::{LinkConfig, LossConfig, Scenario};
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
    let either = |one: f64, other: f64| one + other - one * other;
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

/// Bit errors on the links of each cell circuit.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameErrors {
    /// For each VC, its links with bit errors, in order. Empty if no link has bit errors.
    by_vc: Vec<Vec<(usize, Box<BitErrors>)>>,
}

impl FrameErrors {
    pub fn new(scenario: &Scenario, seed: u64) -> FrameErrors {
        let erring = |link: &LinkConfig| matches!(link.loss, LossConfig::BitErrors { .. });
        if !scenario.links.iter().any(erring) {
            return FrameErrors::default();
        }
        let ways = scenario.flows.iter().flat_map(|flow| [&flow.route, &flow.return_route]);
        let of_way = |(vc, way): (usize, &Vec<usize>)| {
            let on_link = |(step, &link): (usize, &usize)| {
                let entity = (vc as u64) << 32 | step as u64;
                Some((link, BitErrors::new(&scenario.links[link].loss, seed, entity)?))
            };
            way.iter().enumerate().filter_map(on_link).collect()
        };
        FrameErrors {
            by_vc: ways.enumerate().map(of_way).collect(),
        }
    }

    /// Returns whether any link has bit errors.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.by_vc.is_empty()
    }

    /// Returns the link that corrupted a complete frame of a VC, if any.
    #[inline(never)]
    pub fn corrupt(&mut self, vc: Circuit, bits: u32) -> Option<usize> {
        let mut links = self.by_vc[vc.index()].iter_mut();
        links.find_map(|(link, errors)| errors.corrupt(bits).then_some(*link))
    }

    /// Returns the number of frames that a link corrupted.
    pub fn corrupted_by(&self, link: usize) -> u64 {
        let of_link = |&(on, ref errors): &(usize, Box<BitErrors>)| if on == link { errors.corrupted } else { 0 };
        self.by_vc.iter().flatten().map(of_link).sum()
    }
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
