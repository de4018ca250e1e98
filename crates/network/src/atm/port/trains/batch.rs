//! Batches: a batch consists of the cells that reach a port at the same time, one from each active train.
//!
//! A train is a frame's cells, which arrive back to back; a VC's *run* is a sequence of its cells that the port admits
//! without a loss between them (`TrainVc::run` is the batch of the first, or `NONE` outside a run). A batch is processed
//! as a whole if all of its cells find room (`fits`), and otherwise cell by cell in the order of their ranks
//! (`take_singly`, `pass`). A slot is the transmission time of a cell on the outgoing link.

use crate::atm::port::frame::FrameState;
use crate::atm::port::trains::clock::BatchSlots;
use crate::atm::port::trains::edge::Late;
use crate::atm::port::trains::outlet::Outlet;
use crate::atm::port::trains::running::Running;
use crate::atm::port::trains::vc::{Rank, NONE};
use crate::atm::port::trains::TrainPort;
use crate::packets::Link;
use crate::policies::AfterLoss;
use longpipe_events::memory::Growing;
use longpipe_events::{Order, Time};

impl TrainPort {
    /// Processes all batches before batch `number`.
    #[inline(always)]
    pub(super) fn advance(&mut self, number: u64, time: Time) {
        if number != self.batch.number && !self.leap(number, time) {
            self.advance_slowly(number, time);
        }
    }

    /// Slow path of `advance`: completes the current batch, processes those between it and `number`, and starts `number`.
    #[inline(never)]
    fn advance_slowly(&mut self, number: u64, time: Time) {
        self.look_up();
        self.finish();
        if !self.running.is_empty() {
            self.take_batches(self.batch.number + 1, number);
        }
        self.begin(number, time);
    }

    /// Starts batch `number`, which arrives at `time`; it is processed cell by cell if it may not fit into the buffer.
    pub(super) fn begin(&mut self, number: u64, time: Time) {
        (self.batch.number, self.batch.time) = (number, time);
        self.batch.taken = 0;
        self.batch.cells = None;
        self.find_slots();
        self.forget();
        if !self.fits(self.running.len() as u64) {
            self.take_singly(Rank::default());
        }
    }

    /// Returns whether a batch of `cells` cells can be processed as a whole.
    #[inline]
    pub(super) fn fits(&self, cells: u64) -> bool {
        self.batch.held + cells <= self.capacity && cells <= self.outlet.room(self.batch.slot, self.horizon)
    }

    /// Returns the rank of an active train's cell among the cells of the batch.
    #[inline]
    pub(super) fn rank(&self, train: &Running) -> Rank {
        let end = &self.vcs[train.local as usize].end;
        (self.ties.rank(end, self.batch.time, train.vc), train.link)
    }

    /// Returns the number of active trains whose cells precede `rank`.
    #[inline(always)]
    pub(super) fn before(&self, rank: Rank) -> u64 {
        self.running.iter().filter(|train| self.rank(train) < rank).count() as u64
    }

    /// Returns the queue length X [cell] when the cell of this rank arrives.
    pub(super) fn held_at(&mut self, rank: Rank) -> u64 {
        if self.batch.cells.is_some() {
            self.pass(rank);
            self.batch.held
        } else {
            self.batch.held + self.batch.taken + self.before(rank)
        }
    }

    /// Switches to cell-by-cell processing of the batch; the cells before `rank` have already been processed.
    pub(super) fn take_singly(&mut self, rank: Rank) {
        let mut order = std::mem::take(&mut self.batch.order);
        order.clear();
        // Trains whose last cell is in this batch have already been processed.
        let unfinished = self.running.iter().filter(|train| train.last != self.batch.number);
        order.extend(unfinished.map(|train| (self.rank(train), train.local)));
        order.sort_unstable();
        let processed = order.partition_point(|(cell_rank, _)| *cell_rank < rank);
        self.batch.order = order;
        let taken = self.batch.taken + processed as u64;
        self.batch.taken = taken;
        self.batch.cells = Some(processed);
        if taken > 0 {
            for position in 0..processed {
                let local = self.batch.order[position].1;
                if self.vcs[local as usize].run == NONE {
                    self.open(local, self.batch.number);
                }
            }
            self.extend(self.batch.slot, taken);
            self.batch.held += taken;
            self.counters.peak_queue = self.counters.peak_queue.max(self.batch.held);
        }
    }

