//! Packet captures, opened before a run and reported after it.

use crate::errors::ScenarioError;
use longpipe_network::observe::capture::{CaptureConfig, Captures, Place};
use longpipe_network::Scenario;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::PathBuf;

/// Opens the files. Raises OSError with the name of the file if a file cannot be created.
pub(crate) fn open(scenario: &Scenario, wanted: &[(String, usize, PathBuf)]) -> PyResult<Captures> {
    let mut configs = Vec::with_capacity(wanted.len());
    for (kind, index, path) in wanted {
        let place = match kind.as_str() {
            "host" if *index < scenario.nodes.len() => Place::Host(*index),
            "link" if *index < scenario.links.len() => Place::Link(*index),
            _ => {
                return Err(ScenarioError::new_err(format!(
                    "captures: {kind} {index}; needs a host or a link"
                )))
            }
        };
        let path = path.clone();
        configs.push(CaptureConfig { place, path });
    }
    Captures::new(scenario, &configs).map_err(|(index, error)| {
        let (message, path) = (error.to_string(), configs[index].path.clone());
        PyOSError::new_err((error_number(&error), message, path))
    })
}

/// Returns, for each capture, the number of packets and the error number of its first error; 0 if there was no error.
pub(crate) fn columns(py: Python<'_>, captures: Captures) -> PyResult<Bound<'_, PyDict>> {
    let reports = captures.finish();
    let columns = PyDict::new(py);
    columns.set_item(
        "packets",
        reports.iter().map(|report| report.packets).collect::<Vec<u64>>(),
    )?;
    let errors = reports
        .iter()
        .map(|report| report.error.as_ref().map_or(0, error_number));
    columns.set_item("errno", errors.collect::<Vec<i32>>())?;
    Ok(columns)
}

/// Returns the error number of an error; EIO (5) if it is unknown.
fn error_number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(5)
}
