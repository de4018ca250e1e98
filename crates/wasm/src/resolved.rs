//! Scenarios as users write them, which are checked and resolved for the core: see crates/scenario.

use longpipe_scenario::{described, Problems};
use wasm_bindgen::prelude::*;

/// The description of all parts of a scenario, and the files of congestion controls that the page has.
#[wasm_bindgen]
pub struct Described(described::Described);

/// A resolved scenario.
#[wasm_bindgen]
pub struct Resolved(described::Scenario);

/// Converts problems to an exception with a line for each.
fn thrown(problems: Problems) -> JsError {
    JsError::new(&problems.to_string())
}

#[wasm_bindgen]
impl Described {
    /// Reads the description.
    ///
    /// # Errors
    /// Returns a message about the first part that is not described in full.
    #[wasm_bindgen(constructor)]
    pub fn new(description_json: &str) -> Result<Described, JsError> {
        described::Described::read(description_json)
            .map(Described)
            .map_err(thrown)
    }

    /// Adds a file with a congestion control, by the name of the file, the digest that names it to the core, and the names of
    /// its parameters.
    pub fn add_module(&mut self, name: String, digest: String, parameters: Vec<String>) {
        self.0.add_module(name, digest, parameters);
    }

    /// Checks and resolves a scenario from its fields as JSON.
    ///
    /// # Errors
    /// Returns a line for each problem.
    pub fn resolve(&self, fields_json: &str) -> Result<Resolved, JsError> {
        self.0.resolve(fields_json).map(Resolved).map_err(thrown)
    }

    /// Checks a scenario with parts that only Python resolves, of which `core` is the form for the core.
    ///
    /// # Errors
    /// Returns a line for each problem, or one if the form belongs to other fields.
    pub fn resolve_expanded(&self, fields_json: &str, core: &str) -> Result<Resolved, JsError> {
        self.0.resolve_expanded(fields_json, core).map(Resolved).map_err(thrown)
    }
}

#[wasm_bindgen]
impl Resolved {
    /// Returns the scenario for the core as JSON text.
    #[wasm_bindgen(getter)]
    pub fn core(&self) -> String {
        self.0.core.clone()
    }

    /// Returns all parts as JSON text: model, values, and names of specified fields.
    #[wasm_bindgen(getter)]
    pub fn parts(&self) -> String {
        self.0.parts.clone()
    }

    /// Returns the longest RTT [ms] of all flows without queues.
    #[wasm_bindgen(getter)]
    pub fn longest_round_trip_ms(&self) -> f64 {
        self.0.longest_round_trip_ps as f64 / 1e9
    }
}

/// Returns a value of a scenario as Python writes it, shortened; the value is JSON, as the fields of a scenario are.
///
/// # Errors
/// Returns a message about text that is not JSON.
#[wasm_bindgen]
pub fn shown(value_json: &str) -> Result<String, JsError> {
    described::shown(value_json).map_err(thrown)
}
