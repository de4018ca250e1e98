//! Replaces `stacks.rs` on systems without real protocol stacks, and rejects scenarios that need them.

use crate::errors::ScenarioError;
use crate::modules::Controls;
use longpipe_network::{Probe, Report, Scenario, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Counters of the ends of flows; never created on these systems.
#[derive(Default)]
pub(crate) struct Ends;

/// Rejects the run.
pub(crate) fn complete<P: Probe>(
    _py: Python<'_>,
    _scenario: &Scenario,
    _seed: u64,
    _probe: P,
    _controls: &Controls,
    _progress: Option<Py<PyAny>>,
) -> PyResult<(Report, Simulation<P>, Ends)> {
    Err(ScenarioError::new_err("traffic.stack: on this system; needs Linux"))
}

/// Returns an empty table.
pub(crate) fn programs<'py>(py: Python<'py>, _scenario: &Scenario, _ends: &Ends) -> PyResult<Bound<'py, PyDict>> {
    Ok(PyDict::new(py))
}

/// Returns an empty table.
pub(crate) fn columns<'py>(py: Python<'py>, _scenario: &Scenario, _ends: &Ends) -> PyResult<Bound<'py, PyDict>> {
    Ok(PyDict::new(py))
}
