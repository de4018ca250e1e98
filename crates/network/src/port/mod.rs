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

/// A cell held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When its slot ends.
    departure: Time,
    /// Its VC's number at this port.
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
    /// Cells held, in order of departure.
    cells: Ring<Held>,
    /// When the first one's slot ends; `NEVER` if there is none.
    next_departure: Time,
    /// Cells not yet arrived downstream, where they may meet those of another wire there.
    wire: Ring<(Time, Cell)>,
    /// First slot not yet used.
    next: SlotCursor,
    active_vcs: u64,
    vcs: Vec<VcState>,
    counters: PortCounters,
}

impl Port {
    /// An empty port for `vcs` virtual circuits; `capacity` of none is unlimited.
    pub fn new(
        grid: SlotGrid,
        delay: Span,
        capacity: Option<u64>,
        policy: Policy,
        loss: Option<Box<Loss>>,
        vcs: usize,
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
            next_departure: NEVER,
            wire: Ring::default(),
            next: grid.cursor(0),
            active_vcs: 0,
            vcs: vec![VcState::default(); vcs],
            counters: PortCounters::default(),
        }
    }

    /// X: cells held at the last time the port was looked at.
    #[inline]
    pub fn held(&self) -> u64 {
        self.cells.tail() - self.cells.head()
    }

    /// Settles every departure up to `now`, which precedes whatever arrives at `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.next_departure <= now {
            let Some(cell) = self.cells.pop() else { break };
            let vc = &mut self.vcs[cell.local as usize];
            vc.held -= 1;
            self.active_vcs -= u64::from(vc.held == 0);
            self.next_departure = self.cells.first().map_or(NEVER, |next| next.departure);
        }
    }

    /// A cell of the port's VC `local` arrives, the frame's last one or not. If it enters, the time at which it
    /// arrives downstream. `on_frame` is told X at the first cell of each frame.
    #[inline(always)]
    pub fn on_cell(&mut self, now: Time, last: bool, local: u32, on_frame: impl FnOnce(u64)) -> Option<Time> {
        self.settle(now);
        self.counters.cells_in += 1;
        let held = self.held();
        let vc = &mut self.vcs[local as usize];
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
                return None;
            }
            Frame::Lost => {
                self.counters.lost_forced += 1;
                return None;
            }
            Frame::Discarded if !(last && self.after_loss == AfterLoss::Discard { keep_last: true }) => {
                self.counters.lost_discarded += 1;
                return None;
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
            return None;
        }
        self.active_vcs += u64::from(vc.held == 0);
        vc.held += 1;
        Some(self.admit(now, local))
    }

    #[inline(always)]
    fn admit(&mut self, now: Time, local: u32) -> Time {
        self.grid.advance(&mut self.next, now);
        self.next.step();
        let departure = self.next.start();
        self.counters.cell_time += u128::from((departure - now).0);
        self.next_departure = self.next_departure.min(departure);
        self.cells.push(Held { departure, local });
        self.counters.peak_queue = self.counters.peak_queue.max(self.held());
        departure + self.delay
    }

    /// Puts a cell on the wire, to arrive downstream at `arrival`. True if `head` changed.
    #[inline(always)]
    pub fn send(&mut self, arrival: Time, cell: Cell) -> bool {
        self.wire.push((arrival, cell));
        self.wire.tail() - self.wire.head() == 1
    }

    /// When the next cell on the wire arrives downstream, and its VC.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, u32)> {
        self.wire.first().map(|(arrival, cell)| (*arrival, cell.vc))
    }

    /// Takes the head cell off the wire.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Cell> {
        self.wire.pop().map(|(_, cell)| cell)
    }

    /// Counters as of `now`, the end of the run; cells still held count their waiting until now.
    pub fn counters_at(&mut self, now: Time) -> PortCounters {
        self.settle(now);
        let mut counters = self.counters;
        counters.cells_out = self.cells.head();
        for number in self.cells.head()..self.cells.tail() {
            counters.cell_time -= u128::from((self.cells.get(number).departure - now).0);
        }
        counters
    }

    /// X_i of the port's VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        u64::from(self.vcs[local].held)
    }
}
