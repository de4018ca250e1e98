//! Columns of links that carry cells, of their classes, and of VBR sources.

use crate::columns::{floats, has_bit_errors, port_name};
use longpipe_network::report::{ClassReport, PortReport, Report, SourceReport};
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns a table with one row per link that carries cells.
pub(crate) fn ports<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let names = (0..scenario.links.len()).map(|link| port_name(scenario, link));
    columns.set_item("port", names.collect::<Vec<String>>())?;
    let ports = &report.ports;
    let kinds = ports.iter().map(|port| if port.host { "host" } else { "switch" });
    columns.set_item("kind", kinds.collect::<Vec<&str>>())?;
    let integers =
        |name, column: fn(&PortReport) -> u64| columns.set_item(name, ports.iter().map(column).collect::<Vec<u64>>());
    integers("cells_in", |port| port.cells_in)?;
    integers("cells_out", |port| port.cells_out)?;
    integers("cells_lost_overflow", |port| port.lost_overflow)?;
    integers("cells_lost_aqm", |port| port.lost_aqm)?;
    integers("cells_lost_discarded", |port| port.lost_discarded)?;
    integers("cells_lost_injected", |port| port.lost_injected)?;
    // The column is present only if the run has time-varying links.
    if scenario.links.iter().any(|link| link.motion.is_some()) {
        integers("cells_lost_outage", |port| port.lost_outage)?;
        integers("cells_lost_on_wire", |port| port.lost_on_wire)?;
    }
    integers("cells_held", |port| port.held)?;
    integers("frames_in", |port| port.frames_in)?;
    integers("frames_damaged", |port| port.frames_damaged)?;
    if has_bit_errors(scenario) {
        integers("frames_lost_errors", |port| port.frames_corrupted)?;
    }
    integers("peak_queue_cells", |port| port.peak_queue)?;
    columns.set_item(
        "mean_queue_cells",
        floats(ports.iter().map(|port| port.mean_queue.unwrap_or(f64::NAN))),
    )?;
    columns.set_item("utilization", floats(ports.iter().map(|port| port.utilization)))?;
    Ok(columns)
}

/// Returns a table with one row per class and port.
pub(crate) fn classes<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.classes;
    let ports: Vec<String> = rows.iter().map(|row| port_name(scenario, row.port)).collect();
    columns.set_item("port", ports)?;
    columns.set_item("class", rows.iter().map(|row| row.class.name()).collect::<Vec<&str>>())?;
    let integers =
        |name, column: fn(&ClassReport) -> u64| columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>());
    integers("cells_in", |row| row.counters.cells_in)?;
    integers("cells_out", |row| row.counters.cells_out)?;
    integers("cells_lost", |row| row.counters.lost())?;
    integers("cells_held", |row| row.held)?;
    integers("peak_queue_cells", |row| row.counters.peak_queue)?;
    columns.set_item(
        "mean_queue_cells",
        floats(rows.iter().map(|row| row.mean_queue.unwrap_or(f64::NAN))),
    )?;
    Ok(columns)
}

/// Returns a table with one row per VBR source.
pub(crate) fn sources<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let names: Vec<&str> = scenario.vbr.iter().map(|source| source.name.as_str()).collect();
    columns.set_item("source", names)?;
    let rows = &report.sources;
    let integers =
        |name, column: fn(&SourceReport) -> u64| columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>());
    integers("cells_sent", |row| row.sent)?;
    integers("cells_delivered", |row| row.delivered)?;
    integers("cells_lost", |row| row.lost)?;
    columns.set_item("mean_delay_s", floats(rows.iter().map(|row| row.mean_delay)))?;
    let extremes = rows.iter().map(|row| match row.delays {
        Some((least, most)) => (least.as_seconds(), most.as_seconds()),
        None => (f64::NAN, f64::NAN),
    });
    let (least, most): (Vec<f64>, Vec<f64>) = extremes.unzip();
    columns.set_item("min_delay_s", floats(least.into_iter()))?;
    columns.set_item("max_delay_s", floats(most.into_iter()))?;
    Ok(columns)
}
