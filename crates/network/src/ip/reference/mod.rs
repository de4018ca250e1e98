//! Reference engine for IP packets: each arrival and each departure is an event, and all events are in one heap.
//!
//! The results of the fast engine are compared with those of this engine. Both share packets, policies, queue
//! disciplines, conditioners, time-varying transmitters, losses and end points, but the reference engine has no
//! shortcuts. Simultaneous events have this order: departures; outages; packets that reach a router, in the order of
//! the tie-breaking rule; packets that reach a host, by link number; timers and starts, which are in the event queue.

mod circuit_routes;
mod disc_port;
mod horizon;
mod port;

use super::egress_ports;
use super::port::cell::{Cells, Left, Place};
use super::port::egress_queue::EgressQueue;
use crate::clock::{TIMER, UNKNOWN};
use crate::hosts::medium::Medium;
use crate::hosts::transmissions;
use crate::hosts::Hosts;
use crate::lookahead::queueless::queueless;
use crate::observe::probe::{Event, Probe};
use crate::packets::drops::{report_external, DropCause};
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Link, Options, Packet};
use crate::report::packets::PacketReport;
use crate::report::state_hash::StateHash;
use crate::report::{check, InvariantError, MediumReport, QueueReport, TokenCredit};
use crate::scenario::topology::{Entry, Topology};
use crate::scenario::{LinkConfig, Scenario};
use crate::ties::TieRule;
use circuit_routes::CircuitRoutes;
use disc_port::DiscPort;
use horizon::Horizon;
use longpipe_events::memory::Growing;
use longpipe_events::{Order, Time};
use port::ReferencePort;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Next event at a link. The variants are in the order in which simultaneous events are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LinkEvent {
    /// The packet in transmission has left.
    Departure,
    /// An outage begins.
    Outage,
    /// The first packet on the wire reaches a router; the value is its rank among simultaneous arrivals.
    AtRouter(Order),
    /// The first packet on the wire reaches a host.
    AtHost,
}

/// Time, kind and link of an event.
type PendingEvent = (Time, LinkEvent, Link);

/// The ports, wires and pending events of a run.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    ports: Vec<ReferencePort>,
    /// Queues and transmitters of the ports whose discipline decides at dequeue.
    disc_ports: Vec<Option<DiscPort>>,
    /// Whether no packet ever waits at the port of a link, so that the report omits the queues of its discipline.
    queueless: Vec<bool>,
    /// Packets on each link's wire, in the order of their arrivals.
    wires: Vec<VecDeque<(Time, Packet, Options)>>,
    /// Pending arrival event of each wire's first packet.
    due: Vec<Option<(Time, LinkEvent)>>,
    pending: BinaryHeap<Reverse<PendingEvent>>,
    ways: Vec<CircuitRoutes>,
    topology: Topology,
    ties: TieRule,
    /// Cells of links with medium access.
    cells: Cells,
    /// Positions of external packets; None if the scenario has no external flows.
    horizon: Option<Box<Horizon>>,
}

impl Reference {
    /// Creates an idle network.
    pub fn new(scenario: &Scenario, topology: &Topology, seed: u64) -> Reference {
        let ways = scenario
            .flows
            .iter()
            .flat_map(|flow| [false, true].map(|back| CircuitRoutes::new(scenario, flow, back)));
        let conditioned = scenario.links.iter().map(LinkConfig::is_conditioned);
        let queueless = queueless(scenario, topology).into_iter().zip(conditioned);
        let mut reference = Reference {
            queueless: queueless
                .map(|(queueless, conditioned)| queueless && !conditioned)
                .collect(),
            ports: (0..scenario.links.len())
                .map(|link| ReferencePort::new(scenario, link, seed))
                .collect(),
            disc_ports: disc_ports(scenario, seed),
            wires: vec![Default::default(); scenario.links.len()],
            due: vec![None; scenario.links.len()],
            pending: BinaryHeap::new(),
            ways: ways.collect(),
            topology: topology.clone(),
            ties: TieRule::new(scenario.ties, seed),
            cells: Cells::new(scenario, seed),
            horizon: Horizon::new(scenario),
        };
        for link in 0..scenario.links.len() {
            reference.await_outage(Link::new(link), None);
        }
        reference
    }

