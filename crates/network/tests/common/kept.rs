//! Storage of a scenario and its seed in a file.

use longpipe_network::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::Path;

/// A resolved scenario and a seed.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    pub seed: u64,
    pub scenario: Scenario,
}

/// The JSON of a `Kept`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<'a> {
    seed: u64,
    #[serde(borrow)]
    scenario: &'a RawValue,
}

impl Kept {
    /// Returns one line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a scenario is plain data")
    }

    pub fn parse(text: &str) -> Kept {
        let stored: Stored = serde_json::from_str(text).expect("a seed and a scenario");
        Kept {
            seed: stored.seed,
            scenario: Scenario::from_json(stored.scenario.get()).expect("a resolved scenario"),
        }
    }

    pub fn read(path: &Path) -> Kept {
        Kept::parse(&std::fs::read_to_string(path).expect("a file that can be read"))
    }

    /// Writes JSON that has one line for each node, link, flow and source.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let scenario = serde_json::to_value(&self.scenario).expect("a scenario is plain data");
        let fields = scenario
            .as_object()
            .expect("a scenario has fields")
            .iter()
            .map(|(name, value)| {
                let value = match value.as_array() {
                    Some(rows) if !rows.is_empty() => {
                        let rows: Vec<String> = rows.iter().map(|row| format!("\n      {row}")).collect();
                        format!("[{}\n    ]", rows.join(","))
                    }
                    _ => value.to_string(),
                };
                format!("    \"{name}\": {value}")
            });
        let fields: Vec<String> = fields.collect();
        let text = format!(
            "{{\n  \"seed\": {},\n  \"scenario\": {{\n{}\n  }}\n}}\n",
            self.seed,
            fields.join(",\n")
        );
        std::fs::write(path, text)
    }
}
