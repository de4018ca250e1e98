//! Comparison of all ways to run a scenario: both engines, with and without probes, in one step or in several.

use super::invariants::{check_report, Trail};
use super::transfers_agree;
use super::witness::Witness;
use longpipe_events::{Stream, Time};
use longpipe_network::observe::traces::DropTrace;
use longpipe_network::report::packets::PacketReport;
use longpipe_network::scenario::access::StationAction;
use longpipe_network::scenario::{Engine, FlowConfig, Framing, Scenario, TraceConfig, TrafficConfig};
use longpipe_network::simulation::{Divided, Threads};
use longpipe_network::{DropCause, Probe, Recorder, Report, Simulation};
use longpipe_tcp::journal::attribution::Totals;
use proptest::test_runner::TestCaseError;
use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;
use strum::VariantArray;

/// Number of events after which a run is considered endless.
pub const MANY_EVENTS: u64 = 20_000_000;
/// Number of events between two checks of the limit `MANY_EVENTS`.
const CHUNK: u64 = 100_000;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Short description, which is the same for all failures of one kind.
    pub kind: String,
    /// Details of this failure.
    pub detail: String,
}

/// Results of a run.
pub struct Finished<P> {
    /// Report, except for the number of events.
    report: Report,
    /// Effects of the window reductions of each flow, by cause.
    reductions: Vec<Totals>,
    probe: P,
}

/// The probe of all watched runs: a recorder, a check of every packet, and a record of every packet. Every type of probe
/// costs a compilation of all engines, which takes ten seconds, so runs that need only a part of it use this type, too.
pub type Watch = (Recorder, (Option<Trail>, Option<Witness>));

type Outcome<P> = Result<Finished<P>, Finding>;

/// Returns all failures of a scenario's runs; a run fails if it takes more than `most_events` events.
pub fn findings(scenario: &Scenario, seed: u64, most_events: u64) -> Vec<Finding> {
    let mut found = vec![];
    let run = Run {
        scenario,
        seed,
        most_events,
    };
    let probes = || -> Watch {
        let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
        (recorder, (Some(Trail::new(scenario)), None))
    };
    let reference = run.whole(Engine::Reference, (), "reference");
    let trains = run.whole(Engine::Trains, (), "trains");
    let mut watched = [
        run.whole(Engine::Reference, probes(), "reference watched"),
        run.whole(Engine::Trains, probes(), "trains watched"),
    ];
    let (engine, name, whole) = match seed & 1 {
        0 => (Engine::Reference, "reference bit by bit", &reference),
        _ => (Engine::Trains, "trains bit by bit", &trains),
    };
    let in_bits = run.by(engine, (), name, &mut bits(seed));
    let mut keep = |outcome: Result<(), Finding>| found.extend(outcome.err());
    keep(same("engines differ", &reference, &trains));
    keep(same("reference differs where it is watched", &reference, &watched[0]));
    keep(same("trains differ where they are watched", &trains, &watched[1]));
    for finished in watched.iter_mut().flatten() {
        finished.probe.0.finish(Time(scenario.duration_ps));
    }
    if let [Ok(by_cell), Ok(by_train)] = &watched {
        keep(same_records(&by_cell.probe.0, &by_train.probe.0));
    }
    for finished in watched.iter().flatten() {
        let (report, (recorder, (trail, _))) = (&finished.report, &finished.probe);
        keep(counts_agree(scenario, report, recorder));
        keep(check_report(scenario, report));
        keep(trail.as_ref().map_or(Ok(()), |trail| trail.broken.clone()));
    }
    keep(same("a run differs where it goes bit by bit", whole, &in_bits));
    let failed = [reference.err(), trains.err(), in_bits.err()].into_iter().flatten();
    let failed_watched = watched.into_iter().filter_map(Result::err);
    // Failures of a single run come before differences between runs.
    failed.chain(failed_watched).chain(found).collect()
}

/// Returns the first failure, as an error of proptest.
pub fn compare(scenario: &Scenario, seed: u64) -> Result<(), TestCaseError> {
    failed(findings(scenario, seed, MANY_EVENTS))
}

