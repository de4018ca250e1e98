//! What wires bring: cells of one frame in slots that follow each other, read in the order in which they arrive.

use crate::atm::slots::{GridSums, SlotCursor, SlotGrid, StartSum};
use crate::packets::ring::Ring;
use crate::packets::Link;
use crate::scenario::ends::LinkEnd;
use longpipe_events::{Span, Time};
use std::sync::Arc;

/// Cells of one frame in slots that follow each other on a wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// When the first one arrives [ps].
    pub time: u64,
    /// The wire's slot in which that leaves.
    pub slot: u64,
    /// Number of the frame in its VC.
    pub frame: u32,
    /// The VC's number at the port.
    pub local: u32,
    /// Cells.
    pub cells: u16,
    /// Cells of the frame that follow these.
    pub left: u16,
}

/// What is on its way to a port over one wire, in order.
#[derive(Clone, Debug)]
pub struct Stream {
    runs: Ring<Run>,
    /// The port at its end, and its number there.
    port: u32,
    input: u32,
    /// Whether the port has read all.
    idle: bool,
}

impl Stream {
    /// An empty one.
    pub fn new(port: u32, input: u32) -> Stream {
        Stream {
            runs: Ring::default(),
            port,
            input,
            idle: true,
        }
    }

    /// Adds cells; their port and its input, if that does not expect any.
    #[inline(always)]
    pub fn push(&mut self, run: Run) -> Option<(u32, u32)> {
        self.runs.push(run);
        std::mem::replace(&mut self.idle, false).then_some((self.port, self.input))
    }

    /// Takes the first run.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Run> {
        let next = self.runs.pop();
        self.idle = next.is_none();
        next
    }

    /// The first run.
    #[inline(always)]
    pub fn first(&self) -> Option<&Run> {
        self.runs.first()
    }

    /// Every run.
    pub fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }
}

/// A wire that leads to a port, read run by run.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its cells.
    pub stream: u32,
    /// Its number in the network.
    pub link: Link,
    /// Where it ends.
    pub end: LinkEnd,
    grid: SlotGrid,
    delay: Span,
    /// Length of a slot, rounded down [ps].
    period: u64,
    /// By how much the start of a slot of the port may fall behind with each cell that comes [ps].
    pub lag: u64,
    /// What has not been taken of the run that is being read.
    pub run: Run,
    /// The slot after that of its first cell, if it was looked up.
    cursor: SlotCursor,
    sums: Arc<GridSums>,
    /// When cells of longer runs that entered left.
    starts: StartSum,
    /// How many those are.
    many: u64,
}

/// So many cells are counted one by one.
const FEW: u64 = 8;

impl Input {
    /// A wire with slots of `grid` that leads to a port with those of `output`.
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
            run: Run::default(),
            cursor: grid.cursor(0),
            sums,
            starts: StartSum::default(),
            many: 0,
        }
    }

    /// When the last cell of the run arrives, or a little before.
    pub fn least_end(&self) -> u64 {
        least_end(&self.run, self.period)
    }

    /// The same of another run.
    pub fn least_end_of(&self, run: &Run) -> u64 {
        least_end(run, self.period)
    }

    /// When the cell in a slot arrives.
    #[inline]
    pub fn arrival(&self, slot: u64) -> Time {
        self.grid.start(slot + 1) + self.delay
    }

    /// The slot after that of a cell, from which on times are read by steps.
    #[inline]
    pub fn times_from(&self, slot: u64) -> SlotCursor {
        self.grid.cursor(slot + 1)
    }

    /// Propagation delay.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Takes the cells of the run that arrive before `limit`; the first one does.
    #[inline(always)]
    pub fn take(&mut self, limit: u64) -> Run {
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

    /// Moves the cursor past the cells that arrive before `limit`, but for the run's first one at most to its end; how
    /// many there are.
    #[inline(always)]
    fn pass(&mut self, limit: u64) -> u64 {
        let run = &self.run;
        if self.cursor.index() != run.slot + 1 {
            self.cursor = self.grid.cursor(run.slot + 1);
        }
        let most = u64::from(run.cells);
        if limit - run.time > FEW * self.period {
            let ended = self.grid.ended_by(Time(limit - 1 - self.delay.0));
            let cells = (ended - run.slot).min(most);
            self.cursor = self.grid.cursor(run.slot + 1 + cells);
            return cells;
        }
        let mut cells = 0;
        while cells < most && self.cursor.start().0 + self.delay.0 < limit {
            self.cursor.step();
            cells += 1;
        }
        cells
    }

    /// Counts the arrivals of cells that enter, the first of several in a slot.
    #[inline(always)]
    pub fn count(&mut self, slot: u64, cells: u64) {
        self.starts += self.sums.of(slot + 1, slot + cells + 1);
        self.many += cells;
    }

    /// When those have arrived: the sum [ps].
    pub fn arrival_time(&self) -> u128 {
        self.sums.total(self.starts) + u128::from(self.many) * u128::from(self.delay.0)
    }

    /// Cells of the run that were not taken.
    pub fn left(&self) -> u64 {
        u64::from(self.run.cells)
    }
}

fn least_end(run: &Run, period: u64) -> u64 {
    let cells = u64::from(run.cells);
    run.time + if run.left == 0 { cells.saturating_sub(1) } else { cells } * period
}
