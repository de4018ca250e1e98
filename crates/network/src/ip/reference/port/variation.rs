//! The reference engine's port of a time-varying link: transmission at the link's varying rate, outages that drop packets
//! at the port, and losses on the wire.
//!
//! A port of a constant link knows each departure at enqueue. Here the rate, and an outage, decide it during the run, so
//! the port requests it from the link ([`TimeVaryingLink`]) when the packet becomes the first one of the queue.

use super::{PacketAtPort, ReferencePort};
use crate::ip::port::egress_queue::Removed;
use crate::ip::port::wire_losses::{self, WireLosses};
use crate::packets::drops::DropCause;
use crate::packets::Packet;
use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::time_varying::{OutageDrops, Passage, Service, TimeVaryingLink, TransmissionOutcome};
use longpipe_events::{Span, Time};

/// State that a port has in addition if its link varies over time.
#[derive(Clone, Debug)]
pub(in crate::ip::reference) struct Variation {
    /// Transmitter and wire.
    pub link: TimeVaryingLink,
    /// Transmission of the first packet of the queue; None until its time is determined.
    pub(super) service: Option<Service>,
    /// Transmission of the latest packet that left.
    pub last_service: Service,
    /// Packets that have left and that an outage destroys on the wire.
    pub(super) lost_later: WireLosses,
    /// Counters of losses in outages.
    pub report: TimeVaryingReport,
}

impl Variation {
    /// Creates the state of an idle port.
    pub(super) fn new(link: TimeVaryingLink) -> Variation {
        let begins = Time::ZERO;
        Variation {
            link,
            service: None,
            last_service: Service { begins, ends: begins },
            lost_later: WireLosses::default(),
            report: TimeVaryingReport::default(),
        }
    }

    /// Returns whether the first packet no longer occupies the buffer, because its transmission has begun and the link
    /// frees a packet's space at the start of the transmission.
    pub(super) fn has_begun(&self, now: Time) -> bool {
        self.link.frees_at_begin() && self.service.is_some_and(|service| service.begins <= now)
    }

    /// Returns the departure time of the next held packet, unless an outage drops it.
    pub(super) fn leaves(&mut self, waiting: &PacketAtPort) -> Option<Time> {
        let Some(service) = self.service.take() else {
            return match self.link.admit(waiting.ready, waiting.packet.bytes()) {
                TransmissionOutcome::Leaves(service) => Some(service.ends),
                TransmissionOutcome::Dropped(_) => None,
            };
        };
        let Some(at) = self.link.dropped(waiting.ready, service) else {
            return Some(service.ends);
        };
        self.link.stop(at);
        None
    }

    /// Adds the counters of the transmitter and the wire to a port's report.
    pub fn add_to_report(&mut self, report: &mut PacketReport, now: Time) {
        report.motion = Some(wire_losses::complete(report, self.report, &mut self.link, now));
    }
}

impl ReferencePort {
    /// Returns the arrival time of the packet that has just left, unless it is lost on the wire.
    pub fn pass(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let Some(variation) = &mut self.motion else {
            return Some(now + Span(self.delay));
        };
        match variation.link.pass(now, variation.last_service) {
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
        variation.link.next_drop(now)
    }

    /// Drops the waiting packets, the packet in transmission, or both, at the start of an outage (`outages` of the link).
    /// Returns whether the transmitter is free, so that the next packet can be served.
    pub fn drop_all(&mut self, now: Time) -> bool {
        self.count_time(now);
        let Some(variation) = &mut self.motion else {
            return false;
        };
        let Some(drops) = variation.link.drops() else {
            return false;
        };
        let transmits = variation.service.is_some_and(|service| service.begins < now);
        let dropped = self.remove_dropped(now, drops, transmits);
        if let Some(aqm) = self.aqm.as_mut().filter(|_| drops.waiting) {
            aqm.purge(now);
        }
        if dropped.is_empty() {
            return false;
        }
        self.emptied = now;
        for packet in &dropped {
            self.count_dropped(packet, now);
        }
        let frees_transmitter = drops.in_service || !transmits;
        if let Some(variation) = self.motion.as_mut().filter(|_| frees_transmitter) {
            variation.link.stop(now);
            variation.service = None;
        }
        frees_transmitter
    }

    /// Removes the packets that an outage drops from the queue and returns them. `transmits` is whether the transmission
    /// of the first packet has begun.
    fn remove_dropped(&mut self, now: Time, drops: OutageDrops, transmits: bool) -> Vec<PacketAtPort> {
        let mut dropped = vec![];
        for (position, packet) in std::mem::take(&mut self.queue).into_iter().enumerate() {
            let is_dropped = if position == 0 && transmits {
                drops.in_service
            } else {
                drops.waiting && packet.ready < now
            };
            if is_dropped {
                dropped.push(packet);
            } else {
                self.queue.push_back(packet);
            }
        }
        dropped
    }

    /// Frees the buffer space of a packet that an outage has dropped, and counts and reports the loss.
    fn count_dropped(&mut self, dropped: &PacketAtPort, now: Time) {
        self.release(dropped);
        self.report.bytes_lost += u64::from(dropped.packet.bytes());
        if let Some(variation) = &mut self.motion {
            variation.report.lost_outage += 1;
        }
        self.drops.note(now, &dropped.packet, DropCause::Outage);
        if !self.host {
            self.removed.push(Removed {
                arrival: dropped.arrival,
                time: now,
                circuit: dropped.packet.vc(),
            });
        }
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
