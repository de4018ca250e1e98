//! Flows that arrive, transfer their data over their own TCP connection, and leave.
//!
//! Connections occupy slots, which later flows reuse, so memory depends on the number of simultaneous flows. Sequence
//! numbers within a slot never repeat: a new connection's numbers begin above all numbers of the slot's previous
//! connection (`Connection::base`). A host therefore recognizes packets of an earlier connection that are still in the
//! network, and ignores them.
//!
//! If proxies split the connections, the flows arrive at the last part of the split flow; its other parts only have slots,
//! of which the one with the same number belongs to the same connection.

use super::application::Application;
use super::connection::{Connection, Ends};
use super::new_connections::clock_phase;
use super::{proxy, Hosts};
use crate::clock::{Actor, START};
use crate::hosts::medium::Medium;
use crate::observe::probe::{Event, Probe};
use crate::packets::Flow;
use crate::report::flows::{ArrivedFlow, ArrivedReport};
use crate::report::FlowReport;
use crate::scenario::{ConnectionSlots, FlowArrivalsConfig, Scenario, TrafficConfig};
use crate::traffic::flow_arrivals::Process;
use longpipe_events::memory::Growing;
use longpipe_events::{MaybeTime, Stream, Time};
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::journal::attribution::Totals;
use longpipe_tcp::sender::SenderCounters;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A connection's slot, which acts as the application of its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionSlot {
    /// Index of the arriving flows to which the slot belongs.
    arriving: usize,
    /// Number of the slot among the slots of its arriving flows.
    number: usize,
    /// Number of the arrived flow whose data the slot transfers; always None at a part that ends at a proxy.
    current: Option<usize>,
}

/// The arriving flows of one flow of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    slots: ConnectionSlots,
    /// Arrivals; None at a part of a split flow that ends at a proxy.
    process: Option<Process>,
    tcp: TcpConfig,
    seed: u64,
    /// Whether end points may use shortcuts, as in the fast engine.
    takes_shortcuts: bool,
    start: Time,
    /// All flows that have arrived, in order.
    flows: Vec<ArrivedFlow>,
    /// Number of flows that have started; later flows wait for a free slot.
    started: usize,
    /// Number of flows that have waited for a free slot.
    waited: u64,
    /// Maximum number of slots in use at the same time.
    peak: usize,
    /// Numbers of the slots without a connection; the lowest is used first.
    free: BinaryHeap<Reverse<usize>>,
    /// Sums over connections that have been replaced, which exclude the current or latest connection of each slot.
    sums: Sums,
}

/// Sums of the counters of connections.
#[derive(Clone, Debug, Default)]
struct Sums {
    delivered_bytes: u64,
    highest_sequence_bytes: u64,
    reordered: u64,
    sender: SenderCounters,
    reductions: Totals,
}

impl Sums {
    fn add(&mut self, state: &Connection, now: Time) {
        self.delivered_bytes += state.receiver.delivered();
        self.highest_sequence_bytes += state.receiver.highest();
        self.reordered += state.receiver.late();
        self.sender += state.sender.counters();
        self.reductions += state.reductions(now);
    }
}

impl Arriving {
    /// Creates the arriving flows `config` of one flow of a scenario.
    fn new(
        scenario: &Scenario,
        config: &FlowArrivalsConfig,
        slots: ConnectionSlots,
        seed: u64,
        flows: &[Connection],
    ) -> Arriving {
        let owner = &flows[slots.owner];
        let is_last = scenario.flows[slots.owner].onward.is_none();
        Arriving {
            process: is_last.then(|| Process::new(config, owner.start, owner.stop, (seed, slots.owner as u64))),
            tcp: scenario.flows[slots.owner].tcp.clone(),
            seed,
            takes_shortcuts: scenario.takes_shortcuts(),
            start: owner.start,
            flows: Vec::new(),
            started: 0,
            waited: 0,
            peak: 0,
            free: (0..slots.flows.len()).map(Reverse).collect(),
            sums: Sums::default(),
            slots,
        }
    }

    /// Returns the number of flows that wait for a slot.
    fn waiting(&self) -> usize {
        self.flows.len() - self.started
    }

