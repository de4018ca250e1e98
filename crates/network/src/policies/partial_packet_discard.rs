//! Partial packet discard: after a lost cell, the later cells of the frame are dropped (Romanow and Floyd 1995).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{AfterLoss, Policy};
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
        let keep_last = self.keep_last;
        Policy::PartialPacketDiscard(PartialPacketDiscard { keep_last })
    }
}

/// Discards the rest of a damaged frame.
#[derive(Clone, Debug)]
pub struct PartialPacketDiscard {
    /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
    pub keep_last: bool,
}

impl PartialPacketDiscard {
    /// Returns how the rest of a damaged frame is treated: it is discarded.
    pub fn after_loss(&self) -> AfterLoss {
        AfterLoss::Discard {
            keep_last: self.keep_last,
        }
    }
}
