//! Columns of applications that write over time.

use longpipe_network::report::Report;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per flow whose application writes over time.
pub fn flows<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.streams;
    let names = rows.iter().map(|own| scenario.flows[own.flow].name.as_str());
    columns.set_item("flow", names.collect::<Vec<&str>>())?;
    let written = rows.iter().map(|own| own.written_bytes);
    columns.set_item("written_bytes", written.collect::<Vec<u64>>())?;
    Ok(columns)
}
