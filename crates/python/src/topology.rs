//! Routes, buffers and windows of a scenario's network, which is passed as JSON: see crates/scenario.

use crate::errors::ScenarioError;
use longpipe_scenario::topology::BothWays;
use longpipe_scenario::{self as scenario, checks, DirectedLinks, Problems};
use pyo3::prelude::*;

/// Both nodes of a directed link, and the number of its fields.
type Link = (usize, usize, usize);

/// A checked graph with the routes of its flows.
#[pyclass(frozen, module = "longpipe._core")]
pub struct Topology(scenario::Topology);

/// Converts problems to an exception with a line for each.
fn raised(problems: Problems) -> PyErr {
    ScenarioError::new_err(problems.to_string())
}

/// Returns a value as JSON.
fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| ScenarioError::new_err(error.to_string()))
}

#[pymethods]
impl Topology {
    /// Checks a graph and finds its routes. Raises ScenarioError with a line for each problem.
    #[new]
    fn new(graph_json: &str) -> PyResult<Topology> {
        scenario::Topology::from_json(graph_json).map(Topology).map_err(raised)
    }

    /// Returns the distinct routes of flows to their receivers and back, the number of each flow's routes, and the
    /// routes of VBR sources. A route is a list of numbers of directed links.
    fn routes(&self) -> (Vec<BothWays>, Vec<usize>, Vec<Vec<usize>>) {
        let topology = &self.0;
        (
            topology.ways().to_vec(),
            topology.way_of().to_vec(),
            topology.vbr_routes().to_vec(),
        )
    }

    /// Returns the lowest rate among the links of a route, as written.
    fn slowest_rate(&self, route: Vec<usize>) -> &str {
        checks::slowest_rate(&self.0, &route)
    }

    /// Returns the problems of routes with too much propagation delay, and of queues at hosts; `cells` is whether the
    /// links carry ATM cells.
    fn network_problems(&self, cells: bool) -> Vec<String> {
        checks::network_problems(&self.0, cells)
    }

    /// Raises ScenarioError if a flow's class does not exist at a port on its routes.
    fn check_classes(&self, policy_json: &str) -> PyResult<()> {
        checks::check_classes(&self.0, policy_json).map_err(raised)
    }

    /// Raises ScenarioError if a flow cannot have its guaranteed rate.
    fn check_guarantees(&self, cells: bool) -> PyResult<()> {
        checks::check_guarantees(&self.0, cells).map_err(raised)
    }

    /// Returns the VBR sources in the form of the core, as JSON. Raises ScenarioError if they cannot send through switches
    /// with a scheduler of this kind.
    fn vbr(&self, scheduler: &str) -> PyResult<String> {
        json(&checks::vbr(&self.0, scheduler).map_err(raised)?)
    }

    /// Returns the distinct fields of directed links as JSON, the links, and automatic windows [byte]. Raises
    /// ScenarioError for the first buffer that does not fit its port.
    fn directed_links(&self, ports_json: &str) -> PyResult<(String, Vec<Link>, Vec<u64>)> {
        let DirectedLinks { fields, links, windows } = scenario::directed_links(&self.0, ports_json).map_err(raised)?;
        Ok((json(&fields)?, links, windows))
    }
}
