//! Which slots a port of trains gives its cells: every one, or those that VBR leaves.

use super::clock::Slots;
use crate::port::classes::VbrQueue;
use longpipe_events::{GridSums, SlotCursor, SlotGrid, StartSum};
use std::collections::VecDeque;

/// The slots of a port.
#[derive(Clone, Debug)]
pub enum Outlet {
    /// All are its cells'.
    Alone(Alone),
    /// VBR's queue has some.
    Beside(Box<Beside>),
}

impl Outlet {
    /// X before a batch that finds these slots; batches come in order.
    #[inline]
    pub fn held(&mut self, slots: Slots) -> u64 {
        match self {
            Outlet::Alone(alone) => alone.held(slots.ended),
            Outlet::Beside(beside) => beside.held(slots),
        }
    }

    /// Gives slots to `cells` more cells, which come one after the other, the first when slot `first` begins.
    #[inline]
    pub fn give(&mut self, first: u64, cells: u64) {
        match self {
            Outlet::Alone(alone) => alone.give(first, cells),
            Outlet::Beside(beside) => beside.give(cells),
        }
    }

    /// The slot of a cell before which `before` others of its batch get theirs. It is sure to get it.
    #[inline]
    pub fn slot(&mut self, first: u64, before: u64) -> u64 {
        match self {
            Outlet::Alone(alone) => alone.next.max(first) + before,
            Outlet::Beside(beside) => beside.slot(before),
        }
    }

    /// How many cells, the first of which comes when slot `first` begins, are sure to get slots before `horizon`.
    #[inline]
    pub fn room(&self, first: u64, horizon: u64) -> u64 {
        match self {
            Outlet::Alone(alone) => horizon.saturating_sub(alone.next.max(first)),
            Outlet::Beside(beside) => beside.room(first, horizon),
        }
    }

    /// The most that X can be once `cells` more cells have come, and `ended` slots are over.
    #[inline]
    pub fn most_held(&self, first: u64, cells: u64, ended: u64) -> u64 {
        match self {
            Outlet::Alone(alone) => (alone.next.max(first) + cells).saturating_sub(ended),
            Outlet::Beside(beside) => beside.given + cells - beside.departed_by(ended),
        }
    }

    /// X once `ended` slots are over, no more cells having come.
    pub fn held_at(&self, ended: u64) -> u64 {
        match self {
            Outlet::Alone(alone) => alone.held(ended),
            Outlet::Beside(beside) => beside.given - beside.departed_by(ended),
        }
    }

    /// When those cells have left that have by the end of slot `ended - 1`: the sum [ps].
    pub fn departure_time(&self, ended: u64) -> u128 {
        match self {
            Outlet::Alone(alone) => alone.departure_time(ended),
            Outlet::Beside(beside) => beside.departure_time(ended),
        }
    }

    /// VBR's queue, with the port's slots and the first of them not given away.
    pub fn vbr_mut(&mut self) -> Option<(&mut VbrQueue, &SlotGrid, &mut SlotCursor)> {
        match self {
            Outlet::Alone(_) => None,
            Outlet::Beside(beside) => Some((&mut beside.vbr, &beside.grid, &mut beside.next)),
        }
    }

    /// VBR's queue, to look at.
    pub fn vbr(&self) -> Option<&VbrQueue> {
        match self {
            Outlet::Alone(_) => None,
            Outlet::Beside(beside) => Some(&beside.vbr),
        }
    }
}

/// Slots without a gap in each busy period.
#[derive(Clone, Debug)]
pub struct Alone {
    departures: GridSums,
    /// First slot not yet used.
    next: u64,
    /// First slot of the busy period.
    busy: u64,
    /// Ends of all slots used before the busy period.
    before: StartSum,
}

impl Alone {
    /// For a port that has given no slot away.
    pub fn new(grid: SlotGrid) -> Alone {
        Alone {
            departures: GridSums::new(grid),
            next: 0,
            busy: 0,
            before: StartSum::default(),
        }
    }

    #[inline]
    fn held(&self, ended: u64) -> u64 {
        self.next.saturating_sub(self.busy.max(ended))
    }

