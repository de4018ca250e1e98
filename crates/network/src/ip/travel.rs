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
        let Port::Interface(interface) = &mut self.wires[link as usize].port else {
            unreachable!("circuits begin at hosts")
        };
        if let Some(arrival) = interface.on_packet(ready, bytes) {
            let step = step + 1;
            let packet = Packet { vc, frame, bytes, step };
            let departure = arrival - interface.line().delay();
            watch::packet(&mut self.probe, &self.flows, link, None, departure, packet);
            self.carry_packet(link, OnWire { arrival, packet });
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
    fn forward(&mut self, OnWire { arrival, mut packet }: OnWire) {
        let Step { link, local } = self.topology.steps[packet.step as usize];
        packet.step += 1;
        let Port::Router(router) = &mut self.wires[link as usize].port else {
            unreachable!("routes pass through routers alone")
        };
        router.settle(arrival);
        self.probe.queue(arrival, link, router.held());
        let reached = arrival;
        if let Some(arrival) = router.on_packet(reached, packet.bytes, local) {
            let departure = arrival - router.line().delay();
            watch::packet(&mut self.probe, &self.flows, link, Some(reached), departure, packet);
            self.carry_packet(link, OnWire { arrival, packet });
        }
    }

    /// Puts a packet on a wire.
    #[inline(always)]
    fn carry_packet(&mut self, mut link: u32, mut next: OnWire) {
        loop {
            let wire = &self.wires[link as usize];
            match wire.end {
                End::Host if next.arrival <= wire.quiet_until && wire.packets.is_empty() && !self.ahead.busy => {
                    return self.hand_over_ahead(link as usize, next.delivery());
                }
                End::Host => {
                    if !self.approach(link as usize, next.delivery()) {
                        self.wait_on_wire(link as usize, next);
                    }
                    return;
                }
                End::Through if next.arrival <= self.end => {}
                End::Shared | End::Through => return self.wait_on_wire(link as usize, next),
            }
            let OnWire { arrival, packet } = &mut next;
            let Step { link: onward, local } = self.topology.steps[packet.step as usize];
            packet.step += 1;
            link = onward;
            let Port::Router(router) = &mut self.wires[link as usize].port else {
                unreachable!("routes pass through routers alone")
            };
            router.settle(*arrival);
            self.probe.queue(*arrival, link, router.held());
            let Some(time) = router.on_packet(*arrival, packet.bytes, local) else {
                return;
            };
            let departure = time - router.line().delay();
            watch::packet(&mut self.probe, &self.flows, link, Some(*arrival), departure, *packet);
            *arrival = time;
        }
    }

    /// A packet waits for the event of its arrival.
    #[inline(always)]
    pub(crate) fn wait_on_wire(&mut self, link: usize, next: OnWire) {
        let packets = &mut self.wires[link].packets;
        packets.push(next);
        if packets.tail() - packets.head() == 1 {
            self.schedule_packet(link);
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
        let OnWire { arrival, packet } = packets.first()?;
        let order = if *end == End::Shared {
            CELL | self.ties.rank(&self.topology.ends[link], *arrival, packet.vc)
        } else {
            WHOLE_FRAME
        };
        Some((*arrival, order))
    }
}
