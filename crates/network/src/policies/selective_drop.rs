//! Selective Drop: a frame is dropped if X > R·K and X_i·N_a/X > Z (ATM Forum/96-1269; frr-96 section 1).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Occupancy, Policy, Rule};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Drops a frame if X > R K and X_i N_a / X > Z (ATM Forum/96-1269).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "selective drop")]
pub struct SelectiveDropConfig {
    /// R [fraction of the buffer]; ATM Forum/98-0876.
    #[field(range = "(0, 1]", default = 0.8)]
    pub threshold: f64,
    /// Z [load ratio]; ATM Forum/98-0876.
    #[field(range = "(0, 100]", default = 0.8)]
    pub z: f64,
    /// Accept the last cell of a damaged frame, because it delimits the frame; ITU-T I.371.
    #[field(default = true)]
    pub keep_last: bool,
}

impl Parameters for SelectiveDropConfig {
    const FACTS: Facts = Facts::new(Decides::ByOccupancy).of_cells_too();

    /// The buffer is empty, and the policy drops only while the occupancy is above a positive fraction of the buffer.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn buffer_policy(&self, capacity: f64) -> Policy {
        Policy::discarding(
            Rule::SelectiveDrop(SelectiveDrop::new(capacity, self.threshold, self.z)),
            self.keep_last,
        )
    }
}

/// Drops new frames of VCs that hold more than their share.
#[derive(Clone, Debug)]
pub struct SelectiveDrop {
    /// R·K [cell].
    threshold: f64,
    /// Z: load ratio above which a VC's frames are dropped.
    z: f64,
}

impl SelectiveDrop {
    /// Creates the policy for a buffer of `k` cells with threshold fraction `r`.
    pub fn new(k: f64, r: f64, z: f64) -> SelectiveDrop {
        SelectiveDrop { threshold: r * k, z }
    }

    /// Returns whether X > R·K and X_i·N_a > Z·X.
    pub fn refuses(&self, occupancy: Occupancy) -> bool {
        let x = occupancy.held as f64;
        x > self.threshold && (occupancy.vc_held * occupancy.active_vcs) as f64 > self.z * x
    }

    /// Returns `Some(false)` if no frame is dropped at any X up to `max`, because `max` does not exceed the
    /// threshold; otherwise None.
    pub fn decides(&self, max: u64) -> Option<bool> {
        (max as f64 <= self.threshold).then_some(false)
    }
}
