//! Fast path while X is far from all limits: it advances from edge to edge in closed form, and computes the slots of a
//! batch only if bounds do not suffice.

use crate::atm::port::frame::FrameState;
use crate::atm::port::trains::clock::{BatchSlots, Known};
use crate::atm::port::trains::outlet::Outlet;
use crate::atm::port::trains::vc::NONE;
use crate::atm::port::trains::{First, Last, TrainPort};
use longpipe_events::Time;

/// Number of batches after which the bounds are recomputed.
const FAR: u64 = 1 << 24;

/// Maximum number of slots between two batches for which bounds are used.
const MAX_SLOTS: u64 = 64;

impl TrainPort {
    /// Processes all batches before batch `number`. Returns false if a cell may be lost, or may not leave the path by
    /// the end of the run.
    #[inline(always)]
    pub(super) fn leap(&mut self, number: u64, time: Time) -> bool {
        let (trains, max) = (self.running.len() as u64, self.clock.max);
        let batches = number.wrapping_sub(self.batch.number).wrapping_sub(1);
        let (cells, between) = (self.batch.taken + trains, trains * batches);
        let Outlet::AllSlots(alone) = &self.outlet else {
            return false;
        };
        if self.batch.cells.is_some() | self.broken | ((trains < max) & (between > 0)) | (max > MAX_SLOTS) {
            return false;
        }
        // The known batch may be later than `number` if its frame was overtaken. The difference, which then wraps
        // around, also exceeds FAR.
        if number.wrapping_sub(self.known.batch) > FAR {
            let slots = self.clock.slots(number, time);
            self.known = Known { batch: number, slots };
        }
        // The bounds for this batch also hold for earlier batches.
        let bounds = self.clock.bounds(&self.known, number);
        let next = alone.next().max(bounds.first) + cells + between + trains + 1;
        if next > bounds.ended.saturating_add(self.capacity) || next >= self.horizon {
            return false;
        }
        if cells > 0 {
            self.give_all(cells, between, bounds.ended, number);
        }
        // If every earlier batch had a cell, the first slot at the arrival of this batch is already in use.
        let follows = (max == 1) & ((trains > 0) | ((cells > 0) & (batches == 0)));
        self.arrive(number, time, bounds, follows);
        true
    }

    /// Advances to a batch after all earlier batches have been processed; `follows` is true if the first slot at the
    /// batch's arrival is in use.
    #[inline(always)]
    fn arrive(&mut self, number: u64, time: Time, bounds: BatchSlots, follows: bool) {
        (self.batch.number, self.batch.time) = (number, time);
        self.batch.taken = 0;
        match &self.outlet {
            Outlet::AllSlots(alone) if follows | (alone.next() >= bounds.first) => {
                self.batch.open = true;
                (self.batch.slot, self.batch.held) = (0, alone.held(bounds.ended));
                self.batch.departed = self.batch.departed.max(self.admitted - self.batch.held);
            }
            _ => self.find_slots(),
        }
        self.forget();
    }

    /// Assigns slots to all cells of this batch, and to the cells of the batches between it and batch `number`.
    #[inline(always)]
    fn give_all(&mut self, cells: u64, between: u64, ended: u64, number: u64) {
        let from = self.batch.number;
        if self.batch.open && self.batch.held + cells > self.counters.peak_queue {
            self.look_up();
        }
        let Outlet::AllSlots(alone) = &mut self.outlet else {
            return;
        };
        let mut peak = self.counters.peak_queue;
        if !self.batch.open {
            peak = peak.max(self.batch.held + cells);
        }
        alone.give(self.batch.slot, cells);
        if between > 0 {
            // If at most one slot can start between two batches, 0 is a sufficient bound; otherwise the slot is
            // computed.
            let first = if self.clock.max == 1 {
                0
            } else {
                self.clock.slots_of(from + 1).first
            };
            alone.give(first, between);
            // X does not fall from batch to batch.
            if alone.held(ended.saturating_sub(self.clock.max)) > peak {
                peak = peak.max(alone.held(self.clock.slots_of(number - 1).ended));
            }
        }
        self.counters.peak_queue = peak;
        if let Some(history) = &mut self.history {
            history.on_batches(self.admitted, from, cells);
            if between > 0 {
                history.on_batches(self.admitted + cells, from + 1, self.running.len() as u64);
            }
        }
        self.admitted += cells + between;
    }

