//! How packets move: one event at each place where they may meet those of another wire, and one at their host.
//!
//! Past the last such place a packet goes on at once, port by port, each time at the instant at which it arrives
//! there, as cells do.

use super::wire::{End, Port, Wire};
use super::{OnWire, Packet};
use crate::probe::Probe;
use crate::simulation::{Simulation, CELL, WHOLE_FRAME};
use crate::topology::Step;
use crate::watch;
use longpipe_events::{Entity, Order, Time};

impl<P: Probe> Simulation<P> {
    /// Hands a packet to the interface at the start of its circuit.
    #[inline(always)]
    pub(crate) fn enqueue_packet(&mut self, vc: u32, frame: u32, bytes: u32) {
        let step = self.topology.first_step[vc as usize];
        let link = self.topology.steps[step as usize].link;
        let ready = self.ready(link as usize);
        let wire = &mut self.wires[link as usize];
        let Port::Interface(interface) = &mut wire.port else {
            unreachable!("circuits begin at hosts")
        };
        let Some(arrival) = interface.on_packet(ready, bytes) else {
            return;
        };
        let step = step + 1;
        let packet = Packet { vc, frame, bytes, step };
        let departure = arrival - interface.line().delay();
        watch::packet(&mut self.probe, &self.flows, link, None, departure, packet);
        let next = OnWire { arrival, packet };
        match wire.end {
            End::Host => self.reach_host(link, next),
            End::Through if arrival <= self.end => self.forward(next),
            End::Shared | End::Through => self.wait_on_wire(link as usize, next),
        }
    }

    /// What a wire brings next reaches its far end.
    #[inline(always)]
    pub(crate) fn on_packet_arrival(&mut self, link: usize) {
        loop {
            let wire = &mut self.wires[link];
            let Some(next) = wire.packets.pop() else { return };
            if wire.end == End::Host {
                self.hand_over(link, next.delivery());
            } else {
                self.forward(next);
            }
            let Some((time, order)) = self.next_packet(link) else {
                return;
            };
            if time > self.end || !self.agenda.would_be_first(link as Entity, time, order) {
                return self.agenda.set(link as Entity, time, order);
            }
            self.now = time;
            self.events += 1;
        }
    }

    /// A packet reaches a router, and from there whatever it reaches without meeting another wire.
    #[inline(always)]
    fn forward(
        &mut self,
        OnWire {
            mut arrival,
            mut packet,
        }: OnWire,
    ) {
        loop {
            let Step { link, local } = self.topology.steps[packet.step as usize];
            packet.step += 1;
            let wire = &mut self.wires[link as usize];
            let Port::Router(router) = &mut wire.port else {
                unreachable!("routes pass through routers alone")
            };
            router.settle(arrival);
            self.probe.queue(arrival, link, router.held());
            let reached = arrival;
            arrival = match router.on_packet(reached, packet.bytes, local) {
                Some(onward) => onward,
                None => return,
            };
            let departure = arrival - router.line().delay();
            watch::packet(&mut self.probe, &self.flows, link, Some(reached), departure, packet);
            let next = OnWire { arrival, packet };
            match wire.end {
                End::Through if arrival <= self.end => {}
                End::Host if (arrival <= wire.quiet_until) & wire.packets.is_empty() & !self.ahead.busy => {
                    return self.hand_over_ahead(link as usize, next.delivery());
                }
                End::Host => return self.reach_host(link, next),
                End::Shared | End::Through => return self.wait_on_wire(link as usize, next),
            }
        }
    }

    /// A packet will reach its host, ahead of time if it may.
    #[inline]
    fn reach_host(&mut self, link: u32, next: OnWire) {
        if !self.approach(link as usize, next.delivery()) {
            self.wait_on_wire(link as usize, next);
        }
    }

    /// A packet waits for the event of its arrival.
    #[inline(always)]
    pub(crate) fn wait_on_wire(&mut self, link: usize, next: OnWire) {
        let Wire { end, packets, .. } = &mut self.wires[link];
        let (first, end) = (packets.is_empty(), *end);
        packets.push(next);
        if first {
            let order = self.order(link, end, &next);
            self.agenda.set(link as Entity, next.arrival, order);
        }
    }

    /// Puts the arrival of the first packet on a wire on the agenda.
    #[inline(always)]
    pub(crate) fn schedule_packet(&mut self, link: usize) {
        if let Some((time, order)) = self.next_packet(link) {
            self.agenda.set(link as Entity, time, order);
        }
    }

    /// When the first packet on a wire arrives, and its rank among the events of that instant.
    #[inline(always)]
    fn next_packet(&self, link: usize) -> Option<(Time, Order)> {
        let Wire { end, packets, .. } = &self.wires[link];
        let next = packets.first()?;
        Some((next.arrival, self.order(link, *end, next)))
    }

    /// A packet's rank among the events of the instant of its arrival.
    #[inline(always)]
    fn order(&self, link: usize, end: End, next: &OnWire) -> Order {
        match end {
            End::Shared => CELL | self.ties.rank(&self.topology.ends[link], next.arrival, next.packet.vc),
            End::Through | End::Host => WHOLE_FRAME,
        }
    }
}
