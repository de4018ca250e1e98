//! Real protocol stacks as the end points of a flow.

use serde::{Deserialize, Serialize};

/// A protocol stack outside the core; its flow is external. The core does not interpret these fields, but results
/// depend on them.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct StackConfig {
    /// Name of the stack.
    pub stack: String,
    /// Version of the stack.
    pub version: String,
    /// Names and values of the stack's settings, sorted by name.
    pub settings: Vec<(String, String)>,
}
