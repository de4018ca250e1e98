//! What is wrong with a configuration.

/// A field, what it holds, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, as a scenario names it.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

impl Problem {
    /// A field that holds what is not accepted.
    pub fn new(field: impl Into<String>, value: impl ToString, accepted: impl Into<String>) -> Problem {
        Problem {
            field: field.into(),
            value: value.to_string(),
            accepted: accepted.into(),
        }
    }

    /// The same, seen from what holds the part `part`.
    pub fn within(self, part: &str) -> Problem {
        Problem {
            field: format!("{part}.{}", self.field),
            ..self
        }
    }
}
