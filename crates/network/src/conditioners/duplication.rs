//! Duplication: packets arrive twice at a port, as with the clones of Linux's `netem duplicate`.
//!
//! The clone precedes the original, passes the injected loss, policers, queue and wire independently of it, and is not
//! duplicated again.

use super::correlated::Correlated;
use super::{ConditionerConfig, Facts, Parameters};
use crate::bounds::probability_problem;
use longpipe_events::Stream;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Duplication (Linux: `netem duplicate`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DuplicationConfig {
    /// Probability that a packet arrives twice.
    pub probability: f64,
    /// Correlation: weight of the previous draw.
    pub correlation: f64,
}

impl Parameters for DuplicationConfig {
    const FACTS: Facts = Facts {
        draws: true,
        disorders: true,
        ..Facts::NONE
    };

    fn problem(&self) -> Option<Problem> {
        probability_problem("probability", self.probability)
            .or_else(|| probability_problem("correlation", self.correlation))
    }
}

/// Random duplication of packets.
#[derive(Clone, Debug)]
pub(crate) struct Duplication {
    draws: Correlated,
    threshold: u32,
}

impl Duplication {
    /// Creates the duplication among a link's conditioners.
    pub fn among(configs: &[ConditionerConfig], seed: u64, link: u64) -> Option<Box<Duplication>> {
        configs.iter().find_map(|config| match config {
            ConditionerConfig::Duplication(config) => Some(Box::new(Duplication {
                draws: Correlated::new(config.correlation, Stream::new(seed, "duplication", link)),
                threshold: Correlated::threshold(config.probability),
            })),
            _ => None,
        })
    }

    /// Returns whether the next packet arrives twice.
    pub fn duplicates(&mut self) -> bool {
        self.threshold > 0 && self.threshold >= self.draws.draw()
    }
}
