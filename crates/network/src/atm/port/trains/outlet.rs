//! The slots of a train port that UBR can use: all slots, or those that VBR leaves unused.

use crate::atm::port::classes::VbrQueue;
use crate::atm::port::trains::clock::BatchSlots;
use crate::slots::{GridSums, SlotCursor, SlotGrid, StartSum};
use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Slots of a port.
#[derive(Clone, Debug)]
pub enum Outlet {
    /// All slots are available.
    AllSlots(AllSlots),
    /// Slots are shared with a VBR queue.
    SharedWithVbr(Box<SharedWithVbr>),
}

impl Outlet {
    /// Returns the queue length X before a batch whose slots are given; batches must be in order.
    #[inline]
    pub fn held(&mut self, slots: BatchSlots) -> u64 {
        match self {
            Outlet::AllSlots(alone) => alone.held(slots.ended),
            Outlet::SharedWithVbr(beside) => beside.held(slots),
        }
    }

    /// Assigns slots to `cells` further consecutive cells, the first of which arrives when slot `first` starts.
    #[inline]
    pub fn give(&mut self, first: u64, cells: u64) {
        match self {
            Outlet::AllSlots(alone) => alone.give(first, cells),
            Outlet::SharedWithVbr(beside) => beside.give(cells),
        }
    }

    /// Returns the slot of a cell that follows `before` other cells of its batch. The cell must be certain to get a
    /// slot.
    #[inline]
    pub fn slot(&mut self, first: u64, before: u64) -> u64 {
        match self {
            Outlet::AllSlots(alone) => alone.next.max(first) + before,
            Outlet::SharedWithVbr(beside) => beside.slot(before),
        }
    }

    /// Returns how many cells that arrive from the start of slot `first` on are certain to get slots before `horizon`.
    #[inline]
    pub fn room(&self, first: u64, horizon: u64) -> u64 {
        match self {
            Outlet::AllSlots(alone) => horizon.saturating_sub(alone.next.max(first)),
            Outlet::SharedWithVbr(beside) => beside.room(first, horizon),
        }
    }

    /// Returns whether the queue length X is certain to be at most `max` after `cells` further arrivals and once
    /// `ended` slots have ended.
    #[inline]
    pub fn fit(&self, first: u64, cells: u64, ended: u64, max: u64) -> bool {
        match self {
            Outlet::AllSlots(alone) => alone.next.max(first) + cells - ended <= max,
            Outlet::SharedWithVbr(beside) => beside.fit(cells, ended, max),
        }
    }

    /// Returns the queue length X once `ended` slots have ended, if there are no further arrivals.
    pub fn held_at(&self, ended: u64) -> u64 {
        match self {
            Outlet::AllSlots(alone) => alone.held(ended),
            Outlet::SharedWithVbr(beside) => beside.given - beside.departed_by(ended),
        }
    }

    /// Returns the sum [ps] of the departure times of cells that have left by the end of slot `ended - 1`.
    pub fn departure_time(&self, ended: u64) -> u128 {
        match self {
            Outlet::AllSlots(alone) => alone.departure_time(ended),
            Outlet::SharedWithVbr(beside) => beside.departure_time(ended),
        }
    }

    /// Returns the VBR queue, the port's slots, and the first free slot.
    pub fn vbr_mut(&mut self) -> Option<(&mut VbrQueue, &SlotGrid, &mut SlotCursor)> {
        match self {
            Outlet::AllSlots(_) => None,
            Outlet::SharedWithVbr(beside) => Some((&mut beside.vbr, &beside.grid, &mut beside.next)),
        }
    }
}

/// Slots that are used without gaps within each busy period.
#[derive(Clone, Debug)]
pub struct AllSlots {
    departures: GridSums,
    /// First unused slot.
    next: u64,
    /// First slot of the busy period.
    busy: u64,
    /// Sum of the ends of all slots used before the busy period.
    before: StartSum,
}