/// Compares the engines without probes; otherwise, it works as `compare` does.
pub fn compare_engines(scenario: &Scenario, seed: u64) -> Result<(), TestCaseError> {
    let run = Run {
        scenario,
        seed,
        most_events: MANY_EVENTS,
    };
    let reference = run.whole(Engine::Reference, (), "reference");
    let trains = run.whole(Engine::Trains, (), "trains");
    let differ = same("engines differ", &reference, &trains);
    failed(
        [differ.err(), reference.err(), trains.err()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

/// Compares a run on several threads with one on one thread. Returns the reason if the scenario runs on one thread.
pub fn compare_threads(scenario: &Scenario, seed: u64, threads: Threads) -> Result<Option<String>, TestCaseError> {
    let scenario = &Scenario {
        engine: Engine::Trains,
        traces: TraceConfig::default(),
        ..scenario.clone()
    };
    let run = Run {
        scenario,
        seed,
        most_events: MANY_EVENTS,
    };
    let finding = |kind: &str, detail: String| Finding {
        kind: format!("{threads:?}: {kind}"),
        detail,
    };
    let divided = caught(|| {
        let simulation = Simulation::divided(scenario, seed, threads, &mut |_| true);
        match simulation.map_err(|error| finding("refused", error.to_string()))? {
            Divided::Sequential(reason) => Ok(Err(reason)),
            Divided::Interrupted => Err(finding("interrupted", String::new())),
            Divided::Ended(mut simulation, _) => {
                let report = simulation.report();
                let report = report.map_err(|error| finding("invariant broken", error.to_string()))?;
                Ok(Ok(Finished {
                    report: Report { events: 0, ..report },
                    reductions: simulation.reductions(),
                    probe: (),
                }))
            }
        }
    });
    let divided = divided.unwrap_or_else(|panic| Err(finding(&format!("panic {}", panic.place), panic.text)));
    let divided = match divided {
        Ok(Err(reason)) => return Ok(Some(reason)),
        Ok(Ok(finished)) => Ok(finished),
        Err(found) => Err(found),
    };
    let whole = run.whole(Engine::Trains, (), "trains");
    let differ = same(&format!("{threads:?} differs"), &whole, &divided);
    failed([differ.err(), divided.err()].into_iter().flatten().collect())?;
    Ok(None)
}

fn failed(found: Vec<Finding>) -> Result<(), TestCaseError> {
    match found.into_iter().next() {
        None => Ok(()),
        Some(Finding { kind, detail }) => Err(TestCaseError::fail(format!("{kind}: {detail}"))),
    }
}

/// Returns a generator of step sizes; some steps have few events, others have many.
fn bits(seed: u64) -> impl FnMut() -> u64 {
    let mut stream = Stream::new(seed, "bits", 0);
    let max = [1, 3, 40, 1000][stream.below(4) as usize];
    move || 1 + stream.below(max)
}

/// A scenario, with methods that run it in different ways.
struct Run<'a> {
    scenario: &'a Scenario,
    seed: u64,
    most_events: u64,
}

impl Run<'_> {
    fn whole<P: Probe>(&self, engine: Engine, probe: P, name: &str) -> Outcome<P> {
        self.by(engine, probe, name, &mut || CHUNK)
    }

    fn by<P: Probe>(&self, engine: Engine, probe: P, name: &str, chunk: &mut dyn FnMut() -> u64) -> Outcome<P> {
        let finding = |kind: &str, detail: String| Finding {
            kind: format!("{name}: {kind}"),
            detail,
        };
        let mut scenario = self.scenario.clone();
        scenario.engine = engine;
        let outcome = caught(|| {
            let mut simulation = match Simulation::with_probe(&scenario, self.seed, probe) {
                Ok(simulation) => simulation,
                Err(error) => return Err(finding("refused", error.to_string())),
            };
            let mut left = self.most_events;
            loop {
                let events = chunk();
                if !simulation.advance(events) {
                    break;
                }
                left = left.saturating_sub(events);
                if left == 0 {
                    let detail = format!("{} of it is over", simulation.progress());
                    return Err(finding("no end", detail));
                }
            }
            match simulation.report() {
                Ok(report) => Ok(Finished {
                    report: Report { events: 0, ..report },
                    reductions: simulation.reductions(),
                    probe: simulation.into_probe(),
                }),
                Err(error) => Err(finding("invariant broken", error.to_string())),
            }
        });
        outcome.unwrap_or_else(|panic| Err(finding(&format!("panic {}", panic.place), panic.text)))
    }
}

/// Compares two runs if both succeeded.
fn same<P, Q>(kind: &str, one: &Outcome<P>, other: &Outcome<Q>) -> Result<(), Finding> {
    let (Ok(one), Ok(other)) = (one, other) else {
        return Ok(());
    };
    let reductions = first_difference("reductions", &one.reductions, &other.reductions);
    let (one, other) = (&one.report, &other.report);
    let fail = |detail: String| {
        Err(Finding {
            kind: kind.to_owned(),
            detail,
        })
    };
    let parts = [
        first_difference("flow", &one.flows, &other.flows),
        first_difference("web", &one.web, &other.web),
        first_difference("port", &one.ports, &other.ports),
        first_difference("packet port", &one.packet_ports, &other.packet_ports),
        first_difference("queue", &one.queues, &other.queues),
        first_difference("class", &one.classes, &other.classes),
        first_difference("arriving flows", &one.arrived, &other.arrived),
        first_difference("datagrams", &one.datagrams, &other.datagrams),
        first_difference("proxy", &one.proxies, &other.proxies),
        // The mean of an empty set of delays is NaN, which does not equal itself.
        first_difference("source", &debug(&one.sources), &debug(&other.sources)),
        reductions,
    ];
    match parts.into_iter().flatten().next() {
        Some(part) => fail(part),
        None if one.state_hash != other.state_hash => fail("the state alone".to_owned()),
        None => Ok(()),
    }
}

fn debug<T: Debug>(rows: &[T]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

fn first_difference<T: Debug + PartialEq>(name: &str, one: &[T], other: &[T]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} and {} rows of {name}", one.len(), other.len()));
    }
    let at = (0..one.len()).find(|&at| one[at] != other[at])?;
    Some(format!("{name} {at}:\n  {:?}\n  {:?}", one[at], other[at]))
}

