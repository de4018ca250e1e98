//! All routes of a flow whose routes change, and the checks of these routes.

use super::link_ends::{way_ends, LinkEnd};
use super::refusal::{refuse, ScenarioError};
use super::{FlowConfig, Framing, LinkConfig, Scenario};

impl FlowConfig {
    /// Returns the links of all routes in one direction: the direction of the ACKs if `back` is true, otherwise that of
    /// the data.
    pub(crate) fn ways(&self, back: bool) -> impl Iterator<Item = &[usize]> {
        let first = if back { &self.return_route } else { &self.route };
        let changes = self.rerouting.iter().flat_map(|own| &own.changes);
        let changed_routes = changes.map(move |change| if back { &change.return_route } else { &change.route });
        std::iter::once(first).chain(changed_routes).map(Vec::as_slice)
    }
}

/// Checks the later routes of a flow whose first routes are valid.
pub(super) fn check(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let Some(own) = &flow.rerouting else { return Ok(()) };
    let field = |name: &str| format!("flows[{index}].rerouting.{name}");
    if scenario.framing == Framing::Aal5 {
        return refuse(field("changes"), "of circuits of cells", "needs framing ip");
    }
    let mut before = 0;
    for change in &own.changes {
        if change.at_ps <= before {
            let value = format!("{} after {before}", change.at_ps);
            return refuse(field("changes"), value, "needs ascending times after 0, in ps");
        }
        before = change.at_ps;
    }
    for back in [false, true] {
        let name = if back { "return_route" } else { "route" };
        let mut first = None;
        for way in flow.ways(back) {
            let ends = way_ends(scenario, || field(name), way)?;
            let (begin, end) = *first.get_or_insert((way[0], ends.1));
            if way[0] != begin {
                return refuse(
                    field(name),
                    way[0],
                    format!("needs to begin with link {begin} at all times"),
                );
            }
            if scenario.is_host(ends.1) && ends.1 != end {
                let accepted = format!("needs to lead to {} at all times", scenario.nodes[end].name);
                return refuse(field(name), &scenario.nodes[ends.1].name, accepted);
            }
            let mut nodes: Vec<usize> = way.iter().map(|&link| scenario.links[link].to).collect();
            nodes.push(ends.0);
            nodes.sort_unstable();
            if let Some(pair) = nodes.windows(2).find(|pair| pair[0] == pair[1]) {
                let value = format!("{} twice", scenario.nodes[pair[0]].name);
                return refuse(field(name), value, "needs to pass each node once");
            }
        }
    }
    Ok(())
}

/// Returns the pairs of consecutive links that a rerouted packet may take in addition to those within each route.
pub(super) fn crossings(links: &[LinkConfig], ends: &[LinkEnd], flow: &FlowConfig) -> Vec<(usize, usize)> {
    let mut pairs = vec![];
    for back in [false, true].into_iter().filter(|_| flow.rerouting.is_some()) {
        let mut used_links: Vec<usize> = flow.ways(back).flatten().copied().collect();
        used_links.sort_unstable();
        used_links.dedup();
        for &from in used_links.iter().filter(|&&link| !ends[link].host) {
            let node = ends[from].node as usize;
            pairs.extend(
                used_links
                    .iter()
                    .filter(|&&to| links[to].from == node)
                    .map(|&to| (from, to)),
            );
        }
    }
    pairs
}
