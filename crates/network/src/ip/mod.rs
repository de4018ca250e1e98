//! IP packets instead of cells: interfaces of hosts, routers with output buffers, and whole packets on the wires.
//!
//! ```text
//! tcp::Sender ─▶ interface (unlimited) ─▶ line ─▶ router (buffer policy, FIFO) ─▶ line ─▶ … ─▶ tcp::Receiver
//! ```

mod conservation;
mod egress_ports;
pub(crate) mod forward;
pub(crate) mod lanes;
pub(crate) mod leaving;
pub mod port;
#[cfg(feature = "reference")]
pub(crate) mod reference;
pub(crate) mod routes;
mod shortcut;
pub mod wire;

use crate::clock::{Actor, CELL, WHOLE_FRAME};
use crate::hosts::medium::Medium;
use crate::hosts::Hosts;
use crate::lookahead::acks;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::observe::probe::Probe;
use crate::packets::payload::Payload;
use crate::packets::queued_options::Queued;
use crate::packets::{Carried, Circuit, Flow, Link, OnWire, Options};
use crate::report::state_hash::StateHash;
use crate::report::{InvariantError, MediumReport};
use crate::scenario::topology::{usual_interval, Entry, Topology};
use crate::scenario::Scenario;
use crate::ties::TieRule;
use forward::{rank, ProvenAck};
use lanes::PacketLanes;
use leaving::Leaving;
use longpipe_events::{Order, Span, Time};
use port::any_port::Port;
use port::cell::Cells;
use port::line::End;
use routes::Routes;
use wire::Wire;

/// Routers and wires of a run. A packet has an event only at ports where it may meet packets of other wires.
#[derive(Clone, Debug)]
pub(crate) struct Ip {
    /// Wires by link.
    pub wires: Vec<Wire>,
    pub lanes: PacketLanes,
    pub routes: Routes,
    pub topology: Topology,
    pub ties: TieRule,
    /// Cells of links with medium access.
    cells: Cells,
    /// Packets for other parts of a run on several threads; None on one thread.
    pub leaving: Option<Box<Leaving>>,
}

impl Ip {
    /// Creates the routers and wires of a scenario, all idle.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        (guarantees, early): (&Guarantees, &EarlyHosts),
        seed: u64,
    ) -> Ip {
        let ack_lookaheads = acks::ack_lookaheads(scenario, topology, guarantees, early);
        let cells = Cells::new(scenario, seed);
        Ip {
            wires: wire::wires(scenario, topology, &ack_lookaheads, early.late_ports, &cells, seed),
            lanes: PacketLanes::default(),
            routes: Routes::new(scenario),
            topology: topology.clone(),
            ties: TieRule::new(scenario.ties, seed),
            cells,
            leaving: None,
        }
    }

    /// Returns the typical time between the scheduling of an event and its occurrence.
    pub fn interval(scenario: &Scenario, topology: &Topology) -> Span {
        usual_interval(scenario, topology, false)
    }

    /// Queues a packet until its arrival at a router where wires meet.
    #[inline(always)]
    fn wait_in_lane<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, options: impl Carried) {
        if !self.lanes.append(next, options) {
            self.wait_out_of_order(hosts, link, next, options);
        }
    }

    /// Inserts a packet that arrives before packets already queued.
    #[inline(never)]
    fn wait_out_of_order<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, options: impl Carried) {
        let rank = |next: &OnWire| rank(&self.routes, &self.topology.ends, &self.ties, next);
        if !self.lanes.insert(next, options, rank) {
            options.with(|options| self.wait_on_wire(hosts, link, next, options));
        }
    }

    /// Lets all packets in the lanes leave this part of the run.
    pub fn empty_lanes(&mut self) {
        let Some(leaving) = &mut self.leaving else { return };
        let routes = &self.routes;
        self.lanes.remove_all(|Queued { next, stamp }, options| {
            let link = routes.link(&next.packet);
            match options {
                None => leaving.take(routes, link, *next, *stamp),
                Some(options) => leaving.take(routes, link, *next, options),
            };
        });
    }

    /// Passes a packet on to another part of the run.
    #[inline(always)]
    fn pass_on(&mut self, link: Link, next: OnWire, options: impl Carried) {
        if let Some(leaving) = &mut self.leaving {
            leaving.take(&self.routes, link, next, options);
        }
    }

    /// Adds the packets in transit of another part of the run, which only count from now on.
    pub fn hold(&mut self, other: &Ip) {
        let on_wires = other.wires.iter().flat_map(|wire| wire.waiting.packets.iter());
        for queued in on_wires.chain(other.lanes.queued()) {
            let link = self.routes.link(&queued.next.packet);
            self.wires[link.index()].waiting.packets.push(*queued);
        }
    }

    /// Queues a packet on its wire until its arrival event, unless it leaves this part of the run.
    #[inline(never)]
    fn wait_on_wire<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, options: &Options) {
        if let Some(leaving) = &mut self.leaving {
            if leaving.take(&self.routes, link, next, options) {
                return;
            }
        }
        let wire = &mut self.wires[link.index()];
        let first = wire.push(next, options);
        if wire.is_shared() {
            self.lanes.acks_elsewhere += next.packet.vc().way() as u64;
        }
        if first {
            self.schedule(hosts, link);
        }
    }

    /// Schedules the arrival event of the first packet on a wire, with its rank among simultaneous events.
    fn schedule<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if let Some((time, order)) = self.next_arrival(link) {
            hosts.clock.set(Actor::Link(link), time, order);
        }
    }

    /// Returns the time of the arrival event of the first packet on a wire, and its rank among simultaneous events.
    fn next_arrival(&self, link: Link) -> Option<(Time, Order)> {
        let wire = &self.wires[link.index()];
        let next = wire.waiting.packets.first()?.next;
        let order = match wire.end() {
            End::Shared | End::Unordered | End::Leaves => {
                let end = &self.topology.ends[link.index()];
                CELL | self.ties.rank(end, next.arrival, next.packet.vc())
            }
            End::Through | End::Host | End::DecidedOnArrival => WHOLE_FRAME,
        };
        Some((next.arrival, order))
    }

    /// Returns whether the arrival event of the first packet on a wire would precede all other events, so that it can be
    /// processed without being scheduled.
    #[inline]
    fn is_next<P: Probe>(&self, hosts: &mut Hosts<P>, link: Link, (time, order): (Time, Order)) -> bool {
        let may_continue = time < self.lanes.first().1 && time <= hosts.clock.until && hosts.outcomes.is_empty();
        let entity = hosts.clock.entity(Actor::Link(link));
        may_continue && hosts.clock.queue.would_be_first(entity, time, order)
    }
}

