//! The resolved network of a scenario, which is passed as JSON: see crates/scenario.

use longpipe_scenario::rules::Rules;
use longpipe_scenario::{self as scenario, network, resolve, Problems};
use serde_json::to_string;
use wasm_bindgen::prelude::*;

/// A checked network with the routes of its flows.
#[wasm_bindgen]
pub struct Topology(scenario::Topology);

/// Converts problems to an exception with a line for each.
fn thrown(problems: Problems) -> JsError {
    JsError::new(&problems.to_string())
}

/// Returns a value as JSON.
fn json<T: serde::Serialize>(value: &T) -> Result<String, JsError> {
    to_string(value).map_err(|error| JsError::new(&error.to_string()))
}

/// Returns the number and the message of each rule that a part violates, as JSON. The rules are a list of conditions and
/// messages, and the part a table of its fields.
///
/// # Errors
/// Returns a message about a condition that is no comparison.
#[wasm_bindgen]
pub fn rule_problems(rules_json: &str, part_json: &str) -> Result<String, JsError> {
    json(
        &Rules::read(rules_json)
            .and_then(|rules| rules.problems(part_json))
            .map_err(thrown)?,
    )
}

/// Rules and options of connections from the description of scenarios.
#[wasm_bindgen]
pub struct Facts(scenario::Facts);

#[wasm_bindgen]
impl Facts {
    /// Reads facts.
    ///
    /// # Errors
    /// Returns a message about a rule that is no comparison.
    #[wasm_bindgen(constructor)]
    pub fn new(facts_json: &str) -> Result<Facts, JsError> {
        scenario::Facts::read(facts_json).map(Facts).map_err(thrown)
    }
}

#[wasm_bindgen]
impl Topology {
    /// Checks a network and finds its routes.
    ///
    /// # Errors
    /// Returns a line for each problem.
    #[wasm_bindgen(constructor)]
    pub fn new(network_json: &str) -> Result<Topology, JsError> {
        network::topology(network_json).map(Topology).map_err(thrown)
    }

    /// Returns, for each part of a connection, the number of its flow and the number of the sending proxy, as JSON.
    ///
    /// # Errors
    /// Returns no errors.
    pub fn parts(&self) -> Result<String, JsError> {
        json(&self.0.parts())
    }

    /// Returns the longest RTT [ms] of all flows without queues.
    pub fn longest_round_trip_ms(&self) -> f64 {
        self.0.longest_round_trip_ps() as f64 / 1e9
    }

    /// Resolves a scenario from its settings besides the network; both are JSON.
    ///
    /// # Errors
    /// Returns a line for each problem.
    pub fn resolve(&self, facts: &Facts, settings_json: &str) -> Result<String, JsError> {
        json(&resolve::resolve(&self.0, &facts.0, settings_json).map_err(thrown)?)
    }
}
