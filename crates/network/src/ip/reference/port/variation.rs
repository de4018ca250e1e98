//! Additional state of a port of a time-varying link.

use super::{PacketAtPort, ReferencePort};
use crate::ip::port::egress_queue::Removed;
use crate::ip::port::wire_losses::{self, WireLosses};
use crate::packets::drops::DropCause;
use crate::packets::Packet;
use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::time_varying::{Passage, Service, TimeVaryingLink, TransmissionOutcome};
use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Transmitter and wire, the packet in transmission, and the packets that an outage will lose.
#[derive(Clone, Debug)]
pub(in crate::ip::reference) struct Variation {
    pub motion: TimeVaryingLink,
    /// Transmission of the first packet.
    pub(super) service: Option<Service>,
    /// Transmission of the latest packet that left.
    pub left: Service,
    pub(super) lost_later: WireLosses,
    pub report: TimeVaryingReport,
}

impl Variation {
    pub(super) fn new(motion: TimeVaryingLink) -> Variation {
        let begins = Time::ZERO;
        Variation {
            motion,
            service: None,
            left: Service { begins, ends: begins },
            lost_later: WireLosses::default(),
            report: TimeVaryingReport::default(),
        }
    }

    /// Returns whether the first packet no longer occupies the buffer.
    pub(super) fn has_begun(&self, now: Time) -> bool {
        self.motion.frees_at_begin() && self.service.is_some_and(|service| service.begins <= now)
    }

    /// Returns the departure time of the next held packet, unless an outage drops it.
    pub(super) fn leaves(&mut self, waiting: &PacketAtPort) -> Option<Time> {
        let Some(service) = self.service.take() else {
            return match self.motion.admit(waiting.ready, waiting.packet.bytes()) {
                TransmissionOutcome::Leaves(service) => Some(service.ends),
                TransmissionOutcome::Dropped(_) => None,
            };
        };
        let Some(at) = self.motion.dropped(waiting.ready, service) else {
            return Some(service.ends);
        };
        self.motion.stop(at);
        None
    }

    /// Adds the counters of the transmitter and the wire to a port's report.
    pub fn add_to_report(&mut self, report: &mut PacketReport, now: Time) {
        report.motion = Some(wire_losses::complete(report, self.report, &mut self.motion, now));
    }
}

impl ReferencePort {
    /// Returns the arrival time of the packet that has just left, unless it is lost on the wire.
    pub fn pass(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let Some(variation) = &mut self.motion else {
            return Some(now + Span(self.delay));
        };
        match variation.motion.pass(now, variation.left) {
            Passage::Arrives(arrival) => Some(arrival),
            Passage::Lost(at) => {
                variation.lost_later.push(at, u64::from(packet.bytes()));
                self.drops.note(at, &packet, DropCause::Outage);
                None
            }
        }
    }

    /// Returns the start of the next outage after `now` that drops packets here.
    pub fn next_outage(&mut self, now: Option<Time>) -> Option<Time> {
        let variation = self.motion.as_mut()?;
        variation.motion.next_drop(now)
    }

    /// Drops the waiting packets and the packet in transmission at the start of an outage, as configured. Returns
    /// whether there is another packet to transmit.
    pub fn drop_all(&mut self, now: Time) -> bool {
        self.count_time(now);
        let Some(variation) = &mut self.motion else {
            return false;
        };
        let Some((waiting, in_service)) = variation.motion.drops() else {
            return false;
        };
        let begun = variation.service.is_some_and(|service| service.begins < now);
        let mut kept = VecDeque::new();
        let mut dropped = vec![];
        for (place, one) in std::mem::take(&mut self.queue).into_iter().enumerate() {
            let serving = place == 0 && begun;
            let drops = if serving {
                in_service
            } else {
                waiting && one.ready < now
            };
            if drops {
                dropped.push(one);
                variation.report.lost_outage += 1;
            } else {
                kept.push_back(one);
            }
        }
        self.queue = kept;
        if let Some(aqm) = self.aqm.as_mut().filter(|_| waiting) {
            aqm.purge(now);
        }
        if !dropped.is_empty() {
            self.emptied = now;
        }
        let next = !dropped.is_empty() && (in_service || !begun);
        if next {
            variation.motion.stop(now);
            variation.service = None;
        }
        for one in &dropped {
            self.release(one);
            self.report.bytes_lost += u64::from(one.packet.bytes());
            self.drops.note(now, &one.packet, DropCause::Outage);
            if !self.host {
                self.removed.push(Removed {
                    arrival: one.arrival,
                    time: now,
                    circuit: one.packet.vc(),
                });
            }
        }
        next
    }

    /// Returns the packets and bytes that have left and will be lost on the wire after `now`. Also counts the packets
    /// lost before `now`.
    pub fn lost_later(&mut self, now: Time) -> (u64, u64) {
        let Some(variation) = &mut self.motion else {
            return (0, 0);
        };
        variation.lost_later.settle(now, &mut variation.report);
        variation.lost_later.later()
    }
}
