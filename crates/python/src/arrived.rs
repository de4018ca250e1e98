//! Columns of flows that arrived.

use longpipe_events::Time;
use longpipe_network::report::flows::ArrivedFlow;
use longpipe_network::report::Report;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per flow that arrived, as NumPy arrays, because there can be millions of rows. The result has no
/// columns if no flow arrived. Times after the end of the run are NaN.
pub fn completions<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    if report.arrived.iter().all(|own| own.flows.is_empty()) {
        return Ok(columns);
    }
    let rows = || {
        report
            .arrived
            .iter()
            .flat_map(|own| own.flows.iter().map(|flow| (own.flow, flow)))
    };
    let floats = |column: fn(&ArrivedFlow) -> f64| rows().map(|(_, flow)| column(flow)).collect::<Vec<f64>>();
    let flow: Vec<u32> = rows().map(|(flow, _)| flow as u32).collect();
    let sizes: Vec<u64> = rows().map(|(_, flow)| flow.bytes).collect();
    columns.set_item("flow", flow.into_pyarray(py))?;
    columns.set_item("size_bytes", sizes.into_pyarray(py))?;
    let arrival = floats(|flow| flow.arrived.as_seconds());
    let completion = floats(|flow| flow.completed.get().map_or(f64::NAN, Time::as_seconds));
    columns.set_item("arrival_s", arrival.into_pyarray(py))?;
    columns.set_item("completion_s", completion.into_pyarray(py))?;
    Ok(columns)
}
