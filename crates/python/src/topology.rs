//! The resolved network of a scenario, which is passed as JSON: see crates/scenario.

use crate::errors::ScenarioError;
use longpipe_scenario::rules::{self, Rules as OfPart};
use longpipe_scenario::topology::BothWays;
use longpipe_scenario::{self as scenario, checks, framing, input, network, repetition, rows, DirectedLinks, Problems};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Both nodes of a link, and the number of its fields.
type Link = (usize, usize, usize);
/// A flow and the window of its receiver [byte].
type Window = (usize, u64);

/// A checked network with the routes of its flows.
#[pyclass(frozen, module = "longpipe._core")]
pub struct Topology(scenario::Topology);

/// Converts problems to an exception with a line for each.
fn raised(problems: Problems) -> PyErr {
    ScenarioError::new_err(problems.to_string())
}

/// Rules across the fields of a kind of parts.
#[pyclass(frozen, module = "longpipe._core")]
pub struct Rules(OfPart);

#[pymethods]
impl Rules {
    /// Reads rules. Raises ValueError for a condition that is no comparison.
    #[new]
    fn new(rules_json: &str) -> PyResult<Rules> {
        let rules = OfPart::read(rules_json);
        rules
            .map(Rules)
            .map_err(|problem| PyValueError::new_err(problem.to_string()))
    }

    /// Returns the number and the message of each rule that a part violates, from a table of its fields as JSON.
    fn problems(&self, part_json: &str) -> PyResult<Vec<(usize, String)>> {
        self.0.problems(part_json).map_err(raised)
    }
}

/// Returns the smallest window scale, at most `most`, with which a receiver's window fits its field.
#[pyfunction]
pub fn least_window_scale(receiver_window: &str, most: u32) -> u32 {
    rules::least_window_scale(receiver_window, most)
}

/// Returns why a policy cannot queue cells, or packets, as text that follows the name of its field; `unit` is that of RED.
#[pyfunction]
#[pyo3(signature = (cells, kind, unit))]
pub fn misplaced(cells: bool, kind: &str, unit: Option<&str>) -> Option<String> {
    framing::misplaced(cells, kind, unit)
}

/// The ports of switches, and the connections whose packets they queue.
#[pyclass(frozen, module = "longpipe._core")]
pub struct Ports(input::Ports);

#[pymethods]
impl Ports {
    #[new]
    fn new(ports_json: &str) -> PyResult<Ports> {
        input::Ports::read(ports_json).map(Ports).map_err(raised)
    }
}

/// Returns a value as JSON.
fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| ScenarioError::new_err(error.to_string()))
}

#[pymethods]
impl Topology {
    /// Checks a network and finds its routes. Raises ScenarioError with a line for each problem.
    #[new]
    fn new(network_json: &str) -> PyResult<Topology> {
        network::topology(network_json).map(Topology).map_err(raised)
    }

    /// Returns, for each part of a connection, the number of its flow and the number of the sending proxy.
    fn parts(&self) -> Vec<(usize, Option<usize>)> {
        self.0.parts()
    }

    /// Returns the routes of VBR sources. A route is a list of numbers of directed links.
    fn vbr_routes(&self) -> Vec<Vec<usize>> {
        self.0.vbr_routes()
    }

    /// Returns the lowest rate [bit/s] among the links of a flow's route to its receiver.
    fn slowest_bps(&self, flow: usize) -> Option<u64> {
        checks::slowest_bps(&self.0, flow)
    }

    /// Returns the problems of the network, other than those of routes and TCP.
    fn network_problems(&self, ports: &Ports) -> Vec<String> {
        checks::network_problems(&self.0, &ports.0)
    }

    /// Raises ScenarioError for a proxy with a too small buffer, a flow whose class does not exist at a port on its routes,
    /// or a guaranteed rate for which there is no room.
    fn check_flows(&self, ports: &Ports) -> PyResult<()> {
        checks::check_flows(&self.0, &ports.0).map_err(raised)
    }

    /// Raises ScenarioError for an event that repeats more than a billion times in the run, and for endless bursts.
    fn check_repetition(&self, ports: &Ports, repeating_json: &str) -> PyResult<()> {
        repetition::check(&self.0, &ports.0, repeating_json).map_err(raised)
    }

    /// Returns the VBR sources in the form of the core, as JSON. Raises ScenarioError if they cannot send through the
    /// switches.
    fn vbr(&self, ports: &Ports) -> PyResult<String> {
        json(&checks::vbr(&self.0, &ports.0).map_err(raised)?)
    }

    /// Returns the distinct fields of directed links as JSON, the links, and the flows with automatic windows, each with
    /// its window [byte]. Raises ScenarioError for the first buffer that does not fit its port, or medium access that does
    /// not fit its link or its cell.
    fn directed_links(&self, ports: &Ports) -> PyResult<(String, Vec<Link>, Vec<Window>)> {
        let DirectedLinks { fields, links, windows } = checks::directed_links(&self.0, &ports.0).map_err(raised)?;
        Ok((json(&fields)?, links, windows))
    }

    /// Returns all nodes as JSON.
    fn nodes(&self) -> PyResult<String> {
        json(&rows::nodes(&self.0))
    }

    /// Returns the distinct routes of all flows, and the flows as JSON. Raises ScenarioError for the first flow that does
    /// not start before the end of the run and stop after its start.
    fn flows(&self, times_json: &str) -> PyResult<(Vec<BothWays>, String)> {
        let (ways, rows) = rows::flows(&self.0, times_json).map_err(raised)?;
        Ok((ways, json(&rows)?))
    }
}
