//! Service classes at a port: a queue for VBR and one for UBR, and a scheduler that serves them.
//!
//! The slot of a UBR cell is computed when the cell is admitted, because arrivals of VBR cells are known in advance and
//! the UBR queue is a FIFO.

use crate::atm::vbr::on_off::OnOff;
use crate::packets::aal5::Cell;
use crate::packets::Circuit;
use crate::report::cells::QueueCounters;
use crate::schedulers::class::Class;
use crate::schedulers::Scheduler;
use crate::slots::{SlotCursor, SlotGrid};
use longpipe_events::{Ring, Time};

/// A VBR source whose link ends at the port.
#[derive(Clone, Debug)]
pub struct Feeder {
    /// The source's cells, in order, with their times.
    pub source: OnOff,
    /// Circuit of the source.
    pub vc: Circuit,
    /// Step of the circuit after this port.
    pub step: u32,
    /// Index of the VC in the port's VBR queue.
    pub local: u32,
}

/// A VBR cell that is queued, in transmission, or sent but not yet collected.
#[derive(Clone, Copy, Debug, Default)]
struct QueuedVbrCell {
    /// Arrival time of the cell, or the end of its slot if it has one.
    at: Time,
    /// Number at its source.
    number: u32,
    feeder: u32,
}

/// VBR queue of a port, with the scheduler. It is unlimited, so VBR never loses a cell.
#[derive(Clone, Debug)]
pub struct VbrQueue {
    scheduler: Scheduler,
    feeders: Vec<Feeder>,
    /// Earliest next arrival from any feeder.
    next_arrival: Time,
    cells: Ring<QueuedVbrCell>,
    /// Maximum number of cells that may arrive by the end of the run.
    expected: u64,
    /// Index in `cells` of the first cell without a slot.
    served: u64,
    /// Index in `cells` of the first cell whose slot has not ended.
    departed: u64,
    peak: u64,
    /// Sum [ps] of the times from a cell's arrival to the end of its slot.
    cell_time: u128,
    /// Time at and after which no slot is assigned.
    end: Time,
}

const NEVER: Time = Time(u64::MAX);

impl VbrQueue {
    /// Creates an empty queue for a run that ends at `end`.
    pub fn new(scheduler: Scheduler, end: Time) -> VbrQueue {
        VbrQueue {
            scheduler,
            feeders: Vec::new(),
            next_arrival: NEVER,
            cells: Ring::default(),
            expected: 0,
            served: 0,
            departed: 0,
            peak: 0,
            cell_time: 0,
            end,
        }
    }

    /// Adds a source.
    pub fn add(&mut self, feeder: Feeder) {
        self.next_arrival = self.next_arrival.min(feeder.source.arrival());
        // More cells than any run can serve.
        self.expected = self
            .expected
            .saturating_add(feeder.source.max_by(self.end))
            .min(1 << 62);
        self.feeders.push(feeder);
    }

    /// Returns the end of the slot of a UBR cell that arrives at `now`, if all earlier UBR cells have slots; None if
    /// the cell gets no slot by the end of the run. `next` is the first free slot.
    #[inline]
    pub fn slot_for_ubr(&mut self, grid: &SlotGrid, next: &mut SlotCursor, now: Time) -> Option<Time> {
        self.serve_until(grid, next, now);
        while next.start() < self.end {
            self.take_in(next.start());
            let vbr_waits = self.served < self.cells.tail();
            next.step();
            if vbr_waits && self.scheduler.choose() == Class::Vbr {
                self.serve(next.start());
            } else {
                return Some(next.start());
            }
        }
        None
    }

    /// Returns how many slots, starting with `next`, are certain to go to waiting UBR cells; 0 if VBR cells are waiting
    /// too.
    #[inline]
    pub fn free(&mut self, grid: &SlotGrid, next: &SlotCursor) -> u64 {
        self.take_in(next.start());
        if self.served < self.cells.tail() {
            return 0;
        }
        grid.ahead(next, self.next_arrival.min(self.end))
    }