impl AllSlots {
    /// Creates the state of a port without assigned slots.
    pub fn new(grid: SlotGrid) -> AllSlots {
        AllSlots {
            departures: GridSums::new(grid),
            next: 0,
            busy: 0,
            before: StartSum::default(),
        }
    }

    /// Returns the first unused slot.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    #[inline(always)]
    pub(super) fn held(&self, ended: u64) -> u64 {
        self.next.saturating_sub(self.busy.max(ended))
    }

    /// Returns the queue length X, including `more` additional cells, once `ended` slots have ended.
    #[inline(always)]
    pub(super) fn held_after(&self, more: u64, ended: u64) -> u64 {
        (self.next + more).saturating_sub(self.busy.max(ended))
    }

    #[inline(always)]
    pub(super) fn give(&mut self, first: u64, cells: u64) {
        if first > self.next {
            self.before += self.departures.of(self.busy + 1, self.next + 1);
            (self.busy, self.next) = (first, first);
        }
        self.next += cells;
    }

    fn departure_time(&self, ended: u64) -> u128 {
        let left = self.next - self.held(ended);
        self.departures
            .total(self.before + self.departures.of(self.busy + 1, left + 1))
    }
}

/// A stretch of equally spaced slots, each of which carries a cell.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Number of the cell in the first slot.
    cell: u64,
    slot: u64,
    cells: u64,
    stride: u64,
}

impl Stretch {
    fn last(&self) -> u64 {
        self.slot + (self.cells - 1) * self.stride
    }

    /// Returns how many cells of the stretch are in slots before `ended`.
    fn before(&self, ended: u64) -> u64 {
        let slots = ended.saturating_sub(self.slot);
        let cells = if self.stride == 1 {
            slots
        } else {
            slots.div_ceil(self.stride)
        };
        cells.min(self.cells)
    }

    /// Appends cells in slots from `slot` on, if the spacing matches.
    fn takes(&mut self, slot: u64, cells: u64) -> bool {
        let stride = slot - self.last();
        if (self.cells > 1 && stride != self.stride) || (cells > 1 && stride != 1) {
            return false;
        }
        self.stride = stride;
        self.cells += cells;
        true
    }
}

/// Maximum number of slots whose sum is computed slot by slot.
const FEW: u64 = 16;

/// Assignment of the slots that VBR leaves unused to UBR.
#[derive(Clone, Debug)]
pub struct SharedWithVbr {
    vbr: VbrQueue,
    grid: SlotGrid,
    departures: GridSums,
    /// First slot that is not assigned to either class.
    next: SlotCursor,
    /// Number of cells that have a slot, or that will not get one before the end of the run.
    given: u64,
    /// Number of cells of the current batch that already have a slot.
    ahead: u64,
    /// Number of slots that had ended at the latest batch; later queries refer to at least this many slots.
    ended: u64,
    /// Slots of the cells that had not left when the previous batch arrived.
    held: VecDeque<Stretch>,
    /// Number of stretches at the front whose cells had all left at the latest batch.
    over: usize,
    /// Sums [ps] of the end times of assigned slots: of long stretches, and of single slots.
    ends: StartSum,
    few_ends: u128,
    /// Slot number of cells without a slot; this slot does not end within the run.
    after_the_run: u64,
}

impl SharedWithVbr {
    /// Creates the state for a port with `vbr` in a run that ends after `ended` slots.
    pub fn new(grid: SlotGrid, vbr: VbrQueue, ended: u64) -> SharedWithVbr {
        SharedWithVbr {
            vbr,
            grid,
            departures: GridSums::new(grid),
            next: grid.cursor(0),
            given: 0,
            ahead: 0,
            ended: 0,
            held: VecDeque::new(),
            over: 0,
            ends: StartSum::default(),
            few_ends: 0,
            after_the_run: ended,
        }
    }