    /// Returns the first link of each circuit.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |way: &CircuitRoutes| Entry {
            link: way.first(),
            step: 1,
        };
        self.ways.iter().map(entry).collect()
    }

    fn set(&mut self, time: Time, kind: LinkEvent, link: Link) {
        self.pending.put(Reverse((time, kind, link)));
    }

    /// Processes a packet that arrives at a port now and whose transmission may start at `ready`.
    fn arrive<P: Probe>(&mut self, hosts: &mut Hosts<P>, ready: Time, link: Link, packet: Packet, options: Options) {
        let now = hosts.clock.now;
        if let Some(horizon) = &mut self.horizon {
            horizon.on_arrival_at(link, &packet);
        }
        if let Some(place) = self.cells.place(link) {
            self.cells.arrive(place, now, packet, &options);
            self.settle_cell(hosts, place);
        } else if let Some(port) = &mut self.disc_ports[link.index()] {
            let variation = self.ports[link.index()].motion.as_mut();
            if let Some(next) = port.arrive(variation, now, packet, &options) {
                self.set(next, LinkEvent::Departure, link);
            }
        } else {
            let port = &mut self.ports[link.index()];
            let (idle, marked) = (port.held() == 0, port.packets_marked());
            let enters = port.arrive(now, ready, packet, options);
            // Both a policer and the queue may mark the same packet.
            for _ in marked..port.packets_marked() {
                hosts.probe.observe(Event::Marked(now, link, packet.vc().flow()));
            }
            if enters && idle {
                self.serve(link);
            }
        }
        self.report_changes(hosts, link);
    }

    /// Schedules the departure of a port's first packet.
    fn serve(&mut self, link: Link) {
        if let Some(departure) = self.ports[link.index()].next_departure() {
            self.set(departure, LinkEvent::Departure, link);
        }
    }

    /// Schedules the arrival of a wire's first packet.
    fn await_first(&mut self, link: Link) {
        let end = &self.topology.ends[link.index()];
        let first = self.wires[link.index()].front().map(|&(arrival, packet, _)| {
            let kind = match end.host {
                true => LinkEvent::AtHost,
                false => LinkEvent::AtRouter(self.ties.rank(end, arrival, packet.vc())),
            };
            (arrival, kind)
        });
        let before = std::mem::replace(&mut self.due[link.index()], first);
        if let Some((arrival, kind)) = first.filter(|_| first != before) {
            self.set(arrival, kind, link);
        }
    }

    /// Removes and returns the first packet of a wire, which has arrived.
    fn take_first(&mut self, link: Link) -> Option<(Packet, Options)> {
        let (_, packet, options) = self.wires[link.index()].pop_front()?;
        if let Some(horizon) = &mut self.horizon {
            horizon.arrives(link, &packet);
        }
        self.due[link.index()] = None;
        self.await_first(link);
        Some((packet, options))
    }

    /// Schedules the start of a link's next outage.
    fn await_outage(&mut self, link: Link, now: Option<Time>) {
        if let Some(begin) = self.ports[link.index()].next_outage(now) {
            self.set(begin, LinkEvent::Outage, link);
        }
    }

    /// Drops waiting packets and the packet in transmission at the start of an outage, as configured.
    fn on_outage(&mut self, now: Time, link: Link) {
        let port = &mut self.ports[link.index()];
        match (&mut self.disc_ports[link.index()], &mut port.motion) {
            (Some(disc_port), Some(variation)) => {
                if let Some(next) = disc_port.on_outage(variation, now) {
                    self.set(next, LinkEvent::Departure, link);
                }
            }
            _ => {
                if port.drop_all(now) {
                    self.serve(link);
                }
            }
        }
        self.await_outage(link, Some(now));
    }

    /// Returns the reports of all links at `now`, the end of the run.
    fn reports(&mut self, now: Time) -> Result<Vec<PacketReport>, InvariantError> {
        let Topology { ends, origins, .. } = &self.topology;
        let nodes = ends.iter().map(|end| end.node).chain(origins.iter().copied()).max();
        let mut reports = Vec::with_capacity(self.ports.len());
        // For each router: packets received over its incoming wires, minus packets counted by its ports.
        let mut uncounted = vec![0i128; nodes.map_or(0, |last| last as usize + 1)];
        for (index, (port, wire)) in self.ports.iter_mut().zip(&self.wires).enumerate() {
            let bytes: u64 = wire.iter().map(|(_, packet, _)| u64::from(packet.bytes())).sum();
            let lost_later = port.lost_later(now);
            let on_wire = (wire.len() as u64 + lost_later.0, bytes + lost_later.1);
            let place = self.cells.place(Link::new(index));
            let report = match (place, &mut self.disc_ports[index]) {
                (Some(place), _) => self.cells.report(place, now, on_wire),
                (None, Some(disc_port)) => disc_port.report(port.motion.as_mut(), now, on_wire),
                (None, None) => port.report(now, on_wire),
            };
            let report = report.with(port.errors.as_deref(), port.no_route);
            let rate = place.map_or_else(|| port.rate(), |place| self.cells.max_rate(place));
            check(report.conserves(rate, now), || format!("port {index}: {report:?}"))?;
            let on_wire = if report.host { 0 } else { on_wire.0 };
            if !ends[index].host {
                uncounted[ends[index].node as usize] +=
                    i128::from(report.packets_out - on_wire - report.lost_at_end().0);
            }
            if !report.host {
                uncounted[origins[index] as usize] -= i128::from(report.packets_in);
            }
            reports.push(report);
        }
        check(self.cells.conserve(now), || "requests and grants of a cell".to_owned())?;
        check(uncounted.iter().all(|&packets| packets == 0), || {
            format!("{uncounted:?} packets arrived at routers and were not counted")
        })?;
        Ok(reports)
    }
}

