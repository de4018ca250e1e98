//! A port of a switch that cannot queue, because it has a single input that is not faster than the port.

use crate::atm::port::trains::Late;
use crate::slots::{SlotCursor, SlotGrid};
use longpipe_events::{Span, Time};

/// State of those cells of a VC that have passed the last port that can queue.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Slots of the last port that can queue.
    pub grid: SlotGrid,
    /// Propagation delay of the wire that the port feeds.
    pub delay: Span,
    /// Number of the VC's cells that were admitted at the last port that can queue.
    pub cells: u64,
    /// Number of frames for the next node.
    pub frames: u64,
    /// Cells that have not left the path by the end of the run.
    pub late: Vec<Late>,
}

/// A port where each cell leaves in the first slot after its arrival. Its counters are completed at the end of the run.
#[derive(Clone, Debug)]
pub struct Transit {
    /// Slots of the port.
    pub grid: SlotGrid,
    /// Propagation delay of the wire that the port feeds.
    pub delay: Span,
    /// Cells that arrived.
    pub cells_in: u64,
    /// Number of cells whose slot has ended.
    pub cells_out: u64,
    /// Number of frames whose first cell arrived.
    pub frames_in: u64,
    /// Queued cells, by VC.
    pub held: Vec<u64>,
    /// First unused slot.
    next: SlotCursor,
}

impl Transit {
    /// Creates an unused port for `vcs` circuits.
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

    /// Returns the departure time of a cell that arrives at time `at`.
    #[inline]
    pub fn departure(&self, at: Time) -> Time {
        self.grid.end_after(at)
    }

    /// Processes the next cell, which belongs to VC `local` and arrives at time `at`, and updates the counters to their
    /// values at `end`. Returns the cell's departure time.
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
