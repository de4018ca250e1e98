//! Fair Buffer Allocation: Selective Drop whose allowed load ratio falls as the buffer fills,
//! X_i·N_a/X > Z·(K − R·K)/(X − R·K) (Heinanen and Kilkki; frr-96 section 1).

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Occupancy, Policy, Rule};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Fair Buffer Allocation: drops a frame if X > R K and X_i N_a / X > Z (K - R K) / (X - R K).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "FBA")]
pub struct FbaConfig {
    /// R [fraction of the buffer]; ATM Forum/96-1761 section 1.
    #[field(range = "(0, 1]", default = 0.9)]
    pub threshold: f64,
    /// Z [scale of the allowed load ratio]; ATM Forum/96-1761 section 1.
    #[field(range = "(0, 100]", default = 0.8)]
    pub z: f64,
    /// Accept the last cell of a damaged frame, because it delimits the frame; ITU-T I.371.
    #[field(default = true)]
    pub keep_last: bool,
}

impl Parameters for FbaConfig {
    const FACTS: Facts = Facts::new(Decides::ByOccupancy).of_cells_too();

    /// The buffer is empty, and the policy drops only while the occupancy is above a positive fraction of the buffer.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn buffer_policy(&self, capacity: f64) -> Policy {
        Policy::discarding(Rule::Fba(Fba::new(capacity, self.threshold, self.z)), self.keep_last)
    }
}

/// Drops new frames of VCs whose share of the buffer exceeds a limit that decreases as the buffer fills.
#[derive(Clone, Debug)]
pub struct Fba {
    /// R·K [cell].
    threshold: f64,
    /// Z·(K − R·K) [cell].
    scale: f64,
}

impl Fba {
    /// Creates the policy for a buffer of `k` cells with threshold fraction `r`.
    pub fn new(k: f64, r: f64, z: f64) -> Fba {
        let threshold = r * k;
        Fba {
            threshold,
            scale: z * (k - threshold),
        }
    }

    /// Returns whether X > R·K and X_i·N_a·(X − R·K) > Z·(K − R·K)·X.
    pub fn refuses(&self, occupancy: Occupancy) -> bool {
        let x = occupancy.held as f64;
        let load = (occupancy.vc_held * occupancy.active_vcs) as f64;
        x > self.threshold && load * (x - self.threshold) > self.scale * x
    }

    /// Returns `Some(false)` if no frame is dropped at any X up to `max`, because `max` does not exceed the
    /// threshold; otherwise None.
    pub fn decides(&self, max: u64) -> Option<bool> {
        (max as f64 <= self.threshold).then_some(false)
    }
}
