//! Order of cells that reach a switch at the same time: a function of (seed, time, input, VC) that does not depend on
//! the order of calls.

use crate::packets::Circuit;
use crate::scenario::link_ends::LinkEnd;
use crate::scenario::Ties;
use longpipe_events::{mix, Order, Time};

/// Tie-breaking rule of a run.
#[derive(Clone, Copy, Debug)]
pub struct TieRule {
    ties: Ties,
    key: u64,
}

impl TieRule {
    /// Creates the tie-breaking rule for a scenario and a seed.
    pub fn new(ties: Ties, seed: u64) -> TieRule {
        TieRule {
            ties,
            key: mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)),
        }
    }

    /// Returns the 32-bit rank of a cell of `vc` that reaches the end of a link at `time`. The cell with the smallest
    /// rank is first; cells of equal rank are ordered by link.
    #[inline(always)]
    pub fn rank(&self, end: &LinkEnd, time: Time, vc: Circuit) -> Order {
        match self.ties {
            Ties::PortOrder => u64::from(end.input),
            Ties::Rotating => {
                let (input, inputs) = (u64::from(end.input), u64::from(end.inputs));
                (input + inputs - (time.0 / end.cell) % inputs) % inputs
            }
            Ties::Random => mix(self.key ^ time.0 ^ (u64::from(vc.0) << 44)) >> 32,
        }
    }
}
