//! A switch's output port: one FIFO of cells, per-VC accounting, a buffer policy, a slotted output.
//!
//! One class and one FIFO mean that a cell's slot is known when it is admitted, so departures need no
//! events: they are settled, in order, before anything else looks at the port.

pub mod buffer;

use crate::aal5::Cell;
use crate::loss::Loss;
use crate::ring::Ring;
use buffer::{AfterLoss, Occupancy, Policy};
use longpipe_events::{SlotCursor, SlotGrid, Span, Time};

/// A cell on its way through the port and over the wire.
#[derive(Clone, Copy, Debug, Default)]
struct Passing {
    arrival: Time,
    cell: Cell,
    /// The VC's number at this port.
    local: u32,
}

/// What the port does with the cells of a VC's current frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Frame {
    /// The next cell begins a frame.
    #[default]
    Between,
    /// Cells enter if there is room.
    Admitted,
    /// Likewise, though one was lost.
    Damaged,
    /// The policy refused the frame whole.
    Refused,
    /// The link loses the frame by force.
    Lost,
    /// The rest is discarded after a loss.
    Discarded,
}

/// What the port knows of one VC.
#[derive(Clone, Copy, Debug, Default)]
struct VcState {
    held: u32,
    frame: Frame,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Cells that arrived.
    pub cells_in: u64,
    /// Cells whose slot has ended.
    pub cells_out: u64,
    /// Cells that found the buffer full.
    pub lost_overflow: u64,
    /// Cells of frames that the policy refused whole.
    pub lost_refused: u64,
    /// Cells discarded after a loss in their frame.
    pub lost_discarded: u64,
    /// Cells of frames lost by force.
    pub lost_forced: u64,
    /// Frames whose first cell arrived.
    pub frames_in: u64,
    /// Frames admitted that lost a cell here.
    pub frames_damaged: u64,
    /// Most cells ever held [cell].
    pub peak_queue: u64,
    /// Time spent by cells from arrival to the end of their slot [cell·ps].
    pub cell_time: u128,
}

/// Later than any departure.
const NEVER: Time = Time(u64::MAX);

/// The output port of a switch and the wire behind it.
#[derive(Clone, Debug)]
pub struct Port {
    grid: SlotGrid,
    delay: Span,
    /// K [cell].
    capacity: u64,
    policy: Policy,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    /// Cells not yet arrived downstream, in order of departure.
    cells: Ring<Passing>,
    /// Numbers in `cells` of the last cells of frames, where the wire is looked at for these alone.
    frame_ends: Option<Ring<u64>>,
    /// Number in `cells` of the first cell whose slot has not ended.
    departed: u64,
    /// When that cell's slot ends; `NEVER` if there is none.
    next_departure: Time,
    /// First slot not yet used.
    next: SlotCursor,
    active_vcs: u64,
    vcs: Vec<VcState>,
    counters: PortCounters,
}

impl Port {
    /// An empty port for `vcs` virtual circuits; `capacity` of none is unlimited. With `whole_frames` the
    /// wire asks to be looked at only when the last cell of a frame arrives.
    pub fn new(
        grid: SlotGrid,
        delay: Span,
        capacity: Option<u64>,
        policy: Policy,
        loss: Option<Box<Loss>>,
        vcs: usize,
        whole_frames: bool,
    ) -> Port {
        let after_loss = policy.after_loss();
        Port {
            grid,
            delay,
            capacity: capacity.unwrap_or(u64::MAX),
            policy,
            after_loss,
            loss,
            cells: Ring::default(),
            frame_ends: whole_frames.then(Ring::default),
            departed: 0,
            next_departure: NEVER,
            next: grid.cursor(0),
            active_vcs: 0,
            vcs: vec![VcState::default(); vcs],
            counters: PortCounters::default(),
        }
    }

    /// X: cells held at the last time the port was looked at.
    #[inline]
    pub fn held(&self) -> u64 {
        self.cells.tail() - self.departed
    }

