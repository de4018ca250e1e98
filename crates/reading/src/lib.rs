//! Reads a resolved scenario in as few bytes of code as it takes: a crate of its own, as a profile says of a crate, and of
//! nothing smaller, whether it is to be small or fast.

use longpipe_network::Scenario;
use serde::Deserialize;

/// What is flattened is read from serde's own tree of values, as tables with a `kind` are anyway. Read from text, each part
/// of a scenario is compiled a second time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    #[serde(flatten)]
    scenario: Scenario,
}

/// The scenario that a JSON text holds, as `Scenario`'s own `Deserialize` reads it.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn scenario(json: &str) -> Result<Scenario, String> {
    match serde_json::from_str(json) {
        Ok(Tree { scenario }) => Ok(scenario),
        Err(error) => Err(format!("scenario: {error}")),
    }
}
