//! An output port of the reference engine whose queue discipline decides at dequeue. Each departure is an event.

use super::port::Variation;
use crate::conditioners::TokenCredit;
use crate::hosts::transmissions;
use crate::ip::port::egress_queue::{EgressQueue, QueuedPacket};
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Link, Options, Packet};
use crate::queues::subqueues::SubqueueCounters;
use crate::report::packets::PacketReport;
use crate::time_varying::Service;
use longpipe_events::{Time, PS_PER_SECOND};
use std::collections::VecDeque;

/// State of the transmitter.
#[derive(Clone, Debug)]
enum State {
    Idle,
    /// The transmitter starts to send a packet at this time.
    Ready(Time),
    /// The discipline holds its packets until this time.
    Held(Time),
    /// The shaper holds a packet until this time.
    Shaped(Time, QueuedPacket),
    /// The transmitter sends a packet.
    Transmitting(QueuedPacket, Service),
    /// The transmitter sends a batch, or the packets of a sent batch leave one by one.
    Batch(VecDeque<QueuedPacket>, Service),
}

/// The port. If the transmitter varies over time, callers pass it as `variation`.
#[derive(Clone, Debug)]
pub(super) struct DiscPort {
    queue: EgressQueue,
    state: State,
    /// Time at which a constant-rate transmitter becomes free: whole picoseconds, and a fraction [1/rate ps].
    free: (u64, u64),
}

impl DiscPort {
    /// Creates an idle port.
    pub fn new(queue: EgressQueue) -> DiscPort {
        DiscPort {
            queue,
            state: State::Idle,
            free: (0, 0),
        }
    }

    /// Returns the number of packets held, including the packet in transmission.
    pub fn held(&self) -> u64 {
        self.queue.held().0
    }

