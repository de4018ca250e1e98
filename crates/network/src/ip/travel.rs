//! How packets move: one event at each place where they may meet those of another wire, unless their order there is
//! certain, and one at their host.
//!
//! Past the last such place a packet goes on at once, port by port, each time at the instant at which it arrives
//! there, as cells do. What it carries goes with it; the options of the packet in hand, if it has any, lie in
//! `Simulation::options`.

use super::packet::{Payload, PlainAck};
use super::routes::Routes;
use super::wire::{End, Port, Wire};
use super::{OnWire, Options, Packet};
use crate::probe::Probe;
use crate::simulation::{Simulation, CELL, UNKNOWN, WHOLE_FRAME};
use crate::ties::TieRule;
use crate::topology::{Entry, LinkEnd};
use crate::watch;
use longpipe_events::{Entity, Order, Span, Time};
use longpipe_tcp::{AckSegment, DataSegment};

/// Rank of a packet among all that happens when it arrives where it may meet those of other wires.
fn rank(routes: &Routes, ends: &[LinkEnd], ties: &TieRule, next: &OnWire) -> (Order, Entity) {
    let link = routes.link(&next.packet);
    let rank = ties.rank(&ends[link as usize], next.arrival, next.packet.vc());
    (CELL | rank, link)
}

impl<P: Probe> Simulation<P> {
    /// Hands a packet to the interface at the start of its circuit.
    #[inline(always)]
    pub(crate) fn enqueue_packet(&mut self, vc: u32, frame: u32, payload: &impl Payload) {
        let Entry { link, step } = self.flows[(vc / 2) as usize].entry(vc);
        let ready = self.ready(link as usize);
        let wire = &mut self.wires[link as usize];
        let packet = Packet::new(vc, frame, step, payload, &mut self.options);
        let Some(arrival) = wire.send(ready, packet.bytes(), || 0) else {
            return;
        };
        let departure = arrival - wire.line.delay();
        watch::packet(&mut self.probe, link, None, departure, packet, &self.options);
        let certain = !vc.is_multiple_of(2) && self.is_certain(self.wires[link as usize].lead, arrival);
        if certain {
            self.certain = Some(OnWire { arrival, packet });
        } else {
            self.set_out(link, OnWire { arrival, packet });
        }
    }

    /// A packet is on its way over its first link.
    #[inline(always)]
    pub(super) fn set_out(&mut self, link: u32, next: OnWire) {
        match self.wires[link as usize].line.end {
            End::Host => self.reach_host(link, next),
            End::Through if next.arrival <= self.end => self.go_on(next),
            End::Shared => self.wait_in_lane(link, next),
            End::Through => self.wait_on_wire(link, next),
        }
    }

    /// Whether an ACK that reaches a shared port at `arrival` over a link of this lead precedes all that will.
    #[inline(always)]
    pub(super) fn is_certain(&self, lead: Span, arrival: Time) -> bool {
        let since = arrival.0.wrapping_sub(self.left_trunk.0);
        (since < lead.0) & (arrival <= self.end) & self.lanes.have_no_ack()
    }

    /// Handles the first packet of all lanes, if it comes before all other events and not after the end.
    #[inline(always)]
    pub(crate) fn advance_lane(&mut self) -> bool {
        let (lane, time, tie) = self.lanes.first();
        if time > self.end {
            return false;
        }
        if tie | (time >= self.agenda.bound()) {
            return self.advance_tied();
        }
        let next = if lane == 0 {
            self.lanes.pop(0, &mut self.options)
        } else {
            self.lanes.pop(1, &mut self.options)
        };
        self.now = next.arrival;
        self.events += 1;
        self.forward(next, false);
        true
    }

    /// The same where something else may come at that instant, or before it.
    #[inline(never)]
    fn advance_tied(&mut self) -> bool {
        let (_, time, _) = self.lanes.first();
        let rank = |next| rank(&self.routes, &self.topology.ends, &self.ties, next);
        let first = self.lanes.at(time).map(|(lane, next)| (rank(next), lane)).min();
        let Some(((order, entity), lane)) = first else {
            return false;
        };
        let first = self.agenda.would_be_first(entity, time, order);
        if first {
            let next = self.lanes.pop(lane, &mut self.options);
            self.now = next.arrival;
            self.events += 1;
            self.go_on(next);
        }
        first
    }