    #[inline]
    fn give(&mut self, first: u64, cells: u64) {
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

/// Slots next to each other.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Number of the cell in the first of them.
    cell: u64,
    slot: u64,
    cells: u64,
}

/// What VBR leaves.
#[derive(Clone, Debug)]
pub struct Beside {
    vbr: VbrQueue,
    grid: SlotGrid,
    departures: GridSums,
    /// First slot not yet given away, to either class.
    next: SlotCursor,
    /// Cells that have a slot, or get none before the end of the run.
    given: u64,
    /// Those of the batch that is being taken which have one already.
    ahead: u64,
    /// How many slots had ended when the latest batch came; who asks later asks about no fewer.
    ended: u64,
    /// Where the cells were that had not left when the one before it came.
    held: VecDeque<Stretch>,
    /// Cells that had.
    departed: u64,
    /// Ends of the slots given away.
    ends: StartSum,
    /// The slot of cells that get none: one that has not ended by then.
    after_the_run: u64,
}

impl Beside {
    /// For a port beside `vbr` in a run by the end of which `ended` of its slots are over.
    pub fn new(grid: SlotGrid, vbr: VbrQueue, ended: u64) -> Beside {
        Beside {
            vbr,
            grid,
            departures: GridSums::new(grid),
            next: grid.cursor(0),
            given: 0,
            ahead: 0,
            ended: 0,
            held: VecDeque::new(),
            departed: 0,
            ends: StartSum::default(),
            after_the_run: ended,
        }
    }

    fn held(&mut self, slots: Slots) -> u64 {
        if self.next.index() < slots.first {
            let now = self.grid.start(slots.first);
            self.vbr.serve_until(&self.grid, &mut self.next, now);
        }
        while let Some(first) = self.held.front().filter(|first| first.slot + first.cells <= self.ended) {
            self.departed = first.cell + first.cells;
            self.held.pop_front();
        }
        self.ended = slots.ended;
        self.given - self.departed_by(slots.ended)
    }

    fn give(&mut self, cells: u64) {
        let cells = cells - std::mem::take(&mut self.ahead);
        self.assign(cells);
    }

    fn slot(&mut self, before: u64) -> u64 {
        self.assign(before + 1 - self.ahead);
        self.ahead = before + 1;
        self.held.back().map_or(0, |last| last.slot + last.cells - 1)
    }

    fn assign(&mut self, cells: u64) {
        let Beside {
            held,
            given,
            departures,
            ends,
            ..
        } = self;
        let none = self
            .vbr
            .slots_for_ubr(&self.grid, &mut self.next, cells, |slot, cells| {
                *ends += departures.of(slot + 1, slot + cells + 1);
                match held.back_mut() {
                    Some(last) if last.slot + last.cells == slot => last.cells += cells,
                    _ => held.push_back(Stretch {
                        cell: *given,
                        slot,
                        cells,
                    }),
                }
                *given += cells;
            });
        if none > 0 {
            let last = held.back().map_or(0, |last| last.slot + last.cells);
            let slot = self.after_the_run.max(last);
            *ends += departures.of(slot + 1, slot + none + 1);
            held.push_back(Stretch {
                cell: *given,
                slot,
                cells: none,
            });
            *given += none;
        }
    }

    /// Were VBR always to go first, its cells would still leave the rest of the slots.
    fn room(&self, first: u64, horizon: u64) -> u64 {
        let next = self.next.index().max(first) + self.vbr.to_come();
        horizon.saturating_sub(next)
    }

    fn departed_by(&self, ended: u64) -> u64 {
        let over = self.held.partition_point(|stretch| stretch.slot < ended);
        let Some(last) = over.checked_sub(1).map(|index| self.held[index]) else {
            return self.departed;
        };
        last.cell + last.cells.min(ended - last.slot)
    }

    fn departure_time(&self, ended: u64) -> u128 {
        let mut left = self.ends;
        for &Stretch { slot, cells, .. } in &self.held {
            let (from, to) = (ended.clamp(slot, slot + cells), slot + cells);
            left = left - self.departures.of(from + 1, to + 1);
        }
        self.departures.total(left)
    }
}
