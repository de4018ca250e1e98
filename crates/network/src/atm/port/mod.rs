//! A switch's output port: a FIFO of cells, per-VC accounting, a buffer policy and a slotted output.
//!
//! A cell's slot is known on admission, because the queue is a FIFO and arrivals of VBR cells, if any, are known in
//! advance. Departures therefore need no events: they are processed, in order, before any other access to the port.

pub mod admission;
pub mod cell_wire;
pub mod classes;
pub mod dfba;
mod frame;
pub mod per_vc;
pub mod red;
pub(crate) mod slot_source;
pub mod time_varying;
pub mod trains;
pub mod transit;

use crate::bounds::AFTER_ANY_RUN;
use crate::packets::aal5::Cell;
use crate::packets::drops::DropCause;
use crate::report::cells::QueueCounters;
use crate::slots::{SlotCursor, SlotGrid};
use admission::Admission;
use cell_wire::CellWire;
use classes::VbrQueue;
use longpipe_events::{Ring, Span, Time};

/// A queued cell.
#[derive(Clone, Copy, Debug, Default)]
struct QueuedCell {
    /// End of its slot.
    departure: Time,
    /// Index of the VC at this port.
    local: u32,
}

/// A time later than all departures.
const NEVER: Time = Time(u64::MAX);

/// Utilization of a link whose rate varies.
#[derive(Clone, Copy, Debug)]
pub struct Utilization {
    /// Fraction of the capacity that cells used.
    pub fraction: f64,
    /// Whether the fraction is at most 1, in exact arithmetic.
    pub is_possible: bool,
}

/// A port that processes each cell: its counters and queue lengths, for reports.
pub trait CellQueue {
    /// Returns the counters at `now`, the end of the run. They include the time that queued cells have waited up to
    /// `now`; a cell lost on the wire does not count as departed.
    fn counters_at(&mut self, now: Time) -> QueueCounters;

    /// Returns the queue length X [cell] at the latest access.
    fn held(&self) -> u64;

    /// Returns the occupancy X_i [cell] of the port's VC `local`.
    fn vc_held(&self, local: usize) -> u64;

    /// Returns the utilization of a time-varying link up to `now`; None for a constant rate. `counters_at` must have been
    /// called with `now`.
    fn utilization(&self, _now: Time) -> Option<Utilization> {
        None
    }

    /// Returns the VBR queue, if any.
    fn vbr_mut(&mut self) -> Option<&mut VbrQueue> {
        None
    }
}

/// The output port of a switch and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct CellPort {
    grid: SlotGrid,
    delay: Span,
    admission: Admission,
    /// Queue of VBR, if any.
    vbr: Option<Box<VbrQueue>>,
    /// Queued cells, in order of departure.
    cells: Ring<QueuedCell>,
    /// End of the slot of the first queued cell; `NEVER` if the queue is empty.
    next_departure: Time,
    /// Cells that have not arrived downstream, if they may meet cells of another wire there.
    pub wire: CellWire,
    /// First unassigned slot.
    next: SlotCursor,
}

impl CellPort {
    /// Creates an empty port, with or without a queue for VBR.
    pub fn new(grid: SlotGrid, delay: Span, admission: Admission, vbr: Option<Box<VbrQueue>>) -> CellPort {
        CellPort {
            grid,
            delay,
            admission,
            vbr,
            cells: Ring::default(),
            next_departure: NEVER,
            wire: CellWire::default(),
            next: grid.cursor(0),
        }
    }

    /// Returns the propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Processes all departures up to `now`; they precede any arrival at `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.next_departure <= now {
            let Some(cell) = self.cells.pop() else { break };
            self.admission.release(cell.local, cell.departure);
            self.next_departure = self.cells.first().map_or(NEVER, |next| next.departure);
        }
    }

    /// Processes the arrival of a cell of the VC with the index `local` at this port; `last` marks the frame's last
    /// cell, and `tagged` a cell with CLP = 1. Returns the cell's arrival time downstream if the cell is admitted.
    /// `on_frame` is invoked with the queue length X at the first cell of each frame.
    #[inline(always)]
    pub fn on_cell(
        &mut self,
        now: Time,
        last: bool,
        tagged: bool,
        local: u32,
        on_frame: impl FnOnce(u64),
    ) -> Option<Time> {
        self.settle(now);
        let held = self.cells.len();
        let admitted = self.admission.admits(now, last, tagged, local, held, on_frame);
        admitted.then(|| self.admit(now, local))
    }

    /// Returns the cause of the latest loss.
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
        self.cells.push(QueuedCell { departure, local });
        departure + self.delay
    }

    /// Removes and returns the next VBR cell that has left by `now`, with its arrival time downstream.
    pub fn pop_vbr(&mut self, now: Time) -> Option<(Time, Cell)> {
        let vbr = self.vbr.as_mut()?;
        vbr.serve_until(&self.grid, &mut self.next, now);
        vbr.pop(now).map(|(departure, cell)| (departure + self.delay, cell))
    }
}

impl CellQueue for CellPort {
    fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        counters.cells_out = self.cells.head();
        for number in self.cells.head()..self.cells.tail() {
            counters.cell_time -= u128::from((self.cells.get(number).departure - now).0);
        }
        counters
    }

    fn held(&self) -> u64 {
        self.cells.len()
    }

    fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }

    fn vbr_mut(&mut self) -> Option<&mut VbrQueue> {
        self.vbr.as_deref_mut()
    }
}
