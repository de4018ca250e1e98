//! Columns of the chunks of adaptive video.

use crate::columns::float_list;
use longpipe_events::Time;
use longpipe_network::report::files::File;
use longpipe_network::report::flows::VideoReport;
use longpipe_network::report::tables::{bitrate, Run};
use longpipe_network::report::Report;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per requested chunk, flow by flow; empty if no flow has adaptive video.
pub fn chunks<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    if report.videos.is_empty() {
        return Ok(columns);
    }
    let rows: Vec<(&VideoReport, &File)> = report
        .videos
        .iter()
        .flat_map(|own| own.chunks.iter().map(move |chunk| (own, chunk)))
        .collect();
    let seconds = |time: Option<Time>| time.map_or(f64::NAN, Time::as_seconds);
    let numbers: Vec<u32> = rows.iter().map(|row| row.0.flow as u32).collect();
    columns.set_item("flow", numbers)?;
    let run = Run { scenario, report };
    let rates: Vec<u64> = rows.iter().map(|row| bitrate(&run, row.0, row.1)).collect();
    columns.set_item("bitrate_bps", rates)?;
    columns.set_item("size_bytes", rows.iter().map(|row| row.1.bytes).collect::<Vec<u64>>())?;
    columns.set_item(
        "requested_s",
        float_list(rows.iter().map(|row| row.1.requested.as_seconds())),
    )?;
    columns.set_item("answered_s", float_list(rows.iter().map(|row| seconds(row.1.answered))))?;
    columns.set_item("completed_s", float_list(rows.iter().map(|row| seconds(row.1.completed))))?;
    Ok(columns)
}
