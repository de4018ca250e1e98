//! Real protocol stacks at the ends of flows.

use crate::columns::float_list;
use crate::errors::{DefectError, ScenarioError, StackDefectError};
use crate::modules::Controls;
use longpipe_control::heartbeat;
use longpipe_end::{Ecn, End, Outbox, PacketEvent, ProgramReport, Report as EndReport, State};
use longpipe_lockstep::linux::guest::{Environment, Kernel};
use longpipe_lockstep::registry::Creator;
use longpipe_lockstep::{registry, FlowEnds, Lockstep, StackError};
use longpipe_network::scenario::TrafficConfig;
use longpipe_network::{Probe, Report, Scenario, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Reports of the end points of flows, and a hash over all outcomes of the path.
#[derive(Default)]
pub(crate) struct Ends {
    flows: Vec<FlowEnds>,
    decisions: u64,
}

/// Number of time steps between two checks for Ctrl-C; these steps take about 20 ms.
const INSTANTS: u64 = 2_000;

/// Loads the object with the stacks, once per process. Returns the names of its stacks, such as "quinn 0.11.19, noq
/// 1.4.0".
#[pyfunction]
pub(crate) fn register_stacks(file: PathBuf) -> PyResult<String> {
    registry::register(&file).map_err(ScenarioError::new_err)
}

/// Loads a user's object with stacks, which scenarios identify by `digest`. Returns the names of its stacks, such as
/// "mine 1, other 2".
#[pyfunction]
pub(crate) fn register_own_object(py: Python<'_>, digest: &str, file: PathBuf) -> PyResult<String> {
    let registered =
        py.detach(|| heartbeat::while_loading(|| heartbeat::during(|| registry::register_object(digest, &file))));
    registered.map_err(ScenarioError::new_err)
}

/// Registers a user's program, which scenarios identify by `digest`. The program is given as a file and its arguments.
#[pyfunction]
pub(crate) fn register_own_program(digest: &str, words: Vec<String>) {
    registry::register_program(digest, words);
}

/// Registers user-mode Linux: the kernel, the library that is preloaded into it, the folder with the guest's first
/// process, the folder with the kernel's modules, and the environment of the user's programs: working directory, PATH
/// and Python interpreter.
#[pyfunction]
pub(crate) fn register_linux(
    program: PathBuf,
    preload: PathBuf,
    folder: PathBuf,
    modules: PathBuf,
    environment: (PathBuf, String, PathBuf),
) {
    let (directory, search, python) = environment;
    registry::register_linux(Kernel {
        program,
        preload,
        folder,
        modules,
        environment: Environment {
            directory,
            search,
            python,
        },
    });
}

/// Runs a scenario with stacks to its end.
pub(crate) fn complete<P: Probe + Send>(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    probe: P,
    controls: &Controls,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Report, Simulation<P>, Ends)> {
    // Stacks run without holding the interpreter lock, because the watchdog needs it.
    let created = py.detach(|| {
        let mut creator = Creator::new(scenario);
        Lockstep::new(scenario, seed, probe, &mut |flow, config, setup| {
            Ok(Box::new(Watched(heartbeat::during(|| {
                creator.create(flow, config, setup)
            })?)))
        })
    });
    let mut run = created.map_err(raised)?;
    while py.detach(|| run.advance(INSTANTS)).map_err(raised)? {
        py.check_signals()?;
        controls.failure(py)?;
        if let Some(callback) = &progress {
            callback.call1(py, (run.progress(),))?;
        }
    }
    controls.failure(py)?;
    let (report, flows) = py.detach(|| run.report()).map_err(raised)?;
    let decisions = run.decisions();
    Ok((report, run.into_simulation(), Ends { flows, decisions }))
}

/// An end point whose calls the watchdog of this process can observe.
struct Watched(Box<dyn End>);

impl End for Watched {
    fn header_bytes(&self) -> u32 {
        self.0.header_bytes()
    }

    fn shares_machine(&self) -> bool {
        self.0.shares_machine()
    }

    fn due(&mut self) -> u64 {
        heartbeat::during(|| self.0.due())
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        heartbeat::during(|| self.0.wake(now, outbox))
    }

    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        heartbeat::during(|| self.0.receive(now, payload, ecn))
    }

    fn receive_on(&mut self, now: u64, path: u8, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        heartbeat::during(|| self.0.receive_on(now, path, payload, ecn))
    }

    fn state(&mut self) -> State {
        heartbeat::during(|| self.0.state())
    }

    fn packets(&mut self, events: &mut Vec<PacketEvent>) {
        heartbeat::during(|| self.0.packets(events));
    }

    fn report(&mut self) -> EndReport {
        heartbeat::during(|| self.0.report())
    }

    fn program(&mut self) -> Option<ProgramReport> {
        self.0.program()
    }

    fn failure(&mut self) -> Option<String> {
        self.0.failure()
    }
}

fn raised(error: StackError) -> PyErr {
    match error {
        StackError::Scenario(line) => ScenarioError::new_err(line),
        StackError::Defect(line) => StackDefectError::new_err(line),
        StackError::Counters(line) => DefectError::new_err(line),
    }
}

