//! The resolved network of a scenario, which is passed as JSON: see crates/scenario.

use longpipe_scenario::rules::{self, Rules};
use longpipe_scenario::{self as scenario, checks, input, network, repetition, rows, Problems};
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

/// Returns the smallest window scale, at most `most`, with which a receiver's window fits its field.
#[wasm_bindgen]
pub fn least_window_scale(receiver_window: &str, most: u32) -> u32 {
    rules::least_window_scale(receiver_window, most)
}

/// The ports of switches, and the connections whose packets they queue.
#[wasm_bindgen]
pub struct Ports(input::Ports);

#[wasm_bindgen]
impl Ports {
    /// Reads the ports.
    ///
    /// # Errors
    /// Returns the problem of the text, which is a defect of the caller.
    #[wasm_bindgen(constructor)]
    pub fn new(ports_json: &str) -> Result<Ports, JsError> {
        input::Ports::read(ports_json).map(Ports).map_err(thrown)
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

    /// Returns the problems of the network, other than those of routes and TCP.
    pub fn network_problems(&self, ports: &Ports) -> Vec<String> {
        checks::network_problems(&self.0, &ports.0)
    }

    /// Checks the buffers of proxies, the classes of flows and their guaranteed rates.
    ///
    /// # Errors
    /// Returns the first problem.
    pub fn check_flows(&self, ports: &Ports) -> Result<(), JsError> {
        checks::check_flows(&self.0, &ports.0).map_err(thrown)
    }

    /// Checks that no event repeats more than a billion times in the run, and that bursts end.
    ///
    /// # Errors
    /// Returns the first problem.
    pub fn check_repetition(&self, ports: &Ports, repeating_json: &str) -> Result<(), JsError> {
        repetition::check(&self.0, &ports.0, repeating_json).map_err(thrown)
    }

    /// Returns the VBR sources in the form of the core, as JSON.
    ///
    /// # Errors
    /// Returns the first problem.
    pub fn vbr(&self, ports: &Ports) -> Result<String, JsError> {
        json(&checks::vbr(&self.0, &ports.0).map_err(thrown)?)
    }

    /// Returns the distinct fields of directed links, the links, and the flows with automatic windows, each with its window
    /// [byte], as JSON.
    ///
    /// # Errors
    /// Returns the problem of the first buffer that does not fit its port, or medium access that does not fit its link or its
    /// cell.
    pub fn directed_links(&self, ports: &Ports) -> Result<String, JsError> {
        json(&checks::directed_links(&self.0, &ports.0).map_err(thrown)?)
    }

    /// Returns all nodes as JSON.
    ///
    /// # Errors
    /// Returns no errors.
    pub fn nodes(&self) -> Result<String, JsError> {
        json(&rows::nodes(&self.0))
    }

    /// Returns the distinct routes of all flows, and the flows, as JSON.
    ///
    /// # Errors
    /// Returns the problem of the first flow that does not start before the end of the run and stop after its start.
    pub fn flows(&self, times_json: &str) -> Result<String, JsError> {
        json(&rows::flows(&self.0, times_json).map_err(thrown)?)
    }
}
