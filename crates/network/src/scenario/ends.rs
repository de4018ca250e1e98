//! Where links end, and the ways that they make.

use super::refusal::{refuse, ScenarioError};
use super::{NodeKind, Scenario};

/// Where a link ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// Downstream node.
    pub node: u32,
    /// Whether that node is a host.
    pub host: bool,
    /// Whether what is on the wire never again meets what is on another: it ends at a host, or at ports that have
    /// no other input and feed such wires in turn.
    pub unshared: bool,
    /// The link's number among the inputs of that node.
    pub input: u32,
    /// Number of inputs of that node.
    pub inputs: u32,
    /// Length of a cell, rounded down [ps].
    pub cell: u64,
}

/// First and last node of links that must follow one another through switches.
pub(super) fn way_ends(scenario: &Scenario, field: &str, route: &[usize]) -> Result<(usize, usize), ScenarioError> {
    let name = |node: usize| &scenario.nodes[node].name;
    if let Some(&link) = route.iter().find(|&&link| link >= scenario.links.len()) {
        return refuse(field, link, "needs indices of links");
    }
    let (Some(&first), Some(&last)) = (route.first(), route.last()) else {
        return refuse(field, "no link", "needs at least one link");
    };
    for pair in route.windows(2) {
        let (before, after) = (&scenario.links[pair[0]], &scenario.links[pair[1]]);
        if before.to != after.from {
            return refuse(
                field,
                format!("{} then {}", name(before.to), name(after.from)),
                "needs each link to begin where the one before ends",
            );
        }
        if scenario.nodes[before.to].kind == NodeKind::Host {
            return refuse(field, name(before.to), "needs switches between its two hosts");
        }
    }
    Ok((scenario.links[first].from, scenario.links[last].to))
}