    /// Returns the sums over all connections up to `now`.
    fn sums(&self, flows: &[Connection], now: Time) -> Sums {
        let mut sums = self.sums.clone();
        for state in &flows[self.slots.flows.clone()] {
            sums.add(state, now);
        }
        sums
    }

    /// Returns the effects of the window reductions of all connections, by cause.
    pub fn reductions(&self, flows: &[Connection], now: Time) -> Totals {
        self.sums(flows, now).reductions
    }

    /// Returns the flow in the scenario and the flows of its slots.
    pub fn slots(&self) -> &ConnectionSlots {
        &self.slots
    }

    /// Returns the time and the length [byte] of the next arrival.
    fn due(&self) -> Option<(Time, u64)> {
        self.process.as_ref()?.due()
    }

    /// Returns the results: the sums of all connections, and the flows that arrived; no such flows at a part that ends at
    /// a proxy.
    ///
    /// # Errors
    /// Returns the violated invariant if flows or bytes are not accounted for.
    pub fn report(&self, flows: &[Connection], now: Time) -> Result<(FlowReport, Option<ArrivedReport>), String> {
        let sums = self.sums(flows, now);
        let report = FlowReport {
            delivered_bytes: sums.delivered_bytes,
            highest_sequence_bytes: sums.highest_sequence_bytes,
            reordered: sums.reordered,
            sender: sums.sender,
            start: self.start,
            completion: None,
        };
        if self.process.is_none() {
            return Ok((report, None));
        }
        let mut arrived = self.flows.clone();
        let mut active = 0;
        for state in &flows[self.slots.flows.clone()] {
            let current = match state.application {
                Application::ConnectionSlot(slot) => slot.current,
                _ => None,
            };
            if let Some(current) = current {
                arrived[current].completed = state.completion.into();
                active += 1;
            }
        }
        let bytes = |done: bool| -> u64 {
            let flows = arrived.iter().filter(|flow| !done || flow.completed != MaybeTime::NONE);
            flows.map(|flow| flow.bytes).sum()
        };
        let (done, all) = (bytes(true), bytes(false));
        let holds = done <= sums.delivered_bytes
            && sums.delivered_bytes <= all
            && active + self.free.len() == self.slots.flows.len()
            && (self.waiting() == 0 || self.free.is_empty());
        if !holds {
            return Err(format!("{done} of {all} bytes complete, {sums:?}, {active} active"));
        }
        let own = ArrivedReport {
            flow: self.slots.owner,
            waited: self.waited,
            peak: self.peak as u64,
            flows: arrived,
        };
        Ok((report, Some(own)))
    }
}

/// Creates the arriving flows of a scenario, and sets the applications of their flows and slots.
pub(super) fn arriving(
    scenario: &Scenario,
    all: Vec<ConnectionSlots>,
    seed: u64,
    flows: &mut [Connection],
) -> Vec<Arriving> {
    let mut pools = Vec::with_capacity(all.len());
    for (arriving, slots) in all.into_iter().enumerate() {
        let TrafficConfig::FlowArrivals(config) = &scenario.flows[slots.owner].traffic else {
            continue;
        };
        flows[slots.owner].application = Application::Arrivals(arriving);
        for (number, flow) in slots.flows.clone().enumerate() {
            flows[flow].application = Application::ConnectionSlot(ConnectionSlot {
                arriving,
                number,
                current: None,
            });
        }
        pools.push(Arriving::new(scenario, config, slots, seed, flows));
    }
    pools
}

