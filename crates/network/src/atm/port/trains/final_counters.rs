//! Counters of a train port at the end of the run.

use crate::atm::port::classes::VbrQueue;
use crate::atm::port::frame::FrameState;
use crate::atm::port::trains::vc::Rank;
use crate::atm::port::trains::vc::NONE;
use crate::atm::port::trains::{Late, TrainPort};
use crate::packets::aal5::Cell;
use crate::report::cells::QueueCounters;
use longpipe_events::Time;

impl TrainPort {
    /// Processes all arrivals by `now`, the end of the run.
    pub fn settle(&mut self, now: Time) {
        // VBR cells may leave before the first batch.
        let next = self.clock.latest(now).map_or(0, |latest| latest + 1);
        self.take_firsts(next, Rank::default());
        self.advance(next, self.clock.time(next));
    }

    /// Returns the counters of the settled port. They include the time that queued cells have waited up to `now`, and
    /// those cells of frames in transit that have arrived.
    pub fn counters_at(&self, now: Time) -> QueueCounters {
        let mut counters = self.counters;
        let (next, mut arrival_time) = (self.batch.number, self.arrival_time);
        for vc in &self.vcs {
            if vc.frame != FrameState::Between {
                counters.cells_in += next - vc.first;
            }
            match vc.frame {
                FrameState::Refused => counters.lost_aqm += next - vc.first,
                FrameState::Lost => counters.lost_injected += next - vc.first,
                FrameState::Discarded => counters.lost_discarded += next - vc.lost_at - 1,
                FrameState::Between | FrameState::Admitted | FrameState::Damaged => {}
            }
            if vc.run != NONE {
                arrival_time += self.arrivals.of(vc.run + 1, next + 1);
            }
        }
        let held = self.held_at_end(now);
        let arrived = self.arrivals.total(arrival_time) + u128::from(self.admitted) * u128::from(self.clock.delay().0);
        counters.cell_time =
            self.outlet.departure_time(self.grid.ended_by(now)) + u128::from(held) * u128::from(now.0) - arrived;
        counters.cells_out = self.admitted - held;
        counters
    }

    /// Returns the queue length X of the settled port.
    pub fn held_at_end(&self, now: Time) -> u64 {
        self.outlet.held_at(self.grid.ended_by(now))
    }

    /// Returns the number of queued cells of each VC (X_i) at the settled port.
    pub fn held_by_vc(&self, now: Time) -> Vec<u64> {
        let (ended, mut held) = (self.grid.ended_by(now), vec![0; self.vcs.len()]);
        for late in &self.late {
            held[late.local as usize] += (late.slot + late.cells).saturating_sub(ended.max(late.slot));
        }
        held
    }

    /// Returns the number of admitted cells of a VC, and the number of its frames that the next node receives.
    pub fn passed_on(&self, local: usize) -> (u64, u64) {
        let vc = &self.vcs[local];
        let run = if vc.run == NONE { 0 } else { self.batch.number - vc.run };
        (vc.admitted + run, vc.frames_out)
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