    /// Settles every departure up to `now`, which precedes whatever arrives at `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.next_departure <= now {
            let vc = &mut self.vcs[self.cells.get(self.departed).local as usize];
            vc.held -= 1;
            self.active_vcs -= u64::from(vc.held == 0);
            self.departed += 1;
            self.next_departure = if self.departed < self.cells.tail() {
                self.cells.get(self.departed).arrival - self.delay
            } else {
                NEVER
            };
        }
    }

    /// A cell of the port's VC `local` arrives. True if `head` changed.
    /// `on_frame` is told X at the first cell of each frame.
    #[inline(always)]
    pub fn on_cell(&mut self, now: Time, cell: Cell, local: u32, on_frame: impl FnOnce(u64)) -> bool {
        self.settle(now);
        self.counters.cells_in += 1;
        let held = self.held();
        let vc = &mut self.vcs[local as usize];
        let last = cell.left == 0;
        if vc.frame == Frame::Between {
            self.counters.frames_in += 1;
            on_frame(held);
            let occupancy = Occupancy {
                held,
                vc_held: u64::from(vc.held),
                active_vcs: self.active_vcs,
            };
            vc.frame = if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
                Frame::Lost
            } else if self.policy.refuses(occupancy) {
                Frame::Refused
            } else {
                Frame::Admitted
            };
        }
        let frame = vc.frame;
        if last {
            vc.frame = Frame::Between;
        }
        match frame {
            Frame::Refused => {
                self.counters.lost_refused += 1;
                return false;
            }
            Frame::Lost => {
                self.counters.lost_forced += 1;
                return false;
            }
            Frame::Discarded if !(last && self.after_loss == AfterLoss::Discard { keep_last: true }) => {
                self.counters.lost_discarded += 1;
                return false;
            }
            _ => {}
        }
        if held >= self.capacity {
            self.counters.lost_overflow += 1;
            if frame == Frame::Admitted {
                self.counters.frames_damaged += 1;
            }
            if !last {
                vc.frame = match self.after_loss {
                    AfterLoss::Admit => Frame::Damaged,
                    AfterLoss::Discard { .. } => Frame::Discarded,
                };
            }
            return false;
        }
        self.active_vcs += u64::from(vc.held == 0);
        vc.held += 1;
        self.admit(now, cell, local)
    }

    #[inline(always)]
    fn admit(&mut self, now: Time, cell: Cell, local: u32) -> bool {
        self.grid.advance(&mut self.next, now);
        self.next.step();
        let departure = self.next.start();
        self.counters.cell_time += u128::from((departure - now).0);
        self.next_departure = self.next_departure.min(departure);
        let new_head = match &mut self.frame_ends {
            None => self.cells.is_empty(),
            Some(_) if cell.left > 0 => false,
            Some(ends) => {
                ends.push(self.cells.tail());
                ends.tail() - ends.head() == 1
            }
        };
        self.cells.push(Passing {
            arrival: departure + self.delay,
            cell,
            local,
        });
        self.counters.peak_queue = self.counters.peak_queue.max(self.held());
        new_head
    }

    /// When the wire wants to be looked at next, and the VC of the cell that arrives then.
    #[inline]
    pub fn head(&self) -> Option<(Time, u32)> {
        let passing = match &self.frame_ends {
            None => self.cells.first(),
            Some(ends) => ends.first().map(|&number| self.cells.get(number)),
        };
        passing.map(|passing| (passing.arrival, passing.cell.vc))
    }

    /// Takes the next cell that has arrived by `now` off the wire, with its time of arrival.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<(Time, Cell)> {
        let passing = *self.cells.first().filter(|passing| passing.arrival <= now)?;
        if self.departed == self.cells.head() {
            self.settle(passing.arrival);
        }
        self.cells.pop();
        if let (Some(ends), 0) = (&mut self.frame_ends, passing.cell.left) {
            ends.pop();
        }
        Some((passing.arrival, passing.cell))
    }

    /// Counters as of `now`, the end of the run; cells still held count their waiting until now.
    pub fn counters_at(&mut self, now: Time) -> PortCounters {
        self.settle(now);
        let mut counters = self.counters;
        counters.cells_out = self.departed;
        for number in self.departed..self.cells.tail() {
            let departure = self.cells.get(number).arrival - self.delay;
            counters.cell_time -= u128::from((departure - now).0);
        }
        counters
    }

    /// X_i of the port's VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        u64::from(self.vcs[local].held)
    }
}
