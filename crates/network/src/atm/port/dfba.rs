//! Differential Fair Buffer Allocation at a port that carries cells.

use crate::policies::dfba::Dfba;
use crate::policies::Occupancy;
use crate::scenario::{LinkConfig, PolicyConfig};
use longpipe_events::Stream;

/// DFBA with the weights of a port's VCs.
#[derive(Clone, Debug)]
pub struct DfbaOfFrames {
    dfba: Dfba,
    weights: Vec<f64>,
    stream: Stream,
}

impl DfbaOfFrames {
    /// Creates DFBA for a link's port; None if the port has another policy.
    pub fn new(link: &LinkConfig, seed: u64, index: u64, weights: &[u128]) -> Option<Box<DfbaOfFrames>> {
        let PolicyConfig::Dfba(config) = &link.policy else {
            return None;
        };
        let capacity = link.buffer.map_or(f64::INFINITY, |buffer| buffer.limit as f64);
        Some(Box::new(DfbaOfFrames {
            dfba: Dfba::new(config, capacity),
            weights: weights.iter().map(|&weight| weight as f64).collect(),
            stream: Stream::new(seed, "policy", index),
        }))
    }

    /// Returns whether a frame of the port's VC `local` is rejected; `holds` returns whether a VC has cells in the buffer.
    pub fn refuses(&mut self, local: usize, tagged: bool, occupancy: Occupancy, holds: impl Fn(usize) -> bool) -> bool {
        if self.dfba.accepts_all(occupancy) {
            return false;
        }
        let weights = self.weights.iter().enumerate();
        let active: f64 = weights
            .filter(|&(vc, _)| vc == local || holds(vc))
            .map(|(_, weight)| weight)
            .sum();
        let probability = self.dfba.probability(occupancy, tagged, self.weights[local] / active);
        probability > 0.0 && self.stream.fraction() < probability
    }
}
