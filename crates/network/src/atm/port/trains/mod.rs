//! A switch's output port that processes frames as trains of cells: it handles only the first and last cell of each
//! frame, with results equal to those of a cell-by-cell simulation.
//!
//! All inputs are interfaces that share one slot grid and one delay, so cells arrive in batches that contain one cell
//! of each active train. Between two edges the number of trains is constant: departures, occupancy and sums have a
//! closed form while no cell can find the buffer full. Otherwise, and for cells that have not left the path by the end
//! of the run, a batch is processed cell by cell.

mod batch;
mod clock;
mod closed_form;
mod edge;
mod final_counters;
mod occupancy;
pub mod outlet;
mod parts;
mod running;
mod vc;

use crate::atm::port::frame::FrameState;
use crate::impairments::loss::Loss;
use crate::packets::drops::DropCause;
use crate::policies::{AfterLoss, Occupancy, Policy};
use crate::report::cells::QueueCounters;
use crate::slots::{GridSums, SlotGrid, StartSum};
use crate::ties::TieRule;
use clock::{BatchClock, Known};
use edge::FrameEdge;
pub use edge::{First, Last, Late};
use longpipe_events::{Ring, Span, Time};
use occupancy::OccupancyHistory;
use outlet::Outlet;
pub use parts::TrainParameters;
use running::{Batch, Running};
use std::cmp::Ordering;
use vc::{Rank, TrainVc, NONE};

/// The output port of a switch, simulated by frames, and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct TrainPort {
    /// Slots of the port.
    pub grid: SlotGrid,
    /// Propagation delay of the wire that the port feeds.
    pub delay: Span,
    /// Lane in which the first and last cells of the port's frames are queued.
    pub lane: usize,
    /// Announced first cells, in order.
    firsts: Ring<First>,
    clock: BatchClock,
    ties: TieRule,
    /// Buffer size K [cell].
    capacity: u64,
    policy: Policy,
    /// Occupancy X [cell] up to which the policy drops no frame.
    no_refusal_up_to: u64,
    /// Whether there are no injected losses and the occupancy X cannot fall while cells arrive.
    plain: bool,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    vcs: Vec<TrainVc>,
    running: Vec<Running>,
    /// Whether an active train's latest cell was lost.
    broken: bool,
    batch: Batch,
    /// Batch whose slots are known; bounds are derived from it.
    known: Known,
    outlet: Outlet,
    admitted: u64,
    arrivals: GridSums,
    /// Sum of the interface slots of the cells in completed runs.
    arrival_time: StartSum,
    /// Occupancy by VC, for policies that depend on it.
    history: Option<Box<OccupancyHistory>>,
    /// First slot whose cell has not left the path by the end of the run.
    horizon: u64,
    /// First slot that has not ended by the end of the run.
    over: u64,
    late: Vec<Late>,
    counters: QueueCounters,
    /// Time and cause of the latest frame's loss, if it was lost.
    loss_of_last: Option<(Time, DropCause)>,
}

impl TrainPort {
    /// Returns the arrival time of a batch.
    #[inline]
    pub fn arrival(&self, batch: u64) -> Time {
        self.clock.time(batch)
    }

    /// Announces the first cell of a frame, which arrives after the port's current time.
    #[inline(always)]
    pub fn expect(&mut self, first: First) {
        let in_order = self.firsts.last().is_none_or(|last| last.batch < first.batch);
        self.firsts.push(first);
        if !in_order {
            self.sort_last_first();
        }
    }

    #[inline(never)]
    fn sort_last_first(&mut self) {
        let (vcs, ties, clock) = (&self.vcs, &self.ties, &self.clock);
        let rank = |first: &First| vcs[first.local as usize].rank(ties, clock.time(first.batch));
        self.firsts
            .sort_last(|other, first| match other.batch.cmp(&first.batch) {
                Ordering::Equal => rank(other) < rank(first),
                order => order.is_lt(),
            });
    }

