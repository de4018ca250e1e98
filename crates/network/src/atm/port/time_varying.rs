//! The output port of a time-varying cell link, at a host or a switch. The times of a cell are known when it is
//! admitted, and cells are admitted in order.

use crate::atm::port::admission::Admission;
use crate::atm::port::cell_wire::CellWire;
use crate::atm::port::{CellQueue, Utilization};
use crate::packets::aal5::{Cell, CELL_BYTES};
use crate::packets::drops::DropCause;
use crate::report::cells::QueueCounters;
use crate::time_varying::{Passage, TimeVaryingLink, TransmissionOutcome};
use longpipe_events::{Ring, Time};

/// A cell that is queued until its slot ends or an outage drops it.
#[derive(Clone, Copy, Debug, Default)]
struct HeldCell {
    until: Time,
    /// Index of the VC at this port.
    local: u32,
}

/// Departure time of a cell from the transmitter, and its arrival time downstream unless an outage loses it on the
/// wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPassage {
    /// End of the cell's slot.
    pub departure: Time,
    /// Arrival time at the other end of the wire.
    pub arrival: Option<Time>,
}

/// The port of a time-varying link, and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct TimeVaryingCellPort {
    /// Whether the port belongs to a host, whose cells count as held until they arrive.
    pub host: bool,
    motion: TimeVaryingLink,
    admission: Admission,
    /// End of the run.
    end: Time,
    /// Cells that leave, and cells that an outage drops; each list is in order.
    leaving: Ring<HeldCell>,
    doomed: Ring<HeldCell>,
    /// Number of cells that have not left by the end of the run.
    stuck: u64,
    /// Time and cause of the latest cell's loss, if it was lost.
    loss_of_last: Option<(Time, DropCause)>,
    /// Times at which outages lose cells on the wire, in order.
    lost_later: Ring<Time>,
    /// Cells on the wire, if their arrivals need events.
    pub wire: CellWire,
    /// Numbers of cells that have left, were dropped, and were lost on the wire, as of the latest `settle`.
    left: u64,
    lost_outage: u64,
    lost_on_wire: u64,
}

impl TimeVaryingCellPort {
    /// Creates an empty port for a run that ends at `end`.
    pub(crate) fn new(host: bool, motion: TimeVaryingLink, admission: Admission, end: Time) -> TimeVaryingCellPort {
        TimeVaryingCellPort {
            host,
            motion,
            admission,
            end,
            leaving: Ring::default(),
            doomed: Ring::default(),
            stuck: 0,
            loss_of_last: None,
            lost_later: Ring::default(),
            wire: CellWire::default(),
            left: 0,
            lost_outage: 0,
            lost_on_wire: 0,
        }
    }

    /// Processes departures, drops and losses up to `now`, in order.
    fn settle(&mut self, now: Time) {
        let first = |cells: &Ring<HeldCell>| cells.first().map_or(u64::MAX, |cell| cell.until.0);
        loop {
            let (leaves, drops) = (first(&self.leaving), first(&self.doomed));
            if leaves.min(drops) > now.0 {
                break;
            }
            let (cells, count) = match leaves <= drops {
                true => (&mut self.leaving, &mut self.left),
                false => (&mut self.doomed, &mut self.lost_outage),
            };
            *count += 1;
            if let Some(cell) = cells.pop() {
                self.admission.release(cell.local, cell.until);
            }
        }
        while self.lost_later.first().is_some_and(|&at| at <= now) {
            self.lost_later.pop();
            self.lost_on_wire += 1;
        }
    }

    /// Processes the arrival of a cell of the port's VC `local`. Returns the cell's departure and arrival times if the
    /// cell is admitted and no outage drops it. `on_frame` is invoked with the queue length X at the first cell of each
    /// frame.
    pub fn on_cell(&mut self, now: Time, cell: Cell, local: u32, on_frame: impl FnOnce(u64)) -> Option<CellPassage> {
        // A host's jitter may delay a cell past the end of the run.
        self.settle(now.min(self.end));
        let (held, last) = (self.held(), cell.left == 0);
        let arrived = now.min(self.end);
        let Some(frame) = self.admission.decide(now, last, cell.tagged, local, held, on_frame) else {
            self.loss_of_last = Some((arrived, self.admission.cause_of_loss()));
            return None;
        };
        if self.motion.refuses(now) {
            self.admission.damage(frame, last, local);
            self.lost_outage += 1;
            self.loss_of_last = Some((arrived, DropCause::Outage));
            return None;
        }
        if !self.admission.enters(frame, last, local, held) {
            self.loss_of_last = Some((arrived, DropCause::Overflow));
            return None;
        }
        let fate = self.motion.admit(now, CELL_BYTES as u16);
        let until = match fate {
            TransmissionOutcome::Leaves(service) => service.ends,
            TransmissionOutcome::Dropped(at) => at,
        };
        let stays = until > self.end;
        let counted = until.min(self.end);
        self.admission.counters.cell_time += u128::from(counted.0.saturating_sub(now.0));
        self.stuck += u64::from(stays);
        let TransmissionOutcome::Leaves(service) = fate else {
            if !stays {
                self.doomed.push(HeldCell { until, local });
            }
            self.loss_of_last = Some((until, DropCause::Outage));
            return None;
        };
        if !stays {
            self.leaving.push(HeldCell { until, local });
        }
        let arrival = match self.motion.pass(now, service) {
            Passage::Arrives(arrival) => Some(arrival),
            Passage::Lost(at) => {
                self.lost_later.push(at);
                self.loss_of_last = Some((at, DropCause::Outage));
                None
            }
        };
        let departure = service.ends;
        Some(CellPassage { departure, arrival })
    }

    /// Returns the time and cause of the latest cell's loss, if the cell was lost.
    pub fn take_loss(&mut self) -> Option<(Time, DropCause)> {
        self.loss_of_last.take()
    }
}

impl CellQueue for TimeVaryingCellPort {
    fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        counters.lost_outage = self.lost_outage;
        counters.lost_on_wire = self.lost_on_wire;
        counters.cells_out = if self.host {
            self.wire.arrived()
        } else {
            self.left - self.lost_on_wire
        };
        for cell in self.leaving.iter().chain(self.doomed.iter()) {
            counters.cell_time -= u128::from((cell.until - now).0);
        }
        // A run may be stopped early.
        let beyond = u128::from(self.stuck) * u128::from(self.end.0.saturating_sub(now.0));
        counters.cell_time = counters.cell_time.saturating_sub(beyond);
        counters
    }

    fn held(&self) -> u64 {
        self.leaving.len() + self.doomed.len() + self.stuck
    }

    fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }

    /// The cells that used the link are those that left a switch, or arrived from a host.
    fn utilization(&self, now: Time) -> Option<Utilization> {
        let counted = if self.host {
            self.wire.arrived() + self.lost_on_wire
        } else {
            self.left
        };
        let bytes = |cells: u64| (cells, cells * CELL_BYTES);
        Some(Utilization {
            fraction: self.motion.share_used(bytes(counted), now),
            is_possible: self.motion.can_have_sent(bytes(self.left), now),
        })
    }
}

#[cfg(test)]
mod tests;