    /// Processes the cells before `rank`, one by one.
    pub(super) fn pass(&mut self, rank: Rank) {
        while let Some(position) = self.batch.cells {
            let next = self.batch.order.get(position);
            let Some(&(_, local)) = next.filter(|(cell_rank, _)| *cell_rank < rank) else {
                return;
            };
            self.batch.cells = Some(position + 1);
            self.take_cell(local, false);
            if self.vcs[local as usize].frame == FrameState::Discarded {
                self.remove(local);
            }
        }
    }

    /// Admits a cell in cell-by-cell mode if there is room, otherwise counts the loss and what it does to the frame;
    /// `last` is whether the cell ends its frame. Returns the cell's slot, or None if the cell was lost.
    pub(super) fn take_cell(&mut self, local: u32, last: bool) -> Option<u64> {
        let number = self.batch.number;
        if self.batch.held >= self.capacity {
            self.counters.lost_overflow += 1;
            self.close(local, number);
            let vc = &mut self.vcs[local as usize];
            if vc.frame == FrameState::Admitted {
                self.counters.frames_damaged += 1;
                vc.lost_at = number;
            }
            if !last {
                vc.frame = match self.after_loss {
                    AfterLoss::Admit => FrameState::Damaged,
                    AfterLoss::Discard { .. } => FrameState::Discarded,
                };
                self.broken |= vc.frame == FrameState::Damaged;
            }
            return None;
        }
        let begins = self.vcs[local as usize].run == NONE && self.open(local, number);
        let slot = self.outlet.slot(self.batch.slot, 0);
        self.extend(self.batch.slot, 1);
        self.batch.held += 1;
        self.batch.taken += 1;
        self.counters.peak_queue = self.counters.peak_queue.max(self.batch.held);
        if slot >= self.horizon {
            self.late.put(Late {
                slot,
                cells: 1,
                local,
                begins,
            });
        }
        Some(slot)
    }

    /// Assigns slots to `cells` further cells, which arrive when slot `first` starts.
    #[inline]
    pub(super) fn extend(&mut self, first: u64, cells: u64) {
        self.outlet.give(first, cells);
        self.admitted += cells;
    }

    /// Processes the rest of the batch.
    pub(super) fn finish(&mut self) {
        let cells = if self.batch.cells.is_some() {
            self.pass((Order::MAX, Link(u32::MAX)));
            self.batch.taken
        } else {
            let cells = self.batch.taken + self.running.len() as u64;
            if cells > 0 {
                self.readmit(self.batch.number);
                self.extend(self.batch.slot, cells);
                self.counters.peak_queue = self.counters.peak_queue.max(self.batch.held + cells);
            }
            cells
        };
        if let Some(history) = self.history.as_mut().filter(|_| cells > 0) {
            history.on_batches(self.admitted - cells, self.batch.number, cells);
        }
    }

    /// Processes batches `from..to`; every active train has a cell in each of them.
    pub(super) fn take_batches(&mut self, mut from: u64, to: u64) {
        while from < to && !self.running.is_empty() {
            let trains = self.running.len() as u64;
            let slots = self.clock.slots_of(from);
            let held = self.outlet.held(slots);
            // If cells use consecutive slots, the cells that have not left by the end of the run can be listed
            // afterwards.
            let listed = matches!(self.outlet, Outlet::AllSlots(_)) && !self.broken;
            let horizon = if listed { u64::MAX } else { self.horizon };
            let batches = self.safe_batches(from, slots, held, to - from, horizon);
            if batches == 0 {
                self.begin(from, self.clock.time(from));
                self.finish();
                from += 1;
                continue;
            }
            self.readmit(from);
            self.list_late(from, batches, slots.first);
            if let Some(history) = &mut self.history {
                history.on_batches(self.admitted, from, trains);
            }
            self.extend(slots.first, trains * batches);
            from += batches;
            // Several batches are processed at once only if the queue length X does not fall between them.
            let ended = if batches == 1 {
                slots.ended
            } else {
                self.clock.slots_of(from - 1).ended
            };
            let held_last = self.outlet.held_at(ended);
            self.counters.peak_queue = self.counters.peak_queue.max(held_last).max(held + trains);
        }
    }

