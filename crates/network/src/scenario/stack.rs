//! Real protocol stacks as the ends of a flow.

use serde::{Deserialize, Serialize};

/// A stack from outside the core; its flow is external. The core interprets none of this, but results depend on it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct StackConfig {
    /// Name of the stack.
    pub stack: String,
    /// Its version.
    pub version: String,
    /// Names and values for it, in order of names.
    pub settings: Vec<(String, String)>,
}
