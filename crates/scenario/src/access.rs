//! Checks of links with medium access.

use crate::input::{Ports, TAIL_DROP};
use crate::topology::Topology;
use crate::Problems;
use longpipe_network::conditioners::ConditionerConfig;
use longpipe_network::scenario::access::{problem_of_links, AccessLink};

/// Returns the problems of each medium access by itself, and with the framing, the send jitter, a path or conditioners;
/// `cells` is whether the links carry ATM cells.
pub(crate) fn problems(topology: &Topology, cells: bool) -> Vec<String> {
    let mut problems = vec![];
    // All sinks of a dumbbell, whose links follow the trunk, have the same access.
    let dumbbell = topology.graph.dumbbell.as_ref();
    let exit = dumbbell.map(|_| topology.described_links().end);
    for link in exit.into_iter().chain(topology.described_links()) {
        for link in [2 * link, 2 * link + 1] {
            let Some(part) = topology.settings(link).access[link % 2] else {
                continue;
            };
            let (field, access) = (field_of(topology, link), &topology.graph.parts[part]);
            problems.extend(access.shown_problems(&field));
            let mut add = |needs: &str| problems.push(format!("{field}: {}; {needs}", access.kind));
            if cells {
                add("needs framing 'ip', because medium access sends packets");
            } else if let Some(needs) = topology.needs_no_jitter(link) {
                add(&needs);
            }
            if topology.settings(link).varies[link % 2] {
                add("needs a constant link, without a path in its direction");
            }
            let accepted = ConditionerConfig::kinds().filter(|(_, facts)| facts.beside_access);
            let accepted: Vec<&str> = accepted.map(|(kind, _)| kind).collect();
            for conditioner in topology.conditioners(link) {
                if !accepted.contains(&conditioner.kind.as_str()) {
                    let needs = format!("needs {}", accepted.join(", "));
                    add(&format!("not together with {}, {needs}", conditioner.kind));
                }
            }
        }
    }
    problems
}

/// Returns the name of the field that sets the medium access of a directed link.
fn field_of(topology: &Topology, link: usize) -> String {
    let is_exit = topology.graph.dumbbell.is_some() && topology.graph.links[link / 2].2 != 0;
    let name = match (is_exit, link % 2) {
        (false, 0) => "access",
        (false, _) => "return_access",
        (true, 0) => "exit_access",
        (true, _) => "exit_return_access",
    };
    topology.link_field(link / 2, name)
}

/// Checks that each medium access fits its link, its queue discipline and the other links of its cell.
///
/// # Errors
/// Returns the first problem.
pub(crate) fn check(topology: &Topology, ports: &Ports) -> Result<(), Problems> {
    let (mut stations, mut fields) = (vec![], vec![]);
    let parts = &topology.graph.parts;
    for link in 0..2 * topology.ends.len() {
        let settings = topology.settings(link);
        let part = settings.access[link % 2].map(|part| &parts[part]);
        let Some((part, access)) = part.and_then(|part| Some((part, part.access.as_ref()?))) else {
            continue;
        };
        let field = field_of(topology, link);
        let policy = if topology.is_switch(topology.ends_of(link).0) {
            topology.policy(link).map_or(&ports.policy, |policy| &parts[policy])
        } else {
            &parts[settings.host_policy.unwrap_or(TAIL_DROP)]
        };
        if policy.rate_bps.is_some() {
            // Packets that leave between two transmissions would have no queue to wait in.
            let needs = "not together with the rate of cake, needs a router before it";
            return Err(format!("{field}: {}; {needs}", part.kind).into());
        }
        for _ in 0..topology.copies.count(topology.copies.of_link[link / 2]) {
            fields.push(field.clone());
            stations.push(AccessLink {
                rate_bps: topology.rate_bps(link),
                delay_ps: topology.delay_ps(link),
                access: access.clone(),
            });
        }
    }
    match problem_of_links(&stations) {
        Some((station, problem)) => {
            let line = format!("{}: {}; {}", problem.field, problem.value, problem.accepted);
            Err(format!("{}.{line}", fields[station]).into())
        }
        None => Ok(()),
    }
}
