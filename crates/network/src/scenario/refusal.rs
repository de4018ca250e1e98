//! How a scenario is refused: by the field, its value, and what would be accepted.

use longpipe_tcp::Problem;

/// What is wrong with a scenario, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value}; {accepted}")]
pub struct ScenarioError {
    /// Path of the field.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

/// The error that refuses a value.
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

/// The problem of a field that does not fit.
pub(super) fn refuse_unless(fits: bool, field: &str, value: impl ToString, accepted: &str) -> Option<Problem> {
    (!fits).then(|| Problem::new(field, value, accepted))
}
