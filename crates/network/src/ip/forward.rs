//! Forwarding of packets. A packet has one event at each port where it may meet packets of other wires, unless its
//! order there is proven, and one at its host.
//!
//! After the last such port it is advanced through all further ports at once, with its computed arrival time at each of
//! them. The packet's contents travel with it.

use super::port::any_port::Port;
use super::port::line::End;
use super::routes::Routes;
use super::Ip;
use crate::clock::{CELL, UNKNOWN};
use crate::hosts::transmissions;
use crate::hosts::Hosts;
use crate::observe::probe::{Event, Probe};
use crate::packets::drops::DropCause;
use crate::packets::payload::Payload;
use crate::packets::queued_options::Queued;
use crate::packets::NO_OPTIONS;
use crate::packets::{Carried, Circuit, Link, OnWire, Options, Packet};
use crate::scenario::link_ends::LinkEnd;
use crate::ties::TieRule;
use longpipe_events::{Entity, Order, Span, Time};

/// Returns the rank of a packet among simultaneous arrivals at a router where wires meet.
pub(super) fn rank(routes: &Routes, ends: &[LinkEnd], ties: &TieRule, next: &OnWire) -> (Order, Entity) {
    let link = routes.link(&next.packet);
    let rank = ties.rank(&ends[link.index()], next.arrival, next.packet.vc());
    (CELL | rank, link.0)
}

/// A packet that is about to reach a host, and its departure time from the first port of the current advance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostArrival {
    pub arrival: Time,
    pub packet: Packet,
    pub left_trunk: Time,
}

/// An ACK on its first wire whose order among all packets is proven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProvenAck {
    pub next: OnWire,
    pub options: Options,
}