    fn held(&mut self, slots: BatchSlots) -> u64 {
        if self.next.index() < slots.first {
            let now = self.grid.start(slots.first);
            self.vbr.serve_until(&self.grid, &mut self.next, now);
        }
        self.held.drain(..self.over);
        self.ended = slots.ended;
        // The last stretch may still grow.
        let waiting = self.held.len().saturating_sub(1);
        let over = self
            .held
            .iter()
            .take(waiting)
            .take_while(|stretch| stretch.last() < slots.ended);
        self.over = over.count();
        self.given - self.departed_by(slots.ended)
    }

    fn give(&mut self, cells: u64) {
        let cells = cells - std::mem::take(&mut self.ahead);
        self.assign(cells);
    }

    fn slot(&mut self, before: u64) -> u64 {
        self.assign(before + 1 - self.ahead);
        self.ahead = before + 1;
        self.held.back().map_or(0, Stretch::last)
    }

    /// Assigns slots to waiting cells.
    fn assign(&mut self, mut cells: u64) {
        while cells > 0 && self.next.start() < self.vbr.end() {
            let slot = self.next.index();
            let free = self.vbr.free(&self.grid, &self.next).min(cells);
            if free > 0 {
                self.pass(slot, free);
                self.append(slot, free);
                cells -= free;
            } else if self.vbr.contest(&mut self.next) {
                self.few_ends += u128::from(self.next.start().0);
                self.append(slot, 1);
                cells -= 1;
            }
        }
        if cells > 0 {
            let slot = self
                .held
                .back()
                .map_or(0, |last| last.last() + 1)
                .max(self.after_the_run);
            self.ends += self.departures.of(slot + 1, slot + cells + 1);
            self.append(slot, cells);
        }
    }

    /// Advances past slots that all go to UBR.
    fn pass(&mut self, slot: u64, cells: u64) {
        if cells > FEW {
            self.next = self.grid.cursor(slot + cells);
            self.ends += self.departures.of(slot + 1, slot + cells + 1);
            return;
        }
        for _ in 0..cells {
            self.next.step();
            self.few_ends += u128::from(self.next.start().0);
        }
    }

    fn append(&mut self, slot: u64, cells: u64) {
        if !self.held.back_mut().is_some_and(|last| last.takes(slot, cells)) {
            let cell = self.given;
            self.held.put(Stretch {
                cell,
                slot,
                cells,
                stride: 1,
            });
        }
        self.given += cells;
    }

    /// Returns a lower bound on the number of slots that UBR gets: the number that would remain if VBR always had
    /// priority.
    fn room(&self, first: u64, horizon: u64) -> u64 {
        let next = self.next.index().max(first) + self.vbr.to_come();
        horizon.saturating_sub(next)
    }

    /// Returns whether the queue length X is at most `max` after `cells` further arrivals and once `ended` slots have
    /// ended.
    fn fit(&self, cells: u64, ended: u64, max: u64) -> bool {
        let enough = (self.given + cells).saturating_sub(max);
        enough <= self.departed_by(self.ended) || enough <= self.departed_by(ended)
    }

    /// Returns the number of departures once `ended` slots have ended; `ended` must be at least the number at the
    /// latest batch.
    fn departed_by(&self, ended: u64) -> u64 {
        let mut departed = self.held.front().map_or(self.given, |first| first.cell);
        let from = if ended < self.ended {
            0
        } else {
            self.over.saturating_sub(1)
        };
        for stretch in self.held.range(from..) {
            if stretch.slot >= ended {
                break;
            }
            departed = stretch.cell + stretch.before(ended);
        }
        departed
    }

    fn departure_time(&self, ended: u64) -> u128 {
        let left = self.departures.total(self.ends) + self.few_ends;
        let waits = |stretch: &Stretch| {
            let ends = (stretch.before(ended)..stretch.cells)
                .map(|cell| self.grid.start(stretch.slot + cell * stretch.stride + 1));
            ends.map(|end| u128::from(end.0)).sum::<u128>()
        };
        left - self.held.iter().map(waits).sum::<u128>()
    }
}
