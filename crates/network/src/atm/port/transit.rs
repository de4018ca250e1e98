//! A switch's output port that cannot hold a queue: it has one input, which is no faster than itself.

use crate::atm::port::trains::Late;
use crate::atm::slots::{SlotCursor, SlotGrid};
use longpipe_events::{Span, Time};

/// What a VC has brought to the ports behind the last one that could hold a queue.
#[derive(Clone, Debug)]
pub struct Passed {
    /// That port's slots.
    pub grid: SlotGrid,
    /// Propagation behind it.
    pub delay: Span,
    /// Cells that entered it.
    pub cells: u64,
    /// Frames as whoever comes next sees them.
    pub frames: u64,
    /// Cells that have not left the path by the end of the run.
    pub late: Vec<Late>,
}

/// A cell leaves in the first slot after its arrival; what has passed is counted at the end of the run.
#[derive(Clone, Debug)]
pub struct Transit {
    /// Slots.
    pub grid: SlotGrid,
    /// Propagation behind the port.
    pub delay: Span,
    /// Cells that arrived.
    pub cells_in: u64,
    /// Cells whose slot has ended.
    pub cells_out: u64,
    /// Frames whose first cell arrived.
    pub frames_in: u64,
    /// Cells held, by VC.
    pub held: Vec<u64>,
    /// First slot that no cell has passed in.
    next: SlotCursor,
}

impl Transit {
    /// A port for `vcs` circuits through which nothing has passed.
    pub fn new(grid: SlotGrid, delay: Span, vcs: usize) -> Transit {
        Transit {
            grid,
            delay,
            cells_in: 0,
            cells_out: 0,
            frames_in: 0,
            held: vec![0; vcs],
            next: grid.cursor(0),
        }
    }

    /// When a cell that arrives at `at` has left.
    #[inline]
    pub fn departure(&self, at: Time) -> Time {
        self.grid.end_after(at)
    }

    /// The next cell passes, of VC `local`, that arrives at `at`; counted as of `end`. When it has left.
    #[inline(always)]
    pub fn pass(&mut self, at: Time, local: u32, end: Time) -> Time {
        self.grid.advance(&mut self.next, at);
        self.next.step();
        let departure = self.next.start();
        self.cells_in += 1;
        if departure <= end {
            self.cells_out += 1;
        } else {
            self.held[local as usize] += 1;
        }
        departure
    }
}
