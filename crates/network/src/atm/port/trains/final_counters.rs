//! Counters of a train port at the end of the run, when frames are still arriving and cells are still queued.
//!
//! During the run a port counts a frame's cells only when the frame, or its run of admitted cells, ends. At the end of
//! the run, [`TrainPort::settle`] processes all arrivals; afterwards the functions below add the cells of unfinished
//! frames and runs to the counters without changing the port. All of their times `now` are the end of the run.

use crate::atm::port::classes::VbrQueue;
use crate::atm::port::frame::FrameState;
use crate::atm::port::trains::vc::{Rank, TrainVc, NONE};
use crate::atm::port::trains::{Late, TrainPort};
use crate::packets::aal5::Cell;
use crate::report::cells::QueueCounters;
use longpipe_events::Time;

impl TrainPort {
    /// Processes all arrivals by `now`. The other functions of this module require it.
    pub fn settle(&mut self, now: Time) {
        // If no batch arrives by then, VBR cells may still have left.
        let next_batch = self.clock.latest(now).map_or(0, |latest| latest + 1);
        self.take_firsts(next_batch, Rank::default());
        self.advance(next_batch, self.clock.time(next_batch));
    }

    /// Returns the counters of the settled port, including the arrived cells of unfinished frames.
    pub fn counters_at(&self, now: Time) -> QueueCounters {
        let mut counters = self.counters;
        for vc in &self.vcs {
            count_unfinished_frame(&mut counters, vc, self.batch.number);
        }
        counters.cell_time = self.cell_time(now);
        counters.cells_out = self.admitted - self.held_at_end(now);
        counters
    }

    /// Returns the integral [cell·ps] of the queue length over the run: the sum of the departure times, or of `now` for
    /// queued cells, minus the sum of the arrival times.
    fn cell_time(&self, now: Time) -> u128 {
        let departures_ps = self.outlet.departure_time(self.grid.ended_by(now));
        let queued_ps = u128::from(self.held_at_end(now)) * u128::from(now.0);
        departures_ps + queued_ps - self.sum_of_arrivals()
    }

    /// Returns the sum [ps] of the arrival times of all admitted cells.
    fn sum_of_arrivals(&self) -> u128 {
        let mut slots = self.arrival_time;
        for vc in self.vcs.iter().filter(|vc| vc.run != NONE) {
            // The cell of batch b has arrived at the end of slot b, which is the start of slot b + 1.
            slots += self.arrivals.of(vc.run + 1, self.batch.number + 1);
        }
        self.arrivals.total(slots) + u128::from(self.admitted) * u128::from(self.clock.delay().0)
    }

    /// Returns the queue length X [cell] of the settled port.
    pub fn held_at_end(&self, now: Time) -> u64 {
        self.outlet.held_at(self.grid.ended_by(now))
    }

    /// Returns the number of queued cells of each VC (X_i) at the settled port.
    pub fn held_by_vc(&self, now: Time) -> Vec<u64> {
        let ended_slots = self.grid.ended_by(now);
        let mut held = vec![0; self.vcs.len()];
        for late in &self.late {
            let end_slot = late.slot + late.cells;
            held[late.local as usize] += end_slot.saturating_sub(ended_slots.max(late.slot));
        }
        held
    }

    /// Returns the number of admitted cells of a VC, and the number of its frames that the next node receives.
    pub fn passed_on(&self, local: usize) -> (u64, u64) {
        let vc = &self.vcs[local];
        let current_run = if vc.run == NONE { 0 } else { self.batch.number - vc.run };
        (vc.admitted + current_run, vc.frames_out)
    }

    /// Removes and returns the next VBR cell that has left by `now`, with its arrival time downstream.
    pub fn pop_vbr(&mut self, now: Time) -> Option<(Time, Cell)> {
        let (vbr, ..) = self.outlet.vbr_mut()?;
        vbr.pop(now).map(|(departure, cell)| (departure + self.delay, cell))
    }

    /// Returns the VBR queue, if any.
    pub fn vbr_mut(&mut self) -> Option<&mut VbrQueue> {
        self.outlet.vbr_mut().map(|(vbr, ..)| vbr)
    }

    /// Returns the cells that have not left the path by the end of the run.
    pub fn late(&self) -> &[Late] {
        &self.late
    }

    /// Returns how many of the cells `late` have left this port by the end of the run.
    pub fn departed(&self, late: &Late) -> u64 {
        self.over.saturating_sub(late.slot).min(late.cells)
    }
}

/// Adds the cells of a VC's unfinished frame that arrived before the batch `next_batch`, with the losses among them.
fn count_unfinished_frame(counters: &mut QueueCounters, vc: &TrainVc, next_batch: u64) {
    if vc.frame == FrameState::Between {
        return;
    }
    let arrived_cells = next_batch - vc.first;
    match vc.frame {
        FrameState::Refused => counters.lost_aqm += arrived_cells,
        FrameState::Lost => counters.lost_injected += arrived_cells,
        // The cell at `lost_at`, which found the buffer full, is already counted.
        FrameState::Discarded => counters.lost_discarded += next_batch - vc.lost_at - 1,
        FrameState::Between | FrameState::Admitted | FrameState::Damaged => {}
    }
    counters.cells_in += arrived_cells;
}
