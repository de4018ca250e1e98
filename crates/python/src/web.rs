//! Columns of the files of web traffic.

use crate::columns::float_list;
use longpipe_events::Time;
use longpipe_network::report::Report;
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
        float_list(rows().map(|(_, file)| file.requested.as_seconds())),
    )?;
    columns.set_item("answered_s", float_list(rows().map(|(_, file)| seconds(file.answered))))?;
    columns.set_item("completed_s", float_list(rows().map(|(_, file)| seconds(file.completed))))?;
    Ok(columns)
}