/// Returns one row per flow with a stack, which contains its state at the end of the run; values that the stack does
/// not report are NaN.
pub(crate) fn columns<'py>(py: Python<'py>, scenario: &Scenario, ends: &Ends) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let (ends, decisions) = (&ends.flows, format!("{:016x}", ends.decisions));
    if ends.is_empty() {
        return Ok(columns);
    }
    let config = |ends: &FlowEnds| match &scenario.flows[ends.connection].traffic {
        TrafficConfig::Stack(config) => config,
        _ => unreachable!("ends belong to flows with stacks"),
    };
    let texts = |of: &dyn Fn(&FlowEnds) -> String| ends.iter().map(of).collect::<Vec<String>>();
    columns.set_item("flow", texts(&|ends| scenario.flows[ends.flow].name.clone()))?;
    columns.set_item("stack", texts(&|ends| config(ends).stack.clone()))?;
    columns.set_item("version", texts(&|ends| config(ends).version.clone()))?;
    columns.set_item("decisions", texts(&|_| decisions.clone()))?;
    let seconds = |ps: Option<u64>| ps.map_or(f64::NAN, |ps| ps as f64 / 1e12);
    // The client's handshake is complete half a round trip earlier than the server's.
    let client = |ends: &FlowEnds| {
        [ends.sender.handshake_ps, ends.receiver.handshake_ps]
            .into_iter()
            .flatten()
            .min()
    };
    let handshakes = ends.iter().map(|ends| seconds(client(ends)));
    columns.set_item("handshake_s", float_list(handshakes))?;
    let closed = |ends: &FlowEnds| {
        let closes = [&ends.sender.closed, &ends.receiver.closed];
        closes.into_iter().flatten().min().cloned()
    };
    let times = ends.iter().map(|ends| seconds(closed(ends).map(|(at, _)| at)));
    columns.set_item("closed_s", float_list(times))?;
    columns.set_item(
        "closed",
        texts(&|ends| closed(ends).map_or_else(String::new, |(_, why)| why)),
    )?;
    let all = |ends: &FlowEnds| {
        let own = &ends.sender.values;
        // Only the receiver measures response times and the delays of frames.
        let is_own = |name: &str| own.iter().any(|(value_name, _)| value_name == name);
        let receiver_only = ends.receiver.values.iter().filter(|(name, _)| !is_own(name));
        own.iter().chain(receiver_only).cloned().collect::<Vec<(String, f64)>>()
    };
    let names: BTreeSet<String> = ends.iter().flat_map(&all).map(|(name, _)| name).collect();
    for name in names {
        let value = |ends: &FlowEnds| {
            let value_of_name = all(ends).into_iter().find(|(value_name, _)| *value_name == name);
            value_of_name.map_or(f64::NAN, |(_, value)| value)
        };
        columns.set_item(&name, float_list(ends.iter().map(value)))?;
    }
    Ok(columns)
}

/// Returns one row per user program at a host, in the order of the flows; the sender's program precedes the receiver's.
pub(crate) fn programs<'py>(py: Python<'py>, scenario: &Scenario, ends: &Ends) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows: Vec<(&FlowEnds, usize, &ProgramReport)> = ends
        .flows
        .iter()
        .flat_map(|ends| {
            let programs = ends.programs.iter().enumerate();
            programs.filter_map(move |(end, program)| program.as_ref().map(|program| (ends, end, program)))
        })
        .collect();
    if rows.is_empty() {
        return Ok(columns);
    }
    let host = |ends: &FlowEnds, end: usize| {
        let names = scenario.host_names(&scenario.flows[ends.flow]);
        names.map_or("", |names| names[end])
    };
    let texts = |of: &dyn Fn(&ProgramReport) -> String| rows.iter().map(|row| of(row.2)).collect::<Vec<String>>();
    let numbers =
        |of: &dyn Fn(&ProgramReport) -> Option<f64>| float_list(rows.iter().map(|row| of(row.2).unwrap_or(f64::NAN)));
    let seconds = |ps: Option<u64>| ps.map(|ps| ps as f64 / 1e12);
    let flows: Vec<&str> = rows
        .iter()
        .map(|row| scenario.flows[row.0.flow].name.as_str())
        .collect();
    columns.set_item("flow", flows)?;
    columns.set_item("host", rows.iter().map(|row| host(row.0, row.1)).collect::<Vec<&str>>())?;
    let fields: Vec<&str> = rows.iter().map(|row| ["command", "serve"][row.1]).collect();
    columns.set_item("field", fields)?;
    columns.set_item("program", texts(&|program| command_line(&program.words)))?;
    columns.set_item("started_s", numbers(&|program| seconds(program.started_ps)))?;
    columns.set_item("ended_s", numbers(&|program| seconds(program.ended_ps)))?;
    columns.set_item(
        "exit_code",
        numbers(&|program| program.exit_code.map(|code| code as f64)),
    )?;
    columns.set_item("output", texts(&|program| program.output.clone()))?;
    columns.set_item("errors", texts(&|program| program.errors.clone()))?;
    Ok(columns)
}

/// Joins words to a command line for a shell.
fn command_line(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: &String| match word.chars().all(is_plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<String>>().join(" ")
}
