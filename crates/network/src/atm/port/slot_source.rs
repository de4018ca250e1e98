//! The transmitter and the wire of a port that chooses the cell for each slot when the slot begins.

use crate::atm::port::Utilization;
use crate::packets::aal5::CELL_BYTES;
use crate::slots::{SlotCursor, SlotGrid};
use crate::time_varying::{Passage, Service, TimeVaryingLink};
use longpipe_events::{Span, Time};

/// A slot that a port has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Times of the slot if no outage interrupts it.
    pub service: Service,
    /// Start of the outage that drops the slot's cell, if any.
    pub interrupted: Option<Time>,
}

impl Slot {
    /// Returns the time at which the slot's cell leaves or is dropped.
    pub fn until(&self) -> Time {
        self.interrupted.unwrap_or(self.service.ends)
    }
}

/// Consecutive slots of a link, whether used or not, and the wire behind them.
#[derive(Clone, Debug)]
pub(crate) enum SlotSource {
    /// Slots of equal lengths, and a constant delay.
    Constant {
        grid: SlotGrid,
        /// First slot that was not taken.
        next: SlotCursor,
        delay: Span,
    },
    /// Slots, delay and outages vary over time.
    TimeVarying(Box<TimeVaryingLink>),
}

impl SlotSource {
    /// Returns the slots of a constant-rate link.
    pub fn constant(grid: SlotGrid, delay: Span) -> SlotSource {
        SlotSource::Constant {
            grid,
            next: grid.cursor(0),
            delay,
        }
    }

    /// Takes the first slot that starts at `now` or later.
    pub fn take(&mut self, now: Time) -> Slot {
        match self {
            SlotSource::Constant { grid, next, .. } => {
                grid.advance(next, now);
                let begins = next.start();
                next.step();
                let service = Service {
                    begins,
                    ends: next.start(),
                };
                Slot {
                    service,
                    interrupted: None,
                }
            }
            SlotSource::TimeVarying(link) => {
                let service = link.serve(now, CELL_BYTES as u16);
                let interrupted = link.interrupted(service);
                if let Some(at) = interrupted {
                    link.stop(at);
                }
                Slot { service, interrupted }
            }
        }
    }

    /// Returns whether a cell that arrives at `now` is dropped because of an outage.
    pub fn refuses(&mut self, now: Time) -> bool {
        match self {
            SlotSource::Constant { .. } => false,
            SlotSource::TimeVarying(link) => link.refuses(now),
        }
    }

    /// Returns the start of the next outage after `now` that drops waiting cells; with None, of the first one.
    pub fn next_purge(&mut self, now: Option<Time>) -> Option<Time> {
        match self {
            SlotSource::Constant { .. } => None,
            SlotSource::TimeVarying(link) => {
                link.drops().filter(|drops| drops.waiting)?;
                link.next_drop(now)
            }
        }
    }

    /// Passes the cell of a slot over the wire. Cells must be passed in order.
    pub fn pass(&mut self, service: Service) -> Passage {
        match self {
            SlotSource::Constant { delay, .. } => Passage::Arrives(service.ends + *delay),
            SlotSource::TimeVarying(link) => link.pass(service.ends, service),
        }
    }

    /// Returns the utilization up to `now` if `cells` cells have been sent; None for slots of equal lengths.
    pub fn utilization(&self, cells: u64, now: Time) -> Option<Utilization> {
        match self {
            SlotSource::Constant { .. } => None,
            SlotSource::TimeVarying(link) => {
                let sent = (cells, cells * CELL_BYTES);
                Some(Utilization {
                    fraction: link.share_used(sent, now),
                    is_possible: link.can_have_sent(sent, now),
                })
            }
        }
    }
}
