//! Columns of web traffic: one table of flows, and one of files.

use crate::columns::floats;
use longpipe_events::Time;
use longpipe_network::report::files::File;
use longpipe_network::report::{Report, WebReport};
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per flow with web traffic.
pub fn flows<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let names = report.web.iter().map(|web| scenario.flows[web.flow].name.as_str());
    columns.set_item("flow", names.collect::<Vec<&str>>())?;
    let integers = |name, column: fn(&WebReport) -> u64| {
        columns.set_item(name, report.web.iter().map(column).collect::<Vec<u64>>())
    };
    integers("requests", |web| web.files.len() as u64)?;
    integers("answered_requests", |web| count(&web.files, |file| file.answered))?;
    integers("completed_files", |web| count(&web.files, |file| file.completed))?;
    integers("scheduled_bytes", |web| web.scheduled_bytes)?;
    integers("retransmitted_request_segments", |web| {
        web.requests.retransmitted_segments
    })?;
    integers("request_timeouts", |web| web.requests.timeouts)?;
    Ok(columns)
}

/// Returns one row per requested file, flow by flow; times after the end of the run are NaN.
pub fn files<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = || {
        report
            .web
            .iter()
            .flat_map(|web| web.files.iter().map(|file| (web.flow, file)))
    };
    let seconds = |time: Option<Time>| time.map_or(f64::NAN, Time::as_seconds);
    columns.set_item("flow", rows().map(|(flow, _)| flow as u32).collect::<Vec<u32>>())?;
    columns.set_item("class", rows().map(|(_, file)| file.class).collect::<Vec<u32>>())?;
    columns.set_item("size_bytes", rows().map(|(_, file)| file.bytes).collect::<Vec<u64>>())?;
    columns.set_item(
        "requested_s",
        floats(rows().map(|(_, file)| file.requested.as_seconds())),
    )?;
    columns.set_item("answered_s", floats(rows().map(|(_, file)| seconds(file.answered))))?;
    columns.set_item("completed_s", floats(rows().map(|(_, file)| seconds(file.completed))))?;
    Ok(columns)
}

fn count(files: &[File], instant: fn(&File) -> Option<Time>) -> u64 {
    files.iter().filter(|file| instant(file).is_some()).count() as u64
}
