//! Packets at ports with an egress queue (`constant_rate.rs`, `variable_rate.rs`): they are queued until their
//! transmission starts, and forwarded at that time.

use super::forward::HostArrival;
use super::port::any_port::Port;
use super::port::cell::{Left, Place};
use super::port::constant_rate::StartedTransmission;
use super::port::egress_queue::{EgressQueue, QueuedPacket};
use super::port::line::End;
use super::Ip;
use crate::clock::Actor;
use crate::hosts::transmissions;
use crate::hosts::Hosts;
use crate::observe::probe::{Event, Probe};
use crate::packets::{Carried, Circuit, Link, OnWire, Options, Packet, NO_OPTIONS};
use longpipe_events::{MaybeTime, Span, Time};

impl Ip {
    /// Processes an arrival at a port with an egress queue, after all earlier actions there. Returns the arrival time
    /// downstream and the packet, which may be marked, if its transmission starts at once.
    #[inline(always)]
    pub(super) fn enqueue<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        now: Time,
        packet: Packet,
        options: impl Carried,
    ) -> Option<(Time, Packet)> {
        let wire = &mut self.wires[link.index()];
        if let Port::ConstantRate(port) = &mut wire.port {
            if let Some(arrival) = port.pass_idle(&mut wire.line, now, packet) {
                return Some((arrival, packet));
            }
        }
        self.act_until(hosts, link, now);
        let wire = &mut self.wires[link.index()];
        let begun = wire.port.arrive(&mut wire.line, now, packet, options);
        report(hosts, link, &mut wire.port);
        if wire.port.is_releasing() {
            self.act_until(hosts, link, now);
        }
        self.set_port_event(hosts, link);
        let StartedTransmission {
            queued,
            departure,
            arrival,
        } = begun?;
        if arrival == MaybeTime::NONE {
            let arrived = self.wires[link.index()].port.arrival_of(&queued);
            options.with(|options| {
                transmissions::packet(&mut hosts.probe, link, arrived, departure, queued.packet, options);
            });
        }
        Some((arrival.get()?, queued.packet))
    }

    /// Returns the number of packets that a port holds when another packet arrives.
    pub(super) fn held<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) -> u64 {
        if let Port::Access(place) = self.wires[link.index()].port {
            return self.cells.held(place).0;
        }
        if self.wires[link.index()].port.has_egress_queue() {
            self.run_port(hosts, link, now);
        }
        self.wires[link.index()].held(now)
    }

    /// Performs all actions due by `now` at a port with an egress queue.
    pub(super) fn run_port<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) {
        self.act_until(hosts, link, now);
        self.set_port_event(hosts, link);
    }

    /// Processes the event of a port.
    pub(super) fn on_port_event<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if let Port::Access(place) = self.wires[link.index()].port {
            self.cells.wake(place.cell, hosts.clock.now);
            self.settle_cell(hosts, place.cell);
            return;
        }
        self.wires[link.index()].waiting.port_event = None;
        self.run_port(hosts, link, hosts.clock.now);
    }

    /// Processes the arrival of a packet at a port with medium access.
    #[inline(never)]
    pub(super) fn enter_cell<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        place: Place,
        now: Time,
        packet: Packet,
        options: &Options,
    ) {
        self.cells.arrive(place, now, packet, options);
        if !self.cells.is_settled(place.cell) {
            self.settle_cell(hosts, place.cell);
        }
    }

    /// Reports what has happened in a cell, forwards the packets that have left its ports, and schedules its next
    /// event.
    fn settle_cell<P: Probe>(&mut self, hosts: &mut Hosts<P>, cell: u32) {
        self.cells
            .collect_reports(cell, |link, queue| report_from(hosts, link, queue));
        if let Some(recorded) = self.cells.take_recorded(cell) {
            for (time, link, event) in recorded {
                hosts.probe.observe(Event::Station(time, link, event));
            }
        }
        if let Some(mut all) = self.cells.take_left(cell) {
            for Left { link, packet, arrival } in &all {
                self.leave(hosts, *link, packet, hosts.clock.now, (*arrival).into());
            }
            all.clear();
            self.cells.keep_memory(cell, all);
        }
        match self.cells.new_event(cell) {
            Some((link, Some(time))) => hosts.clock.set_departure(link, time),
            Some((link, None)) => hosts.clock.cancel(Actor::Port(link.index())),
            None => {}
        }
    }

    /// Performs all actions due by `now` at a port with an egress queue, without setting its next event.
    pub(crate) fn act_until<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) {
        loop {
            let wire = &mut self.wires[link.index()];
            let Some(at) = wire.port.due(&mut wire.line, now) else {
                return;
            };
            let begun = wire.port.act(&mut wire.line, at);
            report(hosts, link, &mut wire.port);
            if let Some(begun) = begun {
                self.leave(hosts, link, &begun.queued, begun.departure, begun.arrival);
            }
        }
    }

    /// Forwards a packet whose transmission starts at a port with an egress queue.
    fn leave<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        queued: &QueuedPacket,
        departure: Time,
        arrival: MaybeTime,
    ) {
        let packet = queued.packet;
        let wire = &self.wires[link.index()];
        if !hosts.probe.is_idle() {
            let arrived = wire.port.arrival_of(queued);
            transmissions::packet(&mut hosts.probe, link, arrived, departure, packet, &queued.options());
        }
        let Some(arrival) = arrival.get() else { return };
        let line = &wire.line;
        let delivering_early = hosts.early_delivery.delivering_early;
        let own;
        let options = match packet.has_options() {
            true if hosts.early_delivery.in_order & !delivering_early & packet.is_stamped_data() => {
                return self.leave_stamped(hosts, link, OnWire { arrival, packet }, queued.stamp(), departure);
            }
            true => {
                own = queued.options();
                &own
            }
            false => &NO_OPTIONS,
        };
        match line.end {
            End::Through if arrival <= hosts.clock.end => {
                self.forward_from_trunk(hosts, (arrival, packet), options, delivering_early, departure);
            }
            End::Host if (arrival <= line.earliest_event) & !delivering_early => {
                let left_trunk = departure;
                self.reach_quiet_host(
                    hosts,
                    HostArrival {
                        arrival,
                        packet,
                        left_trunk,
                    },
                    options,
                );
            }
            _ => self.stop(hosts, link, OnWire { arrival, packet }, options, departure),
        }
    }

    /// Like `leave`, for data whose only option is a timestamp.
    #[inline(never)]
    fn leave_stamped<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        next: OnWire,
        stamp: MaybeTime,
        departure: Time,
    ) {
        let line = &self.wires[link.index()].line;
        match line.end {
            End::Through if next.arrival <= hosts.clock.end => {
                self.forward_stamped_data(hosts, next, stamp, departure);
            }
            End::Host if next.arrival <= line.earliest_event => {
                self.take_data_in_order(hosts, next, stamp, departure);
            }
            _ => self.stop(hosts, link, next, &Options::of_stamp(stamp), departure),
        }
    }

    /// Schedules or cancels the event for the start of a waiting packet's transmission.
    #[inline(always)]
    fn set_port_event<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let wire = &self.wires[link.index()];
        // No packet is dropped before a late event, and no packet whose transmission starts earlier arrives at its next
        // port before it.
        if wire.waiting.port_event.is_none() || !wire.port.may_act_late() {
            self.reset_port_event(hosts, link);
        }
    }

    #[inline(never)]
    fn reset_port_event<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let wire = &mut self.wires[link.index()];
        let next = wire.port.next_event(&wire.line);
        if std::mem::replace(&mut wire.waiting.port_event, next) != next {
            match next {
                Some(time) => hosts.clock.set_departure(link, time),
                None => hosts.clock.cancel(Actor::Port(link.index())),
            }
        }
    }
}

