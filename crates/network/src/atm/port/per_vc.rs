//! A switch's output port with a queue per VC, served by fair queueing. The slot of a cell depends on later arrivals, so
//! the port has an event for each cell that leaves or that an outage drops.

use crate::atm::port::admission::Admission;
use crate::atm::port::cell_wire::CellWire;
use crate::atm::port::slot_source::{Slot, SlotSource};
use crate::atm::port::{CellQueue, Utilization};
use crate::packets::aal5::Cell;
use crate::packets::drops::DropCause;
use crate::report::cells::QueueCounters;
use crate::schedulers::fair_queueing::FairQueueing;
use crate::schedulers::ServiceUnit;
use crate::slots::SlotGrid;
use crate::time_varying::{Passage, TimeVaryingLink};
use longpipe_events::{Ring, Span, Time};

/// A cell of a port with a queue per VC.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassingCell {
    /// Arrival time at the port.
    pub arrival: Time,
    /// The cell.
    pub cell: Cell,
    /// What happened to the cell.
    pub(crate) fate: CellFate,
    /// Index of the VC at the port.
    local: u32,
}

/// What happens to a cell of a port with a queue per VC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CellFate {
    /// The cell waits, or is in its slot.
    #[default]
    Held,
    /// An outage drops the cell from the port at this time.
    Dropped(Time),
    /// The cell leaves at the end of its slot.
    Leaves { departure: Time, passage: Passage },
}

impl PassingCell {
    /// Returns the time at which the cell left the port; None if an outage dropped it.
    pub fn departure(&self) -> Option<Time> {
        match self.fate {
            CellFate::Leaves { departure, .. } => Some(departure),
            CellFate::Held | CellFate::Dropped(_) => None,
        }
    }
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
    slots: SlotSource,
    admission: Admission,
    unit: ServiceUnit,
    scheduler: FairQueueing,
    queues: Vec<VcQueue>,
    /// Number of waiting cells, without the cell in its slot.
    waiting: u64,
    /// VC whose unit is being sent, and how many cells of the unit wait.
    current: (usize, u32),
    /// The slot in use, or the next slot if cells may be sent.
    slot: Option<Slot>,
    in_slot: Option<PassingCell>,
    /// Start of the next outage that drops waiting cells.
    next_purge: Option<Time>,
    /// Cells that have left the port or were dropped, but have not been collected.
    departed: Ring<PassingCell>,
    cells_out: u64,
    /// Times at which outages lose cells on the wire, in order.
    lost_later: Ring<Time>,
    lost_on_wire: u64,
    /// Cells that have not arrived downstream.
    pub wire: CellWire,
}

impl PerVcPort {
    /// Creates an empty port of a constant-rate link, for VCs with the given weights.
    pub fn new(grid: SlotGrid, delay: Span, admission: Admission, unit: ServiceUnit, weights: &[u128]) -> PerVcPort {
        PerVcPort::with_slots(SlotSource::constant(grid, delay), admission, unit, weights)
    }

    /// Creates an empty port of a time-varying link, for VCs with the given weights.
    pub(crate) fn time_varying(
        link: TimeVaryingLink,
        admission: Admission,
        unit: ServiceUnit,
        weights: &[u128],
    ) -> PerVcPort {
        PerVcPort::with_slots(SlotSource::TimeVarying(Box::new(link)), admission, unit, weights)
    }

    fn with_slots(mut slots: SlotSource, admission: Admission, unit: ServiceUnit, weights: &[u128]) -> PerVcPort {
        PerVcPort {
            next_purge: slots.next_purge(None),
            slots,
            admission,
            unit,
            scheduler: FairQueueing::new(weights),
            queues: vec![VcQueue::default(); weights.len()],
            waiting: 0,
            current: (0, 0),
            slot: None,
            in_slot: None,
            departed: Ring::default(),
            cells_out: 0,
            lost_later: Ring::default(),
            lost_on_wire: 0,
            wire: CellWire::default(),
        }
    }

    /// Assigns all slots that start before `now`, and processes all departures and drops up to `now`. A slot that starts
    /// at `now` may go to a cell that arrives at `now`.
    fn settle(&mut self, now: Time) {
        loop {
            let precedes = |at: &Time| match (&self.slot, self.in_slot) {
                (Some(slot), Some(_)) => *at < slot.until(),
                (Some(slot), None) => *at <= slot.service.begins,
                (None, _) => true,
            };
            if let Some(at) = self.next_purge.filter(|at| *at <= now && precedes(at)) {
                self.purge(at);
                continue;
            }
            let Some(slot) = self.slot else { return };
            if let Some(cell) = self.in_slot {
                if slot.until() > now {
                    return;
                }
                self.in_slot = None;
                self.leave(cell, slot);
                self.slot = self.may_send().then(|| self.slots.take(slot.until()));
            } else {
                if slot.service.begins >= now {
                    return;
                }
                self.begin();
            }
        }
    }

