//! How packets move: one event at each place where they may meet those of another wire, and one at their host.
//!
//! Past the last such place a packet goes on at once, port by port, each time at the instant at which it arrives
//! there, as cells do.

use super::{OnWire, Packet};
use crate::link::{Feed, Link};
use crate::probe::Probe;
use crate::simulation::{Simulation, CELL, WHOLE_FRAME};
use crate::topology::Step;
use longpipe_events::{Entity, Order, Time};

impl<P: Probe> Simulation<P> {
    /// Hands a packet to the interface at the start of its circuit.
    pub(crate) fn enqueue_packet(&mut self, vc: u32, frame: u32, bytes: u32, step: u32, ready: Time) {
        let link = self.topology.steps[step as usize].link as usize;
        let Feed::Interface(interface) = &mut self.links[link].feed else {
            unreachable!("circuits begin at hosts")
        };
        if let Some(arrival) = interface.on_packet(ready, bytes) {
            let step = step + 1;
            let packet = Packet { vc, frame, bytes, step };
            self.carry_packet(link, OnWire { arrival, packet });
        }
    }

    /// What a wire brings next reaches its far end.
    #[inline(always)]
    pub(crate) fn on_packet_arrival(&mut self, link: usize) {
        while let Some(OnWire { packet, .. }) = self.links[link].packets.pop() {
            if self.links[link].end.host {
                self.deliver(packet.vc, packet.frame);
            } else if let Some((link, next)) = self.forward(self.now, packet) {
                self.carry_packet(link, next);
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

    /// Puts a packet on the wire of a link, and on those it reaches from there without meeting another wire.
    #[inline(always)]
    fn carry_packet(&mut self, mut link: usize, mut next: OnWire) {
        loop {
            let Link { end, packets, .. } = &mut self.links[link];
            let waits = end.host || !end.unshared;
            if waits || next.arrival > self.end {
                packets.push(next);
                if waits && packets.tail() - packets.head() == 1 {
                    if let Some((time, order)) = self.next_packet(link) {
                        self.agenda.set(link as Entity, time, order);
                    }
                }
                return;
            }
            match self.forward(next.arrival, next.packet) {
                Some(onward) => (link, next) = onward,
                None => return,
            }
        }
    }

    /// A packet reaches a router at `at`; if it enters, the link it takes and when it arrives at that one's end.
    #[inline(always)]
    fn forward(&mut self, at: Time, mut packet: Packet) -> Option<(usize, OnWire)> {
        let Step { link, local } = self.topology.steps[packet.step as usize];
        packet.step += 1;
        let probe = &mut self.probe;
        let Feed::Router(router) = &mut self.links[link as usize].feed else {
            unreachable!("routes pass through routers alone")
        };
        let arrival = router.on_packet(at, packet.bytes, local, |held| probe.queue(at, link, held))?;
        Some((link as usize, OnWire { arrival, packet }))
    }

    /// When the first packet on a wire arrives, and its rank among the events of that instant.
    #[inline(always)]
    fn next_packet(&self, link: usize) -> Option<(Time, Order)> {
        let Link { end, packets, .. } = &self.links[link];
        let OnWire { arrival, packet } = packets.first()?;
        let order = if end.host {
            WHOLE_FRAME
        } else {
            CELL | self.ties.rank(end, *arrival, packet.vc)
        };
        Some((*arrival, order))
    }
}
