//! Parts that the tables of results share.

use longpipe_network::scenario::{LinkConfig, LossConfig, Scenario};

/// Returns the name of a link's port in tables.
pub(crate) fn port_name(scenario: &Scenario, link: usize) -> String {
    let LinkConfig { from, to, .. } = scenario.links[link];
    format!("{}->{}", scenario.nodes[from].name, scenario.nodes[to].name)
}

/// Returns whether any link has bit errors; otherwise results contain no column for them.
pub(crate) fn has_bit_errors(scenario: &Scenario) -> bool {
    let mut losses = scenario.links.iter().map(|link| &link.loss);
    losses.any(|loss| matches!(loss, LossConfig::BitErrors { .. }))
}

/// Collects a column of a table as a list. NumPy is avoided because loading it takes longer than a short run.
pub(crate) fn floats(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.collect()
}
