//! Congestion controllers loaded from files.

use crate::ScenarioError;
use longpipe_control::{heartbeat, load, register, Object};
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads a resolved scenario and loads the congestion controllers that it names, a copy of each for this run.
pub(crate) fn scenario(scenario_json: &str) -> PyResult<(Scenario, Vec<Arc<Object>>)> {
    let mut scenario: Scenario =
        serde_json::from_str(scenario_json).map_err(|error| ScenarioError::new_err(format!("scenario: {error}")))?;
    let objects = load(&mut scenario).map_err(|error| ScenarioError::new_err(error.0))?;
    Ok((scenario, objects))
}

/// Returns the values of loaded controllers that were out of range and therefore replaced, one row each.
pub(crate) fn columns<'py>(py: Python<'py>, objects: &[Arc<Object>]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let lines = objects.iter().flat_map(|object| {
        object
            .complaints()
            .into_iter()
            .map(|line| (object.file().to_owned(), line))
    });
    let (modules, warnings): (Vec<String>, Vec<String>) = lines.unzip();
    columns.set_item("module", modules)?;
    columns.set_item("warning", warnings)?;
    Ok(columns)
}

/// Registers the file for a digest, by which resolved scenarios refer to it; messages call it `name`.
#[pyfunction]
pub(crate) fn register_module(digest: String, file: PathBuf, name: String) {
    register(digest, file, name);
}

/// Returns a counter of calls of loaded controllers. It is odd, and constant, while a call is in progress.
#[pyfunction]
pub(crate) fn module_calls() -> u64 {
    heartbeat::read()
}

/// Loads a controller from a file, runs its initialization, and returns the name that it gives itself.
#[pyfunction]
pub(crate) fn module_name(file: PathBuf, shown: &str, parameters: Vec<(String, String)>, hz: u32) -> PyResult<String> {
    let object = Object::load(&file, shown, &parameters, hz).map_err(|error| ScenarioError::new_err(error.0))?;
    Ok(object.name().to_owned())
}