impl Medium for Ip {
    type Proven = Option<ProvenAck>;

    #[inline(always)]
    fn travels(&self, _vc: Circuit) -> bool {
        true
    }

    #[inline(always)]
    fn send<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        vc: Circuit,
        frame: u32,
        payload: &impl Payload,
        left_trunk: Time,
    ) -> Option<ProvenAck> {
        let Entry { link, step } = hosts.flows[vc.flow().index()].entry(vc);
        self.transmit(hosts, (vc, frame, link, step), payload, left_trunk)
    }

    #[inline(always)]
    fn advance<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        self.advance_lane(hosts)
    }

    fn next_due(&self) -> Option<Time> {
        Some(self.lanes.first().1)
    }

    fn on_arrival<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        loop {
            let lost = self.wires[link.index()].verdict.is_some() && self.lose_first(hosts, link);
            match self.wires[link.index()].end() {
                _ if lost => {}
                End::Host => self.deliver_first(hosts, link),
                _ => self.on_packet(hosts, link),
            }
            let Some(next) = self.next_arrival(link) else { return };
            if !self.is_next(hosts, link, next) {
                let (time, order) = next;
                return hosts.clock.set(Actor::Link(link), time, order);
            }
            hosts.clock.begin(next.0);
        }
    }

    fn on_port<P: Probe>(&mut self, hosts: &mut Hosts<P>, port: usize) {
        self.on_port_event(hosts, Link::new(port));
    }

    fn finish<P: Probe>(&mut self, hosts: &mut Hosts<P>) {
        for index in 0..self.wires.len() {
            if self.wires[index].port.may_act_late() {
                self.act_until(hosts, Link::new(index), hosts.clock.end);
            }
            if !hosts.probe.is_idle() {
                let waiting = match &self.wires[index].port {
                    Port::Access(place) => self.cells.waiting_packets(*place),
                    port => port.waiting_packets(),
                };
                egress_ports::report_waiting(&mut hosts.probe, Link::new(index), waiting, hosts.clock.end);
            }
        }
    }

    #[inline(always)]
    fn earliest_event(&mut self, link: Link) -> Option<&mut Time> {
        Some(&mut self.wires[link.index()].line.earliest_event)
    }

    fn first_waiting(&self, link: Link) -> Option<Time> {
        self.wires[link.index()]
            .waiting
            .packets
            .first()
            .map(|first| first.next.arrival)
    }

    fn deliver_first<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        self.deliver(hosts, link);
    }

    #[inline(always)]
    fn send_paced<P: Probe>(&mut self, hosts: &mut Hosts<P>, flow: Flow) -> bool {
        self.send_paced_in_order(hosts, flow)
    }

    fn report(&mut self, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError> {
        let packet_ports = conservation::packet_reports(self, now)?;
        packet_ports.iter().for_each(|port| port.hash(hash));
        Ok(MediumReport {
            packet_ports,
            queues: conservation::queue_reports(self, now),
            token_credits: conservation::token_credits(self, now),
            ..MediumReport::default()
        })
    }
}
