//! A switch's output port with a queue per VC, served by fair queueing. The slot of a cell depends on later arrivals, so
//! the port has an event for each cell that leaves.

use crate::atm::port::admission::Admission;
use crate::atm::port::cell_wire::CellWire;
use crate::packets::aal5::Cell;
use crate::packets::drops::DropCause;
use crate::report::cells::QueueCounters;
use crate::schedulers::fair_queueing::FairQueueing;
use crate::schedulers::ServiceUnit;
use crate::slots::{SlotCursor, SlotGrid};
use longpipe_events::{Ring, Span, Time};

/// A cell of a port with a queue per VC.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassingCell {
    /// Arrival time at the port.
    pub arrival: Time,
    /// End of the cell's slot.
    pub departure: Time,
    /// The cell.
    pub cell: Cell,
    /// Index of the VC at the port.
    local: u32,
}

/// Queue of a VC: units that may be sent, followed by the cells of a unit of which more cells are expected.
#[derive(Clone, Debug, Default)]
struct VcQueue {
    cells: Ring<PassingCell>,
    /// Numbers of cells of the complete units.
    units: Ring<u32>,
    /// Number of cells after the complete units.
    open: u32,
}

/// The output port of a switch with a queue per VC, and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct PerVcPort {
    grid: SlotGrid,
    delay: Span,
    admission: Admission,
    unit: ServiceUnit,
    scheduler: FairQueueing,
    queues: Vec<VcQueue>,
    /// Number of waiting cells, without the cell in its slot.
    waiting: u64,
    /// VC whose unit is being sent, and how many cells of the unit wait.
    current: (usize, u32),
    in_slot: Option<PassingCell>,
    /// Cells that have left the port but have not been collected.
    departed: Ring<PassingCell>,
    cells_out: u64,
    /// First unassigned slot.
    next: SlotCursor,
    /// Cells that have not arrived downstream.
    pub wire: CellWire,
}

impl PerVcPort {
    /// Creates an empty port for VCs with the given weights.
    pub fn new(grid: SlotGrid, delay: Span, admission: Admission, unit: ServiceUnit, weights: &[u128]) -> PerVcPort {
        PerVcPort {
            grid,
            delay,
            admission,
            unit,
            scheduler: FairQueueing::new(weights),
            queues: vec![VcQueue::default(); weights.len()],
            waiting: 0,
            current: (0, 0),
            in_slot: None,
            departed: Ring::default(),
            cells_out: 0,
            next: grid.cursor(0),
            wire: CellWire::default(),
        }
    }

    /// Returns the propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Returns the queue length X [cell] at the latest access.
    pub fn held(&self) -> u64 {
        self.waiting + u64::from(self.in_slot.is_some())
    }

    /// Assigns all slots that start before `now`, and processes all departures up to `now`. A slot that starts at `now`
    /// may go to a cell that arrives at `now`.
    fn settle(&mut self, now: Time) {
        loop {
            if let Some(cell) = self.in_slot.filter(|cell| cell.departure <= now) {
                self.in_slot = None;
                self.admission.release(cell.local, cell.departure);
                self.admission.counters.cell_time += u128::from((cell.departure - cell.arrival).0);
                self.cells_out += 1;
                self.departed.push(cell);
            }
            if self.in_slot.is_some() || self.next.start() >= now {
                return;
            }
            let Some(vc) = self.choose() else {
                return self.grid.advance(&mut self.next, now);
            };
            self.next.step();
            self.in_slot = self.queues[vc].cells.pop().map(|cell| PassingCell {
                departure: self.next.start(),
                ..cell
            });
            self.waiting -= 1;
            if self.current.1 == 0 {
                self.offer(vc);
            }
        }
    }

    /// Returns the VC that sends a cell in the next slot; None if no VC may send.
    fn choose(&mut self) -> Option<usize> {
        if self.current.1 == 0 {
            let vc = self.scheduler.serve()?;
            self.current = (vc, self.queues[vc].units.pop()?);
        }
        self.current.1 -= 1;
        Some(self.current.0)
    }

    /// Offers the first unit of a VC's queue, if there is one.
    fn offer(&mut self, vc: usize) {
        if let Some(&cells) = self.queues[vc].units.first() {
            self.scheduler.offer(vc, cells);
        }
    }

    /// Completes the unit at the end of a VC's queue.
    fn complete_unit(&mut self, vc: usize) {
        let queue = &mut self.queues[vc];
        if queue.open > 0 {
            queue.units.push(std::mem::take(&mut queue.open));
            if queue.units.len() == 1 && (self.current.0 != vc || self.current.1 == 0) {
                self.offer(vc);
            }
        }
    }

    /// Processes the arrival of a cell of the port's VC `local`. Returns whether the cell is admitted. `on_frame` is
    /// invoked with the queue length X at the first cell of each frame.
    pub fn on_cell(&mut self, now: Time, cell: Cell, local: u32, on_frame: impl FnOnce(u64)) -> bool {
        self.settle(now);
        let (held, vc) = (self.held(), local as usize);
        let last = cell.left == 0;
        if !self.admission.admits(now, last, cell.tagged, local, held, on_frame) {
            // The rest of the frame may never arrive.
            self.complete_unit(vc);
            return false;
        }
        self.waiting += 1;
        self.queues[vc].cells.push(PassingCell {
            arrival: now,
            departure: Time::ZERO,
            cell,
            local,
        });
        self.queues[vc].open += 1;
        if last || self.unit == ServiceUnit::Cells {
            self.complete_unit(vc);
        }
        true
    }

    /// Returns the time of the next departure; None if no VC may send.
    pub fn next_departure(&self) -> Option<Time> {
        if let Some(cell) = self.in_slot {
            return Some(cell.departure);
        }
        let mut slot = self.next;
        slot.step();
        (self.current.1 > 0 || self.scheduler.has_offer()).then(|| slot.start())
    }

    /// Removes and returns the next cell that has left by `now`.
    pub fn depart(&mut self, now: Time) -> Option<PassingCell> {
        self.settle(now);
        self.departed.pop()
    }

    /// Returns the cause of the latest loss.
    pub fn cause_of_loss(&self) -> DropCause {
        self.admission.cause_of_loss()
    }

    /// Returns the counters at `now`, the end of the run. They include the time that queued cells have waited up to
    /// `now`.
    pub fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        counters.cells_out = self.cells_out;
        let waiting = self.queues.iter().flat_map(|queue| queue.cells.iter());
        for cell in waiting.chain(&self.in_slot) {
            counters.cell_time += u128::from((now - cell.arrival).0);
        }
        counters
    }

    /// Returns the occupancy X_i [cell] of the port's VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }
}
