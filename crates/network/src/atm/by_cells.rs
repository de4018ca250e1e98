//! Cell-by-cell simulation. A cell has an event at each port where it may meet cells of another wire. Downstream of the
//! last such port, it is advanced through all further ports at once, with its computed arrival time at each of them,
//! and only its frame has an event.

use super::interface::WireArrival;
use super::link::{FedWire, Feed};
use super::port::per_vc::{CellFate, PassingCell};
use super::Atm;
use crate::clock::{Actor, DEPARTURE, UNKNOWN};
use crate::hosts::application::Application;
use crate::hosts::connection::Connection;
use crate::hosts::transmissions;
use crate::hosts::Hosts;
use crate::observe::probe::{Detail, Event, Probe};
use crate::packets::aal5::{frame_cells, Cell};
use crate::packets::drops::DropCause;
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Link, Options, Packet};
use crate::scenario::topology::Step;
use crate::time_varying::Passage;
use longpipe_events::Time;

impl Atm {
    /// Handles the next arrival at the end of a wire: a frame at its host, or a cell at its switch.
    #[inline(always)]
    pub(super) fn arrive<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        loop {
            match &mut self.links[link.index()].feed {
                Feed::Nic(nic) => match nic.pop() {
                    Some(WireArrival::Frame(frame)) => {
                        self.in_transit.acks_elsewhere -= frame.packet.vc().way() as u64;
                        self.announce(hosts, frame.packet, frame.cells, frame.accepted());
                    }
                    Some(WireArrival::Cell(mut cell)) => {
                        let departure = hosts.clock.now - nic.delay();
                        self.conformance.on_cell(hosts.clock.now, &mut cell);
                        transmissions::cell(&mut hosts.probe, &hosts.flows, link, None, departure, cell);
                        self.carry(hosts, link, hosts.clock.now, cell);
                    }
                    None => {}
                },
                Feed::Port(port) => match port.wire.pop() {
                    Some(cell) => self.carry(hosts, link, hosts.clock.now, cell),
                    None => self.deliver(hosts, link),
                },
                Feed::PerVc(port) => match port.wire.pop() {
                    Some(cell) => self.carry(hosts, link, hosts.clock.now, cell),
                    None => self.deliver(hosts, link),
                },
                Feed::TimeVarying(port) => match port.wire.pop() {
                    Some(mut cell) => {
                        if port.host {
                            self.conformance.on_cell(hosts.clock.now, &mut cell);
                        }
                        self.carry(hosts, link, hosts.clock.now, cell);
                    }
                    None => self.deliver(hosts, link),
                },
                Feed::Trains(_) | Feed::Transit(_) => self.deliver(hosts, link),
                Feed::Vbr(_) => {}
            }
            let Some((time, order)) = self.next_arrival(link) else {
                return;
            };
            if time > hosts.clock.until
                || time >= self.in_transit.first().1
                || !hosts.clock.queue.would_be_first(link.0, time, order)
            {
                return hosts.clock.set(Actor::Link(link), time, order);
            }
            hosts.clock.begin(time);
        }
    }

    /// Processes a cell's arrival at the end of a link at time `at`, and advances the cell to the next port where it
    /// may meet other cells.
    #[inline(always)]
    pub(super) fn carry<P: Probe>(&mut self, hosts: &mut Hosts<P>, mut link: Link, mut at: Time, mut cell: Cell) {
        let mut host = self.links[link.index()].end.host;
        while !host {
            let Step { link: next, local } = self.topology.steps[cell.step as usize];
            cell.step += 1;
            link = next;
            let traced = (cell.vc.index()) < self.reassemblers.len() && !self.transit[link.index()];
            let probe = &mut hosts.probe;
            let FedWire { end, feed, .. } = &mut self.links[link.index()];
            let on_frame = |held| {
                if traced {
                    probe.observe(Event::Queue(at, next, held));
                }
            };
            let Feed::Port(port) = feed else {
                let Some(arrival) = self.carry_apart(hosts, next, (at, local), cell) else {
                    return;
                };
                (host, at) = (self.links[link.index()].end.host, arrival);
                continue;
            };
            let Some(arrival) = port.on_cell(at, cell.left == 0, cell.tagged, local, on_frame) else {
                let loss = (at, port.cause_of_loss());
                return self.lose_cell(hosts, next, &cell, loss);
            };
            if !hosts.probe.is_idle() {
                let departure = arrival - port.delay();
                transmissions::cell(&mut hosts.probe, &hosts.flows, next, Some(at), departure, cell);
            }
            if !end.unshared {
                if port.wire.send(arrival, cell) {
                    self.schedule(hosts, link);
                }
                return;
            }
            if arrival > hosts.clock.end {
                return;
            }
            host = end.host;
            at = arrival;
        }
        self.reach_host(hosts, link, at, cell);
    }

    /// Processes the arrival, at time `at`, of a cell of VC `local` at a port whose slots are not known on admission.
    /// Returns the cell's arrival time at the other end of the link, if the arrival needs no event.
    #[inline(never)]
    fn carry_apart<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        (at, local): (Time, u32),
        cell: Cell,
    ) -> Option<Time> {
        let probe = &mut hosts.probe;
        let Feed::PerVc(port) = &mut self.links[link.index()].feed else {
            return self.carry_moving(hosts, link, (at, local), cell);
        };
        let before = port.next_departure();
        let lost = port.on_cell(at, cell, local, |held| probe.observe(Event::Queue(at, link, held)));
        let next = port.next_departure();
        if next != before {
            self.schedule_departure(hosts, link, next);
        }
        if let Some(cause) = lost {
            self.lose_cell(hosts, link, &cell, (at, cause));
        }
        None
    }

    /// Schedules the next departure from a port with a queue per VC.
    fn schedule_departure<P: Probe>(&self, hosts: &mut Hosts<P>, link: Link, next: Option<Time>) {
        if let Some(time) = next.filter(|&time| time <= hosts.clock.end) {
            hosts.clock.set(Actor::Port(link.index()), time, DEPARTURE);
        }
    }

    /// Handles the departures and drops of cells at a port with a queue per VC.
    pub(super) fn depart<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        while let Feed::PerVc(port) = &mut self.links[link.index()].feed {
            let Some(left) = port.depart(hosts.clock.now) else {
                let next = port.next_departure();
                self.schedule_departure(hosts, link, next);
                break;
            };
            self.carry_left(hosts, link, left);
        }
    }

    /// Passes on a cell that has left a port with a queue per VC, unless an outage drops or loses it.
    fn carry_left<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, left: PassingCell) {
        let PassingCell {
            arrival, cell, fate, ..
        } = left;
        let (departure, passage) = match fate {
            CellFate::Held => return,
            CellFate::Dropped(at) => {
                transmissions::dropped_cell(&mut hosts.probe, &hosts.flows, link, arrival, at, cell);
                return self.lose_cell(hosts, link, &cell, (at, DropCause::Outage));
            }
            CellFate::Leaves { departure, passage } => (departure, passage),
        };
        if !hosts.probe.is_idle() {
            transmissions::cell(&mut hosts.probe, &hosts.flows, link, Some(arrival), departure, cell);
        }
        let arrival = match passage {
            Passage::Lost(at) => return self.lose_cell(hosts, link, &cell, (at, DropCause::Outage)),
            Passage::Arrives(arrival) => arrival,
        };
        if self.links[link.index()].end.unshared {
            if arrival <= hosts.clock.end {
                self.carry(hosts, link, arrival, cell);
            }
        } else if let Feed::PerVc(port) = &mut self.links[link.index()].feed {
            if port.wire.send(arrival, cell) {
                self.schedule(hosts, link);
            }
        }
    }

    /// Processes the arrival, at time `at`, of a cell of VC `local` at the port of a time-varying link. Returns the
    /// cell's arrival time at the other end of the link, if the arrival needs no event.
    #[inline(never)]
    fn carry_moving<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        (at, local): (Time, u32),
        cell: Cell,
    ) -> Option<Time> {
        let probe = &mut hosts.probe;
        let Feed::TimeVarying(port) = &mut self.links[link.index()].feed else {
            unreachable!("routes pass only through switches")
        };
        let way = port.on_cell(at, cell, local, |held| probe.observe(Event::Queue(at, link, held)));
        let loss = port.take_loss();
        if let Some(loss) = loss {
            if way.is_none() {
                transmissions::dropped_cell(&mut hosts.probe, &hosts.flows, link, at, loss.0, cell);
            }
            self.lose_cell(hosts, link, &cell, loss);
        }
        let way = way?;
        if !hosts.probe.is_idle() {
            transmissions::cell(&mut hosts.probe, &hosts.flows, link, Some(at), way.departure, cell);
        }
        let arrival = way.arrival?;
        let FedWire { end, feed, .. } = &mut self.links[link.index()];
        let Feed::TimeVarying(port) = feed else { return None };
        if !end.unshared {
            if port.wire.send(arrival, cell) {
                self.schedule(hosts, link);
            }
            return None;
        }
        (arrival <= hosts.clock.end).then_some(arrival)
    }

    /// Accepts a frame at the interface of a host with a time-varying link; the frame's cells arrive there back to back
    /// at `ready`.
    #[inline(never)]
    pub(super) fn send_moving<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, packet: Packet, ready: Time) {
        let (vc, frame, step) = (packet.vc(), packet.frame(), packet.step());
        let local = self.topology.steps[step as usize - 1].local;
        let (mut first, end) = (false, hosts.clock.end);
        for left in (0..frame_cells(u32::from(packet.bytes()))).rev() {
            let cell = Cell {
                vc,
                frame,
                left,
                step,
                tagged: false,
            };
            let Feed::TimeVarying(port) = &mut self.links[link.index()].feed else {
                unreachable!("circuits begin at hosts")
            };
            let way = port.on_cell(ready, cell, local, |_| {});
            let loss = port.take_loss();
            let arrival = way.and_then(|way| way.arrival).filter(|&arrival| arrival <= end);
            first |= arrival.is_some_and(|arrival| port.wire.send(arrival, cell));
            if let Some(loss) = loss {
                self.lose_cell(hosts, link, &cell, loss);
            }
            let Some(way) = way else { continue };
            if !hosts.probe.is_idle() {
                transmissions::cell(&mut hosts.probe, &hosts.flows, link, None, way.departure, cell);
            }
        }
        if first {
            self.schedule(hosts, link);
        }
    }

    /// Delivers a cell to a host at time `at`, which may lie in the future. If the cell completes a frame, the frame is
    /// delivered at that time.
    #[inline(never)]
    pub(super) fn reach_host<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, at: Time, cell: Cell) {
        let Cell { vc, frame, .. } = cell;
        let Some(reassembler) = self.reassemblers.get_mut(vc.index()) else {
            return self.meters[vc.index() - Circuit::of_flows(hosts.flows.len())].on_cell(at, frame);
        };
        let cells = reassembler.on_cell(cell);
        if cell.left > 0 {
            return;
        }
        let bytes = hosts.flows[vc.flow().index()].packet_bytes(vc, frame);
        let whole = cells == Some(frame_cells(bytes));
        self.end_frame(hosts, link, at, &cell, whole);
        if !whole {
            return;
        }
        self.conformance.deliver(vc, frame_cells(bytes));
        let (packet, options) = take_packet(&mut hosts.flows, vc, frame);
        self.await_delivery(hosts, link, at, packet, &options, UNKNOWN);
    }

    /// Reports, at the end of the run, cells that have left a host but have not arrived.
    pub(super) fn watch_wires<P: Probe>(&self, hosts: &mut Hosts<P>) {
        if hosts.probe.is_idle() || !hosts.probe.wants(Detail::Cells) {
            return;
        }
        for (index, wire) in self.links.iter().enumerate() {
            let Feed::Nic(nic) = &wire.feed else { continue };
            let (link, mut nic, end) = (Link::new(index), nic.clone(), hosts.clock.end);
            while let Some((arrival, _)) = nic.head().filter(|(arrival, _)| *arrival - nic.delay() <= end) {
                let departure = arrival - nic.delay();
                let Some(WireArrival::Cell(passed)) = nic.pop() else {
                    break;
                };
                transmissions::cell(&mut hosts.probe, &hosts.flows, link, None, departure, passed);
            }
        }
    }
}

