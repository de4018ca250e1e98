//! Python bindings of the core. They take a resolved scenario, return columns, and contain no simulation logic.

mod capture;
mod columns;
mod compiled;
mod datagrams;
mod endpoint;
mod environments;
mod errors;
#[cfg(target_os = "linux")]
mod live;
mod modules;
mod own_control;
mod packet_ports;
mod records;
mod reductions;
#[cfg_attr(not(target_os = "linux"), path = "no_stacks.rs")]
mod stacks;
mod tables;
mod topology;
mod traces;
mod units;

use errors::{ControlError, DefectError, MemoryLimitError, ScenarioError, StackDefectError};
use longpipe_events::Time;
use longpipe_network::defect::{guarded, Ended};
use longpipe_network::report::Report;
use longpipe_network::scenario::conditioners::ConditionerConfig;
use longpipe_network::scenario::written::{NetworkInput, OnOffInput, ScenarioInput, SwitchInput, VbrFlowInput};
use longpipe_network::scenario::{self, Scenario};
use longpipe_network::simulation::{Divided, Threads};
use longpipe_network::{Recorder, Simulation};
use longpipe_tcp::config;
use longpipe_tcp::described::{self, Described, Part};
use modules::Controls;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stacks::Ends;
use std::collections::BTreeMap;
use std::path::PathBuf;
use strum::{IntoEnumIterator, VariantNames};

/// Number of events between two checks for Python's signals; these events take about 20 ms.
const CHUNK: u64 = 200_000;

/// Runs a resolved scenario. Releases the interpreter lock, and stops on Ctrl-C.
///
/// `captures` are tuples of kind (host, link), index of the node or link, and path of the file. Raises DefectError if
/// the core panics or its counters are inconsistent, and MemoryLimitError if the run needs more than `memory_bytes`.
/// With `keep_state`, the result includes the delay statistics of each datagram flow (`delays`), and for each link of IP
/// packets the credits of its token buckets as (bytes, bytes at the peak rate): of policers, then of the shaper
/// (`token_credits`).
///
/// The run uses up to `threads` threads, with `if_faster` only if they are expected to be faster than one. The results
/// are the same, except for `events`; `one_thread` is the reason why one thread was used, or None.
#[pyfunction]
#[pyo3(signature = (
    scenario_json, seed, progress=None, captures=vec![], memory_bytes=u64::MAX, *, keep_state=false, threads=1,
    if_faster=false
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
    captures: Vec<(String, usize, PathBuf)>,
    memory_bytes: u64,
    keep_state: bool,
    threads: usize,
    if_faster: bool,
) -> PyResult<Py<PyDict>> {
    let threads = match if_faster {
        true => Threads::IfFaster(threads),
        false => Threads::UpTo(threads),
    };
    guarded(memory_bytes, || {
        results(py, (scenario_json, seed, threads), progress, &captures, keep_state)
    })
    .unwrap_or_else(|ended| {
        Err(match ended {
            Ended::Defect(line) => DefectError::new_err(line),
            Ended::Memory(limit) => MemoryLimitError::new_err((limit.needed, limit.limit)),
        })
    })
}

/// Returns the results of a run as columns.
fn results(
    py: Python<'_>,
    (scenario_json, seed, threads): (&str, u64, Threads),
    progress: Option<Py<PyAny>>,
    captures: &[(String, usize, PathBuf)],
    keep_state: bool,
) -> PyResult<Py<PyDict>> {
    let (scenario, controls) = modules::scenario(py, scenario_json, false)?;
    let traces = scenario.traces;
    let recorder = Recorder::new(traces, scenario.flows.len(), scenario.links.len());
    let result = PyDict::new(py);
    let mut one_thread = Some("packets are captured in the order of events".to_owned());
    let (report, reductions, ends) = if traces.any() || !captures.is_empty() {
        if traces.any() {
            one_thread = Some("traces are in the order of events".to_owned());
        }
        let files = capture::open(&scenario, captures)?;
        let (report, simulation, ends) = complete(py, &scenario, seed, (recorder, files), &controls, progress)?;
        let reductions = simulation.reductions();
        let (mut recorder, files) = simulation.into_probe();
        recorder.finish(Time(scenario.duration_ps));
        result.set_item("traces", traces::tables(py, &scenario, recorder)?)?;
        result.set_item("captures", capture::columns(py, files)?)?;
        (report, reductions, ends)
    } else {
        let (report, simulation, ends) = match divided(py, &scenario, seed, threads, progress.as_ref())? {
            Ok((report, simulation)) => {
                one_thread = None;
                (report, simulation, Ends::default())
            }
            Err(reason) => {
                one_thread = Some(reason);
                complete(py, &scenario, seed, (), &controls, progress)?
            }
        };
        result.set_item("traces", PyDict::new(py))?;
        (report, simulation.reductions(), ends)
    };
    result.set_item("reductions", reductions::columns(py, &scenario, &reductions)?)?;
    tables::add(&result, &scenario, &report)?;
    if keep_state {
        result.set_item("delays", datagrams::delay_statistics(&report))?;
        result.set_item("token_credits", packet_ports::token_credits(&report))?;
    }
    result.set_item("modules", modules::columns(py, &controls)?)?;
    result.set_item("stacks", stacks::columns(py, &scenario, &ends)?)?;
    result.set_item("programs", stacks::programs(py, &scenario, &ends)?)?;
    result.set_item("state_hash", format!("{:016x}", report.state_hash))?;
    result.set_item("events", report.events)?;
    result.set_item("one_thread", one_thread)?;
    Ok(result.unbind())
}

