//! Errors of scenarios: field, value, and accepted values.

use longpipe_tcp::Problem;

/// A problem in a scenario, as one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value}; {accepted}")]
pub struct ScenarioError {
    /// Path of the field.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Accepted values.
    pub accepted: String,
}

/// Returns the error for an invalid value.
pub(crate) fn refuse<T>(
    field: impl Into<String>,
    value: impl ToString,
    accepted: impl Into<String>,
) -> Result<T, ScenarioError> {
    Err(ScenarioError {
        field: field.into(),
        value: value.to_string(),
        accepted: accepted.into(),
    })
}

/// Returns the error for an invalid parameter of the part of the scenario that `part` names, if there is one.
pub(crate) fn accept(part: impl FnOnce() -> String, problem: Option<Problem>) -> Result<(), ScenarioError> {
    let Some(problem) = problem.map(|problem| problem.within(&part())) else {
        return Ok(());
    };
    refuse(problem.field, problem.value, problem.accepted)
}