impl Medium for Reference {
    /// No packet's order is proven, because every packet needs an event.
    type Proven = ();

    fn travels(&self, _vc: Circuit) -> bool {
        true
    }

    fn send<P: Probe>(&mut self, hosts: &mut Hosts<P>, vc: Circuit, frame: u32, payload: &impl Payload, _since: Time) {
        let Entry { link, step } = hosts.flows[vc.flow().index()].entry(vc);
        let ready = hosts.ready(link);
        let mut options = Options::NONE;
        let packet = Packet::new(vc, frame, step, payload, &mut options);
        self.arrive(hosts, ready, link, packet, options);
    }

    /// Handles the network's first event, if it precedes all timers and is not after the end of the run.
    fn advance<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let Some(&Reverse((time, kind, link))) = self.pending.peek() else {
            return false;
        };
        // At equal times, timers and starts follow all events of the network.
        if time > hosts.clock.until || !hosts.clock.queue.would_be_first(0, time, TIMER - 1) {
            return false;
        }
        self.pending.pop();
        hosts.clock.begin(time);
        match kind {
            LinkEvent::Departure => self.on_departure(hosts, link),
            LinkEvent::Outage => self.on_outage(time, link),
            LinkEvent::AtRouter(_) | LinkEvent::AtHost if self.due[link.index()] != Some((time, kind)) => {}
            LinkEvent::AtRouter(_) => self.on_router(hosts, link),
            LinkEvent::AtHost => self.on_host(hosts, link),
        }
        self.report_changes(hosts, link);
        true
    }

    fn next_due(&self) -> Option<Time> {
        self.pending.peek().map(|&Reverse((time, ..))| time)
    }

    fn horizon(&self, now: Time) -> Option<Time> {
        self.horizon.as_ref().map(|horizon| horizon.from(now))
    }

    fn finish<P: Probe>(&mut self, hosts: &mut Hosts<P>) {
        for (index, port) in self.ports.iter().enumerate() {
            let link = Link::new(index);
            if let Some(place) = self.cells.place(link) {
                let waiting = self.cells.waiting_packets(place);
                egress_ports::report_waiting(&mut hosts.probe, link, waiting, hosts.clock.end);
            }
            if let Some(disc_port) = &self.disc_ports[index] {
                disc_port.watch_in_service(port.motion.as_ref(), &mut hosts.probe, link);
                let waiting = disc_port.waiting_packets(port.motion.as_ref());
                egress_ports::report_waiting(&mut hosts.probe, link, waiting, hosts.clock.end);
            }
            egress_ports::report_waiting(
                &mut hosts.probe,
                link,
                port.waiting_packets(hosts.clock.end),
                hosts.clock.end,
            );
            for (departure, waiting) in port.departures(hosts.clock.end) {
                let arrived = (!port.is_host()).then_some(waiting.arrival);
                let (packet, options) = (waiting.packet, &waiting.options);
                transmissions::packet(&mut hosts.probe, link, arrived, departure, packet, options);
            }
        }
    }

    fn report(&mut self, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError> {
        let packet_ports = self.reports(now)?;
        packet_ports.iter().for_each(|port| port.hash(hash));
        let ports = (0..self.ports.len()).filter(|&index| !self.queueless[index]);
        let queues = ports.filter_map(|index| match self.cells.place(Link::new(index)) {
            Some(place) => Some((index, self.cells.queue(place).subqueues())),
            None => Some((index, self.disc_ports[index].as_ref()?.subqueues())),
        });
        Ok(MediumReport {
            queues: queues
                .flat_map(|(index, of)| QueueReport::of_port(index, of, now))
                .collect(),
            token_credits: self.token_credits(now),
            packet_ports,
            ..MediumReport::default()
        })
    }
}