/// Completes a run on several threads. Returns the reason if it must run on one thread.
fn divided(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    threads: Threads,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Result<(Report, Simulation<()>), String>> {
    if threads.at_most() < 2 {
        return Ok(Err(String::new()));
    }
    let mut raised = None;
    let mut on_progress = |share: f64| {
        let reported = Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |callback| callback.call1(py, (share,)).map(drop))
        });
        raised = reported.err();
        raised.is_none()
    };
    let ran = py.detach(|| Simulation::divided(scenario, seed, threads, &mut on_progress));
    match ran.map_err(|error| ScenarioError::new_err(error.to_string()))? {
        Divided::Sequential(reason) => Ok(Err(reason)),
        Divided::Interrupted => Err(raised.unwrap_or_else(|| DefectError::new_err("a run ended early"))),
        Divided::Ended(mut simulation, _) => {
            let report = simulation
                .report()
                .map_err(|error| DefectError::new_err(error.to_string()))?;
            Ok(Ok((report, simulation)))
        }
    }
}

fn complete<P: longpipe_network::Probe + Send>(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    probe: P,
    controls: &Controls,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Report, Simulation<P>, Ends)> {
    if has_stacks(scenario) {
        return stacks::complete(py, scenario, seed, probe, controls, progress);
    }
    let mut simulation =
        Simulation::with_probe(scenario, seed, probe).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    while py.detach(|| simulation.advance(CHUNK)) {
        py.check_signals()?;
        controls.failure(py)?;
        if let Some(callback) = &progress {
            callback.call1(py, (simulation.progress(),))?;
        }
    }
    controls.failure(py)?;
    let report = simulation
        .report()
        .map_err(|error| DefectError::new_err(error.to_string()))?;
    Ok((report, simulation, Ends::default()))
}

/// Returns whether any flow has real protocol stacks as its end points.
fn has_stacks(scenario: &Scenario) -> bool {
    let mut flows = scenario.flows.iter();
    flows.any(|flow| matches!(flow.traffic, scenario::TrafficConfig::Stack(_)))
}

/// Returns the names of all variants of each kind, as resolved scenarios use them.
#[pyfunction]
fn variant_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for (kind, variants) in [
        ("engine", scenario::Engine::VARIANTS),
        ("framing", scenario::Framing::VARIANTS),
        ("buffer_unit", scenario::BufferUnit::VARIANTS),
        ("ties", scenario::Ties::VARIANTS),
        ("node", scenario::NodeKind::VARIANTS),
    ] {
        names.set_item(kind, variants)?;
    }
    Ok(names)
}

/// Returns the facts that each kind declares, as JSON: by the part of a scenario, and by the kind.
#[pyfunction]
fn kind_facts() -> PyResult<String> {
    let facts = serde_json::json!({
        "traffic": scenario::TrafficConfig::kinds().collect::<BTreeMap<_, _>>(),
    });
    Ok(facts.to_string())
}

