//! Live runs, which take descriptors that Python has opened and return counters.

use crate::errors::{DefectError, ScenarioError};
use crate::modules::Controls;
use longpipe_events::{Span, Time};
use longpipe_live::capture::Capture;
use longpipe_live::device::Host;
use longpipe_live::device::{take_over, Device};
use longpipe_live::lateness::Histogram;
use longpipe_live::live::Options;
use longpipe_live::machine_lateness;
use longpipe_live::path::Counts;
use longpipe_live::record::{self, ReadError, Recorder};
use longpipe_live::routes::FlowPool;
use longpipe_live::{Live, LiveStatus, Path};
use longpipe_network::report::tables::{self, Run};
use longpipe_network::{DropCause, Scenario};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use strum::VariantNames;

/// Counters of a run in progress, which another thread can read.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct LiveWatch(Mutex<LiveStatus>);

#[pymethods]
impl LiveWatch {
    #[new]
    fn new() -> LiveWatch {
        LiveWatch::default()
    }

    /// Returns the counters in the format of `live_run`.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        counted(py, &status)
    }
}

fn path(py: Python<'_>, scenario_json: &str, seed: u64) -> PyResult<(Scenario, Path, Controls)> {
    let (scenario, controls) = crate::modules::scenario(py, scenario_json, true)?;
    let path = Path::new(&scenario, seed).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok((scenario, path, controls))
}

/// Forwards packets between hosts until `stop` is readable. Releases the interpreter lock.
///
/// Each host is a tuple of its addresses, its device descriptor, and the kernel's Ethernet address if the device
/// carries frames. Each path (`ways`) is a tuple of the indices of its two end hosts, its first external flow and its
/// number of flows. All descriptors are closed at the end.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, hosts, ways, longest, options, stop, watch, record=None, capture=None))]
#[expect(clippy::too_many_arguments)]
pub(crate) fn live_run<'py>(
    py: Python<'py>,
    scenario_json: &str,
    seed: u64,
    hosts: Vec<(Vec<IpAddr>, i32, Option<[u8; 6]>)>,
    ways: Vec<(usize, usize, u32, u32)>,
    longest: usize,
    options: (u64, u64, bool, Option<usize>),
    stop: i32,
    watch: &LiveWatch,
    record: Option<PathBuf>,
    capture: Option<(PathBuf, Vec<String>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let hosts = hosts.into_iter().map(|(addresses, descriptor, ethernet)| Host {
        addresses,
        device: Device::new(take_over(descriptor), ethernet),
    });
    let hosts: Vec<Host> = hosts.collect();
    let stop = take_over(stop);
    let (scenario, path, controls) = path(py, scenario_json, seed)?;
    let ways: Vec<FlowPool> = ways
        .into_iter()
        .map(|(from, to, first, flows)| FlowPool {
            ends: [from, to],
            first,
            flows,
        })
        .collect();
    let fits = |way: &FlowPool| {
        let external = (way.first..way.first.saturating_add(way.flows))
            .all(|flow| scenario.flows.get(flow as usize).is_some_and(|flow| flow.foreign));
        external && way.flows > 0 && way.ends.iter().all(|&end| end < hosts.len())
    };
    if !ways.iter().all(fits) {
        return Err(PyValueError::new_err(
            "ways: needs existing hosts and flows with foreign = true",
        ));
    }
    let (spin_ns, late_ns, real_time, outside) = options;
    let options = Options {
        spin_ns,
        late_ns,
        real_time,
        outside: outside.filter(|&host| host < hosts.len()),
    };
    let mut live = Live::new(path, hosts, &ways, longest, options);
    if let Some(path) = record {
        live.record(Recorder::append(&path).map_err(os_error)?);
    }
    if let Some((path, names)) = capture {
        let links = (0..scenario.links.len()).map(|link| longpipe_network::report::tables::port_name(&scenario, link));
        live.capture(Capture::create(&path, &names, links.collect()).map_err(os_error)?);
    }
    let ended = py.detach(|| live.run(stop.as_fd(), &watch.0));
    controls.failure(py)?;
    let (status, mut path) = ended.map_err(os_error)?;
    let result = counted(py, &status)?;
    ports(py, &result, &scenario, &mut path)?;
    Ok(result)
}

