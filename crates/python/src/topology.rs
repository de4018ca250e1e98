//! The resolved network of a scenario, which is passed as JSON: see crates/scenario.

use crate::errors::ScenarioError;
use longpipe_scenario::rules::Rules as OfPart;
use longpipe_scenario::topology::BothWays;
use longpipe_scenario::{self as scenario, checks, framing, network, resolve, Problems};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::mem::take;

/// Both nodes of a link, and the number of its fields.
type Link = (usize, usize, usize);
/// Links, routes, the index of each flow's TCP settings, and everything else as JSON.
type Resolved = (Vec<Link>, Vec<BothWays>, Vec<usize>, String);

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

/// Returns why a policy cannot queue cells, or packets, as text that follows the name of its field; `unit` is that of RED.
#[pyfunction]
#[pyo3(signature = (cells, kind, unit))]
pub fn misplaced(cells: bool, kind: &str, unit: Option<&str>) -> Option<String> {
    framing::misplaced(cells, kind, unit)
}

/// Rules and options of connections from the description of scenarios.
#[pyclass(frozen, module = "longpipe._core")]
pub struct Facts(scenario::Facts);

#[pymethods]
impl Facts {
    /// Reads facts. Raises ScenarioError for a rule that is no comparison.
    #[new]
    fn new(facts_json: &str) -> PyResult<Facts> {
        scenario::Facts::read(facts_json).map(Facts).map_err(raised)
    }
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

    /// Returns the lowest rate [bit/s] among the links of a flow's route to its receiver.
    fn slowest_bps(&self, flow: usize) -> Option<u64> {
        checks::slowest_bps(&self.0, flow)
    }

    /// Resolves a scenario from its settings besides the network. Returns its links, with numbers of their fields, its
    /// distinct routes, the numbers of the flows' settings of TCP, and everything else as JSON. Raises ScenarioError with a
    /// line for each problem.
    fn resolve(&self, facts: &Facts, settings_json: &str) -> PyResult<Resolved> {
        let mut resolved = resolve::resolve(&self.0, &facts.0, settings_json).map_err(raised)?;
        let (links, ways) = (take(&mut resolved.links), take(&mut resolved.ways));
        let tcp_of = take(&mut resolved.tcp_of);
        let json = serde_json::to_string(&resolved).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok((links, ways, tcp_of, json))
    }

    /// Returns the rules that connections violate: the number of each, and the names in the scenario of the fields `names`
    /// that belong to it.
    fn violated(
        &self,
        facts: &Facts,
        settings_json: &str,
        names: Vec<Vec<String>>,
    ) -> PyResult<Vec<(usize, Vec<String>)>> {
        resolve::violated(&self.0, &facts.0, settings_json, &names).map_err(raised)
    }
}
