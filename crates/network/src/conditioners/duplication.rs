//! Duplication: packets arrive twice at a port, as with the clones of Linux's `netem duplicate`.
//!
//! The clone precedes the original, passes the injected loss, policers, queue and wire independently of it, and is not
//! duplicated again.

use super::correlated::Correlated;
use super::{ConditionerConfig, Facts, Parameters};
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Packets that arrive twice at the port (Linux: `netem duplicate`); the copy is not duplicated again.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct DuplicationConfig {
    /// A probability that a packet arrives twice, as in 0.01.
    #[field(range = "[0, 1]")]
    pub probability: f64,
    /// Weight of the previous draw in each draw.
    #[field(range = "[0, 1]", default = 0.0)]
    pub correlation: f64,
}

impl Parameters for DuplicationConfig {
    const FACTS: Facts = Facts {
        draws: true,
        disorders: true,
        beside_access: true,
        ..Facts::NONE
    };
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