/// Removes the contents of a frame from its circuit.
#[inline(always)]
fn take_packet(flows: &mut [Connection], vc: Circuit, frame: u32) -> (Packet, Options) {
    let (state, on_data_circuit) = (&mut flows[vc.flow().index()], !vc.is_back());
    let mut options = Options::NONE;
    let packet = match &mut state.application {
        Application::Requests(requests) if frame & REQUEST != 0 => {
            if on_data_circuit {
                Packet::new(vc, frame, 0, &requests.acks.take(frame & !REQUEST), &mut options)
            } else {
                Packet::new(vc, frame, 0, &requests.segments.take(frame & !REQUEST), &mut options)
            }
        }
        Application::Datagrams(_) | Application::External(_) => take_without_tcp(state, vc, frame),
        _ if on_data_circuit => Packet::new(vc, frame, 0, &state.data.take(frame), &mut options),
        _ => Packet::new(vc, frame, 0, &state.acks.take(frame), &mut options),
    };
    (packet, options)
}

#[cold]
fn take_without_tcp(flow: &mut Connection, vc: Circuit, frame: u32) -> Packet {
    if let Some(datagrams) = flow.application.try_as_datagrams_mut() {
        return Packet::new(vc, frame, 0, &datagrams.pick(frame), &mut Options::NONE.clone());
    }
    let packet = flow
        .application
        .try_as_external_mut()
        .map(|external| external.take(vc, frame));
    Packet::new(vc, frame, 0, &packet.unwrap_or_default(), &mut Options::NONE.clone())
}
