//! Partial packet discard: after a lost cell, the later cells of the frame are dropped (Romanow and Floyd 1995).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Policy, Rule};
use serde::{Deserialize, Serialize};

/// Parameters of partial packet discard.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PartialPacketDiscardConfig {
    /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
    pub keep_last: bool,
}

impl Parameters for PartialPacketDiscardConfig {
    const FACTS: Facts = Facts::new(Decides::ByFrame).of_cells_only();

    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn buffer_policy(&self, _capacity: f64) -> Policy {
        Policy::discarding(Rule::Nothing, self.keep_last)
    }
}
