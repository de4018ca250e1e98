//! Conditioners of a link.

use super::LinkConfig;
pub use crate::conditioners::aggregation::AggregationConfig;
pub use crate::conditioners::duplication::DuplicationConfig;
pub use crate::conditioners::jitter::{JitterConfig, ReorderingConfig};
pub use crate::conditioners::policer::{Exceed, PolicerConfig};
pub use crate::conditioners::tbf::TbfConfig;
pub use crate::conditioners::{problems_of_all, ConditionerConfig};

impl LinkConfig {
    /// Returns the jitter of the wire, if there is any.
    pub(crate) fn jitter(&self) -> Option<&JitterConfig> {
        self.conditioners.iter().find_map(|config| match config {
            ConditionerConfig::Jitter(jitter) => Some(jitter),
            _ => None,
        })
    }

    /// Returns whether the transmitter sends packets in batches.
    pub(crate) fn aggregates(&self) -> bool {
        let aggregation = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Aggregation(_));
        self.conditioners.iter().any(aggregation)
    }

    /// Returns whether the transmitter's rate or the delay on the wire varies, over time or from packet to packet.
    pub(crate) fn varies(&self) -> bool {
        self.motion.is_some() || self.jitter().is_some() || self.aggregates()
    }

    /// Returns whether packets may arrive twice.
    pub(crate) fn duplicates(&self) -> bool {
        let duplication = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Duplication(_));
        self.conditioners.iter().any(duplication)
    }

    /// Returns whether the link has conditioners or a shaping queue discipline. If it does, departure times do not
    /// depend only on the policy and the transmitter.
    pub(crate) fn is_conditioned(&self) -> bool {
        !self.conditioners.is_empty() || self.policy.shapes()
    }

    /// Returns whether a shaper precedes the transmitter.
    pub(crate) fn has_shaper(&self) -> bool {
        let shaper = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Tbf(_));
        self.conditioners.iter().any(shaper)
    }
}