fn same_records(one: &Recorder, other: &Recorder) -> Result<(), Finding> {
    let bits = |column: &[f64]| column.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    let timers = |recorder: &Recorder| {
        let timers = &recorder.timers;
        let columns = [&timers.rtt, &timers.srtt, &timers.rto].map(|column| bits(column));
        (timers.time.clone(), timers.flow.clone(), columns)
    };
    let controls = |recorder: &Recorder| {
        let controls = &recorder.controls;
        let rates = [&controls.pacing, &controls.bandwidth].map(|column| bits(column));
        let numbers = [&controls.stage, &controls.state].map(Clone::clone);
        (controls.time.clone(), controls.flow.clone(), numbers, rates)
    };
    let vc_queues = |recorder: &Recorder| {
        let queues = &recorder.vc_queues;
        (
            queues.time.clone(),
            queues.port.clone(),
            queues.vc.clone(),
            queues.held.clone(),
        )
    };
    let events = |recorder: &Recorder| {
        let events = &recorder.events;
        let numbers = [&events.event, &events.cause, &events.drop_cause].map(Clone::clone);
        let places = [&events.time, &events.sequence, &events.length].map(Clone::clone);
        let windows = [&events.cwnd, &events.ssthresh].map(|column| bits(column));
        (events.flow.clone(), numbers, places, windows)
    };
    let differing = [
        ("queues", one.queues != other.queues),
        ("windows", one.windows != other.windows),
        ("sequences", one.sequences != other.sequences),
        ("controls", controls(one) != controls(other)),
        ("timers", timers(one) != timers(other)),
        ("queues of VCs", vc_queues(one) != vc_queues(other)),
        ("delays", one.delays != other.delays),
        ("drops", one.drops != other.drops),
        ("grants", one.grants != other.grants),
        ("events", events(one) != events(other)),
        ("arrivals", one.arrivals != other.arrivals),
        ("flights", one.flights != other.flights),
    ];
    match differing.into_iter().find(|&(_, differ)| differ) {
        None => Ok(()),
        Some((name, _)) => Err(Finding {
            kind: format!("{name} differ over time between the engines"),
            detail: String::new(),
        }),
    }
}

/// Returns the packets that ports count as lost, by the cause to whose counter they belong.
fn losses(report: &Report) -> [(DropCause, u64); 8] {
    let sum = |count: fn(&PacketReport) -> u64| report.packet_ports.iter().map(count).sum();
    let outage = |port: &PacketReport| port.motion.map_or(0, |motion| motion.lost_outage + motion.lost_on_wire);
    [
        (DropCause::Overflow, sum(|port| port.lost_overflow)),
        (DropCause::Aqm, sum(|port| port.lost_aqm)),
        (DropCause::InjectedLoss, sum(|port| port.lost_injected)),
        (DropCause::Policer, sum(|port| port.lost_policer)),
        (DropCause::Access, sum(|port| port.lost_access)),
        (DropCause::Outage, sum(outage)),
        (DropCause::BitError, sum(|port| port.corrupted)),
        (DropCause::NoRoute, sum(|port| port.no_route)),
    ]
}

fn is_arriving(flow: &FlowConfig) -> bool {
    matches!(flow.traffic, TrafficConfig::FlowArrivals(_))
}

