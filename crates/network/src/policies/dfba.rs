//! Differential Fair Buffer Allocation (ATM Forum/98-0405; Goyal, Jain, Fahmy and Vandalore 1998): a FIFO queue that
//! drops tagged frames first, and other frames at random if their VC exceeds its share of the buffer.

use super::parameters::{Decides, Facts, Parameters};
use crate::policies::{Occupancy, Policy, Rule};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Differential Fair Buffer Allocation: drops tagged frames, and at random those of VCs above their shares.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DFBA")]
#[described(rule("high", "low >= high", "{high}; needs more than low, {low}"))]
pub struct DfbaConfig {
    /// L, above which tagged frames are dropped [fraction of the buffer].
    #[field(range = "(0, 1)", default = 0.5)]
    pub low: f64,
    /// H, above which all frames are dropped [fraction of the buffer].
    #[field(range = "(0, 1]", default = 0.9)]
    pub high: f64,
    /// Weight alpha of the VC's excess in the drop probability; that of the queue's excess is 1 - alpha.
    #[field(range = "[0, 1]", default = 0.5)]
    pub alpha: f64,
    /// Z [scale of the drop probability].
    #[field(range = "(0, 1]", default = 1.0)]
    pub z: f64,
    /// Accept the last cell of a damaged frame, because it delimits the frame; ITU-T I.371.
    #[field(default = true)]
    pub keep_last: bool,
}

impl Parameters for DfbaConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).of_cells_only().random();

    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn buffer_policy(&self, _capacity: f64) -> Policy {
        Policy::discarding(Rule::Nothing, self.keep_last)
    }
}

/// Drop probabilities of new frames.
#[derive(Clone, Debug)]
pub struct Dfba {
    /// L [cell].
    low: f64,
    /// H [cell].
    high: f64,
    alpha: f64,
    z: f64,
}

impl Dfba {
    /// Creates the policy for a buffer of `capacity` cells.
    pub fn new(config: &DfbaConfig, capacity: f64) -> Dfba {
        Dfba {
            low: config.low * capacity,
            high: config.high * capacity,
            alpha: config.alpha,
            z: config.z,
        }
    }

    /// Returns whether no frame is dropped at an occupancy of the buffer.
    pub fn accepts_all(&self, occupancy: Occupancy) -> bool {
        occupancy.held as f64 <= self.low
    }

    /// Returns the drop probability of a frame of VC i, where `share` is W_i/W: its weight among the VCs in the buffer.
    pub fn probability(&self, occupancy: Occupancy, tagged: bool, share: f64) -> f64 {
        let (x, of_vc) = (occupancy.held as f64, occupancy.vc_held as f64);
        if x <= self.low {
            return 0.0;
        }
        if tagged || x > self.high {
            return 1.0;
        }
        let excess = of_vc - x * share;
        if excess <= 0.0 {
            return 0.0;
        }
        let of_vc = excess / (x * (1.0 - share));
        let of_queue = (x - self.low) / (self.high - self.low);
        self.z * (self.alpha * of_vc + (1.0 - self.alpha) * of_queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(held: u64, vc_held: u64, tagged: bool, share: f64) -> f64 {
        let config = DfbaConfig {
            low: 0.5,
            high: 0.9,
            alpha: 0.5,
            z: 1.0,
            keep_last: true,
        };
        let occupancy = Occupancy {
            held,
            vc_held,
            active_vcs: 5,
        };
        Dfba::new(&config, 1000.0).probability(occupancy, tagged, share)
    }

    #[test]
    fn tagged_frames_are_dropped_above_low_and_all_frames_above_high() {
        assert_eq!(
            [500, 501, 900, 901].map(|x| probability(x, 0, true, 0.2)),
            [0.0, 1.0, 1.0, 1.0]
        );
        assert_eq!(
            [500, 501, 900, 901].map(|x| probability(x, 0, false, 0.2)),
            [0.0, 0.0, 0.0, 1.0]
        );
    }

    /// Checks probabilities against values calculated by hand from the published formula.
    #[test]
    fn vcs_above_their_share_are_dropped_with_the_published_probability() {
        // X = 700, W_i/W = 0.2: the fair share is 140 cells.
        assert_eq!(probability(700, 140, false, 0.2), 0.0);
        // (0.5 · (280 - 140)/(700 · 0.8) + 0.5 · 200/400) = 0.125 + 0.25.
        assert!((probability(700, 280, false, 0.2) - 0.375).abs() < 1e-12);
        // A VC that has the whole buffer: 0.5 · (700 - 140)/560 + 0.25.
        assert!((probability(700, 700, false, 0.2) - 0.75).abs() < 1e-12);
        // A single VC never exceeds its share.
        assert_eq!(probability(700, 700, false, 1.0), 0.0);
    }
}
