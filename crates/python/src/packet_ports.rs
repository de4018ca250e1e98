//! Columns of the ports and queues of a run of IP packets.

use crate::errors::ScenarioError;
use longpipe_network::report::tables::port_name;
use longpipe_network::report::{Report, TokenCredit};
use longpipe_network::Scenario;
use pyo3::prelude::*;

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
