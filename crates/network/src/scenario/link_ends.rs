//! Ends of links, and sequences of links.

use super::refusal::{refuse, ScenarioError};
use super::Scenario;

/// Downstream end of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// Downstream node.
    pub node: u32,
    /// Whether the node at the end is a host.
    pub host: bool,
    /// Whether packets on this link never meet packets of another link again: the link ends at a host, or at ports that
    /// have no other input and feed only unshared links.
    pub unshared: bool,
    /// Index of the link among the inputs of `node`.
    pub input: u32,
    /// Number of inputs of `node`.
    pub inputs: u32,
    /// Transmission time [ps] of a cell, rounded down.
    pub cell: u64,
}

/// Returns the first and last node of a route. Its links must be consecutive and connected by switches.
pub(super) fn way_ends(
    scenario: &Scenario,
    field: impl FnOnce() -> String,
    route: &[usize],
) -> Result<(usize, usize), ScenarioError> {
    let name = |node: usize| &scenario.nodes[node].name;
    if let Some(&link) = route.iter().find(|&&link| link >= scenario.links.len()) {
        return refuse(field(), link, "needs indices of links");
    }
    let (Some(&first), Some(&last)) = (route.first(), route.last()) else {
        return refuse(field(), "no link", "needs at least one link");
    };
    for pair in route.windows(2) {
        let (before, after) = (&scenario.links[pair[0]], &scenario.links[pair[1]]);
        if before.to != after.from {
            return refuse(
                field(),
                format!("{} then {}", name(before.to), name(after.from)),
                "needs each link to begin where the previous one ends",
            );
        }
        if scenario.is_host(before.to) {
            return refuse(field(), name(before.to), "needs switches between its two hosts");
        }
    }
    Ok((scenario.links[first].from, scenario.links[last].to))
}
