//! Frames that bit errors corrupt: cells with bit errors are forwarded, and their frames are discarded at reassembly.

use crate::impairments::bit_errors::BitErrors;
use crate::packets::Circuit;
use crate::scenario::{LinkConfig, LossConfig, Scenario};

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