    /// What a wire brings next reaches its far end.
    pub(crate) fn on_packet_arrival(&mut self, link: usize) {
        if self.wires[link].line.end == End::Host {
            self.on_packet(link);
        } else if let Some(next) = self.wires[link].pop(&mut self.options) {
            self.lanes.astray -= u64::from(next.packet.vc() % 2);
            self.go_on(next);
        }
        self.schedule_packet(link);
    }

    /// A packet reaches a router, and all that follows.
    #[inline(never)]
    pub(super) fn go_on(&mut self, next: OnWire) {
        self.forward(next, self.ahead.busy);
    }

    /// A packet reaches a router, and from there whatever it reaches without meeting another wire; so does the ACK that
    /// goes on at once.
    #[inline(always)]
    fn forward(&mut self, next: OnWire, busy: bool) {
        if let Some(OnWire { arrival, packet }) = self.travel(next, busy) {
            self.reach_quiet_host(arrival, packet);
        }
    }

    /// A packet reaches a router, and from there whatever it reaches without meeting another wire; at last maybe a host
    /// ahead of time, where nothing precedes it.
    #[inline(always)]
    pub(super) fn travel(&mut self, next: OnWire, busy: bool) -> Option<OnWire> {
        let OnWire {
            mut arrival,
            mut packet,
        } = next;
        let mut first = true;
        let link = loop {
            let link = self.routes.next_link(&packet);
            packet = packet.further();
            let wire = &mut self.wires[link as usize];
            if let (false, Port::Router(router)) = (P::IDLE, &mut wire.port) {
                router.settle(&mut wire.line, arrival);
                self.probe.queue(arrival, link, router.held(&wire.line, arrival).0);
            }
            let reached = arrival;
            arrival = wire.send(reached, packet.bytes(), || self.routes.local(&self.topology, &packet))?;
            let departure = arrival - wire.line.delay();
            watch::packet(&mut self.probe, link, Some(reached), departure, packet, &self.options);
            if std::mem::take(&mut first) {
                self.left_trunk = departure;
            }
            match wire.line.end {
                End::Through if arrival <= self.end => {}
                End::Host if (arrival <= wire.line.quiet_until) & !wire.line.waits & !busy => {
                    return Some(OnWire { arrival, packet });
                }
                _ => break link,
            }
        };
        self.stop(link, OnWire { arrival, packet });
        None
    }

    /// A packet is on a wire whose end it reaches later, or not for certain before all else.
    #[inline(never)]
    fn stop(&mut self, link: u32, next: OnWire) {
        match self.wires[link as usize].line.end {
            End::Host => self.reach_host(link, next),
            End::Shared => self.wait_in_lane(link, next),
            End::Through => self.wait_on_wire(link, next),
        }
    }

    /// A packet will reach its host, ahead of time if it may.
    #[inline(never)]
    fn reach_host(&mut self, link: u32, next: OnWire) {
        let (options, left_trunk) = (self.options, self.left_trunk);
        self.left_trunk = UNKNOWN;
        let ahead = self.approach(link as usize, next.arrival);
        (self.options, self.left_trunk) = (options, left_trunk);
        if ahead {
            self.hand_over_ahead(next);
        } else {
            self.wait_on_wire(link, next);
        }
    }

    /// Gives a packet to its end point ahead of time; an ACK that goes on at once does so.
    #[inline(never)]
    pub(super) fn hand_over_ahead(&mut self, next: OnWire) {
        let now = self.begin_ahead(next.arrival);
        self.hand_over_packet(next.packet);
        self.end_ahead(now);
        if self.certain.is_some() {
            self.go_on_for_certain();
        }
    }

    /// The ACK whose place is certain reaches a router, and all that follows.
    #[inline(never)]
    fn go_on_for_certain(&mut self) {
        if let Some(OnWire { arrival, packet }) = self.certain {
            self.certain = None;
            self.forward(OnWire { arrival, packet }, false);
        }
    }

    /// The first packet on a wire reaches its host.
    pub(crate) fn on_packet(&mut self, link: usize) {
        if let Some(next) = self.wires[link].pop(&mut self.options) {
            self.left_trunk = UNKNOWN;
            self.deliver(next.packet);
        }
    }