    /// Records which cells of the `batches` batches from batch `from` on, one per train and batch, have not left the path
    /// by the end of the run. The first of them gets slot `first`, or the next free one.
    fn list_late(&mut self, from: u64, batches: u64, first: u64) {
        let Outlet::AllSlots(slots) = &self.outlet else { return };
        let trains = self.running.len() as u64;
        let next = slots.next().max(first);
        if let [train] = self.running[..] {
            let in_time = self.horizon.saturating_sub(next).min(batches);
            if in_time < batches {
                self.late.put(Late {
                    slot: next + in_time,
                    cells: batches - in_time,
                    local: train.local,
                    begins: false,
                });
            }
            return;
        }
        let in_time = self.horizon.saturating_sub(next) / trains;
        let mut order = std::mem::take(&mut self.batch.order);
        for batch in in_time..batches {
            order.clear();
            let time = self.clock.time(from + batch);
            let running = self.running.iter().map(|train| train.local);
            order.extend(running.map(|local| (self.vcs[local as usize].rank(&self.ties, time), local)));
            order.sort_unstable();
            for (slot, &(_, local)) in (next + batch * trains..).zip(&order) {
                if slot >= self.horizon {
                    self.late.put(Late {
                        slot,
                        cells: 1,
                        local,
                        begins: false,
                    });
                }
            }
        }
        self.batch.order = order;
    }

    /// Returns the number of batches, each with a cell of every train, that can be processed in one step. The first of
    /// them is batch `from`, which finds the queue length X = `held`.
    #[inline]
    fn safe_batches(&self, from: u64, slots: BatchSlots, held: u64, batches: u64, horizon: u64) -> u64 {
        let trains = self.running.len() as u64;
        let room = self.outlet.room(slots.first, horizon);
        if held + trains > self.capacity || trains > room {
            return 0;
        }
        if trains < self.clock.max {
            // A slot between two batches may be empty.
            return 1;
        }
        let max = batches.min(room / trains);
        // X does not fall from batch to batch, so all cells fit into the buffer if the last one does.
        let all_fit = |batches: u64| {
            let ended = self.clock.slots_of(from + batches - 1).ended;
            self.outlet.fit(slots.first, trains * batches, ended, self.capacity)
        };
        if all_fit(max) {
            return max;
        }
        let (mut fit, mut too_many) = (1, max);
        while too_many - fit > 1 {
            let middle = fit + (too_many - fit) / 2;
            if all_fit(middle) {
                fit = middle;
            } else {
                too_many = middle;
            }
        }
        fit
    }

    /// Removes a train from the list of active trains.
    #[inline(always)]
    pub(super) fn remove(&mut self, local: u32) {
        let place = self.vcs[local as usize].place as usize;
        self.running.swap_remove(place);
        if let Some(moved) = self.running.get(place) {
            self.vcs[moved.local as usize].place = place as u32;
        }
    }

    /// From batch `number` on, readmits the active trains whose latest cell was lost.
    #[inline]
    pub(super) fn readmit(&mut self, number: u64) {
        if std::mem::take(&mut self.broken) {
            for index in 0..self.running.len() {
                let local = self.running[index].local;
                if self.vcs[local as usize].run == NONE {
                    self.open(local, number);
                }
            }
        }
    }

    /// Records that a VC's cells are admitted from batch `number` on. Returns whether the first of them starts a frame
    /// for the next node.
    #[inline]
    pub(super) fn open(&mut self, local: u32, number: u64) -> bool {
        if let Some(history) = &mut self.history {
            history.open(number, local);
        }
        let vc = &mut self.vcs[local as usize];
        vc.run = number;
        vc.enter()
    }

    /// Records that a VC's cells are no longer admitted from batch `number` on.
    #[inline]
    pub(super) fn close(&mut self, local: u32, number: u64) {
        let vc = &mut self.vcs[local as usize];
        if vc.run == NONE {
            return;
        }
        let run = std::mem::replace(&mut vc.run, NONE);
        vc.admitted += number - run;
        self.arrival_time += self.arrivals.of(run + 1, number + 1);
        if let Some(history) = &mut self.history {
            history.close(number, local);
        }
    }
}
