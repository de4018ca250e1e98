//! Describes an invalid configuration value.

/// An invalid field, its value, and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field in the scenario.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Accepted values.
    pub accepted: String,
}

impl Problem {
    /// Returns the problem of a field with an invalid value.
    pub fn new(field: impl Into<String>, value: impl ToString, accepted: impl Into<String>) -> Problem {
        Problem {
            field: field.into(),
            value: value.to_string(),
            accepted: accepted.into(),
        }
    }

    /// Returns the problem of a field by its message, which has the value and the accepted values after "; ".
    pub fn of_message(field: &str, message: &str) -> Problem {
        let (value, accepted) = message.split_once("; ").unwrap_or((message, ""));
        Problem::new(field, value, accepted)
    }

    /// Returns the problem with `part` as a prefix of the field's path.
    pub fn within(self, part: &str) -> Problem {
        Problem {
            field: format!("{part}.{}", self.field),
            ..self
        }
    }
}
