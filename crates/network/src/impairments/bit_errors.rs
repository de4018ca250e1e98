//! Bit errors: each bit of a link is wrong by itself, and one that is spoils what it is part of.
//!
//! An IP packet is spoilt at the end of its wire, after it has used the line, and goes no further. A cell goes on, since
//! switches check headers alone; its frame is found out where it is put together.

use super::loss::Probability;
use crate::packets::Circuit;
use crate::scenario::{LinkConfig, LossConfig, Scenario};
use longpipe_events::Stream;

/// Decides packet by packet, or frame by frame of one circuit, in order.
#[derive(Clone, Debug)]
pub struct BitErrors {
    rate: f64,
    stream: Stream,
    /// Length of the last one [bit].
    bits: u32,
    /// Of such a one being spoilt.
    probability: Probability,
    /// Packets or frames spoilt.
    pub spoilt: u64,
    /// Their bits.
    pub spoilt_bits: u64,
}

impl BitErrors {
    /// Those of a link, with random numbers of their own for each `entity`; none costs nothing.
    pub fn new(config: &LossConfig, seed: u64, entity: u64) -> Option<Box<BitErrors>> {
        let LossConfig::BitErrors { rate } = *config else {
            return None;
        };
        Some(Box::new(BitErrors {
            rate,
            stream: Stream::new(seed, "bit errors", entity),
            bits: 0,
            probability: Probability::new(0.0),
            spoilt: 0,
            spoilt_bits: 0,
        }))
    }

    /// So many bits have come over the wire; true if one of them is wrong.
    pub fn spoil(&mut self, bits: u32) -> bool {
        if self.bits != bits {
            (self.bits, self.probability) = (bits, Probability::new(any_of(bits, self.rate)));
        }
        let spoilt = self.probability.draw(&mut self.stream);
        self.spoilt += u64::from(spoilt);
        self.spoilt_bits += u64::from(spoilt) * u64::from(bits);
        spoilt
    }
}

/// 1 − (1 − p)ⁿ by doubling: no library's logarithm, and exact for small p.
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

/// Bit errors of the links of each circuit of cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameErrors {
    /// By VC, in the order of its way; empty where no link has any.
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

    /// Whether any link has bit errors.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.by_vc.is_empty()
    }

    /// A frame of a VC has come whole; the link that corrupted one of its bits, if any did.
    #[inline(never)]
    pub fn spoil(&mut self, vc: Circuit, bits: u32) -> Option<usize> {
        let mut links = self.by_vc[vc.index()].iter_mut();
        links.find_map(|(link, errors)| errors.spoil(bits).then_some(*link))
    }

    /// Frames that a link has spoilt.
    pub fn spoilt_by(&self, link: usize) -> u64 {
        let of_link = |&(on, ref errors): &(usize, Box<BitErrors>)| if on == link { errors.spoilt } else { 0 };
        self.by_vc.iter().flatten().map(of_link).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_spoilt_by_any_of_its_bits() {
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