    /// Returns the queue.
    pub fn queue(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// Processes an arriving packet. Returns the time of the transmitter's next event if this arrival determines it.
    pub fn arrive(
        &mut self,
        mut variation: Option<&mut Variation>,
        now: Time,
        packet: Packet,
        options: &Options,
    ) -> Option<Time> {
        if variation.as_mut().is_some_and(|variation| variation.link.refuses(now)) {
            self.queue.refuse(now, &packet);
            return None;
        }
        self.queue.admit(now, packet, options);
        match self.state {
            State::Idle => self.prepare(variation, now, now),
            State::Ready(_) | State::Held(_) | State::Shaped(..) | State::Transmitting(..) | State::Batch(..) => None,
        }
    }

    /// Processes an event of the transmitter. Returns the packet that has left, if any, and the time of the
    /// transmitter's next event, if any; `None` if the event is obsolete.
    pub fn on_transmitter(
        &mut self,
        mut variation: Option<&mut Variation>,
        now: Time,
    ) -> Option<(Option<QueuedPacket>, Option<Time>)> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Ready(at) if at == now => Some((None, self.begin(variation, now))),
            State::Held(at) if at == now => Some((None, self.prepare(variation, now, now))),
            State::Shaped(at, packet) if at == now => {
                let begins = variation.as_mut().map_or(now, |variation| variation.link.ready(now));
                if begins > now {
                    self.state = State::Shaped(begins, packet);
                    return Some((None, Some(begins)));
                }
                Some((None, Some(self.transmit(variation, now, packet))))
            }
            State::Transmitting(packet, service) if service.ends == now => {
                if let Some(variation) = &mut variation {
                    variation.last_service = service;
                }
                self.queue.finish(now);
                let next = self.prepare(variation, Time::ZERO, now);
                Some((Some(packet), next))
            }
            State::Batch(mut packets, service) if service.ends == now => {
                let left = packets.pop_front();
                if let Some(variation) = &mut variation {
                    variation.last_service = service;
                }
                if packets.is_empty() {
                    self.queue.finish(now);
                    return Some((left, self.prepare(variation, Time::ZERO, now)));
                }
                self.state = State::Batch(packets, service);
                Some((left, Some(now)))
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Processes the start of an outage that may drop packets. Returns the time of the transmitter's next event if the
    /// outage determines it.
    pub fn on_outage(&mut self, variation: &mut Variation, now: Time) -> Option<Time> {
        let drops = variation.link.drops()?;
        let mut interrupted = false;
        if drops.in_service {
            interrupted = true;
            match &self.state {
                State::Transmitting(packet, _) => self.queue.drop_in_service(now, [packet]),
                State::Batch(packets, _) => self.queue.drop_in_service(now, packets),
                State::Idle | State::Ready(_) | State::Held(_) | State::Shaped(..) => interrupted = false,
            }
        }
        if interrupted {
            variation.link.stop(now);
            self.state = State::Idle;
        }
        if drops.waiting {
            if let State::Shaped(_, held) = &self.state {
                self.queue.drop_in_service(now, [held]);
            }
            self.queue.purge(now);
            if let State::Ready(_) | State::Held(_) | State::Shaped(..) = self.state {
                self.state = State::Idle;
            }
        }
        match interrupted {
            true => self.prepare(Some(variation), Time::ZERO, now),
            false => None,
        }
    }

    /// Starts the transmission of the next packet, or schedules its start; the transmitter is free. `arrival` is the
    /// time of the arrival, if a packet has just arrived.
    fn prepare(&mut self, mut variation: Option<&mut Variation>, arrival: Time, now: Time) -> Option<Time> {
        if self.queue.backlog().0 == 0 {
            // The discipline must be informed that the transmitter found no packet.
            return self.begin(variation, now);
        }
        let begins = match &mut variation {
            Some(variation) => variation.link.ready(arrival),
            None => now,
        };
        if begins > now {
            self.state = State::Ready(begins);
            return Some(begins);
        }
        if arrival == now && !self.queue.is_host() && !self.queue.is_conditioned() {
            // An idle constant-rate port of a router discards the rounding error of its last departure.
            self.free = (now.0, 0);
        }
        self.begin(variation, now)
    }

    fn begin(&mut self, variation: Option<&mut Variation>, now: Time) -> Option<Time> {
        if self.queue.forms_batches() {
            let variation = variation?;
            let batch = self.queue.begin_batch(now, variation.link.rate_bps(now));
            if batch.packets.is_empty() {
                return self.hold(now);
            }
            let service = variation.link.transmit(batch.line_bytes);
            self.state = State::Batch(batch.packets, service);
            return Some(service.ends);
        }
        let Some(next) = self.queue.begin_next(now) else {
            return self.hold(now);
        };
        let released = self.queue.release(now, &next);
        if released > now {
            self.state = State::Shaped(released, next);
            return Some(released);
        }
        Some(self.transmit(variation, now, next))
    }

    /// Waits if the discipline holds packets. Returns the time at which the wait ends.
    fn hold(&mut self, now: Time) -> Option<Time> {
        let until = self.queue.held_until(now)?;
        self.state = State::Held(until);
        Some(until)
    }

    fn transmit(&mut self, variation: Option<&mut Variation>, now: Time, packet: QueuedPacket) -> Time {
        let bytes = packet.packet.bytes();
        let service = match variation {
            Some(variation) => variation.link.transmit(u64::from(bytes)),
            None => Service {
                begins: now,
                ends: self.send(now, bytes),
            },
        };
        self.state = State::Transmitting(packet, service);
        service.ends
    }

    /// Transmits a packet at a constant rate. Returns the time at which the transmission ends.
    fn send(&mut self, now: Time, bytes: u16) -> Time {
        let (whole, part) = self.free.max((now.0, 0));
        let lasts = 8 * u128::from(bytes) * u128::from(PS_PER_SECOND) + u128::from(part);
        let rate = u128::from(self.queue.rate().0);
        self.free = (whole + (lasts / rate) as u64, (lasts % rate) as u64);
        Time(self.free.0)
    }

    /// Returns the arrival times and circuits of the packets of a router's port that `watch_in_service` does not
    /// report.
    pub fn waiting_packets(&self, variation: Option<&Variation>) -> Vec<(Time, Circuit)> {
        if self.queue.is_host() {
            return vec![];
        }
        let mut waiting = self.queue.waiting_packets();
        match &self.state {
            State::Shaped(_, held) => waiting.push(held.entry()),
            State::Transmitting(queued, service) if is_interrupted(variation, service) => waiting.push(queued.entry()),
            State::Batch(packets, service) if is_interrupted(variation, service) => {
                waiting.extend(packets.iter().map(QueuedPacket::entry));
            }
            State::Idle | State::Ready(_) | State::Held(_) | State::Transmitting(..) | State::Batch(..) => {}
        }
        waiting
    }

    /// Reports to a probe the packets that are in transmission at the end of the run: their departure times are known,
    /// although their departure events are not processed.
    pub fn watch_in_service<P: Probe>(&self, variation: Option<&Variation>, probe: &mut P, link: Link) {
        let (packets, service): (Vec<&QueuedPacket>, &Service) = match &self.state {
            State::Transmitting(queued, service) => (vec![queued], service),
            State::Batch(packets, service) => (packets.iter().collect(), service),
            State::Idle | State::Ready(_) | State::Held(_) | State::Shaped(..) => return,
        };
        if is_interrupted(variation, service) {
            return;
        }
        for queued in packets {
            let arrival = (!self.queue.is_host()).then_some(queued.arrival);
            transmissions::packet(probe, link, arrival, service.ends, queued.packet, &queued.options());
        }
    }

    /// Returns the counters of the queues into which the discipline divides the port.
    pub fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.queue.subqueues()
    }

    /// Returns the credits of the port's token buckets at `now`, the end of the run.
    pub fn token_credits(&self, now: Time) -> Vec<TokenCredit> {
        self.queue.token_credits(now)
    }

    /// Returns the counters at `now`, the end of the run. A host's port also counts its packets on the wire as held.
    pub fn report(&mut self, variation: Option<&mut Variation>, now: Time, on_wire: (u64, u64)) -> PacketReport {
        let mut report = self.queue.report(now);
        if report.host {
            report.hold_on_wire(on_wire);
            report.utilization = self.queue.rate().share_used(report.bytes_out, now);
        }
        if let Some(variation) = variation {
            variation.report.lost_outage = self.queue.lost_outage();
            variation.add_to_report(&mut report, now);
        }
        report
    }
}

/// Returns whether an outage will interrupt a transmission.
fn is_interrupted(variation: Option<&Variation>, service: &Service) -> bool {
    variation.is_some_and(|variation| variation.link.clone().interrupted(*service).is_some())
}