/// Returns the descriptions from which Python's models are generated, as JSON: by the part of a scenario, and its kinds
/// in order, each with the facts that it declares and its fields.
#[pyfunction]
fn descriptions() -> PyResult<String> {
    fn with_facts<P: Described>(facts: impl Iterator<Item = serde_json::Value>) -> serde_json::Value {
        let kinds = described::kinds::<P>().into_iter().zip(facts);
        kinds
            .map(|((kind, part), facts)| serde_json::json!({"kind": kind, "facts": facts, "part": part}))
            .collect()
    }
    fn without_facts<P: Described>() -> serde_json::Value {
        with_facts::<P>(std::iter::repeat(serde_json::json!({})))
    }
    fn without_kinds<const COUNT: usize>(parts: [Part; COUNT]) -> serde_json::Value {
        let parts = parts.into_iter();
        parts
            .map(|part| serde_json::json!({"kind": "", "facts": {}, "part": part}))
            .collect()
    }
    let traffic = without_facts::<scenario::TrafficConfig>();
    // Stacks transport requests of web traffic, too.
    let kinds = traffic.as_array().into_iter().flatten();
    let web: Vec<_> = kinds.filter(|kind| kind["kind"] == "web").collect();
    let descriptions = serde_json::json!({
        "congestion": with_facts::<config::CongestionConfig>(
            config::CongestionKind::iter().map(|kind| serde_json::json!(kind.facts()))
        ),
        "recovery": with_facts::<config::RecoveryConfig>(
            config::RecoveryKind::iter().map(|kind| serde_json::json!(kind.facts()))
        ),
        "careful_resume": without_facts::<config::CarefulResumeConfig>(),
        "rate_limited": without_facts::<config::RateLimitedConfig>(),
        "timer": without_facts::<config::TimerConfig>(),
        "ack": without_facts::<config::AckConfig>(),
        "ecn": without_facts::<config::EcnConfig>(),
        "tcp": without_kinds([described::part::<config::TcpConfig>()]),
        "traffic": traffic,
        "web": web,
        "start": without_facts::<scenario::StartConfig>(),
        "stop": without_facts::<scenario::StopConfig>(),
        "traces": without_kinds([described::part::<scenario::TraceConfig>()]),
        "vbr": without_kinds([described::part::<OnOffInput>(), described::part::<VbrFlowInput>()]),
        "switch": without_kinds([described::part::<SwitchInput>()]),
        "network": without_facts::<NetworkInput>(),
        "scenario": without_kinds([described::part::<ScenarioInput>()]),
        "sizes": without_facts::<scenario::SizesConfig>(),
        "times": without_facts::<scenario::Times>(),
        "policy": with_facts::<scenario::PolicyConfig>(
            scenario::PolicyConfig::kinds().map(|(_, facts)| serde_json::json!(facts))
        ),
        "conditioner": with_facts::<ConditionerConfig>(
            ConditionerConfig::kinds().map(|(_, facts)| serde_json::json!(facts))
        ),
        "access": without_facts::<scenario::access::AccessConfig>(),
        "loss": without_facts::<scenario::LossConfig>(),
        "scheduler": without_facts::<scenario::SchedulerConfig>(),
        "service": without_facts::<scenario::ServiceCategory>(),
    });
    Ok(descriptions.to_string())
}

/// The core of longpipe.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__engine__", longpipe_network::ENGINE.to_string())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("MemoryLimitError", module.py().get_type::<MemoryLimitError>())?;
    module.add("DefectError", module.py().get_type::<DefectError>())?;
    module.add("StackDefectError", module.py().get_type::<StackDefectError>())?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(tables::result_tables, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_names, module)?)?;
    module.add_function(wrap_pyfunction!(traces::drop_causes, module)?)?;
    module.add_function(wrap_pyfunction!(variant_names, module)?)?;
    module.add_function(wrap_pyfunction!(kind_facts, module)?)?;
    module.add_function(wrap_pyfunction!(descriptions, module)?)?;
    module.add_function(wrap_pyfunction!(topology::misplaced, module)?)?;
    module.add_function(wrap_pyfunction!(packet_ports::queue_names, module)?)?;
    module.add("ControlError", module.py().get_type::<ControlError>())?;
    module.add_class::<datagrams::DelayStatistics>()?;
    module.add_class::<records::AckRecord>()?;
    module.add_class::<records::IntervalRecord>()?;
    module.add_class::<records::EventRecord>()?;
    module.add_class::<records::SentRecord>()?;
    module.add_class::<records::LostRecord>()?;
    module.add_class::<records::Grant>()?;
    module.add_function(wrap_pyfunction!(compiled::compiled_grant_fields, module)?)?;
    module.add_function(wrap_pyfunction!(own_control::classes::control_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(own_control::classes::register_class, module)?)?;
    module.add_function(wrap_pyfunction!(modules::register_module, module)?)?;
    module.add_function(wrap_pyfunction!(modules::module_calls, module)?)?;
    module.add_function(wrap_pyfunction!(modules::module_is_loading, module)?)?;
    module.add_function(wrap_pyfunction!(modules::module_name, module)?)?;
    module.add_class::<endpoint::Endpoint>()?;
    module.add_class::<environments::Environments>()?;
    module.add_class::<topology::Topology>()?;
    module.add_class::<topology::Facts>()?;
    module.add_class::<topology::Rules>()?;
    module.add_class::<units::Dimension>()?;
    module.add_class::<units::BoundedQuantity>()?;
    module.add_function(wrap_pyfunction!(units::check_buffer, module)?)?;
    module.add("MAX_CELLS", longpipe_units::MAX_CELLS)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(stacks::register_stacks, module)?)?;
        module.add_function(wrap_pyfunction!(stacks::register_linux, module)?)?;
        module.add_function(wrap_pyfunction!(stacks::register_own_object, module)?)?;
        module.add_function(wrap_pyfunction!(stacks::register_own_program, module)?)?;
        module.add_class::<live::LiveWatch>()?;
        module.add_function(wrap_pyfunction!(live::live_alone, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_run, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_replay, module)?)?;
    }
    Ok(())
}
