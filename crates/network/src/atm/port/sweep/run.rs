//! Arrivals over wires: cells of one frame in consecutive slots, which are processed in order of arrival.

use crate::packets::Link;
use crate::scenario::link_ends::LinkEnd;
use crate::slots::{GridSums, SlotCursor, SlotGrid, StartSum};
use longpipe_events::{Ring, Span, Time};
use std::sync::Arc;

/// Cells of a frame in consecutive slots of a wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellRun {
    /// Arrival time [ps] of the first cell.
    pub time: u64,
    /// Slot of the first cell on the wire.
    pub slot: u64,
    /// Number of the frame within its VC.
    pub frame: u32,
    /// Index of the VC at the port.
    pub local: u32,
    /// Number of cells.
    pub cells: u16,
    /// Number of cells of the frame that follow.
    pub left: u16,
}

/// Cells in transit to a port over a wire, in order.
#[derive(Clone, Debug)]
pub struct Stream {
    runs: Ring<CellRun>,
    /// Port at the end of the wire, and the number that this input has at the port.
    port: u32,
    input: u32,
    /// Whether the port has processed all cells of the stream.
    idle: bool,
}

impl Stream {
    /// Creates an empty stream.
    pub fn new(port: u32, input: u32) -> Stream {
        Stream {
            runs: Ring::default(),
            port,
            input,
            idle: true,
        }
    }

    /// Adds cells. Returns the port and the number of its input if all earlier cells of the stream have been processed,
    /// so that the port must be scheduled.
    #[inline(always)]
    pub fn push(&mut self, run: CellRun) -> Option<(u32, u32)> {
        self.runs.push(run);
        std::mem::replace(&mut self.idle, false).then_some((self.port, self.input))
    }

    /// Removes and returns the first run.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<CellRun> {
        let next = self.runs.pop();
        self.idle = next.is_none();
        next
    }

    /// Returns the first run.
    #[inline(always)]
    pub fn first(&self) -> Option<&CellRun> {
        self.runs.first()
    }

    /// Returns all runs.
    pub fn iter(&self) -> impl Iterator<Item = &CellRun> {
        self.runs.iter()
    }
}

/// An input of a port, processed run by run.
#[derive(Clone, Debug)]
pub struct Input {
    /// Index of the stream from which the cells come.
    pub stream: u32,
    /// Index of the link.
    pub link: Link,
    /// End of the link.
    pub end: LinkEnd,
    grid: SlotGrid,
    delay: Span,
    /// Length [ps] of a slot, rounded down.
    period: u64,
    /// Maximum time [ps] by which the port's slots fall behind per arriving cell.
    pub lag: u64,
    /// The part of the current run that has not been processed.
    pub run: CellRun,
    /// Slot after the slot of the first cell, if it has been looked up.
    cursor: SlotCursor,
    sums: Arc<GridSums>,
    /// Sum of the start times of those admitted cells that belong to long runs.
    starts: StartSum,
    /// Number of admitted cells of long runs.
    many: u64,
}

/// Maximum number of cells whose times are summed one by one.
const FEW: u64 = 8;

impl Input {
    /// Creates an input with the slots of a wire, for a port with the slots `output`.
    pub fn new(stream: u32, link: Link, end: LinkEnd, delay: Span, sums: Arc<GridSums>, output: &SlotGrid) -> Input {
        let grid = sums.grid();
        let period = grid.period_floor();
        Input {
            stream,
            link,
            end,
            grid,
            delay,
            period,
            lag: (period + 1).saturating_sub(output.period_floor()),
            run: CellRun::default(),
            cursor: grid.cursor(0),
            sums,
            starts: StartSum::default(),
            many: 0,
        }
    }

    /// Returns a lower bound on the arrival time of the run's last cell.
    pub fn min_end(&self) -> u64 {
        min_end(&self.run, self.period)
    }

    /// Returns a lower bound on the arrival time of the last cell of `run`.
    pub fn min_end_of(&self, run: &CellRun) -> u64 {
        min_end(run, self.period)
    }

    /// Returns the arrival time of the cell in a slot.
    #[inline]
    pub fn arrival(&self, slot: u64) -> Time {
        self.grid.start(slot + 1) + self.delay
    }

    /// Returns a cursor that points to the slot after a cell's slot; from it, the arrival times of later cells can be
    /// computed one by one.
    #[inline]
    pub fn times_from(&self, slot: u64) -> SlotCursor {
        self.grid.cursor(slot + 1)
    }

    /// Returns the propagation delay.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Removes and returns the cells of the run that arrive before `limit`; at least the first cell must do so.
    #[inline(always)]
    pub fn take(&mut self, limit: u64) -> CellRun {
        let (mut taken, whole) = (self.run, u64::from(self.run.cells));
        if taken.time + (whole - 1) * (self.period + 1) < limit {
            self.run.cells = 0;
            return taken;
        }
        let cells = self.pass(limit);
        taken.cells = cells as u16;
        self.run.slot += cells;
        self.run.cells -= taken.cells;
        self.run.time = self.cursor.start().0 + self.delay.0;
        taken.left += self.run.cells;
        taken
    }

    /// Advances the cursor past those cells, after the first one, that arrive before `limit`. Returns the number of
    /// these cells.
    #[inline(always)]
    fn pass(&mut self, limit: u64) -> u64 {
        let run = &self.run;
        if self.cursor.index() != run.slot + 1 {
            self.cursor = self.grid.cursor(run.slot + 1);
        }
        let max = u64::from(run.cells);
        if limit - run.time > FEW * self.period {
            let ended = self.grid.ended_by(Time(limit - 1 - self.delay.0));
            let cells = (ended - run.slot).min(max);
            self.cursor = self.grid.cursor(run.slot + 1 + cells);
            return cells;
        }
        let mut cells = 0;
        while cells < max && self.cursor.start().0 + self.delay.0 < limit {
            self.cursor.step();
            cells += 1;
        }
        cells
    }

    /// Adds the arrival times of admitted cells to the sum; the first of these cells is in `slot`.
    #[inline(always)]
    pub fn count(&mut self, slot: u64, cells: u64) {
        self.starts += self.sums.of(slot + 1, slot + cells + 1);
        self.many += cells;
    }

    /// Returns the sum [ps] of the arrival times of admitted cells.
    pub fn arrival_time(&self) -> u128 {
        self.sums.total(self.starts) + u128::from(self.many) * u128::from(self.delay.0)
    }

    /// Returns the number of unprocessed cells of the run.
    pub fn left(&self) -> u64 {
        u64::from(self.run.cells)
    }
}

fn min_end(run: &CellRun, period: u64) -> u64 {
    let cells = u64::from(run.cells);
    run.time + if run.left == 0 { cells.saturating_sub(1) } else { cells } * period
}