    /// Assigns slot `next`, for which both classes hold cells. Returns whether UBR gets the slot.
    #[inline]
    pub fn contest(&mut self, next: &mut SlotCursor) -> bool {
        next.step();
        if self.scheduler.choose() == Class::Ubr {
            return true;
        }
        self.serve(next.start());
        false
    }

    /// Returns the time at and after which no slot is assigned.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the maximum number of VBR cells that may still need a slot.
    pub fn to_come(&self) -> u64 {
        self.expected - self.served
    }

    /// Assigns the slots that start before `now`, for which no UBR cell waits.
    #[inline]
    pub fn serve_until(&mut self, grid: &SlotGrid, next: &mut SlotCursor, now: Time) {
        let now = now.min(self.end);
        while next.start() < now {
            self.take_in(next.start());
            if self.served < self.cells.tail() {
                next.step();
                self.serve(next.start());
            } else {
                grid.advance(next, now.min(self.next_arrival));
            }
        }
    }

    #[inline(always)]
    fn serve(&mut self, departure: Time) {
        let entry = self.cells.get_mut(self.served);
        self.cell_time += u128::from((departure - entry.at).0);
        entry.at = departure;
        self.served += 1;
    }

    /// Adds the cells that arrive up to `slot`.
    #[inline(always)]
    fn take_in(&mut self, slot: Time) {
        while self.next_arrival <= slot {
            let mut following = NEVER;
            for index in 0..self.feeders.len() {
                if self.feeders[index].source.arrival() == self.next_arrival {
                    self.push(index);
                }
                following = following.min(self.feeders[index].source.arrival());
            }
            self.next_arrival = following;
        }
    }

    #[inline(always)]
    fn push(&mut self, index: usize) {
        let at = self.next_arrival;
        self.settle(at);
        let source = &mut self.feeders[index].source;
        let (number, feeder) = (source.number() as u32, index as u32);
        source.advance();
        self.cells.push(QueuedVbrCell { at, number, feeder });
        self.peak = self.peak.max(self.held());
    }

    /// Processes departures up to `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.departed < self.served && self.cells.get(self.departed).at <= now {
            self.departed += 1;
        }
    }

    /// Removes and returns the next cell that has left by `now`, with its departure time.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<(Time, Cell)> {
        if self.cells.head() == self.departed {
            self.settle(now);
            if self.cells.head() == self.departed {
                return None;
            }
        }
        let QueuedVbrCell { at, number, feeder } = self.cells.pop()?;
        let Feeder { vc, step, .. } = self.feeders[feeder as usize];
        Some((at, vbr_cell(vc, number, step)))
    }

    /// Returns the occupancy at the latest update.
    pub fn held(&self) -> u64 {
        self.cells.tail() - self.departed
    }

    /// Returns the counters at `now`, the end of the run. All slots must have been assigned.
    pub fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.take_in(now);
        self.settle(now);
        let mut cell_time = self.cell_time;
        for number in self.departed..self.cells.tail() {
            let at = self.cells.get(number).at;
            if number < self.served {
                cell_time -= u128::from((at - now).0);
            } else {
                cell_time += u128::from((now - at).0);
            }
        }
        QueueCounters {
            cells_in: self.cells.tail(),
            cells_out: self.departed,
            peak_queue: self.peak,
            cell_time,
            ..QueueCounters::default()
        }
    }

    /// Returns the number of queued cells of VC `local` (X_i).
    pub fn vc_held(&self, local: usize) -> u64 {
        let waits = |&number: &u64| {
            let feeder = self.cells.get(number).feeder;
            self.feeders[feeder as usize].local as usize == local
        };
        (self.departed..self.cells.tail()).filter(waits).count() as u64
    }
}

/// Creates a VBR cell. It belongs to no frame.
pub fn vbr_cell(vc: Circuit, number: u32, step: u32) -> Cell {
    Cell {
        vc,
        frame: number,
        left: 1,
        step,
        tagged: false,
    }
}