/// Reports the packets that an egress queue has duplicated, marked or dropped.
#[inline]
fn report<P: Probe>(hosts: &mut Hosts<P>, link: Link, port: &mut Port) {
    if let Some(queue) = port.egress_queue().filter(|queue| queue.has_reports()) {
        report_from(hosts, link, queue);
    }
}

#[cold]
#[inline(never)]
fn report_from<P: Probe>(hosts: &mut Hosts<P>, link: Link, queue: &mut EgressQueue) {
    queue.take_duplicated().for_each(|packet| hosts.duplicate(&packet));
    queue
        .take_marks()
        .for_each(|(time, flow)| hosts.probe.observe(Event::Marked(time, link, flow)));
    report_removed(&mut hosts.probe, link, queue);
    if !queue.drops().is_empty() {
        hosts.lose_all(link, &queue.drops().take());
    }
}

/// Reports the packets that a router's egress queue has dropped after it passed them to its discipline.
pub(super) fn report_removed<P: Probe>(probe: &mut P, link: Link, queue: &mut EgressQueue) {
    let is_host = queue.is_host();
    for removed in queue.take_removed().filter(|_| !is_host) {
        probe.observe(Event::Waited {
            link,
            arrival: removed.arrival,
            end: removed.time,
            vc: removed.circuit,
        });
    }
}

/// Reports packets that wait at a router's port at the end of the run.
pub(super) fn report_waiting<P: Probe>(probe: &mut P, link: Link, waiting: Vec<(Time, Circuit)>, end: Time) {
    for (arrival, vc) in waiting {
        // They still wait at the last sample.
        probe.observe(Event::Waited {
            link,
            arrival,
            end: end + Span(1),
            vc,
        });
    }
}
