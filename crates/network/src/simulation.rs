//! The loop: what happens next, and what follows from it.
//!
//! The reference engine moves every cell by itself, from port to port. The train engine moves the first and the last
//! cell of a frame alone, wherever the port allows it.
//!
//! At one instant, departures come first, then cells that reach a switch in the order of the tie rule, then
//! frames that arrive whole, then timers, then applications that begin, then VBR that is looked after; equals by
//! number.

use crate::aal5::Reassembler;
use crate::ahead::Ahead;
use crate::certain;
use crate::check::ScenarioError;
use crate::flow::{flows, Flow};
use crate::ip::lanes::Lanes;
use crate::ip::routes::Routes;
use crate::ip::wire::{self, Wire};
use crate::ip::{OnWire, Options, Packet};
use crate::jitter::{self, Jitter};
use crate::link::{Feed, Link};
use crate::nic::Frame;
use crate::on_off::Meter;
use crate::plan::{self, Plan};
use crate::probe::Probe;
use crate::scenario::{Framing, Scenario};
use crate::ties::TieRule;
use crate::topology::{usual_interval, LinkEnd, Topology};
use crate::under_way::{self, UnderWay};
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
    pub(crate) reassemblers: Vec<Reassembler>,
    /// By node, or empty.
    pub(crate) jitter: Vec<Option<Jitter>>,
    /// Node at which each link begins.
    pub(crate) origins: Vec<u32>,
    pub(crate) framing: Framing,
    pub(crate) ties: TieRule,
    /// Whether the frames of a VC go by edges, by VC.
    pub(crate) by_edges: Vec<bool>,
    /// Whether each link's port cannot hold a queue.
    pub(crate) transit: Vec<bool>,
    /// Links that carry IP packets, by link.
    pub(crate) wires: Vec<Wire>,
    pub(crate) lanes: Lanes,
    /// Frames that go by edges and have not reached their ports.
    pub(crate) under_way: UnderWay,
    /// Options of the packet in hand, if it has any.
    pub(crate) options: Options,
    pub(crate) ahead: Ahead,
    /// When the packet in hand left the last port where it met others, if its ACK may be certain of its place.
    pub(crate) left_trunk: Time,
    /// An ACK that is, until it goes on.
    pub(crate) certain: Option<OnWire>,
    /// Likewise as cells.
    pub(crate) certain_frame: Option<Frame>,
    pub(crate) events: u64,
    pub(crate) probe: P,
}

/// No time from which any lead would reach another one.
pub(crate) const UNKNOWN: Time = Time(1 << 63);

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
        let ahead = Ahead::new(scenario, &topology, P::IDLE);
        let leads = certain::leads(scenario, &topology, &ahead);
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
            wires: wire::wires(scenario, &topology, &leads, seed),
            lanes: Lanes::default(),
            under_way: UnderWay::new(2 * scenario.flows.len()),
            options: Options::default(),
            left_trunk: UNKNOWN,
            certain: None,
            certain_frame: None,
            ahead,
            topology,
            events: 0,
            probe,
        };
        let trains = |link: &&Link| matches!(link.feed, Feed::Trains(_));
        if simulation.links.iter().filter(trains).count() <= under_way::LANES {
            for (link, lead) in simulation.links.iter_mut().zip(leads) {
                if let Feed::Nic(nic) = &mut link.feed {
                    nic.lead = lead;
                }
            }
        }
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
            let advanced = match self.framing {
                Framing::Aal5 => self.advance_edge(),
                Framing::Ip => self.advance_lane(),
            };
            if advanced {
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

    /// A whole frame will have reached a host at `at`.
    #[inline(always)]
    pub(crate) fn await_delivery(&mut self, link: usize, at: Time, packet: Packet) {
        let wire = &self.links[link];
        let quiet = at <= wire.quiet_until && wire.deliveries.is_empty() && !self.ahead.busy;
        if quiet || (at > self.now && self.may_be_ahead(link, at)) {
            let now = self.begin_ahead(at);
            if !(packet.is_plain_ack() && self.take_plain_ack_frame(packet)) {
                self.hand_over_packet(packet);
            }
            return self.end_ahead(now);
        }
        let wire = &mut self.links[link];
        wire.deliveries.push(OnWire { arrival: at, packet }, &self.options);
        if at == self.now {
            self.on_delivery(link);
        } else if wire.deliveries.len() == 1 {
            self.schedule(link);
        }
    }

    /// Whether a frame that will reach a host at `at` may be handed over ahead of time; its options stay in hand.
    #[inline(never)]
    fn may_be_ahead(&mut self, link: usize, at: Time) -> bool {
        let (options, left_trunk) = (self.options, self.left_trunk);
        self.left_trunk = UNKNOWN;
        let ahead = self.approach(link, at);
        (self.options, self.left_trunk) = (options, left_trunk);
        ahead
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
    pub(crate) fn next_arrival(&self, link: usize) -> Option<(Time, Order)> {
        let wire = &self.links[link];
        let (time, vc) = wire.head()?;
        Some((time, arrival_order(&wire.end, &self.ties, vc, time)))
    }

    /// The first frame due on a link reaches its host.
    pub(crate) fn on_delivery(&mut self, link: usize) {
        if let Some(next) = self.links[link].deliveries.pop(&mut self.options) {
            self.left_trunk = UNKNOWN;
            self.hand_over_packet(next.packet);
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
        let travels = self.travels(2 * flow);
        loop {
            let state = &mut self.flows[flow];
            let Some(segment) = state.sender.poll_transmit(self.now) else {
                break;
            };
            let frame = state.data.number(travels, segment);
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
        let travels = self.travels(2 * flow + 1);
        let state = &mut self.flows[flow];
        if let Some(ack) = state.receiver.poll_transmit() {
            let frame = state.acks.number(travels, ack);
            self.probe.answered(self.now, flow as u32, frame, &ack);
            self.enqueue(2 * flow as u32 + 1, frame, &ack);
        }
        self.arm_receiving_host(flow);
    }
}

/// Rank of what reaches the end of a link at `time` among the events of that instant.
#[inline(always)]
pub(crate) fn arrival_order(end: &LinkEnd, ties: &TieRule, vc: u32, time: Time) -> Order {
    if end.unshared {
        WHOLE_FRAME
    } else {
        CELL | ties.rank(end, time, vc)
    }
}