    /// Discards the history of departed cells; otherwise, a port that rarely needs occupancies would store the history
    /// of the whole run.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        if let Some(history) = &mut self.history {
            history.forget(self.batch.departed, self.admitted, self.batch.number);
        }
    }

    /// Computes the slots of the batch unless they are known.
    #[inline(always)]
    pub(super) fn look_up(&mut self) {
        if self.batch.open {
            self.find_slots();
        }
    }

    /// Computes the slots of the batch.
    pub(super) fn find_slots(&mut self) {
        let slots = self.clock.slots(self.batch.number, self.batch.time);
        self.known = Known {
            batch: self.batch.number,
            slots,
        };
        let held = self.outlet.held(slots);
        self.batch.open = false;
        (self.batch.slot, self.batch.held) = (slots.first, held);
        self.batch.departed = self.admitted - held;
    }

    /// Admits the first cell of a frame if the cell is certain to be admitted.
    #[inline(always)]
    pub(super) fn begin_in_closed_form(&mut self, first: First) -> bool {
        let cells = self.batch.taken + self.running.len() as u64;
        let enters = |port: &TrainPort| port.batch.held + cells <= port.no_refusal_up_to && port.fits(cells + 1);
        if self.batch.cells.is_some() | self.loss.is_some() {
            return false;
        }
        if !enters(self) {
            self.look_up();
            if !enters(self) {
                return false;
            }
        }
        self.vcs[first.local as usize].begin(FrameState::Admitted, first.batch);
        self.open(first.local, first.batch);
        self.run(first.local, first.batch + u64::from(first.cells) - 1);
        true
    }

    /// Admits a whole frame when its last cell arrives, if the frame is certain to be admitted and no other train is
    /// active. Returns the slot of the last cell.
    #[inline(always)]
    pub(super) fn take_alone(&mut self, first: First, last: Last) -> Option<u64> {
        let cells = u64::from(last.cells);
        if !self.running.is_empty() | !self.plain | self.vcs[last.local as usize].merged {
            return None;
        }
        let (start, held) = match self.follow(first, cells) {
            Some(slots) => slots,
            None => self.follow_slowly(first.batch, cells)?,
        };
        self.counters.cells_in += cells;
        self.counters.frames_in += 1;
        if let Some(history) = &mut self.history {
            history.on_batches(self.admitted, first.batch, 1);
            history.open(first.batch, last.local);
            history.close(last.batch + 1, last.local);
        }
        let slot = start + cells - 1;
        if let Outlet::AllSlots(outlet) = &mut self.outlet {
            outlet.give(start, cells - 1);
        }
        self.admitted += cells - 1;
        // X does not fall from cell to cell, so only its value at the last cell must be compared with the peak.
        (self.batch.slot, self.batch.held) = (0, held + cells - 1);
        (self.batch.number, self.batch.time) = (last.batch, last.time);
        (self.batch.taken, self.batch.open) = (1, true);
        self.arrival_time += self.arrivals.of(first.batch + 1, last.batch + 2);
        let vc = &mut self.vcs[last.local as usize];
        vc.admitted += cells;
        vc.frames_out += 1;
        Some(slot)
    }

    /// Advances from a batch for which bounds are known to the first cell of the only active frame. Returns the slot of
    /// the cell and an upper bound on the queue length before it; None unless the cell is certain to be admitted.
    #[inline(always)]
    fn follow(&mut self, first: First, cells: u64) -> Option<(u64, u64)> {
        let Outlet::AllSlots(outlet) = &mut self.outlet else {
            return None;
        };
        let (batch, taken) = (&self.batch, self.batch.taken);
        let near = first.batch.wrapping_sub(self.known.batch) <= FAR;
        let bounded = batch.open & batch.cells.is_none() & (batch.number != first.batch);
        if !near | !bounded | self.broken | (batch.held + taken > self.counters.peak_queue) {
            return None;
        }
        let enters = |held: u64| (held <= self.no_refusal_up_to) & (held + cells < self.capacity);
        let next = outlet.next() + taken;
        let bounds = self.clock.bounds(&self.known, first.batch);
        let (mut start, mut held) = (next, outlet.held_after(taken, bounds.ended));
        if (next < bounds.first) | !enters(held) {
            let slots = self.clock.slots_of(first.batch);
            self.known = Known {
                batch: first.batch,
                slots,
            };
            start = next.max(slots.first);
            held = outlet.held_after(taken, slots.ended);
        }
        if !enters(held) | (start + cells >= self.horizon) {
            return None;
        }
        if taken > 0 {
            outlet.give(0, taken);
            if let Some(history) = &mut self.history {
                history.on_batches(self.admitted, batch.number, taken);
            }
            self.admitted += taken;
        }
        if self.history.is_some() {
            (self.batch.number, self.batch.departed) = (first.batch, self.batch.departed.max(self.admitted - held));
            self.forget();
        }
        Some((start, held))
    }

    /// Advances from any batch to the first cell of the only active frame. Returns the slot of the cell and the queue
    /// length before it; None unless the cell is certain to be admitted.
    #[inline(never)]
    fn follow_slowly(&mut self, batch: u64, cells: u64) -> Option<(u64, u64)> {
        self.advance(batch, self.arrival(batch));
        let enters = |port: &TrainPort| port.batch.held <= port.no_refusal_up_to && port.fits(cells + 1);
        if self.batch.cells.is_some() | (self.batch.taken > 0) {
            return None;
        }
        if !enters(self) {
            self.look_up();
            if !enters(self) {
                return None;
            }
        }
        let Outlet::AllSlots(outlet) = &self.outlet else {
            return None;
        };
        Some((outlet.next().max(self.batch.slot), self.batch.held))
    }

    /// Admits the last cell of a frame whose other cells were admitted, if this cell is certain to be admitted. Returns
    /// the cell's slot.
    #[inline(always)]
    pub(super) fn end_in_closed_form(&mut self, edge: Last) -> Option<u64> {
        let vc = &self.vcs[edge.local as usize];
        let whole = (vc.frame == FrameState::Admitted) & (vc.run != NONE) & !vc.merged;
        if !whole | self.batch.cells.is_some() {
            return None;
        }
        let cells = self.batch.taken + self.running.len() as u64;
        if !self.fits(cells) {
            self.look_up();
            if !self.fits(cells) {
                return None;
            }
        }
        self.remove(edge.local);
        let before = if self.running.is_empty() {
            self.batch.taken
        } else {
            self.batch.taken + self.before(self.rank_of(edge.local, edge.time))
        };
        let slot = self.outlet.slot(self.batch.slot, before);
        self.batch.taken += 1;
        self.close(edge.local, edge.batch + 1);
        let vc = &mut self.vcs[edge.local as usize];
        (vc.frame, vc.entered) = (FrameState::Between, false);
        Some(slot)
    }
}