/// Checks that traces agree with the counters of the report, and that files are complete if all their bytes arrived.
fn counts_agree(scenario: &Scenario, report: &Report, recorder: &Recorder) -> Result<(), Finding> {
    let unequal = |kind: &str, recorded: u64, counted: u64| Finding {
        kind: kind.to_owned(),
        detail: format!("{recorded} and {counted}"),
    };
    // Datagrams are not TCP segments, and the connections of arriving flows are not recorded.
    let flows = report
        .flows
        .iter()
        .zip(&scenario.flows)
        .filter(|(_, config)| !config.traffic.is_datagrams() && !is_arriving(config));
    let sent: u64 = flows.map(|(flow, _)| flow.sender.sent_segments).sum();
    let recorded = recorder.sequences.event.iter().filter(|&&event| event == 0).count() as u64;
    // Window probes are recorded but are not segments of the sender.
    let recorded_proxies = report
        .proxies
        .iter()
        .filter(|proxy| !is_arriving(&scenario.flows[proxy.flow]));
    let window_probes: u64 = recorded_proxies.map(|proxy| proxy.window_probes).sum();
    if scenario.traces.sequence && recorded != sent + window_probes {
        return Err(unequal("not all segments are recorded", recorded, sent + window_probes));
    }
    let frames = report
        .ports
        .iter()
        .filter(|port| port.mean_queue.is_some())
        .map(|port| port.frames_in);
    let routers = || report.packet_ports.iter().filter(|port| !port.host);
    let packets = routers().map(|port| port.packets_in);
    let arrived: u64 = frames.chain(packets).sum();
    let recorded = recorder.queues.held.len() as u64;
    if scenario.traces.queue && recorded != arrived {
        return Err(unequal("not all queues are recorded", recorded, arrived));
    }
    // If there are outages, packets with a known departure time may still be dropped.
    let is_static = scenario.links.iter().all(|link| link.motion.is_none());
    let left: u64 = routers().map(|port| port.packets_out).sum();
    let recorded = recorder.delays.delay.len() as u64;
    if scenario.traces.delay && is_static && recorded != left {
        return Err(unequal("not all delays are recorded", recorded, left));
    }
    for (counted_as, counted) in losses(report) {
        let causes: Vec<_> = DropCause::VARIANTS
            .iter()
            .filter(|cause| cause.counted_as() == counted_as)
            .collect();
        let has_cause = |number: &&u8| causes.iter().any(|&&cause| cause as u8 == **number);
        let recorded = recorder.drops.cause.iter().filter(has_cause).count() as u64;
        if scenario.traces.drops && scenario.framing == Framing::Ip && recorded != counted {
            let kind = format!("not all drops are recorded: {}", counted_as.name());
            return Err(unequal(&kind, recorded, counted));
        }
    }
    if scenario.traces.grants {
        let used = report.packet_ports.iter().filter_map(|port| port.access);
        let used: u64 = used.map(|access| access.used).sum();
        let is_transmission = |action: &&u8| **action == StationAction::Transmission as u8;
        let recorded = recorder.grants.action.iter().filter(is_transmission).count() as u64;
        if recorded != used {
            return Err(unequal("not all transmissions are recorded", recorded, used));
        }
    }
    let marked: u64 = report.packet_ports.iter().map(|port| port.packets_marked).sum();
    let is_mark = |cause: &&u8| **cause == DropTrace::MARKED;
    let recorded = recorder.drops.cause.iter().filter(is_mark).count() as u64;
    if scenario.traces.drops && recorded != marked {
        return Err(unequal("not all marks are recorded", recorded, marked));
    }
    if scenario.traces.arrivals {
        let mut arrived = vec![0; report.flows.len()];
        for (&flow, &bytes) in recorder.arrivals.flow.iter().zip(&recorder.arrivals.bytes) {
            arrived[flow as usize] += u64::from(bytes);
        }
        // A receiver delivers only the data before the first gap.
        if let Some((arrived, flow)) = arrived
            .into_iter()
            .zip(&report.flows)
            .find(|&(arrived, flow)| arrived < flow.delivered_bytes)
        {
            return Err(unequal("not all arrivals are recorded", arrived, flow.delivered_bytes));
        }
    }
    if !transfers_agree(scenario, report) {
        return Err(unequal("files are complete without all bytes, or not with them", 0, 0));
    }
    Ok(())
}

/// A panic and its location.
pub struct Panic {
    place: String,
    text: String,
}

thread_local! {
    /// The latest panic that was caught, if any.
    static CAUGHT: RefCell<Option<Option<Panic>>> = const { RefCell::new(None) };
}

/// Returns the result of a call, or its panic, without printing the panic.
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let catching = CAUGHT.with_borrow(Option::is_some);
            if !catching {
                return usual(info);
            }
            let place = info
                .location()
                .map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
            let text = text.unwrap_or_default();
            CAUGHT.set(Some(Some(Panic { place, text })));
        }));
    });
    let before = CAUGHT.replace(Some(None));
    let outcome = catch_unwind(AssertUnwindSafe(call));
    let panic = CAUGHT.replace(before).flatten();
    outcome.map_err(|_| {
        panic.unwrap_or(Panic {
            place: String::new(),
            text: String::new(),
        })
    })
}
