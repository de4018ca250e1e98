//! What a port knows of one of its virtual circuits.

use crate::atm::port::frame::Frame;
use crate::packets::{Circuit, Link};
use crate::scenario::ends::LinkEnd;
use crate::ties::TieRule;
use longpipe_events::{Order, Time};

/// Order among the cells of a batch: the tie rule, then the link.
pub type Rank = (Order, Link);

/// Stands for no batch.
pub const NONE: u64 = u64::MAX;

/// One VC.
#[derive(Clone, Debug)]
pub struct Vc {
    /// Its number in the network.
    pub vc: Circuit,
    /// The link over which it comes.
    pub link: Link,
    /// Where that ends.
    pub end: LinkEnd,
    /// The current frame.
    pub frame: Frame,
    /// Batch of its first cell.
    pub first: u64,
    /// Batch of the cell that was lost before the rest was discarded.
    pub lost_at: u64,
    /// Its place among the running trains.
    pub place: u32,
    /// Batch from which on every cell entered, or `NONE`.
    pub run: u64,
    /// Cells admitted before that.
    pub admitted: u64,
    /// Whether a cell of the current frame entered.
    pub entered: bool,
    /// Whether earlier cells wait for a last one, so that the current frame will be discarded with them.
    pub merged: bool,
    /// Frames as whoever comes next sees them: those that a lost last cell merged are one.
    pub frames_out: u64,
}

impl Vc {
    /// An idle VC: its number, its link and where that ends.
    pub fn new((vc, link, end): (Circuit, Link, LinkEnd)) -> Vc {
        Vc {
            vc,
            link,
            end,
            frame: Frame::Between,
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

    /// Rank of its cell that arrives at `time`.
    #[inline(always)]
    pub fn rank(&self, ties: &TieRule, time: Time) -> Rank {
        (ties.rank(&self.end, time, self.vc), self.link)
    }

    /// A frame begins.
    pub fn begin(&mut self, frame: Frame, batch: u64) {
        (self.frame, self.first, self.entered) = (frame, batch, false);
    }

    /// A cell enters after one that did not; true if it begins a frame for whoever comes next.
    pub fn enter(&mut self) -> bool {
        let begins = !self.entered && !self.merged;
        self.entered = true;
        self.frames_out += u64::from(begins);
        begins
    }

    /// The frame's last cell did not enter: what did waits for another.
    pub fn merge(&mut self) {
        self.merged |= self.entered;
    }
}