    /// Returns the queue length X before a frame's first cell, which arrives now.
    pub fn held_before(&mut self, first: First) -> u64 {
        let time = self.arrival(first.batch);
        let rank = self.rank_of(first.local, time);
        self.take_firsts(first.batch, rank);
        self.advance(first.batch, time);
        self.look_up();
        self.held_at(rank)
    }

    /// Processes those first cells that arrive before the cell with the given rank in a batch.
    #[inline]
    fn take_firsts(&mut self, batch: u64, rank: Rank) {
        while let Some(&first) = self.firsts.first() {
            if first.batch > batch {
                return;
            }
            let time = self.arrival(first.batch);
            if first.batch == batch && self.rank_of(first.local, time) >= rank {
                return;
            }
            self.firsts.pop();
            self.on_first(first, time);
        }
    }

    /// Processes the arrival of a frame's first cell.
    #[inline(always)]
    fn on_first(&mut self, first: First, time: Time) {
        let First { batch, local, cells } = first;
        self.advance(batch, time);
        self.counters.frames_in += 1;
        if self.begin_in_closed_form(first) {
            return;
        }
        let rank = self.rank_of(local, time);
        self.decide(FrameEdge {
            time,
            batch,
            rank,
            local,
            cells,
        });
    }

    /// Decides, based on exact occupancies, whether a frame is admitted.
    #[inline(never)]
    fn decide(&mut self, edge: FrameEdge) {
        self.look_up();
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(edge.time));
        let frame = if lost {
            FrameState::Lost
        } else if self.refuses(edge) {
            FrameState::Refused
        } else {
            FrameState::Admitted
        };
        let vc = &mut self.vcs[edge.local as usize];
        vc.begin(frame, edge.batch);
        if frame == FrameState::Admitted {
            self.enter(edge);
        }
    }

    /// Returns the rank of a VC's cell among the cells that arrive at `time`.
    fn rank_of(&self, local: u32, time: Time) -> Rank {
        self.vcs[local as usize].rank(&self.ties, time)
    }

    /// Admits the first cell of a frame that the policy accepts.
    fn enter(&mut self, edge: FrameEdge) {
        if self.batch.cells.is_none() && !self.fits(self.batch.taken + self.running.len() as u64 + 1) {
            self.take_singly(edge.rank);
        }
        if self.batch.cells.is_some() {
            self.pass(edge.rank);
            self.take_cell(edge.local, false);
        } else {
            self.open(edge.local, edge.batch);
        }
        let vc = &self.vcs[edge.local as usize];
        if matches!(vc.frame, FrameState::Admitted | FrameState::Damaged) {
            self.broken |= vc.run == NONE;
            self.run(edge.local, edge.batch + u64::from(edge.cells) - 1);
        }
    }

    /// Starts a train: the VC has a cell in every batch up to `last`.
    #[inline(always)]
    fn run(&mut self, local: u32, last: u64) {
        let vc = &mut self.vcs[local as usize];
        vc.place = self.running.len() as u32;
        self.running.push(Running {
            local,
            vc: vc.vc,
            link: vc.link,
            last,
        });
    }

    /// Processes the last cell of an announced frame if no other train is active and all its cells are certain to be
    /// admitted. Returns the slot of the last cell. If it returns None, no counter has changed.
    #[inline(always)]
    pub fn on_last_alone(&mut self, last: Last) -> Option<u64> {
        let first = *self.firsts.first()?;
        let own = (first.local == last.local) & (first.batch + u64::from(last.cells) == last.batch + 1);
        let alone = own && self.firsts.second().is_none_or(|other| other.batch > last.batch);
        let slot = if alone {
            self.take_alone(first, last)?
        } else {
            return None;
        };
        self.firsts.pop();
        Some(slot)
    }

    /// Like `on_last_alone`, but for a frame that was not announced; no other frame may be announced.
    #[inline(always)]
    pub fn on_lone(&mut self, first: First, last: Last) -> Option<u64> {
        if !self.firsts.is_empty() {
            return None;
        }
        self.take_alone(first, last)
    }

    /// Processes the arrival of a frame's last cell. Returns the cell's slot if it is admitted and the frame is
    /// complete; the slot may be missing if it does not end within the run.
    #[inline(always)]
    pub fn on_last(&mut self, last: Last) -> Option<u64> {
        self.counters.cells_in += u64::from(last.cells);
        self.take_last(last.time, last.batch, last.local, last.cells)
    }

    /// Returns the departure time to use as the lower bound for the next frame's spacing: the time at which the frame's
    /// last cell, which leaves at `left`, would have left without other trains. The last cell of an active train leaves
    /// later, by at least the number of slots that the train's remaining cells need.
    #[inline(never)]
    pub fn as_if_alone(&self, left: Time, last: Last) -> Time {
        let follow = self.running.iter().map(|train| train.last - last.batch).min();
        let missing = u64::from(last.cells).saturating_sub(follow.unwrap_or(u64::MAX));
        Time(left.0.wrapping_sub(missing * (self.grid.period_floor() + 1)))
    }

    #[inline(never)]
    fn take_last(&mut self, time: Time, batch: u64, local: u32, cells: u16) -> Option<u64> {
        let last = Last {
            time,
            batch,
            local,
            cells,
        };
        if self.firsts.first().is_some_and(|first| first.batch <= batch) {
            self.take_firsts(batch, self.rank_of(local, time));
        }
        self.advance(batch, time);
        if let Some(slot) = self.end_in_closed_form(last) {
            return Some(slot);
        }
        let rank = self.rank_of(local, time);
        self.end(FrameEdge {
            time,
            batch,
            rank,
            local,
            cells,
        })
    }

    #[inline(never)]
    fn end(&mut self, edge: FrameEdge) -> Option<u64> {
        self.look_up();
        let cells = u64::from(edge.cells);
        let vc = &mut self.vcs[edge.local as usize];
        let frame = std::mem::take(&mut vc.frame);
        match frame {
            FrameState::Refused => {
                self.counters.lost_aqm += cells;
                self.loss_of_last = Some((self.clock.time(vc.first), DropCause::Aqm));
            }
            FrameState::Lost => {
                self.counters.lost_injected += cells;
                self.loss_of_last = Some((self.clock.time(vc.first), DropCause::InjectedLoss));
            }
            FrameState::Discarded => {
                let lost = self.clock.time(vc.lost_at);
                // The discarded cells are those between the lost cell and this one.
                self.counters.lost_discarded += edge.batch - vc.lost_at - 1;
                if self.after_loss == (AfterLoss::Discard { keep_last: true }) {
                    self.admit_last(edge, frame);
                } else {
                    self.counters.lost_discarded += 1;
                    vc.merge();
                }
                self.loss_of_last = Some((lost, DropCause::Overflow));
            }
            FrameState::Admitted | FrameState::Damaged => {
                self.remove(edge.local);
                return self.admit_last(edge, frame);
            }
            FrameState::Between => unreachable!("a last cell follows a first one"),
        }
        None
    }

    /// Returns the time and the cause of the latest frame's loss, if the frame was lost: the arrival time of the first
    /// lost cell, or, for a frame that was merged with an earlier one, the time at which its last cell reaches the end
    /// of the wire.
    pub fn take_loss(&mut self) -> Option<(Time, DropCause)> {
        self.loss_of_last.take()
    }

    /// Returns the arrival time of the first lost cell of a frame whose last cell has not arrived, and the cause of the
    /// loss, if a cell was lost. `first` is the batch of the frame's first cell.
    pub fn loss_so_far(&self, first: u64, local: u32) -> Option<(Time, DropCause)> {
        let vc = &self.vcs[local as usize];
        let (batch, cause) = match vc.frame {
            FrameState::Refused => (vc.first, DropCause::Aqm),
            FrameState::Lost => (vc.first, DropCause::InjectedLoss),
            FrameState::Damaged | FrameState::Discarded => (vc.lost_at, DropCause::Overflow),
            FrameState::Between | FrameState::Admitted => return None,
        };
        (vc.first == first).then(|| (self.clock.time(batch), cause))
    }

    /// Admits the last cell of a frame if possible. Returns the cell's slot.
    fn admit_last(&mut self, edge: FrameEdge, frame: FrameState) -> Option<u64> {
        if self.batch.cells.is_none() && !self.fits(self.batch.taken + self.running.len() as u64 + 1) {
            self.take_singly(edge.rank);
        }
        let local = edge.local as usize;
        let slot = if self.batch.cells.is_some() {
            self.pass(edge.rank);
            self.vcs[local].frame = frame;
            let slot = self.take_cell(edge.local, true);
            self.vcs[local].frame = FrameState::Between;
            slot
        } else {
            let before = self.batch.taken + self.before(edge.rank);
            let slot = self.outlet.slot(self.batch.slot, before);
            self.batch.taken += 1;
            if self.vcs[local].run == NONE {
                self.open(edge.local, edge.batch);
            }
            Some(slot)
        };
        self.close(edge.local, edge.batch + u64::from(slot.is_some()));
        let vc = &mut self.vcs[local];
        let Some(last_slot) = slot else {
            vc.merge();
            let first_lost = if frame == FrameState::Admitted {
                edge.batch
            } else {
                vc.lost_at
            };
            self.loss_of_last = Some((self.clock.time(first_lost), DropCause::Overflow));
            return None;
        };
        let whole = frame == FrameState::Admitted && !vc.merged;
        if !whole {
            self.loss_of_last = Some(match frame {
                FrameState::Admitted => (self.grid.start(last_slot + 1) + self.delay, DropCause::PartialFrame),
                _ => (self.clock.time(vc.lost_at), DropCause::Overflow),
            });
        }
        (vc.merged, vc.entered) = (false, false);
        slot.filter(|&slot| whole && slot < self.over)
    }

    fn refuses(&mut self, edge: FrameEdge) -> bool {
        let Batch { held, taken, .. } = self.batch;
        let sure = match self.batch.cells {
            None => self
                .policy
                .decides(held + taken, held + taken + self.running.len() as u64),
            Some(_) => None,
        };
        if let Some(refuses) = sure {
            return refuses;
        }
        let held = self.held_at(edge.rank);
        let (vc_held, active_vcs) = self.vcs_at(edge);
        self.policy.refuses(Occupancy {
            held,
            vc_held,
            active_vcs,
        })
    }

    /// Returns the number of queued cells of the edge's VC (X_i), and the number of VCs with queued cells (N_a), on the
    /// arrival of the edge's first cell.
    fn vcs_at(&mut self, edge: FrameEdge) -> (u64, u64) {
        let Some(mut history) = self.history.take() else {
            return (0, 0);
        };
        let before = self.admitted
            - if self.batch.cells.is_some() {
                self.batch.taken
            } else {
                0
            };
        let departed = if self.batch.departed == before {
            (0, 0)
        } else {
            let oldest = history.seek(self.batch.departed);
            let time = self.clock.time(oldest.batch);
            let rank = |local: u32| self.rank_of(local, time);
            history.occupancy(oldest, edge.local, rank, |local| self.admitted_of(local, edge.rank))
        };
        self.history = Some(history);
        departed
    }

    /// Returns the number of admitted cells of a VC before the cell with the given rank in the batch.
    fn admitted_of(&self, local: u32, rank: Rank) -> u64 {
        let vc = &self.vcs[local as usize];
        if vc.run == NONE {
            return vc.admitted;
        }
        let (number, train) = (self.batch.number, &self.running[vc.place as usize]);
        vc.admitted + number - vc.run + u64::from(self.rank(train) < rank)
    }
}
