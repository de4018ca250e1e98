//! The loop: what happens next, and what follows from it.
//!
//! The reference engine moves every cell by itself, from port to port. A cell has an event of its own wherever it may
//! meet the cells of another wire. Past the last such place it goes on at once, port by port, each at the time at which
//! it arrives there, and only its frame has an event. The train engine has events for the first and the last cell of a frame alone, wherever the port allows it.
//!
//! At one instant, departures come first, then cells that reach a switch in the order of the tie rule, then
//! frames that arrive whole, then timers, then applications that begin, then VBR that is looked after; equals by
//! number.

use crate::aal5::{frame_cells, Cell, Reassembler};
use crate::ahead::Ahead;
use crate::check::ScenarioError;
use crate::flow::{flows, Flow};
use crate::ip::lanes::Lanes;
use crate::ip::packet::Payload;
use crate::ip::routes::Routes;
use crate::ip::wire::{self, Wire};
use crate::ip::Options;
use crate::jitter::{self, Jitter};
use crate::link::{Delivery, Feed, Link};
use crate::on_off::Meter;
use crate::plan::{self, Plan};
use crate::probe::Probe;
use crate::requests::REQUEST;
use crate::scenario::{Framing, Scenario};
use crate::ties::TieRule;
use crate::topology::{usual_interval, Entry, Step, Topology};
use crate::watch;
use longpipe_events::{Agenda, Entity, Order, Time};
use longpipe_tcp::{AckSegment, DataSegment};

pub(crate) const CELL: Order = 0;
pub(crate) const WHOLE_FRAME: Order = 1 << 32;
pub(crate) const TIMER: Order = 2 << 32;
pub(crate) const START: Order = 3 << 32;

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Simulation<P: Probe> {
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) agenda: Agenda,
    pub(crate) topology: Topology,
    pub(crate) routes: Routes,
    pub(crate) links: Vec<Link>,
    pub(crate) flows: Vec<Flow>,
    /// Far ends of the VBR circuits.
    pub(crate) meters: Vec<Meter>,
    /// By VC.
    reassemblers: Vec<Reassembler>,
    /// By node, or empty.
    pub(crate) jitter: Vec<Option<Jitter>>,
    /// Node at which each link begins.
    pub(crate) origins: Vec<u32>,
    pub(crate) framing: Framing,
    pub(crate) ties: TieRule,
    /// Whether the frames of a VC go by edges, by VC.
    by_edges: Vec<bool>,
    /// Whether each link's port cannot hold a queue.
    pub(crate) transit: Vec<bool>,
    /// Links that carry IP packets, by link.
    pub(crate) wires: Vec<Wire>,
    pub(crate) lanes: Lanes,
    /// Options of the IP packet in hand, if it has any.
    pub(crate) options: Options,
    pub(crate) ahead: Ahead,
    pub(crate) events: u64,
    pub(crate) probe: P,
}

