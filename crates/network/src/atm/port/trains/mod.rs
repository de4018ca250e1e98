//! A switch's output port that takes frames as trains of cells: what the reference does with every cell, it does
//! with the first and the last one of each frame.
//!
//! All inputs are interfaces with one grid and one delay, so that cells come in batches, one cell of each running
//! train in each. Between two edges the number of trains is constant: departures, occupancy and sums follow in
//! closed form as long as no cell can find the buffer full. Where one can, and for the cells that have not left the
//! path by the end of the run, a batch is taken cell by cell.

mod batch;
mod calm;
mod clock;
mod edge;
mod ledger;
pub mod outlet;
mod parts;
mod running;
mod settled;
mod vc;

use crate::atm::port::admission::QueueCounters;
use crate::atm::port::frame::Frame;
use crate::atm::slots::{GridSums, SlotGrid, StartSum};
use crate::drops::DropCause;
use crate::impairments::loss::Loss;
use crate::packets::ring::Ring;
use crate::policies::{AfterLoss, Occupancy, Policy};
use crate::ties::TieRule;
use clock::{Clock, Known};
use edge::Edge;
pub use edge::{First, Last, Late};
use ledger::Ledger;
use longpipe_events::{Span, Time};
use outlet::Outlet;
pub use parts::Parts;
use running::{Batch, Running};
use std::cmp::Ordering;
use vc::{Rank, Vc, NONE};

/// The output port of a switch and the wire behind it, at the pace of frames.
#[derive(Clone, Debug)]
pub struct TrainPort {
    /// Slots.
    pub grid: SlotGrid,
    /// Propagation behind the port.
    pub delay: Span,
    /// Where its frames' edges queue up.
    pub lane: usize,
    /// First cells to come, in order.
    firsts: Ring<First>,
    clock: Clock,
    ties: TieRule,
    /// K [cell].
    capacity: u64,
    policy: Policy,
    /// No frame is refused for any X up to this.
    calm: u64,
    /// Whether X cannot fall while cells come, and nothing is lost by force.
    plain: bool,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    vcs: Vec<Vc>,
    running: Vec<Running>,
    /// Whether a running train's latest cell was lost.
    broken: bool,
    batch: Batch,
    /// From which bounds are derived.
    known: Known,
    outlet: Outlet,
    admitted: u64,
    arrivals: GridSums,
    /// When cells of runs that are over left their interfaces.
    arrival_time: StartSum,
    /// Who is in the queue, for policies that ask.
    ledger: Option<Box<Ledger>>,
    /// First slot whose cell has not left the path by the end of the run.
    horizon: u64,
    /// First slot that is not over by then.
    over: u64,
    late: Vec<Late>,
    counters: QueueCounters,
    /// Why the frame is lost whose last cell came last, if it is.
    loss_of_last: Option<DropCause>,
}

impl TrainPort {
    /// When the cells of a batch arrive.
    #[inline]
    pub fn arrival(&self, batch: u64) -> Time {
        self.clock.time(batch)
    }

    /// The first cell of a frame will arrive, later than all that is past.
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

    /// X before the first cell of a frame, which arrives.
    pub fn held_before(&mut self, first: First) -> u64 {
        let time = self.arrival(first.batch);
        let rank = self.rank_of(first.local, time);
        self.take_firsts(first.batch, rank);
        self.advance(first.batch, time);
        self.look_up();
        self.held_at(rank)
    }

    /// Takes the first cells that arrive before the cell of this rank in a batch.
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

    /// The first cell of a frame arrives.
    #[inline(always)]
    fn on_first(&mut self, first: First, time: Time) {
        let First { batch, local, cells } = first;
        self.advance(batch, time);
        self.counters.frames_in += 1;
        if self.begin_calmly(first) {
            return;
        }
        let rank = self.rank_of(local, time);
        self.decide(Edge {
            time,
            batch,
            rank,
            local,
            cells,
        });
    }

