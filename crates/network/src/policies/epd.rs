//! Early Packet Discard: a frame is dropped if X > R·K (Romanow and Floyd 1995; frr-96 section 1).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Occupancy, Policy, Rule};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Early Packet Discard: drops a frame if X > R K (Romanow and Floyd 1995).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "EPD")]
pub struct EpdConfig {
    /// R [fraction of the buffer]; ATM Forum/98-0876.
    #[field(range = "(0, 1]", default = 0.8)]
    pub threshold: f64,
    /// Accept the last cell of a damaged frame, because it delimits the frame; ITU-T I.371.
    #[field(default = true)]
    pub keep_last: bool,
}

impl Parameters for EpdConfig {
    const FACTS: Facts = Facts::new(Decides::ByFrame).of_cells_only();

    /// The buffer is empty, and the policy drops only while the occupancy is above a positive fraction of the buffer.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn buffer_policy(&self, capacity: f64) -> Policy {
        Policy::discarding(Rule::Epd(Epd::new(capacity, self.threshold)), self.keep_last)
    }
}

/// Drops every new frame above a threshold.
#[derive(Clone, Debug)]
pub struct Epd {
    /// R·K [cell].
    threshold: f64,
}

impl Epd {
    /// Creates the policy for a buffer of `k` cells with threshold fraction `r`.
    pub fn new(k: f64, r: f64) -> Epd {
        Epd { threshold: r * k }
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
}
