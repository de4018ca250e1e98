//! Storage of a scenario and its seed in a file.

use longpipe_network::scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A resolved scenario and a seed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub seed: u64,
    pub scenario: Scenario,
}

impl Kept {
    /// Returns one line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a scenario is plain data")
    }

    pub fn parse(text: &str) -> Kept {
        serde_json::from_str(text).expect("a seed and a resolved scenario")
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
