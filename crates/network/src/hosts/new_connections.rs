//! Creation of the connections of a scenario, with their applications.

use super::application::Application;
use super::connection::{Connection, Ends};
use super::datagrams::Datagrams;
use super::proxy::forwarding::{join, last};
use super::requests::Requests;
use super::stream::Writer;
use crate::packets::in_transit::InTransit;
use crate::packets::{Circuit, Flow};
use crate::scenario::topology::Entry;
use crate::scenario::{FlowConfig, LinkConfig, Scenario, StartConfig, StopConfig};
use crate::traffic::parameters::{NewApplication, NewFlow};
use longpipe_events::{MaybeTime, Span, Stream, Time};
use longpipe_tcp::config::{PhaseConfig, TcpConfig, TimerConfig};
use longpipe_tcp::sender::GREEDY;

/// Creates all connections of a scenario; `entries` are the starts of the circuits.
pub(crate) fn connections(scenario: &Scenario, seed: u64, entries: &[Entry]) -> Vec<Connection> {
    let disorders = |link: &LinkConfig| link.duplicates() || link.may_reorder();
    let keeps_order = !scenario.reroutes() && !scenario.links.iter().any(disorders);
    let flows = 0..scenario.flows.len();
    let mut connections: Vec<Connection> = flows
        .map(|flow| connection(scenario, flow, seed, keeps_order, entries))
        .collect();
    join(scenario, &mut connections);
    connections
}

/// Creates the connection of the flow with the number `flow`.
fn connection(scenario: &Scenario, flow: usize, seed: u64, keeps_order: bool, entries: &[Entry]) -> Connection {
    let config = &scenario.flows[flow];
    let start = start(&config.start, seed, flow as u64);
    let new_flow = NewFlow {
        tcp: &config.tcp,
        seed,
        flow: flow as u64,
    };
    let phase = clock_phase(&config.tcp, seed, flow as u64);
    let planned = if config.foreign {
        NewApplication::External
    } else {
        // The application of a split connection draws the numbers of its last flow.
        let last = last(&scenario.flows, flow) as u64;
        config.traffic.application(&NewFlow { flow: last, ..new_flow })
    };
    let (mut application, size) = application(planned, config, &new_flow, phase, keeps_order);
    let takes_shortcuts = scenario.takes_shortcuts();
    let Ends {
        mut sender,
        mut receiver,
    } = Ends::new(&config.tcp, phase, takes_shortcuts);
    sender.draw_from(Stream::new(seed, "control", flow as u64));
    let mut awaited = size;
    if let Some(requests) = application.try_as_requests_mut() {
        awaited = 0;
        sender.open_passively();
        if requests.waits_for_files() {
            // On the slow path, every arrival of data arms the host's timer, which makes the client request its next
            // file.
            receiver.disable_shortcuts();
        }
        if !takes_shortcuts {
            requests.disable_shortcuts();
        }
    }
    Connection {
        sender,
        receiver,
        receiving: super::connection::CacheLine,
        way: entries[Circuit::of_data(Flow::new(flow)).index()],
        way_back: entries[Circuit::of_acks(Flow::new(flow)).index()],
        data: InTransit::default(),
        acks: InTransit::default(),
        size,
        start: Time(start),
        stop: stop(config.stop, start),
        base: 0,
        completion: None,
        awaited,
        sender_armed: MaybeTime::NONE,
        receiver_armed: MaybeTime::NONE,
        application,
        proxy: None,
    }
}

/// Creates the application of a connection. Also returns the amount [byte] of its data.
fn application(
    planned: NewApplication,
    config: &FlowConfig,
    new_flow: &NewFlow<'_>,
    phase: Span,
    keeps_order: bool,
) -> (Application, u64) {
    match planned {
        NewApplication::Bulk(size) => (Application::Bulk, size),
        NewApplication::Stream(_) if config.relayed => (Application::Bulk, GREEDY),
        NewApplication::Stream(schedule) => (Application::Stream(Writer::new(schedule)), GREEDY),
        NewApplication::Media(_) if config.relayed => (Application::Bulk, GREEDY),
        NewApplication::Media(encoder) => (Application::Media(encoder), GREEDY),
        NewApplication::Client(client) => {
            let client = Some(client).filter(|_| config.onward.is_none());
            (Application::Requests(Requests::new(client, new_flow, phase)), GREEDY)
        }
        NewApplication::Datagrams(schedule) => (Application::Datagrams(Datagrams::new(schedule, keeps_order)), 0),
        // `arriving` replaces these applications.
        NewApplication::Arrivals => (Application::Bulk, 0),
        NewApplication::External => (Application::External(Box::default()), 0),
    }
}

/// Returns the time [ps] at which the application of a flow starts.
fn start(config: &StartConfig, seed: u64, flow: u64) -> u64 {
    match *config {
        StartConfig::Fixed { at_ps } => at_ps,
        StartConfig::Random { from_ps, over_ps } => from_ps + Stream::new(seed, "start", flow).below(over_ps),
    }
}

/// Returns the time at which an application that starts at `start` stops writing.
fn stop(config: Option<StopConfig>, start: u64) -> MaybeTime {
    config.map_or(MaybeTime::NONE, |config| {
        let at_ps = match config {
            StopConfig::At { at_ps } => at_ps,
            StopConfig::After { after_ps } => start.saturating_add(after_ps),
        };
        Time(at_ps).into()
    })
}

/// Returns the time at which a coarse clock first ticks.
pub(super) fn clock_phase(tcp: &TcpConfig, seed: u64, flow: u64) -> Span {
    let TimerConfig::Coarse { tick_ps, ref phase, .. } = tcp.timer else {
        return Span(0);
    };
    Span(match *phase {
        PhaseConfig::Fixed { at_ps } => at_ps,
        PhaseConfig::Common {} => Stream::new(seed, "clock-phase", 0).below(tick_ps),
        PhaseConfig::PerFlow {} => Stream::new(seed, "clock-phase", flow + 1).below(tick_ps),
    })
}
