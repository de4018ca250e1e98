//! Problems of a scenario.

use std::fmt;

/// Problems of a scenario, each in one line: field, value, and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<String>);

impl From<String> for Problems {
    fn from(line: String) -> Problems {
        Problems(vec![line])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Problems {}