    #[inline(never)]
    fn deliver(&mut self, packet: Packet) {
        self.hand_over_packet(packet);
    }

    /// Gives a packet to its end point, at its time of arrival.
    #[inline(always)]
    pub(crate) fn hand_over_packet(&mut self, packet: Packet) {
        let flow = (packet.vc() / 2) as usize;
        if packet.is_of_request() {
            self.hand_over_request(packet);
        } else if packet.has_options() {
            self.hand_over_with_options(packet);
        } else if packet.is_data() {
            let segment = packet.segment(&Options::default());
            match self.flows[flow].receiver.take_plain(segment.sequence, segment.length) {
                Some(acknowledgement) => self.acknowledge(flow, packet.frame(), &segment, acknowledgement),
                None => self.on_data(flow, packet.frame(), &segment),
            }
        } else {
            self.on_ack(flow, packet.frame(), &packet.ack(&Options::default()));
        }
    }

    #[inline(never)]
    fn hand_over_with_options(&mut self, packet: Packet) {
        let flow = (packet.vc() / 2) as usize;
        if packet.is_data() {
            self.on_data(flow, packet.frame(), &packet.segment(&self.options));
        } else {
            self.on_ack(flow, packet.frame(), &packet.ack(&self.options));
        }
    }

    /// Data that their receiver has taken are acknowledged by a packet without options.
    #[inline(always)]
    fn acknowledge(&mut self, flow: usize, frame: u32, segment: &DataSegment, acknowledgement: u64) {
        let travels = self.travels(2 * flow + 1);
        let state = &mut self.flows[flow];
        self.probe.received(self.now, flow as u32, frame, segment);
        if acknowledgement >= state.awaited {
            state.on_awaited(self.now);
        }
        let ack = AckSegment {
            acknowledgement,
            ..AckSegment::default()
        };
        let frame = state.acks.number(travels, ack);
        self.probe.answered(self.now, flow as u32, frame, &ack);
        self.enqueue(2 * flow as u32 + 1, frame, &PlainAck(acknowledgement));
    }

    #[cold]
    fn hand_over_request(&mut self, packet: Packet) {
        let flow = (packet.vc() / 2) as usize;
        if packet.is_data() {
            self.on_request(flow, packet.frame(), &packet.segment(&self.options));
        } else {
            self.on_request_ack(flow, packet.frame(), &packet.ack(&self.options));
        }
    }

    /// A packet waits for the event of its arrival where it may meet those of other wires.
    #[inline(always)]
    fn wait_in_lane(&mut self, link: u32, next: OnWire) {
        if !self.lanes.append(next, &self.options) {
            self.wait_out_of_order(link, next);
        }
    }

    /// The same for a packet that others were to precede which it may now precede.
    #[inline(never)]
    fn wait_out_of_order(&mut self, link: u32, next: OnWire) {
        let rank = |next: &OnWire| rank(&self.routes, &self.topology.ends, &self.ties, next);
        if !self.lanes.insert(next, &self.options, rank) {
            self.wait_on_wire(link, next);
        }
    }

    /// A packet waits for the event of its arrival.
    #[inline(never)]
    fn wait_on_wire(&mut self, link: u32, next: OnWire) {
        let wire = &mut self.wires[link as usize];
        wire.push(next, &self.options);
        if wire.line.end == End::Shared {
            self.lanes.astray += u64::from(next.packet.vc() % 2);
        }
        if wire.packets.len() == 1 {
            self.schedule_packet(link as usize);
        }
    }

    /// Puts the arrival of the first packet on a wire, and its rank among the events of that instant, on the agenda.
    pub(crate) fn schedule_packet(&mut self, link: usize) {
        let Wire { line, packets, .. } = &self.wires[link];
        let Some(next) = packets.first() else { return };
        let order = match line.end {
            End::Shared => {
                CELL | self
                    .ties
                    .rank(&self.topology.ends[link], next.arrival, next.packet.vc())
            }
            End::Through | End::Host => WHOLE_FRAME,
        };
        self.agenda.set(link as Entity, next.arrival, order);
    }
}