impl Ip {
    /// Sends a packet from a host's interface over a circuit that starts with the given link and step. Returns the
    /// packet if the caller must forward it; the packet is then an ACK whose order is proven, of data that left their
    /// trunk (`lookahead/acks.rs`) at `left_trunk`.
    #[inline(always)]
    pub(super) fn transmit<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (vc, frame, link, step): (Circuit, u32, Link, u32),
        payload: &impl Payload,
        left_trunk: Time,
    ) -> Option<ProvenAck> {
        let ready = hosts.ready(link);
        let wire = &mut self.wires[link.index()];
        let packet = Packet::of(vc, frame, step, payload);
        // The options are created where they are needed, because copying recently written options would stall the
        // processor.
        let options = || payload.options().unwrap_or(NO_OPTIONS);
        let circuit_and_ecn = |_| (self.routes.local(&self.topology, packet), packet.is_capable());
        let Some(arrival) = wire.send(ready, packet.bytes(), circuit_and_ecn) else {
            self.transmit_by_queue(hosts, (link, ready), packet, &options());
            return None;
        };
        let departure = wire.left(arrival);
        transmissions::packet(&mut hosts.probe, link, None, departure, packet, &options());
        if vc.is_back()
            && self.is_order_proven(
                self.wires[link.index()].ack_lookahead,
                arrival,
                left_trunk,
                hosts.clock.until,
            )
            && arrival < hosts.early_delivery.due_acks.earliest()
        {
            let (next, options) = (OnWire { arrival, packet }, options());
            return Some(ProvenAck { next, options });
        }
        let next = OnWire { arrival, packet };
        match payload.stamp_alone() {
            Some(stamp) => self.set_out(hosts, link, next, stamp),
            None => self.set_out(hosts, link, next, &options()),
        }
        None
    }

    /// Slow path of `transmit`, for a packet that was queued or lost. If its transmission starts, the packet is
    /// forwarded.
    #[inline(never)]
    pub(super) fn transmit_by_queue<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (link, ready): (Link, Time),
        packet: Packet,
        options: &Options,
    ) {
        let wire = &mut self.wires[link.index()];
        if let Some(departure) = wire.take_left_if(!hosts.probe.is_idle()) {
            transmissions::packet(&mut hosts.probe, link, None, departure, packet, options);
        }
        if let Port::Access(place) = wire.port {
            self.enter_cell(hosts, place, ready, packet, options);
            return;
        }
        if !wire.port.has_egress_queue() {
            if let Some((time, cause)) = wire.port.take_loss(ready.min(hosts.clock.end)) {
                hosts.lose(time, link, &packet, cause);
            }
            return;
        }
        let passed = wire.pass_again(ready, packet).map(|arrival| (arrival, packet));
        if let Some((arrival, packet)) = passed.or_else(|| self.enqueue(hosts, link, ready, packet, options)) {
            let departure = self.wires[link.index()].left(arrival);
            transmissions::packet(&mut hosts.probe, link, None, departure, packet, options);
            self.set_out(hosts, link, OnWire { arrival, packet }, options);
        }
    }

    /// Forwards a packet over its first link after it has left its host.
    #[inline(always)]
    pub(crate) fn set_out<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, options: impl Carried) {
        match self.wires[link.index()].line.end {
            End::Shared => self.wait_in_lane(hosts, link, next, options),
            End::Host => options.with(|options| self.reach_host(hosts, link, next, options, UNKNOWN)),
            End::Through if next.arrival <= hosts.clock.end => {
                options.with(|options| self.continue_from_router(hosts, next, options));
            }
            End::Leaves => self.pass_on(link, next, options),
            End::Through | End::Unordered | End::DecidedOnArrival => {
                options.with(|options| self.wait_on_wire(hosts, link, next, options));
            }
        }
    }

    /// Takes a packet that another part of the run has sent over a link to this part.
    #[inline(always)]
    pub(crate) fn enter<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, options: impl Carried) {
        let line = &self.wires[link.index()].line;
        if line.end == End::Host && next.arrival <= line.earliest_event {
            self.enter_quiet_host(hosts, next, options);
        } else {
            self.set_out(hosts, link, next, options);
        }
    }

    /// Like `enter`, but for a packet that precedes all others and all events at the shared port at the end of its link.
    #[inline(always)]
    pub(crate) fn enter_first<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, options: impl Carried) {
        hosts.clock.begin(next.arrival);
        let reaching = self.travel(hosts, (next.arrival, next.packet), options, false, None);
        if let Some(HostArrival { arrival, packet, .. }) = reaching {
            self.enter_quiet_host(hosts, OnWire { arrival, packet }, options);
        }
    }

    /// Returns whether an ACK of data that left the trunk (`lookahead/acks.rs`) at `left_trunk` precedes all later
    /// arrivals at the shared port at the end of the ACK's link; `ack_lookahead` is the lookahead of the link. Data that
    /// arrive at their host after `until`, up to which the run is simulated, are acknowledged later.
    #[inline(always)]
    pub(crate) fn is_order_proven(&self, ack_lookahead: Span, arrival: Time, left_trunk: Time, until: Time) -> bool {
        let after = arrival.0.wrapping_sub(left_trunk.0);
        (after < ack_lookahead.0) & (arrival <= until) & self.lanes.have_no_ack()
    }

    /// Handles the earliest packet of all lanes if it precedes all other events and the end of the run. Returns whether
    /// it did so.
    #[inline(always)]
    pub(super) fn advance_lane<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (lane, time, tie) = self.lanes.first();
        if time > hosts.clock.until {
            return false;
        }
        if tie | (time >= hosts.clock.queue.lower_bound()) {
            return self.advance_tied(hosts);
        }
        let next = if lane == 0 {
            self.lanes.pop_without_options(0)
        } else {
            self.lanes.pop_without_options(1)
        };
        if let Some(OnWire { arrival, packet }) = next {
            hosts.clock.begin(arrival);
            self.forward(hosts, (arrival, packet), &NO_OPTIONS, false);
        } else {
            self.advance_with_options(hosts, lane);
        }
        true
    }

    /// Handles the first packet of a lane, which may have options.
    #[inline(never)]
    fn advance_with_options<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize) {
        let first = self.lanes.pop(lane);
        let Queued { next, stamp } = first;
        hosts.clock.begin(next.arrival);
        if hosts.early_delivery.in_order && next.packet.is_stamped_data() {
            return self.forward_stamped_data(hosts, next, stamp, UNKNOWN);
        }
        let options = self.lanes.pop_options(lane, &first);
        self.forward(hosts, (next.arrival, next.packet), &options, false);
    }

    /// Handles the earliest packet of the lanes if another event may precede it or be simultaneous with it.
    #[inline(never)]
    fn advance_tied<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (lane, time, tie) = self.lanes.first();
        let next = hosts.clock.queue.next_time();
        if !tie && next != time {
            if time < next {
                self.advance_with_options(hosts, lane);
            }
            return time < next;
        }
        let rank = |next| rank(&self.routes, &self.topology.ends, &self.ties, next);
        let first = self.lanes.at(time).map(|(lane, next)| (rank(next), lane)).min();
        let Some(((order, entity), lane)) = first else {
            return false;
        };
        let first = hosts.clock.queue.would_be_first(entity, time, order);
        if first {
            self.advance_with_options(hosts, lane);
        }
        first
    }

    /// Processes the arrival of the first packet of a wire at its router.
    pub(super) fn on_packet<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let mut options = NO_OPTIONS;
        let shared = self.wires[link.index()].is_shared();
        if let Some(next) = self.wires[link.index()].pop(&mut options) {
            self.lanes.acks_elsewhere -= u64::from(shared) * next.packet.vc().way() as u64;
            self.continue_from_router(hosts, next, &options);
        }
    }

    /// Processes the arrival of the first packet at the end of a wire with bit errors or rerouting. Returns whether it
    /// is lost there.
    #[inline(never)]
    pub(super) fn lose_first<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) -> bool {
        let now = hosts.clock.now;
        let wire = &mut self.wires[link.index()];
        let shared = wire.is_shared();
        let (Some(verdict), Some(first)) = (&mut wire.verdict, wire.waiting.packets.first()) else {
            return false;
        };
        let packet = first.next.packet;
        let bytes = packet.bytes();
        let corrupted = verdict
            .errors
            .as_mut()
            .is_some_and(|errors| errors.corrupt(8 * u32::from(bytes)));
        let next_hop = Some(packet)
            .filter(|_| !corrupted)
            .and_then(|packet| match verdict.reroutes {
                true => self.routes.next_hop(&self.topology, link, now, packet),
                false => Some(packet),
            });
        if let Some(next_hop) = next_hop {
            let packets = &mut wire.waiting.packets;
            packets.get_mut(packets.head()).next.packet = next_hop;
            return false;
        }
        if !corrupted {
            verdict.no_route.0 += 1;
            verdict.no_route.1 += u64::from(bytes);
        }
        wire.pop(&mut NO_OPTIONS.clone());
        let cause = match corrupted {
            true => DropCause::BitError,
            false => DropCause::NoRoute,
        };
        hosts.lose(now, link, &packet, cause);
        self.lanes.acks_elsewhere -= u64::from(shared) * packet.vc().way() as u64;
        true
    }

    /// Processes a packet's arrival at a router, and advances it as far as possible.
    #[inline(never)]
    fn continue_from_router<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, options: &Options) {
        let delivering_early = hosts.early_delivery.delivering_early;
        self.forward(hosts, (next.arrival, next.packet), options, delivering_early);
    }

    /// Processes a packet's arrival at a router. Advances the packet as far as possible, and also any ACK with proven
    /// order that it causes.
    #[inline(always)]
    fn forward<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: (Time, Packet),
        options: &Options,
        delivering_early: bool,
    ) {
        self.forward_from_trunk(hosts, next, options, delivering_early, UNKNOWN);
    }

    /// Like `forward`, but for a packet that left the first port of this advance at `left_trunk`, which may be
    /// `UNKNOWN`.
    #[inline(always)]
    pub(super) fn forward_from_trunk<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: (Time, Packet),
        options: &Options,
        delivering_early: bool,
        left_trunk: Time,
    ) {
        if let Some(reaching) = self.travel(hosts, next, options, delivering_early, Some(left_trunk)) {
            self.reach_quiet_host(hosts, reaching, options);
        }
    }

    /// Processes a packet's arrival at a router, and advances it to the next port where it may meet packets of other
    /// wires, or to its host, where it may be delivered early. `answered` is `Some` if the caller needs the departure
    /// time from the last shared port, to prove the order of an ACK.
    #[inline(always)]
    pub(crate) fn travel<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (mut arrival, mut packet): (Time, Packet),
        options: impl Carried,
        delivering_early: bool,
        answered: Option<Time>,
    ) -> Option<HostArrival> {
        let mut left_trunk = answered.unwrap_or(UNKNOWN);
        let link = loop {
            let link = self.routes.next_link(&packet);
            packet = packet.further();
            if !hosts.probe.is_idle() {
                let held = self.held(hosts, link, arrival);
                hosts.probe.observe(Event::Queue(arrival, link, held));
            }
            let wire = &mut self.wires[link.index()];
            let reached = arrival;
            let circuit_and_ecn = |numbered| {
                let local = if numbered {
                    self.routes.local(&self.topology, packet)
                } else {
                    0
                };
                (local, packet.is_capable())
            };
            let sent = match wire.send(reached, packet.bytes(), circuit_and_ecn) {
                None => wire.pass_again(reached, packet),
                sent => sent,
            };
            let wire = match sent {
                Some(at) => {
                    arrival = at;
                    &*wire
                }
                None => {
                    if let Some(departure) = wire.take_left_if(!hosts.probe.is_idle()) {
                        options.with(|options| {
                            transmissions::packet(&mut hosts.probe, link, Some(reached), departure, packet, options);
                        });
                    }
                    (arrival, packet) = self.mark_or_hold(hosts, link, reached, packet, options)?;
                    &self.wires[link.index()]
                }
            };
            let departure = wire.left(arrival);
            options.with(|options| {
                transmissions::packet(&mut hosts.probe, link, Some(reached), departure, packet, options);
            });
            if answered.is_some() {
                // Departures from later ports are later, so the first departure is the minimum.
                left_trunk = left_trunk.min(arrival - wire.line.delay());
            }
            if arrival > wire.line.earliest_event {
                break link;
            }
            match wire.line.end {
                End::Through => {}
                End::Host if !delivering_early => {
                    return Some(HostArrival {
                        arrival,
                        packet,
                        left_trunk,
                    })
                }
                _ => break link,
            }
        };
        let next = OnWire { arrival, packet };
        match self.wires[link.index()].line.end {
            End::Leaves => self.pass_on(link, next, options),
            _ => options.with(|options| self.stop(hosts, link, next, options, left_trunk)),
        }
        None
    }

    /// Slow path for a packet that the port did not forward unchanged: it was marked, dropped, or queued. Returns its
    /// arrival time downstream if it was only marked.
    #[inline(never)]
    fn mark_or_hold<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        now: Time,
        packet: Packet,
        options: impl Carried,
    ) -> Option<(Time, Packet)> {
        let wire = &mut self.wires[link.index()];
        match &mut wire.port {
            Port::Interface(_) | Port::Delayed(_) => {}
            Port::TimeVarying(port) => {
                if let Some(dropped) = port.take_dropped() {
                    hosts.probe.observe(Event::Waited {
                        link,
                        arrival: now,
                        end: dropped,
                        vc: packet.vc(),
                    });
                }
            }
            Port::Router(router) => {
                if let Some(departure) = router.take_marked() {
                    hosts.probe.observe(Event::Marked(now, link, packet.vc().flow()));
                    return Some((departure + wire.line.delay(), packet.marked()));
                }
            }
            Port::ConstantRate(_) | Port::VariableRate(_) => return self.enqueue(hosts, link, now, packet, options),
            &mut Port::Access(place) => {
                options.with(|options| self.enter_cell(hosts, place, now, packet, options));
                return None;
            }
        }
        if let Some((time, cause)) = wire.port.take_loss(now) {
            hosts.lose(time, link, &packet, cause);
        }
        None
    }

    /// Queues a packet on a wire until its arrival event.
    #[inline(never)]
    pub(super) fn stop<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        match self.wires[link.index()].line.end {
            End::Host => self.reach_host(hosts, link, next, options, left_trunk),
            End::Shared => self.wait_in_lane(hosts, link, next, options),
            End::Leaves => self.pass_on(link, next, options),
            End::Through | End::Unordered | End::DecidedOnArrival => self.wait_on_wire(hosts, link, next, options),
        }
    }

    /// Delivers a packet to its host, early if possible; otherwise queues it for its arrival event.
    #[inline(never)]
    fn reach_host<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        if !hosts.early_delivery.delivering_early {
            self.pass_due_acks(hosts, &next.packet, left_trunk);
        }
        if hosts.prepare_for_arrival(self, link, next.arrival) {
            self.deliver_early(hosts, next, options, left_trunk);
        } else {
            self.wait_on_wire(hosts, link, next, options);
        }
    }

    /// Processes the arrival at a router of an ACK whose order is proven, and advances the ACK as far as possible.
    #[inline(never)]
    pub(crate) fn continue_proven<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, options: &Options) {
        self.forward(hosts, (next.arrival, next.packet), options, false);
    }

    /// Delivers the first packet of a wire to its host.
    pub(super) fn deliver<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let mut options = NO_OPTIONS;
        if let Some(next) = self.wires[link.index()].pop(&mut options) {
            hosts.receive(self, next.packet, &options, UNKNOWN);
        }
    }
}
