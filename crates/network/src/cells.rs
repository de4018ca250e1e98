//! Cell by cell: a cell has an event wherever it may meet the cells of another wire. Past the last such place it goes
//! on at once, port by port, each at the time at which it arrives there, and only its frame has an event.

use crate::aal5::{frame_cells, Cell};
use crate::ip::Packet;
use crate::link::{Feed, Link};
use crate::nic::Off;
use crate::probe::Probe;
use crate::requests::REQUEST;
use crate::simulation::{Simulation, UNKNOWN};
use crate::topology::Step;
use crate::watch;
use longpipe_events::{Entity, Time};

impl<P: Probe> Simulation<P> {
    /// What a wire brings next reaches its far end: a frame its host, a cell its switch.
    #[inline(always)]
    pub(crate) fn on_arrival(&mut self, link: usize) {
        loop {
            match &mut self.links[link].feed {
                Feed::Nic(nic) => match nic.pop() {
                    Some(Off::Frame(frame)) => {
                        self.under_way.astray -= u64::from(frame.packet.vc() % 2);
                        self.announce(frame.packet, frame.cells, frame.accepted());
                    }
                    Some(Off::Cell(cell)) => {
                        self.watch_interface(link, cell);
                        self.carry(link, self.now, cell);
                    }
                    None => {}
                },
                Feed::Port(port) => match port.pop() {
                    Some(cell) => self.carry(link, self.now, cell),
                    None => self.on_delivery(link),
                },
                Feed::Trains(_) | Feed::Transit(_) => self.on_delivery(link),
                Feed::Packets | Feed::Vbr(_) => {}
            }
            let Some((time, order)) = self.next_arrival(link) else {
                return;
            };
            if time > self.end
                || time >= self.under_way.first().1
                || !self.agenda.would_be_first(link as Entity, time, order)
            {
                return self.agenda.set(link as Entity, time, order);
            }
            self.now = time;
            self.events += 1;
        }
    }

    /// A cell reaches the far end of a link at `at`, and from there whatever it reaches without meeting another wire.
    #[inline(always)]
    pub(crate) fn carry(&mut self, mut link: usize, mut at: Time, mut cell: Cell) {
        let mut host = self.links[link].end.host;
        while !host {
            let Step { link: next, local } = self.topology.steps[cell.step as usize];
            cell.step += 1;
            link = next as usize;
            let traced = (cell.vc as usize) < self.reassemblers.len() && !self.transit[link];
            let probe = &mut self.probe;
            let Link { end, feed, .. } = &mut self.links[link];
            let Feed::Port(port) = feed else {
                unreachable!("routes pass through switches alone")
            };
            let on_frame = |held| {
                if traced {
                    probe.queue(at, next, held);
                }
            };
            let Some(arrival) = port.on_cell(at, cell.left == 0, local, on_frame) else {
                return;
            };
            if !P::IDLE {
                let departure = arrival - port.delay();
                watch::cell(&mut self.probe, &self.flows, next, Some(at), departure, cell);
            }
            if !end.unshared {
                if port.send(arrival, cell) {
                    self.schedule(link);
                }
                return;
            }
            if arrival > self.end {
                return;
            }
            host = end.host;
            at = arrival;
        }
        self.on_host_cell(link, at, cell);
    }

    /// A cell will have reached a host at `at`; a frame that it completes is delivered then.
    #[inline(always)]
    pub(crate) fn on_host_cell(&mut self, link: usize, at: Time, cell: Cell) {
        let Cell { vc, frame, .. } = cell;
        let Some(reassembler) = self.reassemblers.get_mut(vc as usize) else {
            return self.meters[vc as usize - 2 * self.flows.len()].on_cell(at, frame);
        };
        let Some(cells) = reassembler.on_cell(cell) else {
            return;
        };
        let bytes = self.flows[(vc / 2) as usize].packet_bytes(vc.is_multiple_of(2), frame);
        if cells != frame_cells(bytes) {
            return;
        }
        let packet = self.take_packet(vc, frame);
        self.left_trunk = UNKNOWN;
        self.await_delivery(link, at, packet);
    }

    /// Takes what a frame carries off its circuit.
    #[inline(always)]
    fn take_packet(&mut self, vc: u32, frame: u32) -> Packet {
        let (state, on_data_circuit) = (&mut self.flows[(vc / 2) as usize], vc.is_multiple_of(2));
        let options = &mut self.options;
        match &mut state.requests {
            Some(requests) if frame & REQUEST != 0 => {
                if on_data_circuit {
                    Packet::new(vc, frame, 0, &requests.acks.take(frame & !REQUEST), options)
                } else {
                    Packet::new(vc, frame, 0, &requests.segments.take(frame & !REQUEST), options)
                }
            }
            _ if on_data_circuit => Packet::new(vc, frame, 0, &state.data.take(frame), options),
            _ => Packet::new(vc, frame, 0, &state.acks.take(frame), options),
        }
    }
}