impl Reference {
    /// Returns the credits of each link's token buckets.
    fn token_credits(&self, now: Time) -> Vec<Vec<TokenCredit>> {
        let ports = self.ports.iter().zip(&self.disc_ports).enumerate();
        ports
            .map(
                |(index, (port, disc_port))| match (self.cells.place(Link::new(index)), disc_port) {
                    (Some(place), _) => self.cells.queue(place).token_credits(now),
                    (None, Some(disc_port)) => disc_port.token_credits(now),
                    (None, None) => port.token_credits(now),
                },
            )
            .collect()
    }

    /// Reports the packets that a link has duplicated, lost or marked since the last call.
    fn report_changes<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if self.disc_ports[link.index()].is_none() && !self.ports[link.index()].has_losses() {
            return;
        }
        let mut lost = match &mut self.disc_ports[link.index()] {
            Some(port) => report_queue(hosts, link, port.queue()),
            None => Vec::new(),
        };
        // The link's bit errors are recorded in `ports`, even if the link has a `DiscPort`.
        lost.append(&mut self.ports[link.index()].drops.take());
        for removed in self.ports[link.index()].take_removed() {
            hosts.probe.observe(Event::Waited {
                link,
                arrival: removed.arrival,
                end: removed.time,
                vc: removed.circuit,
            });
        }
        lose(hosts, self.horizon.as_deref_mut(), link, &lost);
    }

    /// Reports what has happened in a cell, passes the packets that have left its ports to their wires, and schedules
    /// the cell's next event.
    fn settle_cell<P: Probe>(&mut self, hosts: &mut Hosts<P>, place: Place) {
        let (now, horizon) = (hosts.clock.now, &mut self.horizon);
        self.cells.collect_reports(place.cell, |link, queue| {
            let lost = report_queue(hosts, link, queue);
            lose(hosts, horizon.as_deref_mut(), link, &lost);
        });
        for (time, link, event) in self.cells.take_recorded(place.cell).into_iter().flatten() {
            hosts.probe.observe(Event::Station(time, link, event));
        }
        for Left { link, packet, arrival } in self.cells.take_left(place.cell).into_iter().flatten() {
            let arrived = (!self.ports[link.index()].is_host()).then_some(packet.arrival);
            let options = packet.options();
            self.pass(arrival, link, packet.packet, options);
            transmissions::packet(&mut hosts.probe, link, arrived, now, packet.packet, &options);
        }
        if let Some((link, Some(next))) = self.cells.new_event(place.cell) {
            self.set(next, LinkEvent::Departure, link);
        }
    }

    /// Passes a packet that arrives at `arrival` to the wire of a link.
    fn pass(&mut self, arrival: Time, link: Link, packet: Packet, options: Options) {
        if let Some(horizon) = &mut self.horizon {
            horizon.leaves(link, &packet, arrival);
        }
        let wire = &mut self.wires[link.index()];
        let place = wire
            .iter()
            .rposition(|other| other.0 <= arrival)
            .map_or(0, |last| last + 1);
        wire.make_room();
        wire.insert(place, (arrival, packet, options));
        self.await_first(link);
    }

    fn on_departure<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let now = hosts.clock.now;
        if let Some(place) = self.cells.place(link) {
            if self.cells.is_due(place.cell, now) {
                self.cells.wake(place.cell, now);
                self.settle_cell(hosts, place);
            }
            return;
        }
        let (packet, options, arrived) = if let Some(port) = &mut self.disc_ports[link.index()] {
            let variation = self.ports[link.index()].motion.as_mut();
            let Some((left, next)) = port.on_transmitter(variation, now) else {
                return;
            };
            if let Some(next) = next {
                self.set(next, LinkEvent::Departure, link);
            }
            let Some(left) = left else { return };
            let arrived = (!self.ports[link.index()].is_host()).then_some(left.arrival);
            (left.packet, left.options(), arrived)
        } else {
            let Some(left) = self.ports[link.index()].depart(now) else {
                return;
            };
            let arrived = (!self.ports[link.index()].is_host()).then_some(left.arrival);
            (left.packet, left.options, arrived)
        };
        if let Some(arrival) = self.ports[link.index()].pass(now, packet) {
            self.pass(arrival, link, packet, options);
        }
        if self.disc_ports[link.index()].is_none() {
            self.serve(link);
        }
        transmissions::packet(&mut hosts.probe, link, arrived, now, packet, &options);
    }

    /// Removes and returns the first packet of a wire, or None if bit errors corrupt it.
    fn take_whole(&mut self, now: Time, link: Link) -> Option<(Packet, Options)> {
        let (packet, options) = self.take_first(link)?;
        if self.ports[link.index()].corrupt(now, &packet) {
            return None;
        }
        if let Some(horizon) = &mut self.horizon {
            horizon.on_departure_from(link, usize::from(packet.is_external()));
        }
        Some((packet, options))
    }

    fn on_router<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let now = hosts.clock.now;
        let Some((packet, options)) = self.take_whole(now, link) else {
            return;
        };
        let at = (link, self.topology.ends[link.index()].node as usize);
        let Some((next, step)) = self.ways[packet.vc().index()].next_hop(now, at, packet.step()) else {
            self.ports[link.index()].count_no_route(&packet);
            hosts.lose(now, link, &packet, DropCause::NoRoute);
            return;
        };
        let packet = packet.at_step(step);
        let held = match (self.cells.place(next), &self.disc_ports[next.index()]) {
            (Some(place), _) => self.cells.held(place).0,
            (None, Some(port)) => port.held(),
            (None, None) => self.ports[next.index()].held(),
        };
        hosts.probe.observe(Event::Queue(now, next, held));
        self.arrive(hosts, now, next, packet.further(), options);
    }

    fn on_host<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if let Some((packet, options)) = self.take_whole(hosts.clock.now, link) {
            hosts.receive_in_full(self, packet, &options, UNKNOWN);
        }
    }
}

