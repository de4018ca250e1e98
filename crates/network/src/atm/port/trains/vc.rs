//! State of a virtual circuit at a train port.

use crate::atm::port::frame::FrameState;
use crate::packets::{Circuit, Link};
use crate::scenario::link_ends::LinkEnd;
use crate::ties::TieRule;
use longpipe_events::{Order, Time};

/// Order of the cells of a batch: by the tie-breaking rule, then by link.
pub type Rank = (Order, Link);

/// Placeholder that means no batch.
pub const NONE: u64 = u64::MAX;

/// A virtual circuit.
#[derive(Clone, Debug)]
pub struct TrainVc {
    /// Number in the network.
    pub vc: Circuit,
    /// Input link.
    pub link: Link,
    /// End of the input link.
    pub end: LinkEnd,
    /// State of the current frame.
    pub frame: FrameState,
    /// Batch of the frame's first cell.
    pub first: u64,
    /// Batch of the frame's first cell that found the buffer full.
    pub lost_at: u64,
    /// Index among the active trains.
    pub place: u32,
    /// First batch of the current run of admitted cells; `NONE` if the latest cell was not admitted.
    pub run: u64,
    /// Number of cells admitted before `run`.
    pub admitted: u64,
    /// Whether a cell of the current frame was admitted.
    pub entered: bool,
    /// Whether an earlier frame lost its last cell, so that the current frame merges with it and is discarded.
    pub merged: bool,
    /// Number of frames that the next node receives; if a last cell is lost, two frames merge into one.
    pub frames_out: u64,
}

impl TrainVc {
    /// Creates an idle VC, given its number, its link and the link's end.
    pub fn new((vc, link, end): (Circuit, Link, LinkEnd)) -> TrainVc {
        TrainVc {
            vc,
            link,
            end,
            frame: FrameState::Between,
            first: 0,
            lost_at: 0,
            place: 0,
            run: NONE,
            admitted: 0,
            entered: false,
            merged: false,
            frames_out: 0,
        }
    }

    /// Returns the rank of the VC's cell among the cells that arrive at `time`.
    #[inline(always)]
    pub fn rank(&self, ties: &TieRule, time: Time) -> Rank {
        (ties.rank(&self.end, time, self.vc), self.link)
    }

    /// Starts a frame.
    pub fn begin(&mut self, frame: FrameState, batch: u64) {
        (self.frame, self.first, self.entered) = (frame, batch, false);
    }

    /// Records that the VC's cells are admitted again. Returns whether the cell starts a frame for the next node.
    pub fn enter(&mut self) -> bool {
        let begins = !self.entered && !self.merged;
        self.entered = true;
        self.frames_out += u64::from(begins);
        begins
    }

    /// Records that the frame's last cell was not admitted, so that the frame's other cells merge with the next frame.
    pub fn merge(&mut self) {
        self.merged |= self.entered;
    }
}
