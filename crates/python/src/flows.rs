//! Columns of flows, and of the connections of split flows.

use crate::columns::floats;
use longpipe_events::Time;
use longpipe_network::report::flows::ProxyReport;
use longpipe_network::report::{FlowReport, Report};
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per flow; the row of a split flow describes its last connection.
pub fn columns<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = scenario.flows.iter().zip(&report.flows);
    let (names, flows): (Vec<&str>, Vec<&FlowReport>) = rows
        .filter(|(flow, _)| flow.onward.is_none())
        .map(|(flow, report)| (flow.name.as_str(), report))
        .unzip();
    columns.set_item("flow", names)?;
    let seconds = |time: Option<Time>| time.map_or(f64::NAN, Time::as_seconds);
    counters(&columns, &flows)?;
    let integers = |name, column: fn(&FlowReport) -> u64| {
        let values = flows.iter().map(|flow| column(flow));
        columns.set_item(name, values.collect::<Vec<u64>>())
    };
    // The column is absent if ECN is off, as in results stored by earlier versions.
    if scenario.flows.iter().any(|flow| !flow.tcp.ecn.is_off()) {
        integers("mark_reductions", |flow| flow.sender.mark_reductions)?;
    }
    integers("duplicate_acks", |flow| flow.sender.duplicate_acks)?;
    integers("reordered_packets", |flow| flow.reordered)?;
    columns.set_item("start_s", floats(flows.iter().map(|flow| flow.start.as_seconds())))?;
    columns.set_item(
        "completion_s",
        floats(flows.iter().map(|flow| seconds(flow.completion))),
    )?;
    Ok(columns)
}

fn counters(columns: &Bound<'_, PyDict>, flows: &[&FlowReport]) -> PyResult<()> {
    let integers = |name, column: fn(&FlowReport) -> u64| {
        let values = flows.iter().map(|flow| column(flow));
        columns.set_item(name, values.collect::<Vec<u64>>())
    };
    integers("delivered_bytes", |flow| flow.delivered_bytes)?;
    integers("highest_sequence_bytes", |flow| flow.highest_sequence_bytes)?;
    integers("sent_segments", |flow| flow.sender.sent_segments)?;
    integers("sent_bytes", |flow| flow.sender.sent_bytes)?;
    integers("short_bytes", |flow| flow.sender.short_bytes)?;
    integers("retransmitted_segments", |flow| flow.sender.retransmitted_segments)?;
    integers("retransmitted_bytes", |flow| flow.sender.retransmitted_bytes)?;
    integers("timeouts", |flow| flow.sender.timeouts)?;
    integers("fast_retransmits", |flow| flow.sender.fast_retransmits)
}

/// Returns one row per connection whose data a proxy forwards over another connection.
pub fn proxies<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.proxies;
    let name = |flow: usize| scenario.flows[flow].name.as_str();
    let last = |mut flow: usize| {
        while let Some(onward) = scenario.flows[flow].onward {
            flow = onward.flow;
        }
        flow
    };
    let names = |of: &dyn Fn(&ProxyReport) -> usize| rows.iter().map(|row| name(of(row))).collect::<Vec<&str>>();
    columns.set_item("connection", names(&|row| row.flow))?;
    columns.set_item("flow", names(&|row| last(row.flow)))?;
    columns.set_item("onward", names(&|row| row.forwarded_over))?;
    let flows: Vec<&FlowReport> = rows.iter().map(|row| &report.flows[row.flow]).collect();
    counters(&columns, &flows)?;
    let integers =
        |name, column: fn(&ProxyReport) -> u64| columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>());
    columns.set_item("mean_buffer_bytes", floats(rows.iter().map(|row| row.mean_bytes)))?;
    integers("peak_buffer_bytes", |row| row.peak_bytes)?;
    integers("held_buffer_bytes", |row| row.held_bytes)?;
    integers("window_updates", |row| row.window_updates)?;
    integers("window_probes", |row| row.window_probes)?;
    Ok(columns)
}
