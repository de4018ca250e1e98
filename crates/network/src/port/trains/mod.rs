//! A switch's output port that takes frames as trains of cells: what the reference does with every cell, it does
//! with the first and the last one of each frame.
//!
//! All inputs are interfaces with one grid and one delay, so that cells come in batches, one cell of each running
//! train in each. Between two edges the number of trains is constant: departures, occupancy and sums follow in
//! closed form as long as no cell can find the buffer full. Where one can, and for the cells that have not left the
//! path by the end of the run, a batch is taken cell by cell.

mod batch;
mod clock;
mod ledger;
pub mod outlet;
mod settled;
mod vc;

use super::admission::QueueCounters;
use super::buffer::{AfterLoss, Occupancy, Policy};
use super::classes::VbrQueue;
use super::frame::Frame;
use crate::loss::Loss;
use crate::ties::TieRule;
use crate::topology::LinkEnd;
use batch::{Batch, Running};
use clock::Clock;
use ledger::Ledger;
use longpipe_events::{GridSums, Order, SlotGrid, Span, StartSum, Time};
use outlet::{Alone, Beside, Outlet};
use vc::{Vc, NONE};

/// Order among the cells of a batch: the tie rule, then the link.
pub type Rank = (Order, u32);

/// The first or the last cell of a frame, as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// When.
    pub time: Time,
    /// Slot of the interface in which it left.
    pub batch: u64,
    /// Its place among the cells of that instant.
    pub rank: Rank,
    /// The VC's number at this port.
    pub local: u32,
    /// Cells of the frame.
    pub cells: u16,
}

/// A cell admitted that has not left the path behind the port by the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Its slot here.
    pub slot: u64,
    /// Its VC's number here.
    pub local: u32,
    /// Whether it begins a frame for whoever comes next.
    pub begins: bool,
}

/// The output port of a switch and the wire behind it, at the pace of frames.
#[derive(Clone, Debug)]
pub struct TrainPort {
    /// Slots.
    pub grid: SlotGrid,
    /// Propagation behind the port.
    pub delay: Span,
    clock: Clock,
    ties: TieRule,
    /// K [cell].
    capacity: u64,
    policy: Policy,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    vcs: Vec<Vc>,
    running: Vec<Running>,
    /// Whether a running train's latest cell was lost.
    broken: bool,
    batch: Batch,
    outlet: Outlet,
    admitted: u64,
    arrivals: GridSums,
    /// When cells of runs that are over left their interfaces.
    arrival_time: StartSum,
    /// Who is in the queue, for policies that ask.
    ledger: Option<Box<Ledger>>,
    /// First slot whose cell has not left the path by the end of the run.
    horizon: u64,
    late: Vec<Late>,
    counters: QueueCounters,
}

/// What a port is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Slots of the interfaces that feed it.
    pub input: SlotGrid,
    /// Propagation from them.
    pub input_delay: Span,
    /// Its own slots.
    pub grid: SlotGrid,
    /// Propagation behind it.
    pub delay: Span,
    /// K [cell]; none: unlimited.
    pub capacity: Option<u64>,
    /// What it refuses.
    pub policy: Policy,
    /// What it loses by force.
    pub loss: Option<Box<Loss>>,
    /// Order of simultaneous cells.
    pub ties: TieRule,
    /// VC, link and link's end, by number at the port.
    pub circuits: Vec<(u32, u32, LinkEnd)>,
    /// First slot whose cell has not left the path by the end of the run.
    pub horizon: u64,
    /// VBR's queue beside its own, and the slots that are over by the end of the run.
    pub vbr: Option<(VbrQueue, u64)>,
}

impl TrainPort {
    /// An empty port.
    pub fn new(parts: Parts) -> TrainPort {
        let circuits = parts.circuits.len();
        TrainPort {
            grid: parts.grid,
            delay: parts.delay,
            clock: Clock::new(parts.input, parts.input_delay, parts.grid),
            ties: parts.ties,
            capacity: parts.capacity.unwrap_or(u64::MAX),
            after_loss: parts.policy.after_loss(),
            ledger: parts.policy.asks_for_vcs().then(|| Box::new(Ledger::new(circuits))),
            policy: parts.policy,
            loss: parts.loss,
            vcs: parts.circuits.into_iter().map(Vc::new).collect(),
            running: Vec::new(),
            broken: false,
            batch: Batch {
                number: u64::MAX,
                ..Batch::default()
            },
            outlet: match parts.vbr {
                None => Outlet::Alone(Alone::new(parts.grid)),
                Some((vbr, ended)) => Outlet::Beside(Box::new(Beside::new(parts.grid, vbr, ended))),
            },
            admitted: 0,
            arrivals: GridSums::new(parts.input),
            arrival_time: StartSum::default(),
            horizon: parts.horizon,
            late: Vec::new(),
            counters: QueueCounters::default(),
        }
    }

    /// The first cell of a frame arrives. X before it, if `asked`.
    pub fn on_first(&mut self, edge: Edge, asked: bool) -> Option<u64> {
        self.advance(edge.batch, edge.time);
        self.counters.frames_in += 1;
        let held = asked.then(|| self.held_at(edge.rank));
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
        held
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
        let vc = &mut self.vcs[edge.local as usize];
        if matches!(vc.frame, Frame::Admitted | Frame::Damaged) {
            vc.place = self.running.len() as u32;
            self.running.push(Running {
                local: edge.local,
                vc: vc.vc,
                link: vc.link,
                end: vc.end,
                last: edge.batch + u64::from(edge.cells) - 1,
            });
            self.broken |= vc.run == NONE;
        }
    }

    /// The last cell of a frame arrives. If it enters and the frame is whole, the slot in which it leaves.
    pub fn on_last(&mut self, edge: Edge) -> Option<u64> {
        self.advance(edge.batch, edge.time);
        let cells = u64::from(edge.cells);
        self.counters.cells_in += cells;
        let vc = &mut self.vcs[edge.local as usize];
        let frame = std::mem::take(&mut vc.frame);
        match frame {
            Frame::Refused => self.counters.lost_refused += cells,
            Frame::Lost => self.counters.lost_forced += cells,
            Frame::Discarded => {
                // Those between the cell that was lost and this one.
                self.counters.lost_discarded += edge.batch - vc.lost_at - 1;
                if self.after_loss == (AfterLoss::Discard { keep_last: true }) {
                    self.admit_last(edge, frame);
                } else {
                    self.counters.lost_discarded += 1;
                    vc.merge();
                }
            }
            Frame::Admitted | Frame::Damaged => {
                self.remove(edge.local);
                return self.admit_last(edge, frame);
            }
            Frame::Between => unreachable!("a last cell follows a first one"),
        }
        None
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
            return None;
        }
        let whole = frame == Frame::Admitted && !vc.merged;
        (vc.merged, vc.entered) = (false, false);
        slot.filter(|_| whole)
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
            let rank = |local: u32| {
                let vc = &self.vcs[local as usize];
                (self.ties.rank(&vc.end, time, vc.vc), vc.link)
            };
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