/// Measures for `lasts_ns` how late a thread that only reads the clock notices deadlines that occur every 10 µs. At
/// real-time priority, the thread also sleeps briefly. Releases the interpreter lock.
#[pyfunction]
pub(crate) fn live_alone(py: Python<'_>, lasts_ns: u64, real_time: bool) -> PyResult<Bound<'_, PyDict>> {
    let lateness = py.detach(|| machine_lateness::measure(Span(lasts_ns.saturating_mul(1_000)), real_time));
    quantiles(py, &lateness.map_err(os_error)?)
}

/// Simulated time between two readings of the clock, and real time between two checks for Python's signals.
const STEP: Span = Span(100_000_000_000);
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Reason why a replay ends early: an error in the record, or an exception from a signal handler.
enum Stopped {
    Record(ReadError),
    Signal(PyErr),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Stopped {
        Stopped::Record(error)
    }
}

/// Delays of delivered packets: of all, and by direction, from sources to sinks and back.
#[derive(Default)]
struct Delays {
    all: Histogram,
    by_direction: [Histogram; 2],
}

/// Time at which a packet entered, and its direction: 0 from the source to the sink, 1 back.
struct Entry {
    at: Time,
    direction: usize,
}

/// Advances the path to `time`, and counts the delays. Python's signal handlers run every [`CHECK_INTERVAL`].
fn advance(
    path: &mut Path,
    time: Time,
    entered: &[Entry],
    delays: &mut Delays,
    last_check: &mut Instant,
) -> Result<(), Stopped> {
    let time = time.min(path.end());
    loop {
        let next = time.min(path.now() + STEP);
        count_delays(path.advance_to(next), entered, delays);
        if last_check.elapsed() >= CHECK_INTERVAL {
            Python::attach(|py| py.check_signals()).map_err(Stopped::Signal)?;
            *last_check = Instant::now();
        }
        if next >= time {
            return Ok(());
        }
    }
}

/// Replays in virtual time a record whose entries start at byte `offset`.
///
/// Raises ValueError if the file is not a record.
#[pyfunction]
pub(crate) fn live_replay<'py>(
    py: Python<'py>,
    scenario_json: &str,
    seed: u64,
    file: PathBuf,
    offset: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (scenario, mut path, controls) = path(py, scenario_json, seed)?;
    let circuits = 2 * scenario.flows.len() as u32;
    let external = |circuit: u32| circuit < circuits && scenario.flows[(circuit / 2) as usize].foreign;
    let (mut unknown, mut delays, mut entered) = (0, Delays::default(), Vec::new());
    let ended = py.detach(|| {
        let mut last_check = Instant::now();
        let ended = record::read(&file, offset, |arrival| {
            if !external(arrival.circuit) {
                unknown += 1;
                return Ok(());
            }
            advance(&mut path, arrival.at, &entered, &mut delays, &mut last_check)?;
            entered.push(Entry {
                at: arrival.at,
                direction: (arrival.circuit % 2) as usize,
            });
            path.enter(arrival);
            Ok::<(), Stopped>(())
        })?;
        let last = ended.map_or(path.now(), |end| end.at);
        advance(&mut path, last, &entered, &mut delays, &mut last_check)?;
        Ok::<_, Stopped>(ended)
    });
    controls.failure(py)?;
    let ended = ended.map_err(|stopped| match stopped {
        Stopped::Record(ReadError::File(error)) => os_error(error),
        Stopped::Record(error) => PyValueError::new_err(error.to_string()),
        Stopped::Signal(error) => error,
    })?;
    if unknown > 0 {
        return Err(PyValueError::new_err(format!(
            "{unknown} packets: of flows that do not exist"
        )));
    }
    let result = PyDict::new(py);
    numbers(py, &result, path.now(), &path.counts(), path.decisions())?;
    result.set_item("recorded_decisions", ended.map(|end| format!("{:016x}", end.decisions)))?;
    result.set_item("delay_s", quantiles(py, &delays.all)?)?;
    let by_direction = PyDict::new(py);
    for (name, delays) in ["forward", "back"].iter().zip(&delays.by_direction) {
        by_direction.set_item(name, quantiles(py, delays)?)?;
    }
    result.set_item("delay_by_direction_s", by_direction)?;
    ports(py, &result, &scenario, &mut path)?;
    Ok(result)
}

