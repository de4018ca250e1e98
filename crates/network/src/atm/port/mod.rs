//! A switch's output port: a FIFO of cells, per-VC accounting, a buffer policy, a slotted output.
//!
//! One FIFO, alone or beside VBR whose arrivals are known ahead, means that a cell's slot is known when it is
//! admitted, so departures need no events: they are settled, in order, before anything else looks at the port.

pub mod admission;
pub mod class;
pub mod classes;
mod frame;
pub mod moving;
pub mod red;
pub mod scheduler;
pub mod sweep;
pub mod trains;
pub mod transit;

use crate::atm::aal5::Cell;
use crate::atm::slots::{SlotCursor, SlotGrid};
use crate::drops::DropCause;
use crate::packets::ring::Ring;
use crate::packets::Circuit;
use crate::scenario::bounds::AFTER_ANY_RUN;
use admission::{Admission, QueueCounters};
use classes::VbrQueue;
use longpipe_events::{Span, Time};

/// A cell held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When its slot ends.
    departure: Time,
    /// Its VC's number at this port.
    local: u32,
}

/// Later than any departure.
const NEVER: Time = Time(u64::MAX);

/// The output port of a switch and the wire behind it.
#[derive(Clone, Debug)]
pub struct Port {
    grid: SlotGrid,
    delay: Span,
    admission: Admission,
    /// VBR's queue beside this one.
    vbr: Option<Box<VbrQueue>>,
    /// Cells held, in order of departure.
    cells: Ring<Held>,
    /// When the first one's slot ends; `NEVER` if there is none.
    next_departure: Time,
    /// Cells not yet arrived downstream, where they may meet those of another wire there.
    wire: Ring<(Time, Cell)>,
    /// First slot not yet used.
    next: SlotCursor,
}

impl Port {
    /// An empty port, with a queue for VBR beside its own or without.
    pub fn new(grid: SlotGrid, delay: Span, admission: Admission, vbr: Option<Box<VbrQueue>>) -> Port {
        Port {
            grid,
            delay,
            admission,
            vbr,
            cells: Ring::default(),
            next_departure: NEVER,
            wire: Ring::default(),
            next: grid.cursor(0),
        }
    }

    /// Propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
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
            self.admission.release(cell.local, cell.departure);
            self.next_departure = self.cells.first().map_or(NEVER, |next| next.departure);
        }
    }

    /// A cell of the port's VC `local` arrives, the frame's last one or not. If it enters, the time at which it
    /// arrives downstream. `on_frame` is told X at the first cell of each frame.
    #[inline(always)]
    pub fn on_cell(&mut self, now: Time, last: bool, local: u32, on_frame: impl FnOnce(u64)) -> Option<Time> {
        self.settle(now);
        let held = self.held();
        let admitted = self.admission.admits(now, last, local, held, on_frame);
        admitted.then(|| self.admit(now, local))
    }

    /// Why the latest cell was lost that was.
    pub fn cause_of_loss(&self) -> DropCause {
        self.admission.cause_of_loss()
    }

    #[inline(always)]
    fn admit(&mut self, now: Time, local: u32) -> Time {
        let departure = match &mut self.vbr {
            None => {
                self.grid.advance(&mut self.next, now);
                if self.next.start() < AFTER_ANY_RUN {
                    self.next.step();
                }
                self.next.start()
            }
            Some(vbr) => vbr
                .slot_for_ubr(&self.grid, &mut self.next, now)
                .unwrap_or(AFTER_ANY_RUN),
        };
        self.admission.counters.cell_time += u128::from((departure - now).0);
        self.next_departure = self.next_departure.min(departure);
        self.cells.push(Held { departure, local });
        departure + self.delay
    }

    /// Takes out the next VBR cell that has left by `now`, with the time of its arrival downstream.
    pub fn pop_vbr(&mut self, now: Time) -> Option<(Time, Cell)> {
        let vbr = self.vbr.as_mut()?;
        vbr.serve_until(&self.grid, &mut self.next, now);
        vbr.pop(now).map(|(departure, cell)| (departure + self.delay, cell))
    }

    /// VBR's queue, if it has one.
    pub fn vbr_mut(&mut self) -> Option<&mut VbrQueue> {
        self.vbr.as_deref_mut()
    }

    /// Likewise, to look at.
    pub fn vbr(&self) -> Option<&VbrQueue> {
        self.vbr.as_deref()
    }

    /// Puts a cell on the wire, to arrive downstream at `arrival`. True if `head` changed.
    #[inline(always)]
    pub fn send(&mut self, arrival: Time, cell: Cell) -> bool {
        self.wire.push((arrival, cell));
        self.wire.tail() - self.wire.head() == 1
    }

    /// When the next cell on the wire arrives downstream, and its VC.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, Circuit)> {
        self.wire.first().map(|(arrival, cell)| (*arrival, cell.vc))
    }

    /// Takes the head cell off the wire.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Cell> {
        self.wire.pop().map(|(_, cell)| cell)
    }

    /// Counters as of `now`, the end of the run; cells still held count their waiting until now.
    pub fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        counters.cells_out = self.cells.head();
        for number in self.cells.head()..self.cells.tail() {
            counters.cell_time -= u128::from((self.cells.get(number).departure - now).0);
        }
        counters
    }

    /// X_i of the port's VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }
}