impl<P: Probe> Simulation<P> {
    /// A run at time zero.
    ///
    /// # Errors
    /// The first thing that is wrong with the scenario.
    pub fn new(scenario: &Scenario, seed: u64, probe: P) -> Result<Simulation<P>, ScenarioError> {
        let topology = Topology::new(scenario)?;
        let plan = Plan::new(scenario, &topology, seed, probe.wants_cells());
        let links = plan.links();
        let routes = Routes::new(scenario);
        let entries = match scenario.framing {
            Framing::Aal5 => topology.entries(),
            Framing::Ip => routes.entries(),
        };
        let cell_by_cell = links.iter().any(|link| matches!(link.feed, Feed::Port(_)));
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time(scenario.duration_ps),
            agenda: Agenda::new(
                scenario.links.len() + 3 * scenario.flows.len() + scenario.vbr.len(),
                usual_interval(scenario, &topology, cell_by_cell),
            ),
            by_edges: plan::by_edges(&topology, &links),
            links,
            flows: flows(scenario, seed, &entries),
            routes,
            meters: Vec::with_capacity(scenario.vbr.len()),
            reassemblers: vec![Reassembler::default(); 2 * scenario.flows.len()],
            jitter: jitter::of_hosts(scenario, seed),
            origins: scenario.links.iter().map(|link| link.from as u32).collect(),
            ties: TieRule::new(scenario.ties, seed),
            transit: plan.transit(),
            framing: scenario.framing,
            wires: wire::wires(scenario, &topology, seed),
            lanes: Lanes::default(),
            options: Options::default(),
            ahead: Ahead::new(scenario, &topology, P::IDLE),
            topology,
            events: 0,
            probe,
        };
        for flow in 0..simulation.flows.len() {
            let start = simulation.flows[flow].start;
            let entity = simulation.entity(flow, START);
            simulation.agenda.set(entity, start, START);
            simulation.foresee(2 * flow, start, START);
        }
        for source in &scenario.vbr {
            simulation.add_source(source);
        }
        Ok(simulation)
    }

    /// Handles up to `events` events; false once the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        for _ in 0..events {
            if self.advance_lane() {
                continue;
            }
            let Some((time, entity)) = self.agenda.pop(self.end) else {
                self.now = self.end;
                (0..self.meters.len()).for_each(|source| self.carry_vbr(source));
                self.watch_wires();
                return false;
            };
            self.now = time;
            self.events += 1;
            self.dispatch(entity);
        }
        true
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    /// Fraction of the simulated time that is over.
    pub fn progress(&self) -> f64 {
        self.now.0 as f64 / self.end.0 as f64
    }

    /// The probe with what it saw.
    pub fn into_probe(self) -> P {
        self.probe
    }

    pub(crate) fn entity(&self, flow: usize, kind: Order) -> Entity {
        let timer = match kind {
            TIMER => 0,
            START => 2,
            _ => 1,
        };
        (self.links.len() + timer * self.flows.len() + flow) as Entity
    }

    #[inline]
    fn dispatch(&mut self, entity: Entity) {
        let index = entity as usize;
        if index < self.links.len() {
            return match self.framing {
                Framing::Aal5 => self.on_arrival(index),
                Framing::Ip => self.on_packet_arrival(index),
            };
        }
        let index = index - self.links.len();
        if index >= 3 * self.flows.len() {
            return self.on_vbr(index - 3 * self.flows.len());
        }
        let flow = index % self.flows.len();
        match index / self.flows.len() {
            0 => self.on_sender_timer(flow),
            1 => self.on_receiver_timer(flow),
            _ => self.on_start(flow),
        }
    }

    /// What a wire brings next reaches its far end: a frame its host, a cell its switch.
    #[inline(always)]
    fn on_arrival(&mut self, link: usize) {
        loop {
            match &mut self.links[link].feed {
                Feed::Nic(nic) if nic.by_edges() => {
                    let edge = nic.pop_edge();
                    self.on_edge(link, edge);
                }
                Feed::Nic(nic) => {
                    let cell = nic.pop();
                    self.watch_interface(link, cell);
                    self.carry(link, self.now, cell);
                }
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
            if time > self.end || !self.agenda.would_be_first(link as Entity, time, order) {
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
        self.await_delivery(link, at, vc, frame);
    }

    /// A whole frame will have reached a host at `at`.
    #[inline(always)]
    pub(crate) fn await_delivery(&mut self, link: usize, at: Time, vc: u32, frame: u32) {
        let wire = &self.links[link];
        let quiet = at <= wire.quiet_until && wire.deliveries.is_empty() && !self.ahead.busy;
        if quiet || (at > self.now && self.approach(link, at)) {
            let now = self.begin_ahead(at);
            self.hand_over(vc, frame);
            return self.end_ahead(now);
        }
        let wire = &mut self.links[link];
        wire.deliveries.push(Delivery { time: at, vc, frame });
        if at == self.now {
            self.on_delivery(link);
        } else if wire.deliveries.len() == 1 {
            self.schedule(link);
        }
    }

    /// Puts the arrival of a link's head cell on the agenda.
    #[inline]
    pub(crate) fn schedule(&mut self, link: usize) {
        if let Some((time, order)) = self.next_arrival(link) {
            self.agenda.set(link as Entity, time, order);
        }
    }

    /// When a link's head cell arrives, and its rank among the events of that instant.
    #[inline(always)]
    fn next_arrival(&self, link: usize) -> Option<(Time, Order)> {
        let wire = &self.links[link];
        let (end, (time, vc)) = (&wire.end, wire.head()?);
        let order = if end.unshared {
            WHOLE_FRAME
        } else {
            CELL | self.ties.rank(end, time, vc)
        };
        Some((time, order))
    }

    /// The first frame due on a link reaches its host.
    pub(crate) fn on_delivery(&mut self, link: usize) {
        if let Some(Delivery { vc, frame, .. }) = self.links[link].deliveries.pop() {
            self.hand_over(vc, frame);
        }
    }

    /// Gives a frame to its end point, at its time of arrival.
    #[inline(always)]
    fn hand_over(&mut self, vc: u32, frame: u32) {
        let flow = (vc / 2) as usize;
        let state = &mut self.flows[flow];
        if frame & REQUEST != 0 {
            self.take_request(vc, frame);
        } else if vc.is_multiple_of(2) {
            let segment = state.data.take(frame);
            self.on_data(flow, frame, &segment);
        } else {
            let ack = state.acks.take(frame);
            self.on_ack(flow, frame, &ack);
        }
    }

    /// Data reach their receiver.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, flow: usize, frame: u32, segment: &DataSegment) {
        let state = &mut self.flows[flow];
        self.probe.received(self.now, flow as u32, frame, segment);
        state.receiver.on_segment(self.now, segment);
        if state.receiver.delivered() >= state.awaited {
            state.on_awaited(self.now);
        }
        self.send_ack(flow);
    }

    /// An ACK reaches the sender.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, flow: usize, frame: u32, ack: &AckSegment) {
        self.probe.acknowledged(self.now, flow as u32, frame, ack);
        self.flows[flow].sender.on_ack(self.now, ack);
        self.send_on(flow);
    }

    pub(crate) fn on_start(&mut self, flow: usize) {
        self.foresee_nothing(2 * flow);
        if self.flows[flow].requests.is_some() {
            return self.on_client_clock(flow);
        }
        let size = self.flows[flow].size;
        self.flows[flow].sender.write_up_to(size);
        self.send_data(flow);
    }

    /// Sends what the window allows and looks after the retransmission timer.
    #[inline(never)]
    pub(crate) fn send_data(&mut self, flow: usize) {
        self.send_on(flow);
    }

    #[inline(always)]
    fn send_on(&mut self, flow: usize) {
        loop {
            let state = &mut self.flows[flow];
            let Some(segment) = state.sender.poll_transmit(self.now) else {
                break;
            };
            let frame = state.data.number(self.framing, segment);
            self.probe.sent(self.now, flow as u32, frame, &segment);
            self.enqueue(2 * flow as u32, frame, &segment);
        }
        let window = self.flows[flow].sender.flight();
        self.probe.window(self.now, flow as u32, window.cwnd, window.ssthresh);
        self.watch_timer(flow);
        self.arm_sending_host(flow);
    }

    /// Sends the ACK that is due and looks after the delayed-ACK timer.
    #[inline(always)]
    pub(crate) fn send_ack(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if let Some(ack) = state.receiver.poll_transmit() {
            let frame = state.acks.number(self.framing, ack);
            self.probe.answered(self.now, flow as u32, frame, &ack);
            self.enqueue(2 * flow as u32 + 1, frame, &ack);
        }
        self.arm_receiving_host(flow);
    }

    /// Hands a packet to the interface at the start of its circuit.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, vc: u32, frame: u32, payload: &impl Payload) {
        if self.framing == Framing::Ip {
            return self.enqueue_packet(vc, frame, payload);
        }
        let Entry { link, step } = self.flows[(vc / 2) as usize].entry(vc);
        let link = link as usize;
        let ready = self.ready(link);
        let Feed::Nic(nic) = &mut self.links[link].feed else {
            unreachable!("circuits begin at hosts")
        };
        if nic.enqueue(
            vc,
            frame,
            frame_cells(payload.packet_bytes()),
            ready,
            step,
            self.by_edges[vc as usize],
        ) {
            self.schedule(link);
        }
    }
}
