//! The output port of a link of cells that moves, of a host or of a switch: all of a cell is known when it is admitted, in order.

use crate::atm::aal5::{Cell, CELL_BYTES};
use crate::atm::port::admission::{Admission, QueueCounters};
use crate::drops::DropCause;
use crate::motion::{Fate, Motion, Passage};
use crate::packets::ring::Ring;
use crate::packets::Circuit;
use longpipe_events::Time;

/// A cell held until its slot ends, or an outage drops it.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    until: Time,
    /// Its VC's number at this port.
    local: u32,
}

/// When a cell leaves the line, and when it arrives downstream, unless an outage loses it on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The end of its slot.
    pub departure: Time,
    /// At the other end.
    pub arrival: Option<Time>,
}

/// The port and the wire behind it.
#[derive(Clone, Debug)]
pub struct Moving {
    /// Whether a host owns it: then its cells are its own until they arrive.
    pub host: bool,
    motion: Motion,
    admission: Admission,
    /// Of the run.
    end: Time,
    /// Cells that leave, and cells that an outage drops, each in order.
    leaving: Ring<Held>,
    doomed: Ring<Held>,
    /// Cells that stay beyond the end.
    stuck: u64,
    /// When and why the cell is lost that came last, if it is.
    loss_of_last: Option<(Time, DropCause)>,
    /// When an outage loses cells on the wire, in order.
    lost_later: Ring<Time>,
    /// Cells not yet arrived downstream, where an event waits for them.
    wire: Ring<(Time, Cell)>,
    /// Counts what leaves, is dropped and is lost on the wire, as far as that is settled.
    left: u64,
    lost_outage: u64,
    lost_on_wire: u64,
}

impl Moving {
    /// An empty port, in a run until `end`.
    pub(crate) fn new(host: bool, motion: Motion, admission: Admission, end: Time) -> Moving {
        Moving {
            host,
            motion,
            admission,
            end,
            leaving: Ring::default(),
            doomed: Ring::default(),
            stuck: 0,
            loss_of_last: None,
            lost_later: Ring::default(),
            wire: Ring::default(),
            left: 0,
            lost_outage: 0,
            lost_on_wire: 0,
        }
    }

    /// X: cells held at the last time the port was looked at.
    pub fn held(&self) -> u64 {
        self.leaving.len() + self.doomed.len() + self.stuck
    }

    /// Settles what leaves, or is dropped or lost, up to `now`.
    fn settle(&mut self, now: Time) {
        while let Some(cell) = self.leaving.first().copied().filter(|cell| cell.until <= now) {
            self.leaving.pop();
            self.admission.release(cell.local, cell.until);
            self.left += 1;
        }
        while let Some(cell) = self.doomed.first().copied().filter(|cell| cell.until <= now) {
            self.doomed.pop();
            self.admission.release(cell.local, cell.until);
            self.lost_outage += 1;
        }
        while self.lost_later.first().is_some_and(|&at| at <= now) {
            self.lost_later.pop();
            self.lost_on_wire += 1;
        }
    }

    /// A cell of the port's VC `local` comes, the frame's last one or not; its way, if it enters and no outage drops it.
    /// `on_frame` is told X at the first cell of each frame.
    pub fn on_cell(&mut self, now: Time, last: bool, local: u32, on_frame: impl FnOnce(u64)) -> Option<Way> {
        // A host's jitter may go beyond the end of the run.
        self.settle(now.min(self.end));
        let held = self.held();
        let came = now.min(self.end);
        let Some(frame) = self.admission.judge(now, last, local, held, on_frame) else {
            self.loss_of_last = Some((came, self.admission.cause_of_loss()));
            return None;
        };
        if self.motion.refuses(now) {
            self.admission.damage(frame, last, local);
            self.lost_outage += 1;
            self.loss_of_last = Some((came, DropCause::Outage));
            return None;
        }
        if !self.admission.enters(frame, last, local, held) {
            self.loss_of_last = Some((came, DropCause::Overflow));
            return None;
        }
        let fate = self.motion.admit(now, CELL_BYTES as u16);
        let until = match fate {
            Fate::Leaves(service) => service.ends,
            Fate::Dropped(at) => at,
        };
        let stays = until > self.end;
        let counted = until.min(self.end);
        self.admission.counters.cell_time += u128::from(counted.0.saturating_sub(now.0));
        self.stuck += u64::from(stays);
        let Fate::Leaves(service) = fate else {
            if !stays {
                self.doomed.push(Held { until, local });
            }
            self.loss_of_last = Some((until, DropCause::Outage));
            return None;
        };
        if !stays {
            self.leaving.push(Held { until, local });
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
        Some(Way { departure, arrival })
    }

    /// When and why the cell is lost that came last, if it is.
    pub fn take_loss(&mut self) -> Option<(Time, DropCause)> {
        self.loss_of_last.take()
    }

    /// Puts a cell on the wire, to arrive downstream at `arrival`. True if `head` changed.
    pub fn send(&mut self, arrival: Time, cell: Cell) -> bool {
        self.wire.push((arrival, cell));
        self.wire.len() == 1
    }

    /// When the next cell on the wire arrives downstream, and its VC.
    pub fn head(&self) -> Option<(Time, Circuit)> {
        self.wire.first().map(|(arrival, cell)| (*arrival, cell.vc))
    }

    /// Takes the head cell off the wire.
    pub fn pop(&mut self) -> Option<Cell> {
        self.wire.pop().map(|(_, cell)| cell)
    }

    /// Counters as of `now`, the end of the run; a cell that the wire lost has not left.
    pub fn counters_at(&mut self, now: Time) -> QueueCounters {
        self.settle(now);
        let mut counters = self.admission.counters;
        counters.lost_outage = self.lost_outage;
        counters.lost_on_wire = self.lost_on_wire;
        counters.cells_out = if self.host {
            self.wire.head()
        } else {
            self.left - self.lost_on_wire
        };
        for cell in self.leaving.iter().chain(self.doomed.iter()) {
            counters.cell_time -= u128::from((cell.until - now).0);
        }
        // A run may be stopped before its end.
        let beyond = u128::from(self.stuck) * u128::from(self.end.0.saturating_sub(now.0));
        counters.cell_time = counters.cell_time.saturating_sub(beyond);
        counters
    }

    /// X_i of the port's VC `local`.
    pub fn vc_held(&self, local: usize) -> u64 {
        self.admission.vc_held(local)
    }

    /// Fraction of what the line could have sent by `now` that has left a switch, or arrived from a host, and whether no more
    /// has left than that; the port is settled up to then.
    pub fn used(&self, now: Time) -> (f64, bool) {
        let counted = if self.host {
            self.wire.head() + self.lost_on_wire
        } else {
            self.left
        };
        let bytes = |cells: u64| (cells, cells * CELL_BYTES);
        (
            self.motion.share_used(bytes(counted), now),
            self.motion.can_have_sent(bytes(self.left), now),
        )
    }
}

#[cfg(test)]
mod tests;
