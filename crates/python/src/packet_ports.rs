//! Columns of the ports and queues of a run of IP packets.

use crate::columns::{floats, has_bit_errors, port_name};
use crate::errors::ScenarioError;
use longpipe_events::PS_PER_SECOND;
use longpipe_network::report::packets::{PacketReport, TimeVaryingReport};
use longpipe_network::report::{QueueReport, Report, TokenCredit};
use longpipe_network::scenario::conditioners::ConditionerConfig;
use longpipe_network::scenario::PolicyConfig;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Credits of a link's token buckets: bytes, and bytes at the peak rate.
type Credits = Vec<(Option<u64>, Option<u64>)>;

/// Returns the credits of the token buckets of each link.
pub fn token_credits(report: &Report) -> Vec<Credits> {
    let of_link = |credits: &Vec<TokenCredit>| {
        credits
            .iter()
            .map(|credit| (credit.rate_bytes, credit.peak_bytes))
            .collect()
    };
    report.token_credits.iter().map(of_link).collect()
}

pub fn columns<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let names = (0..scenario.links.len()).map(|link| port_name(scenario, link));
    columns.set_item("port", names.collect::<Vec<String>>())?;
    let ports = &report.packet_ports;
    let kinds = ports.iter().map(|port| if port.host { "host" } else { "switch" });
    columns.set_item("kind", kinds.collect::<Vec<&str>>())?;
    let integers =
        |name, column: fn(&PacketReport) -> u64| columns.set_item(name, ports.iter().map(column).collect::<Vec<u64>>());
    integers("packets_in", |port| port.packets_in)?;
    integers("packets_out", |port| port.packets_out)?;
    integers("packets_lost_overflow", |port| port.lost_overflow)?;
    integers("packets_lost_aqm", |port| port.lost_aqm)?;
    integers("packets_lost_injected", |port| port.lost_injected)?;
    if has_bit_errors(scenario) {
        integers("packets_lost_errors", |port| port.corrupted)?;
    }
    if scenario.flows.iter().any(|flow| flow.rerouting.is_some()) {
        integers("packets_lost_rerouting", |port| port.no_route)?;
    }
    if scenario.links.iter().any(|link| !link.conditioners.is_empty()) {
        integers("packets_lost_policer", |port| port.lost_policer)?;
    }
    let duplicates = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Duplication(_));
    if scenario
        .links
        .iter()
        .flat_map(|link| &link.conditioners)
        .any(duplicates)
    {
        integers("packets_duplicated", |port| port.packets_duplicated)?;
        integers("bytes_duplicated", |port| port.bytes_duplicated)?;
    }
    integers("packets_marked", |port| port.packets_marked)?;
    integers("packets_held", |port| port.packets_held)?;
    integers("bytes_in", |port| port.bytes_in)?;
    integers("bytes_out", |port| port.bytes_out)?;
    integers("bytes_lost", |port| port.bytes_lost)?;
    integers("bytes_held", |port| port.bytes_held)?;
    integers("peak_queue_packets", |port| port.peak_packets)?;
    integers("peak_queue_bytes", |port| port.peak_bytes)?;
    columns.set_item(
        "mean_queue_packets",
        floats(ports.iter().map(|port| port.mean_packets.unwrap_or(f64::NAN))),
    )?;
    // The column is present only if the run has CAKE with a rate.
    let shapes = |policy: &PolicyConfig| matches!(policy, PolicyConfig::Cake(cake) if cake.rate_bps.is_some());
    if scenario.links.iter().any(|link| shapes(&link.policy)) {
        integers("shaper_bytes", |port| port.shaper_bytes)?;
    }
    // The column is present only if the run has time-varying links.
    if ports.iter().any(|port| port.motion.is_some()) {
        let moving = |name, column: fn(&TimeVaryingReport) -> u64| {
            let of = |port: &PacketReport| port.motion.as_ref().map_or(0, column);
            columns.set_item(name, ports.iter().map(of).collect::<Vec<u64>>())
        };
        moving("packets_lost_outage", |motion| motion.lost_outage)?;
        moving("packets_lost_on_wire", |motion| motion.lost_on_wire)?;
        moving("overtakings", |motion| motion.overtakings.packets)?;
        moving("furthest_overtaking", |motion| motion.overtakings.furthest)?;
    }
    columns.set_item("utilization", floats(ports.iter().map(|port| port.utilization)))?;
    Ok(columns)
}

/// Returns the port and the name of each queue that the results of a resolved scenario may count separately.
#[pyfunction]
pub fn queue_names(scenario_json: &str) -> PyResult<Vec<(String, String)>> {
    let scenario: Scenario =
        serde_json::from_str(scenario_json).map_err(|error| ScenarioError::new_err(format!("scenario: {error}")))?;
    let ports = scenario.links.iter().enumerate();
    let names = ports.flat_map(|(index, link)| {
        let port = port_name(&scenario, index);
        let queues = link.policy.queue_names().into_iter();
        queues.map(move |queue| (port.clone(), queue))
    });
    Ok(names.collect())
}

/// Returns the columns of the queues into which queue disciplines divide ports.
pub fn queues<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.queues;
    let ports: Vec<String> = rows.iter().map(|row| port_name(scenario, row.port)).collect();
    columns.set_item("port", ports)?;
    let name = |row: &QueueReport| scenario.links[row.port].policy.queue_names().swap_remove(row.queue);
    columns.set_item("queue", rows.iter().map(name).collect::<Vec<String>>())?;
    let integers =
        |name, column: fn(&QueueReport) -> u64| columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>());
    integers("packets_in", |row| row.counters.packets_in)?;
    integers("packets_out", |row| row.counters.packets_out)?;
    integers("packets_lost_overflow", |row| row.counters.lost_overflow)?;
    integers("packets_lost_aqm", |row| row.counters.lost_aqm)?;
    // The column is present only if the run has time-varying links.
    if report.packet_ports.iter().any(|port| port.motion.is_some()) {
        integers("packets_lost_outage", |row| row.counters.lost_outage)?;
    }
    integers("packets_marked", |row| row.counters.packets_marked)?;
    integers("packets_held", |row| row.counters.packets_held())?;
    integers("bytes_in", |row| row.counters.bytes_in)?;
    integers("bytes_out", |row| row.counters.bytes_out)?;
    integers("bytes_lost", |row| row.counters.bytes_lost)?;
    integers("bytes_held", |row| row.counters.bytes_held())?;
    integers("peak_queue_packets", |row| row.counters.peak_packets)?;
    columns.set_item("mean_queue_packets", floats(rows.iter().map(|row| row.mean_packets)))?;
    let seconds = |row: &QueueReport| {
        row.counters
            .mean_delay()
            .map_or(f64::NAN, |delay| delay / PS_PER_SECOND as f64)
    };
    columns.set_item("mean_delay_s", floats(rows.iter().map(seconds)))?;
    Ok(columns)
}