fn count_delays(outcomes: &[longpipe_network::Outcome], entered: &[Entry], delays: &mut Delays) {
    for outcome in outcomes {
        if let longpipe_network::Fate::Delivered { .. } = outcome.fate {
            let entry = &entered[outcome.id as usize];
            let delay_ns = (outcome.time - entry.at).0 / 1000;
            delays.all.add(delay_ns);
            delays.by_direction[entry.direction].add(delay_ns);
        }
    }
}

fn counted<'py>(py: Python<'py>, status: &LiveStatus) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    numbers(py, &result, status.elapsed, &status.counts, status.decisions)?;
    result.set_item("no_way", status.no_route)?;
    result.set_item("unfit", status.rejected)?;
    result.set_item("refused", status.refused)?;
    result.set_item("late", status.late)?;
    result.set_item("lateness_s", quantiles(py, &status.lateness)?)?;
    result.set_item("earliest_s", status.earliest_ns as f64 / 1e9)?;
    result.set_item("longest_pause_s", status.longest_pause_ns as f64 / 1e9)?;
    result.set_item("delivered_bytes", status.delivered_bytes.clone())?;
    let connections = status.connections.iter().map(|own| {
        let [a, b, c, d] = own.flow.ports;
        let [from, to] = [own.flow.from, own.flow.to].map(|address| address.to_string());
        let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        let lasted_s = own.ended.as_seconds() - own.began.as_seconds();
        (from, ports[0], to, ports[1], own.bytes, lasted_s, own.retransmitted)
    });
    result.set_item("connections", connections.collect::<Vec<_>>())?;
    Ok(result)
}

fn numbers(py: Python<'_>, result: &Bound<'_, PyDict>, elapsed: Time, counts: &Counts, decisions: u64) -> PyResult<()> {
    result.set_item("elapsed_s", elapsed.as_seconds())?;
    result.set_item("entered", counts.entered)?;
    result.set_item("delivered", counts.delivered)?;
    result.set_item("marked", counts.marked)?;
    result.set_item("on_path", counts.entered - counts.delivered - counts.all_lost())?;
    let lost = PyDict::new(py);
    for (name, count) in DropCause::VARIANTS.iter().zip(counts.lost) {
        lost.set_item(name, count)?;
    }
    result.set_item("lost", lost)?;
    result.set_item("decisions", format!("{decisions:016x}"))
}

fn quantiles<'py>(py: Python<'py>, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, share) in [
        ("0.5", 0.5),
        ("0.95", 0.95),
        ("0.99", 0.99),
        ("0.999", 0.999),
        ("1", 1.0),
    ] {
        let quantile_s = histogram.quantile(share).map(|value| value as f64 / 1e9);
        result.set_item(name, quantile_s)?;
    }
    Ok(result)
}

/// Adds the counters of the ports. They count packets of external programs and of simulated flows together.
fn ports(py: Python<'_>, result: &Bound<'_, PyDict>, scenario: &Scenario, path: &mut Path) -> PyResult<()> {
    let report = path.report().map_err(|error| DefectError::new_err(error.to_string()))?;
    let run = Run {
        scenario,
        report: &report,
    };
    for table in tables::of(run).filter(|table| table.name == "ports") {
        result.set_item(table.name, crate::tables::columns(py, table, &run)?)?;
    }
    Ok(())
}

fn os_error(error: io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error().unwrap_or(5), error.to_string()))
}
