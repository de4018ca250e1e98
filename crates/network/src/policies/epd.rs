//! Early Packet Discard: a frame is dropped if X > R·K (Romanow and Floyd 1995; frr-96 section 1).

use crate::policies::{AfterLoss, Occupancy};

/// Drops every new frame above a threshold.
#[derive(Clone, Debug)]
pub struct Epd {
    /// R·K [cell].
    threshold: f64,
    keep_last: bool,
}

impl Epd {
    /// Creates the policy for a buffer of `k` cells with threshold fraction `r`.
    pub fn new(k: f64, r: f64, keep_last: bool) -> Epd {
        Epd {
            threshold: r * k,
            keep_last,
        }
    }

    /// Returns whether X > R·K.
    pub fn refuses(&self, occupancy: Occupancy) -> bool {
        occupancy.held as f64 > self.threshold
    }

    /// Returns the value of `refuses` if it is the same for all queue lengths from `min` to `max`; otherwise None.
    pub fn decides(&self, min: u64, max: u64) -> Option<bool> {
        let above = |held: u64| held as f64 > self.threshold;
        (above(min) == above(max)).then(|| above(max))
    }

    /// Returns how the rest of a damaged frame is treated: it is discarded.
    pub fn after_loss(&self) -> AfterLoss {
        AfterLoss::Discard {
            keep_last: self.keep_last,
        }
    }
}
