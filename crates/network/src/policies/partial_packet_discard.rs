//! Partial packet discard: after a lost cell, the later cells of the frame are dropped (Romanow and Floyd 1995).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Policy, Rule};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Drops the rest of a frame that lost a cell (Romanow and Floyd 1995).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "partial packet discard")]
pub struct PartialPacketDiscardConfig {
    /// Accept the last cell of a damaged frame, because it delimits the frame; ITU-T I.371.
    #[field(default = true)]
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