    /// Assigns the current slot to a cell, unless all cells that waited for it have been dropped.
    fn begin(&mut self) {
        let Some(vc) = self.choose() else {
            self.slot = None;
            return;
        };
        self.in_slot = self.queues[vc].cells.pop();
        self.waiting -= 1;
        if self.current.1 == 0 {
            self.offer(vc);
        }
    }

    /// Records the end of a cell's slot, at which the cell leaves or is dropped.
    fn leave(&mut self, cell: PassingCell, slot: Slot) {
        if let Some(at) = slot.interrupted {
            return self.drop_cell(cell, at);
        }
        let departure = slot.service.ends;
        self.release(&cell, departure);
        self.cells_out += 1;
        let passage = self.slots.pass(slot.service);
        if let Passage::Lost(at) = passage {
            self.lost_later.push(at);
        }
        let fate = CellFate::Leaves { departure, passage };
        self.departed.push(PassingCell { fate, ..cell });
    }

    /// Drops a cell of the port at the start of an outage.
    fn drop_cell(&mut self, cell: PassingCell, at: Time) {
        self.release(&cell, at);
        self.admission.counters.lost_outage += 1;
        let fate = CellFate::Dropped(at);
        self.departed.push(PassingCell { fate, ..cell });
    }

    fn release(&mut self, cell: &PassingCell, at: Time) {
        self.admission.release(cell.local, at);
        self.admission.counters.cell_time += u128::from((at - cell.arrival).0);
    }

    /// Drops all waiting cells at the start of an outage.
    fn purge(&mut self, at: Time) {
        self.next_purge = self.slots.next_purge(Some(at));
        self.current.1 = 0;
        self.waiting = 0;
        self.scheduler.withdraw();
        for vc in 0..self.queues.len() {
            let queue = std::mem::take(&mut self.queues[vc]);
            queue.cells.iter().for_each(|&cell| self.drop_cell(cell, at));
        }
    }

    /// Returns whether a VC may send a cell.
    fn may_send(&self) -> bool {
        self.current.1 > 0 || self.scheduler.has_offer()
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

    /// Processes the arrival of a cell of the port's VC `local`. Returns the cause of its loss, if it is not admitted.
    /// `on_frame` is invoked with the queue length X at the first cell of each frame.
    pub fn on_cell(&mut self, now: Time, cell: Cell, local: u32, on_frame: impl FnOnce(u64)) -> Option<DropCause> {
        self.settle(now);
        let (held, vc, last) = (self.held(), local as usize, cell.left == 0);
        let lost = self.admit(now, cell, (local, held), on_frame);
        if lost.is_none() {
            self.waiting += 1;
            self.queues[vc].cells.push(PassingCell {
                arrival: now,
                cell,
                fate: CellFate::Held,
                local,
            });
            self.queues[vc].open += 1;
        }
        // The rest of a damaged frame may never arrive.
        if lost.is_some() || last || self.unit == ServiceUnit::Cells {
            self.complete_unit(vc);
        }
        if self.slot.is_none() && self.may_send() {
            self.slot = Some(self.slots.take(now));
        }
        lost
    }

    fn admit(
        &mut self,
        now: Time,
        cell: Cell,
        (local, held): (u32, u64),
        on_frame: impl FnOnce(u64),
    ) -> Option<DropCause> {
        let (last, admission) = (cell.left == 0, &mut self.admission);
        let Some(frame) = admission.decide(now, last, cell.tagged, local, held, on_frame) else {
            return Some(admission.cause_of_loss());
        };
        if self.slots.refuses(now) {
            admission.damage(frame, last, local);
            admission.counters.lost_outage += 1;
            return Some(DropCause::Outage);
        }
        (!admission.enters(frame, last, local, held)).then(|| admission.cause_of_loss())
    }

    /// Returns the time of the next event: a cell leaves or is dropped. There may be an earlier event if no cell arrives
    /// until then.
    pub fn next_departure(&self) -> Option<Time> {
        let of_slot = self.slot.as_ref().map(Slot::until);
        let of_purge = self.next_purge.filter(|_| self.waiting > 0);
        [of_slot, of_purge].into_iter().flatten().min()
    }

    /// Removes and returns the next cell that has left, or was dropped, by `now`.
    pub fn depart(&mut self, now: Time) -> Option<PassingCell> {
        self.settle(now);
        self.departed.pop()
    }
}

impl CellQueue for PerVcPort {
    fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        while self.lost_later.first().is_some_and(|&at| at <= now) {
            self.lost_later.pop();
            self.lost_on_wire += 1;
        }
        (counters.cells_out, counters.lost_on_wire) = (self.cells_out - self.lost_on_wire, self.lost_on_wire);
        let waiting = self.queues.iter().flat_map(|queue| queue.cells.iter());
        for cell in waiting.chain(&self.in_slot) {
            counters.cell_time += u128::from((now - cell.arrival).0);
        }
        counters
    }

    fn held(&self) -> u64 {
        self.waiting + u64::from(self.in_slot.is_some())
    }

    fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }

    fn utilization(&self, now: Time) -> Option<Utilization> {
        self.slots.utilization(self.cells_out, now)
    }
}
