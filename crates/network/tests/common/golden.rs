//! Golden scenarios, with the exact results of their runs.
//!
//! ```text
//! golden/scenarios.jsonl   {"part"} ... {"name", "seed", "scenario"} ...   in the format of `compact`
//! golden/results.jsonl     {"engine"} {"name", "hash", "traces", "flows", "ports", "files", "vbr"} ...
//! ```
//!
//! A scenario is kept in the form in which it was resolved when it was added, so fields added later must be optional.

use super::compact;
use super::compare::Watch;
use longpipe_events::{mix, Time};
use longpipe_network::scenario::{Engine, Scenario, TraceConfig};
use longpipe_network::{Probe, Recorder, Report, Simulation};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A scenario to run, and its name.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub seed: u64,
    pub scenario: Value,
}

/// Results of a run.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    pub name: String,
    /// Hash of the final state.
    pub hash: String,
    /// Hash of all traces.
    pub traces: String,
    /// For each flow: bytes delivered, segments sent and retransmitted, timeouts, and fast retransmits.
    pub flows: Vec<[u64; 5]>,
    /// For each link, in cells or packets: arrived, departed, lost to overflow, AQM, discard and injected loss, and
    /// held.
    pub ports: Vec<[u64; 7]>,
    /// Number of completed web files.
    pub files: usize,
    /// Number of cells delivered for each VBR source.
    pub vbr: Vec<u64>,
}

/// All results, and the engine number for which they are valid.
pub struct Results {
    pub engine: u32,
    pub pinned: BTreeMap<String, Pinned>,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"))
}

fn lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
    text.lines().map(parse).collect()
}

fn write(name: &str, lines: impl Iterator<Item = String>) {
    let text: String = lines.map(|line| line + "\n").collect();
    std::fs::write(folder().join(name), text).expect("the folder can be written to");
}

/// Returns all entries, in the order of the file.
pub fn entries() -> Vec<Entry> {
    let (mut parts, mut entries) = (vec![], vec![]);
    for mut line in lines("scenarios.jsonl") {
        if let Some(part) = line.get_mut("part") {
            parts.push(part.take());
            continue;
        }
        entries.push(Entry {
            name: line["name"].as_str().expect("a name").to_owned(),
            seed: line["seed"].as_u64().expect("a seed"),
            scenario: compact::expanded(&line["scenario"], &parts),
        });
    }
    entries
}

/// Writes all entries; repeated values are written only once.
pub fn write_entries(entries: &[Entry]) {
    let scenarios: Vec<&Value> = entries.iter().map(|entry| &entry.scenario).collect();
    let (parts, short) = compact::shortened(&scenarios);
    let parts = parts.into_iter().map(|part| json!({"part": part}).to_string());
    let rows = entries.iter().zip(short).map(|(Entry { name, seed, .. }, scenario)| {
        json!({"name": name, "seed": seed, "scenario": scenario}).to_string()
    });
    write("scenarios.jsonl", parts.chain(rows));
}

/// Returns the recorded results; if there is no file, an empty list for engine 0.
pub fn results() -> Results {
    let mut lines = lines("results.jsonl").into_iter();
    let engine = lines
        .next()
        .map_or(0, |head| head["engine"].as_u64().expect("a number"));
    let parse = |line| serde_json::from_value(line).expect("the results of a run");
    Results {
        engine: engine as u32,
        pinned: lines
            .map(parse)
            .map(|pinned: Pinned| (pinned.name.clone(), pinned))
            .collect(),
    }
}

/// Writes the results of all entries.
pub fn write_results(engine: u32, pinned: &[Pinned]) {
    let rows = pinned.iter().map(|row| serde_json::to_string(row).expect("plain data"));
    write(
        "results.jsonl",
        [json!({"engine": engine}).to_string()].into_iter().chain(rows),
    );
}

impl Entry {
    /// Creates an entry whose numbers can be represented exactly in JSON.
    pub fn new(name: &str, scenario: &Scenario) -> Entry {
        let mut scenario = serde_json::to_value(scenario).expect("a scenario is plain data");
        round(&mut scenario);
        Entry {
            name: name.to_owned(),
            seed: name.bytes().fold(0, |seed, byte| mix(seed ^ u64::from(byte))),
            scenario,
        }
    }

    /// Returns the scenario for an engine.
    pub fn scenario(&self, engine: Engine) -> Scenario {
        let mut scenario =
            Scenario::from_json(&self.scenario.to_string()).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        scenario.engine = engine;
        scenario
    }

    /// Runs the scenario in both engines, with and without a probe.
    ///
    /// # Errors
    /// If two runs differ, returns an error that names them.
    pub fn run(&self) -> Result<Pinned, String> {
        let reference = self.scenario(Engine::Reference);
        let trains = self.scenario(Engine::Trains);
        let all = TraceConfig {
            cwnd: true,
            queue: true,
            sequence: true,
            rtt: true,
            vc_queue: true,
            vc_queue_interval_ps: reference.duration_ps.div_ceil(64),
            ..TraceConfig::default()
        };
        let recorder = Recorder::new(all, trains.flows.len(), trains.links.len());
        let (by_cell, ()) = finished(&reference, self.seed, ());
        let (by_train, ()) = finished(&trains, self.seed, ());
        let watch: Watch = (recorder, (None, None));
        let (watched, (mut recorder, _)) = finished(&trains, self.seed, watch);
        recorder.finish(Time(trains.duration_ps));
        let traces = format!("{:016x}", hash_of(&recorder));
        let [by_cell, by_train, watched] =
            [by_cell, by_train, watched].map(|report| pinned(&self.name, &report, &traces));
        for (other, what) in [(&by_train, "by trains"), (&watched, "by trains, watched")] {
            if let Some(difference) = difference(&by_cell, other) {
                return Err(format!("{}: {what}, not by the reference: {difference}", self.name));
            }
        }
        Ok(by_cell)
    }
}