/// Reports the packets that a queue has duplicated, marked or removed. Returns those that it has dropped.
fn report_queue<P: Probe>(hosts: &mut Hosts<P>, link: Link, queue: &mut EgressQueue) -> Vec<(Time, Packet, DropCause)> {
    queue.take_duplicated().for_each(|packet| hosts.duplicate(&packet));
    queue
        .take_marks()
        .for_each(|(time, flow)| hosts.probe.observe(Event::Marked(time, link, flow)));
    egress_ports::report_removed(&mut hosts.probe, link, queue);
    queue.drops().take()
}

/// Reports lost packets of a link.
fn lose<P: Probe>(hosts: &mut Hosts<P>, horizon: Option<&mut Horizon>, link: Link, lost: &[(Time, Packet, DropCause)]) {
    if lost.is_empty() {
        return;
    }
    let external = report_external(lost, hosts.clock.now, link, &mut hosts.outcomes);
    if let Some(horizon) = horizon {
        horizon.on_departure_from(link, external);
    }
    hosts.lose_all(link, lost);
}

/// Queues and transmitters of the ports whose discipline, shaper or aggregation decides at dequeue, indexed by link.
fn disc_ports(scenario: &Scenario, seed: u64) -> Vec<Option<DiscPort>> {
    let port = |(index, link): (usize, &LinkConfig)| {
        let serves = link.policy.serves() || link.has_shaper() || link.duplicates() || link.aggregates();
        (serves && link.access.is_none()).then(|| DiscPort::new(EgressQueue::new(scenario, link, seed, index as u64)))
    };
    scenario.links.iter().enumerate().map(port).collect()
}