/// Handles the arrivals that are due now, and starts waiting flows if there is room.
pub(super) fn on_clock<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, arriving: usize) {
    let now = hosts.clock.now;
    let own = &mut hosts.arriving[arriving];
    while let Some((time, bytes)) = own.due().filter(|due| due.0 <= now) {
        own.flows.put(ArrivedFlow {
            arrived: time,
            bytes,
            completed: MaybeTime::NONE,
        });
        own.waited += u64::from(own.waiting() > own.free.len());
        if let Some(process) = &mut own.process {
            process.step(time);
        }
    }
    loop {
        let own = &mut hosts.arriving[arriving];
        if own.waiting() == 0 {
            break;
        }
        let Some(Reverse(number)) = own.free.pop() else { break };
        own.peak = own.peak.max(own.slots.flows.len() - own.free.len());
        let slot = ConnectionSlot {
            arriving,
            number,
            current: Some(own.started),
        };
        own.started += 1;
        begin(hosts, medium, slot);
    }
    let own = &hosts.arriving[arriving];
    let next = own.due().filter(|due| due.0 <= hosts.clock.end);
    if let Some((time, _)) = next {
        hosts.clock.set(Actor::Start(Flow::new(own.slots.owner)), time, START);
    }
}

/// Starts the connection of an arrived flow in a free slot, or all parts of the connection if proxies split it.
fn begin<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, slot: ConnectionSlot) {
    let own = &hosts.arriving[slot.arriving];
    let Some(number) = slot.current else { return };
    let (last, bytes) = (Flow::new(own.slots.flows.start + slot.number), own.flows[number].bytes);
    let mut first = last;
    renew(hosts, (last, slot), (number, bytes));
    hosts.flows[last.index()].application = Application::ConnectionSlot(slot);
    while let Some(source) = hosts.flows[first.index()].proxy.as_ref().and_then(|proxy| proxy.source) {
        first = source;
        if let Application::ConnectionSlot(slot) = hosts.flows[first.index()].application {
            renew(hosts, (first, slot), (number, bytes));
        }
    }
    let state = &mut hosts.flows[first.index()];
    if state.proxy.is_some() {
        return proxy::send(hosts, medium, first);
    }
    state.sender.write_up_to(bytes);
    state.sender.close();
    hosts.send_data(medium, first);
}

/// Creates the end points of a connection, or of a part of it, for the arrived flow `number` of `bytes` bytes.
fn renew<P: Probe>(hosts: &mut Hosts<P>, (flow, slot): (Flow, ConnectionSlot), (number, bytes): (usize, u64)) {
    let now = hosts.clock.now;
    let own = &mut hosts.arriving[slot.arriving];
    let state = &mut hosts.flows[flow.index()];
    own.sums.add(state, now);
    // Fewer than 2^40 flows arrive.
    let entity = (own.slots.owner as u64) << 40 | number as u64;
    let phase = clock_phase(&own.tcp, own.seed, flow.index() as u64);
    let mut ends = Ends::new(&own.tcp, phase, own.takes_shortcuts);
    ends.sender
        .draw_from(Stream::new(own.seed, "control of arriving flows", entity));
    state.renew(ends, now, bytes);
    for actor in [Actor::Sender(flow), Actor::Receiver(flow)] {
        hosts.clock.cancel(actor);
    }
    hosts.probe.observe(Event::Renewed(flow));
}

/// Frees the slot of a connection whose data have all been acknowledged.
#[inline(always)]
pub(super) fn on_ack<P: Probe>(hosts: &mut Hosts<P>, flow: Flow) {
    if !hosts.arriving.is_empty() {
        free_slot(hosts, flow);
    }
}

#[inline(never)]
fn free_slot<P: Probe>(hosts: &mut Hosts<P>, flow: Flow) {
    let last = hosts.flows[flow.index()]
        .proxy
        .as_ref()
        .map_or(flow, |proxy| proxy.last);
    let mut part = last;
    loop {
        let state = &hosts.flows[part.index()];
        if state.sender.flight().una < state.size {
            return;
        }
        let source = state.proxy.as_ref().and_then(|proxy| proxy.source);
        let Some(source) = source else { break };
        part = source;
    }
    let state = &mut hosts.flows[last.index()];
    let Application::ConnectionSlot(slot) = &mut state.application else {
        return;
    };
    let Some(number) = slot.current.take() else { return };
    let own = &mut hosts.arriving[slot.arriving];
    own.flows[number].completed = state.completion.into();
    own.free.push(Reverse(slot.number));
    if own.waiting() > 0 {
        let owner = Flow::new(own.slots.owner);
        hosts.clock.set(Actor::Start(owner), hosts.clock.now, START);
    }
}
