//! Columns of the causes of window reductions.

use crate::columns::float_list;
use longpipe_network::observe::columns::causes_of_reductions;
use longpipe_network::Scenario;
use longpipe_tcp::journal::attribution::Totals;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per connection and cause of its window reductions; a split flow has several connections.
pub fn columns<'py>(py: Python<'py>, scenario: &Scenario, totals_by_flow: &[Totals]) -> PyResult<Bound<'py, PyDict>> {
    let names = causes_of_reductions();
    let rows: Vec<_> = scenario
        .flows
        .iter()
        .zip(totals_by_flow)
        .flat_map(|(flow, reductions)| {
            let totals = reductions.0.iter().enumerate();
            let present = totals.filter(|(_, total)| total.count > 0);
            present.map(|(cause, total)| (flow.name.as_str(), names[cause], *total))
        })
        .collect();
    let columns = PyDict::new(py);
    columns.set_item("connection", rows.iter().map(|row| row.0).collect::<Vec<&str>>())?;
    columns.set_item("cause", rows.iter().map(|row| row.1).collect::<Vec<&str>>())?;
    let counts: Vec<u64> = rows.iter().map(|row| row.2.count).collect();
    columns.set_item("reductions", counts)?;
    columns.set_item(
        "reduced_s",
        float_list(rows.iter().map(|row| row.2.lasted.as_seconds())),
    )?;
    columns.set_item("reduced_bytes", float_list(rows.iter().map(|row| row.2.bytes)))?;
    let mean = rows.iter().map(|row| row.2.window / row.2.lasted.as_seconds());
    columns.set_item(
        "mean_window_bytes",
        float_list(mean.map(|mean| if mean.is_finite() { mean } else { 0.0 })),
    )?;
    Ok(columns)
}