    /// Whether a frame enters is decided by all that the port knows.
    #[inline(never)]
    fn decide(&mut self, edge: Edge) {
        self.look_up();
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(edge.time));
        let frame = if lost {
            Frame::Lost
        } else if self.refuses(edge) {
            Frame::Refused
        } else {
            Frame::Admitted
        };
        let vc = &mut self.vcs[edge.local as usize];
        vc.begin(frame, edge.batch);
        if frame == Frame::Admitted {
            self.enter(edge);
        }
    }

    /// Rank of a VC's cell that arrives at `time`.
    fn rank_of(&self, local: u32, time: Time) -> Rank {
        self.vcs[local as usize].rank(&self.ties, time)
    }

    /// A frame that is not refused brings its first cell.
    fn enter(&mut self, edge: Edge) {
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
        if matches!(vc.frame, Frame::Admitted | Frame::Damaged) {
            self.broken |= vc.run == NONE;
            self.run(edge.local, edge.batch + u64::from(edge.cells) - 1);
        }
    }

    /// A train runs up to a batch.
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

    /// The last cell of an expected frame arrives, before all of which no other cell came since those of frames that are
    /// over: the slot in which it leaves, if that is so and it is certain to enter. If not, nothing is counted.
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

    /// The same of a frame of which the port did not know, where none is expected.
    #[inline(always)]
    pub fn on_lone(&mut self, first: First, last: Last) -> Option<u64> {
        if !self.firsts.is_empty() {
            return None;
        }
        self.take_alone(first, last)
    }

    /// The last cell of a frame arrives. If it enters and the frame is whole, the slot in which it leaves, which may be
    /// left out if that is not over by the end of the run.
    #[inline(always)]
    pub fn on_last(&mut self, last: Last) -> Option<u64> {
        self.counters.cells_in += u64::from(last.cells);
        self.take_last(last.time, last.batch, last.local, last.cells)
    }

    /// When the last cell of a frame would have left, alone, to be as long before the next frame's as it is at least; it
    /// does so at `left`. A running train's last cell leaves no sooner than so many slots later as cells of it follow.
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
        if let Some(slot) = self.end_calmly(last) {
            return Some(slot);
        }
        let rank = self.rank_of(local, time);
        self.end(Edge {
            time,
            batch,
            rank,
            local,
            cells,
        })
    }

    #[inline(never)]
    fn end(&mut self, edge: Edge) -> Option<u64> {
        self.look_up();
        let cells = u64::from(edge.cells);
        let vc = &mut self.vcs[edge.local as usize];
        let frame = std::mem::take(&mut vc.frame);
        match frame {
            Frame::Refused => {
                self.counters.lost_refused += cells;
                self.loss_of_last = Some(DropCause::Aqm);
            }
            Frame::Lost => {
                self.counters.lost_forced += cells;
                self.loss_of_last = Some(DropCause::InjectedLoss);
            }
            Frame::Discarded => {
                // Those between the cell that was lost and this one.
                self.counters.lost_discarded += edge.batch - vc.lost_at - 1;
                if self.after_loss == (AfterLoss::Discard { keep_last: true }) {
                    self.admit_last(edge, frame);
                } else {
                    self.counters.lost_discarded += 1;
                    vc.merge();
                }
                self.loss_of_last = Some(DropCause::Overflow);
            }
            Frame::Admitted | Frame::Damaged => {
                self.remove(edge.local);
                return self.admit_last(edge, frame);
            }
            Frame::Between => unreachable!("a last cell follows a first one"),
        }
        None
    }

    /// Why the frame is lost whose last cell came last, if it is.
    pub fn take_loss(&mut self) -> Option<DropCause> {
        self.loss_of_last.take()
    }

    /// The last cell asks to enter.
    fn admit_last(&mut self, edge: Edge, frame: Frame) -> Option<u64> {
        if self.batch.cells.is_none() && !self.fits(self.batch.taken + self.running.len() as u64 + 1) {
            self.take_singly(edge.rank);
        }
        let local = edge.local as usize;
        let slot = if self.batch.cells.is_some() {
            self.pass(edge.rank);
            self.vcs[local].frame = frame;
            let slot = self.take_cell(edge.local, true);
            self.vcs[local].frame = Frame::Between;
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
        if slot.is_none() {
            vc.merge();
            self.loss_of_last = Some(DropCause::Overflow);
            return None;
        }
        let whole = frame == Frame::Admitted && !vc.merged;
        if !whole {
            self.loss_of_last = Some(match frame {
                Frame::Admitted => DropCause::PartialFrame,
                _ => DropCause::Overflow,
            });
        }
        (vc.merged, vc.entered) = (false, false);
        slot.filter(|&slot| whole && slot < self.over)
    }

    fn refuses(&mut self, edge: Edge) -> bool {
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

    /// X_i of the edge's VC and N_a when its first cell arrives.
    fn vcs_at(&mut self, edge: Edge) -> (u64, u64) {
        let Some(mut ledger) = self.ledger.take() else {
            return (0, 0);
        };
        let before = self.admitted
            - if self.batch.cells.is_some() {
                self.batch.taken
            } else {
                0
            };
        let found = if self.batch.departed == before {
            (0, 0)
        } else {
            let oldest = ledger.seek(self.batch.departed);
            let time = self.clock.time(oldest.batch);
            let rank = |local: u32| self.rank_of(local, time);
            ledger.occupancy(oldest, edge.local, rank, |local| self.admitted_of(local, edge.rank))
        };
        self.ledger = Some(ledger);
        found
    }

    /// Cells of a VC that were admitted before the cell of this rank in the batch.
    fn admitted_of(&self, local: u32, rank: Rank) -> u64 {
        let vc = &self.vcs[local as usize];
        if vc.run == NONE {
            return vc.admitted;
        }
        let (number, train) = (self.batch.number, &self.running[vc.place as usize]);
        vc.admitted + number - vc.run + u64::from(self.rank(train) < rank)
    }
}
