//! Policies, schedulers and VBR sources that exist for ATM cells or for IP packets alone.

use crate::input::{Part, Ports};
use crate::topology::Topology;
use longpipe_network::scenario::PolicyConfig;

/// Returns the problems of policies by themselves and with the framing, and of other settings that IP links do not have.
pub(crate) fn problems(topology: &Topology, ports: &Ports) -> Vec<String> {
    let mut problems = vec![];
    for (field, policy) in policies(topology, ports) {
        problems.extend(policy.shown_problems(&field));
        let misplaced = misplaced(ports.cells, &policy.kind, policy.unit.as_deref());
        problems.extend(misplaced.map(|problem| format!("{field}{problem}")));
    }
    if ports.cells {
        return problems;
    }
    let scheduler = &ports.scheduler;
    if scheduler != "fifo" {
        let needs = "is for cells, IP routers accept fifo";
        problems.push(format!("switch.scheduler: {scheduler}; {needs}"));
    }
    if ports.rotates {
        let needs = "is for cells, IP routers accept port-order, random";
        problems.push(format!("switch.ties: rotating; {needs}"));
    }
    if !topology.graph.vbr.is_empty() {
        let needs = "needs framing 'aal5'";
        problems.push(format!(
            "network.vbr: sends cells, which IP links do not carry; {needs}"
        ));
    }
    problems
}

/// Returns the policies that the scenario sets, with the names of their fields.
pub(crate) fn policies<'a>(topology: &'a Topology, ports: &'a Ports) -> Vec<(String, &'a Part)> {
    let mut policies = vec![("switch.policy".to_owned(), &ports.policy)];
    let graph = &topology.graph;
    let mut add = |link: usize, name: &str, policy: Option<usize>| {
        if let Some(policy) = policy {
            policies.push((topology.link_field(link, name), &graph.parts[policy]));
        }
    };
    if graph.dumbbell.is_some() {
        // The links of hosts have the policies for hosts, and the trunk the others.
        add(0, "host_policy", topology.settings(0).host_policy);
        add(0, "return_policy", graph.settings[0].return_policy);
        return policies;
    }
    for (i, link) in graph.links.iter().enumerate() {
        let settings = &graph.settings[link.2];
        add(i, "policy", settings.policy);
        add(i, "return_policy", settings.return_policy);
        add(i, "host_policy", settings.host_policy);
    }
    policies
}

/// Returns why a policy cannot queue cells, or packets, as text that follows the name of its field; `unit` is the unit in
/// which RED counts.
pub fn misplaced(cells: bool, kind: &str, unit: Option<&str>) -> Option<String> {
    if let ("red", Some(unit)) = (kind, unit) {
        return match (cells, unit) {
            (true, "cells") => None,
            (true, _) => Some(format!(".unit: {unit}; is for IP packets, ATM switches count cells")),
            (false, "cells") => Some(".unit: cells; is for ATM switches, IP routers count packets or bytes".to_owned()),
            (false, _) => None,
        };
    }
    let kinds = PolicyConfig::kinds().filter(|(_, facts)| if cells { facts.cells } else { facts.packets });
    let kinds: Vec<&str> = kinds.map(|(kind, _)| kind).collect();
    let (other, here) = if cells {
        ("IP packets", "ATM switches")
    } else {
        ("cells", "IP routers")
    };
    (!kinds.contains(&kind)).then(|| format!(": {kind}; is for {other}, {here} accept {}", kinds.join(", ")))
}
