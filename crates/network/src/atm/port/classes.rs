//! Service classes at a port: a queue for VBR beside that for UBR, and a scheduler between them.
//!
//! VBR's cells come from sources whose arrivals are known ahead, and UBR's queue is first in first out. So the slot
//! of a UBR cell is known when it is admitted: slot by slot, VBR's cells and the scheduler decide which it is.

use super::class::Class;
use crate::atm::aal5::Cell;
use crate::atm::port::admission::QueueCounters;
use crate::atm::port::scheduler::Scheduler;
use crate::atm::slots::{SlotCursor, SlotGrid};
use crate::atm::vbr::on_off::OnOff;
use crate::packets::ring::Ring;
use crate::packets::Circuit;
use longpipe_events::Time;

/// A VBR source whose link ends at the port.
#[derive(Clone, Debug)]
pub struct Feeder {
    /// Its cells.
    pub source: OnOff,
    /// Its circuit.
    pub vc: Circuit,
    /// The step of the circuit after this port's.
    pub step: u32,
    /// The VC's number in the port's queue of VBR.
    pub local: u32,
}

/// A VBR cell that waits, in service, or gone but not yet asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// When it came; once it has a slot, when that ends.
    at: Time,
    /// Its number at its source.
    number: u32,
    feeder: u32,
}

/// VBR's queue at a port and its scheduler. It has no limit: VBR never loses a cell.
#[derive(Clone, Debug)]
pub struct VbrQueue {
    scheduler: Scheduler,
    feeders: Vec<Feeder>,
    /// When the first of the feeders' next cells arrives.
    next_arrival: Time,
    cells: Ring<Entry>,
    /// Cells that may come by the end of the run, at the most.
    expected: u64,
    /// Number in `cells` of the first cell without a slot.
    served: u64,
    /// Number in `cells` of the first cell whose slot has not ended.
    departed: u64,
    peak: u64,
    /// Time from arrival to the end of the slot, of cells that have one [ps].
    cell_time: u128,
    /// No slot is given away from here on.
    end: Time,
}

const NEVER: Time = Time(u64::MAX);

impl VbrQueue {
    /// An empty queue in a run that lasts until `end`.
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
        // No run serves so many.
        self.expected = self
            .expected
            .saturating_add(feeder.source.most_by(self.end))
            .min(1 << 62);
        self.feeders.push(feeder);
    }

    /// The end of the slot that a UBR cell gets which arrives at `now` and finds those before it served; none before
    /// the end of the run. `next` is the first slot not given away.
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

    /// How many slots from `next` on are UBR's for sure, whose cells wait: none if VBR's wait too.
    #[inline]
    pub fn free(&mut self, grid: &SlotGrid, next: &SlotCursor) -> u64 {
        self.take_in(next.start());
        if self.served < self.cells.tail() {
            return 0;
        }
        grid.ahead(next, self.next_arrival.min(self.end))
    }

    /// Gives the slot `next` away, for which both classes wait; true if UBR gets it.
    #[inline]
    pub fn contest(&mut self, next: &mut SlotCursor) -> bool {
        next.step();
        if self.scheduler.choose() == Class::Ubr {
            return true;
        }
        self.serve(next.start());
        false
    }

    /// No slot from here on is given away.
    pub fn end(&self) -> Time {
        self.end
    }

    /// VBR cells that may yet want a slot before the end of the run, at the most.
    pub fn to_come(&self) -> u64 {
        self.expected - self.served
    }

    /// Gives away the slots that begin before `now` and in the run, for which no UBR cell waits.
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

    /// Takes in the cells that arrive up to `slot`.
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
        self.cells.push(Entry { at, number, feeder });
        self.peak = self.peak.max(self.held());
    }

    /// Settles the departures up to `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.departed < self.served && self.cells.get(self.departed).at <= now {
            self.departed += 1;
        }
    }

    /// Takes out the next cell that has left by `now`, with the time at which it did.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<(Time, Cell)> {
        if self.cells.head() == self.departed {
            self.settle(now);
            if self.cells.head() == self.departed {
                return None;
            }
        }
        let Entry { at, number, feeder } = self.cells.pop()?;
        let Feeder { vc, step, .. } = self.feeders[feeder as usize];
        Some((at, vbr_cell(vc, number, step)))
    }

    /// Cells held at the last time the queue was looked at.
    pub fn held(&self) -> u64 {
        self.cells.tail() - self.departed
    }

    /// Counters as of `now`, the end of the run, by when all slots are given away.
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

    /// X_i of VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        let waits = |&number: &u64| {
            let feeder = self.cells.get(number).feeder;
            self.feeders[feeder as usize].local as usize == local
        };
        (self.departed..self.cells.tail()).filter(waits).count() as u64
    }
}

/// A VBR cell: part of no frame, so that none ends.
pub fn vbr_cell(vc: Circuit, number: u32, step: u32) -> Cell {
    Cell {
        vc,
        frame: number,
        left: 1,
        step,
    }
}