fn round(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(round),
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().map_or(0.0, |number| (number * 1e6).round() / 1e6);
            *value = json!(rounded);
        }
        _ => {}
    }
}

fn finished<P: Probe>(scenario: &Scenario, seed: u64, probe: P) -> (Report, P) {
    let mut simulation = Simulation::with_probe(scenario, seed, probe).expect("a valid scenario");
    simulation.run();
    let report = simulation.report().expect("what entered is accounted for");
    (report, simulation.into_probe())
}

fn pinned(name: &str, report: &Report, traces: &str) -> Pinned {
    let flows = report.flows.iter().map(|flow| {
        let sender = &flow.sender;
        [
            flow.delivered_bytes,
            sender.sent_segments,
            sender.retransmitted_segments,
            sender.timeouts,
            sender.fast_retransmits,
        ]
    });
    let cells = report.ports.iter().map(|port| {
        [
            port.cells_in,
            port.cells_out,
            port.lost_overflow,
            port.lost_aqm,
            port.lost_discarded,
            port.lost_injected,
            port.held,
        ]
    });
    let packets = report.packet_ports.iter().map(|port| {
        [
            port.packets_in,
            port.packets_out,
            port.lost_overflow,
            port.lost_aqm,
            0,
            port.lost_injected,
            port.packets_held,
        ]
    });
    let files = report.web.iter().flat_map(|web| &web.files);
    Pinned {
        name: name.to_owned(),
        hash: format!("{:016x}", report.state_hash),
        traces: traces.to_owned(),
        flows: flows.collect(),
        ports: cells.chain(packets).collect(),
        files: files.filter(|file| file.completed.is_some()).count(),
        vbr: report.sources.iter().map(|source| source.delivered).collect(),
    }
}

/// Returns a short description of the first difference between two results of the same entry.
pub fn difference(one: &Pinned, other: &Pinned) -> Option<String> {
    if one == other {
        return None;
    }
    let first = |what: &str, one: Vec<String>, other: Vec<String>| {
        let at = one.iter().zip(&other).position(|(one, other)| one != other)?;
        Some(format!("{what} {at} {}, was {}", other[at], one[at]))
    };
    let words = |row: &dyn std::fmt::Debug| format!("{row:?}");
    let flows = [one, other].map(|pinned| pinned.flows.iter().map(|row| words(row)).collect());
    let ports = [one, other].map(|pinned| pinned.ports.iter().map(|row| words(row)).collect());
    let rest = [one, other].map(|pinned| vec![words(&(&pinned.hash, &pinned.traces, pinned.files, &pinned.vbr))]);
    let [one_flows, other_flows] = flows;
    let [one_ports, other_ports] = ports;
    let [one_rest, other_rest] = rest;
    first("flow", one_flows, other_flows)
        .or_else(|| first("port", one_ports, other_ports))
        .or_else(|| first("hash of the state, of the traces, files, VBR", one_rest, other_rest))
        .or(Some("other numbers of flows or ports".to_owned()))
}

/// Returns a hash of all traces, row by row.
fn hash_of(recorder: &Recorder) -> u64 {
    let Recorder {
        windows,
        timers,
        queues,
        vc_queues,
        sequences,
        ..
    } = recorder;
    // All NaN values count as equal.
    let bits = |column: &[f64]| -> Vec<u64> {
        let bits = column
            .iter()
            .map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() });
        bits.collect()
    };
    fn wide<T: Copy + Into<u64>>(column: &[T]) -> Vec<u64> {
        column.iter().map(|&value| value.into()).collect()
    }
    let columns = [
        wide(&windows.time),
        wide(&windows.flow),
        bits(&windows.cwnd),
        bits(&windows.ssthresh),
        wide(&timers.time),
        wide(&timers.flow),
        bits(&timers.rtt),
        bits(&timers.srtt),
        bits(&timers.rto),
        wide(&queues.time),
        wide(&queues.port),
        wide(&queues.held),
        wide(&vc_queues.time),
        wide(&vc_queues.port),
        wide(&vc_queues.vc),
        wide(&vc_queues.held),
        wide(&sequences.time),
        wide(&sequences.flow),
        wide(&sequences.event),
        wide(&sequences.sequence),
        wide(&sequences.length),
        wide(&sequences.retransmission),
    ];
    let words = columns
        .iter()
        .flat_map(|column| [column.len() as u64].into_iter().chain(column.iter().copied()));
    words.fold(0, |hash, word| mix(hash ^ mix(word.wrapping_add(1))).wrapping_add(hash))
}

/// Runs all entries, in order.
pub fn run_all(entries: &[Entry]) -> Vec<Result<Pinned, String>> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(usize, Result<Pinned, String>)> = std::thread::scope(|scope| {
        let work = || {
            let mine = std::iter::from_fn(|| {
                let at = next.fetch_add(1, Ordering::Relaxed);
                entries.get(at).map(|entry| (at, entry.run()))
            });
            mine.collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    found.sort_by_key(|&(at, _)| at);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}
