//! Partial packet discard: after a lost cell the frame's later cells are refused (Romanow and Floyd 1995).

use crate::policies::AfterLoss;

/// Discards the rest of a damaged frame.
#[derive(Clone, Debug)]
pub struct PartialPacketDiscard {
    /// Let the last cell in, so that it delimits.
    pub keep_last: bool,
}

impl PartialPacketDiscard {
    /// The rest of the frame is discarded.
    pub fn after_loss(&self) -> AfterLoss {
        AfterLoss::Discard {
            keep_last: self.keep_last,
        }
    }
}
