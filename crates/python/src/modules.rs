//! Congestion controllers loaded from files.

use crate::errors::{ControlError, ScenarioError};
use crate::own_control::{self, InRun};
use longpipe_control::{heartbeat, load, load_file, register, Object};
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// The congestion controllers that the user has provided for a run.
pub(crate) struct Controls {
    objects: Vec<Arc<dyn Object>>,
    classes: Vec<Arc<InRun>>,
}

impl Controls {
    /// Returns the first error of a class or the first failure of a module.
    pub fn failure(&self, py: Python<'_>) -> PyResult<()> {
        self.classes.iter().try_for_each(|class| class.failure(py))?;
        let failed = self.objects.iter().find_map(|object| object.failure());
        failed.map_or(Ok(()), |why| Err(ControlError::new_err((why,))))
    }
}

/// Reads a resolved scenario and loads the congestion controllers that it names; each run has its own copies.
///
/// With `interrupts`, an error of a class interrupts the process as Ctrl-C does. Other threads of Python run while
/// objects are loaded, because one of them watches for an object that never returns.
pub(crate) fn scenario(py: Python<'_>, scenario_json: &str, interrupts: bool) -> PyResult<(Scenario, Controls)> {
    let mut scenario =
        Scenario::from_json(scenario_json).map_err(|error| ScenarioError::new_err(format!("scenario: {error}")))?;
    let classes = own_control::connect(&mut scenario, interrupts);
    let loaded = py.detach(|| heartbeat::while_loading(|| load(&mut scenario)));
    let objects = loaded.map_err(|error| ScenarioError::new_err(error.0))?;
    Ok((scenario, Controls { objects, classes }))
}

/// Returns one row for each invalid value that a controller returned and that was replaced.
pub(crate) fn columns<'py>(py: Python<'py>, controls: &Controls) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let objects = controls
        .objects
        .iter()
        .map(|object| (&*object.about().file, object.about().complaints()));
    let classes = controls.classes.iter().map(|class| (class.name(), class.complaints()));
    let lines = objects
        .chain(classes)
        .flat_map(|(name, lines)| lines.into_iter().map(move |line| (name.to_owned(), line)));
    let (modules, warnings): (Vec<String>, Vec<String>) = lines.unzip();
    columns.set_item("module", modules)?;
    columns.set_item("warning", warnings)?;
    Ok(columns)
}

/// Registers a file under the digest by which resolved scenarios refer to it; messages call the file `name`.
#[pyfunction]
pub(crate) fn register_module(digest: String, file: PathBuf, name: String) {
    register(digest, file, name);
}

/// Returns a counter of calls to loaded controllers. It is odd, and constant, while a call is in progress.
#[pyfunction]
pub(crate) fn module_calls() -> u64 {
    heartbeat::read()
}

/// Returns whether code of the user is being loaded.
#[pyfunction]
pub(crate) fn module_is_loading() -> bool {
    heartbeat::is_loading()
}

/// Loads a controller from a file, initializes it, and returns the name that it declares.
#[pyfunction]
pub(crate) fn module_name(
    py: Python<'_>,
    file: PathBuf,
    shown: &str,
    parameters: Vec<(String, String)>,
    hz: u32,
) -> PyResult<String> {
    let loaded = py.detach(|| heartbeat::while_loading(|| load_file(&file, shown, &parameters, hz)));
    let object = loaded.map_err(|error| ScenarioError::new_err(error.0))?;
    Ok(object.about().name.clone())
}
