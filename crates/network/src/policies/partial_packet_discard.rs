//! Partial packet discard: after a lost cell, the later cells of the frame are dropped (Romanow and Floyd 1995).

use crate::policies::AfterLoss;

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
