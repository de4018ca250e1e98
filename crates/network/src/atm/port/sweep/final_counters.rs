//! Counters of a sweep port at the end of the run.

use crate::atm::port::sweep::{Stream, SweepPort};
use crate::atm::port::trains::Late;
use crate::packets::Link;
use crate::report::cells::QueueCounters;
use crate::slots::SlotGrid;
use longpipe_events::{Span, Time};

/// Counters of a port at the end of the run.
#[derive(Clone, Debug, Default)]
pub struct SweepCounters {
    /// Counters; they include the time that queued cells have waited up to the end of the run.
    pub counters: QueueCounters,
    /// Number of queued cells of each VC (X_i).
    pub held: Vec<u64>,
}

impl SweepPort {
    /// Returns the link.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Returns the slots, and the propagation delay of the wire that the port feeds.
    pub fn slots(&self) -> (SlotGrid, Span) {
        (self.grid, self.delay)
    }

    /// Returns the number of admitted cells of a VC, and the number of its frames that the next node receives.
    pub fn passed_on(&self, local: usize) -> (u64, u64) {
        let vc = &self.vcs[local];
        (vc.admitted, vc.frames_out)
    }

    /// Returns the cells that have not left the path by the end of the run.
    pub fn late(&self) -> &[Late] {
        &self.late
    }

    /// Returns, for each input link, the number of cells that were not processed.
    pub fn unread<'a>(&'a self, streams: &'a [Stream]) -> impl Iterator<Item = (Link, u64)> + 'a {
        self.inputs.iter().map(|input| {
            let runs = streams[input.stream as usize].iter();
            let cells = runs.map(|run| u64::from(run.cells)).sum::<u64>();
            (input.link, cells + input.left())
        })
    }

    /// Returns the counters at `now`, the end of the run, after processing all arrivals.
    pub fn account(&self, now: Time) -> SweepCounters {
        let ended = self.grid.ended_by(now);
        let held = self.next.index().saturating_sub(self.busy.max(ended));
        let left = self.next.index() - held;
        let departures = self.sums.total(self.before + self.sums.of(self.busy + 1, left + 1));
        let longer: u128 = self.inputs.iter().map(|input| input.arrival_time()).sum();
        let mut by_vc = vec![0; self.vcs.len()];
        for late in &self.late {
            by_vc[late.local as usize] += (late.slot + late.cells).saturating_sub(ended.max(late.slot));
        }
        let counters = QueueCounters {
            cells_out: self.admitted - held,
            cell_time: departures + u128::from(held) * u128::from(now.0) - self.arrival_time - longer,
            ..self.counters
        };
        SweepCounters { counters, held: by_vc }
    }
}
