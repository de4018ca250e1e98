//! Dumbbells as graphs with the first flow of each group. The other flows of a group differ only in name, hosts and start,
//! so it is enough to check and resolve one of them.

use crate::input::{Dumbbell, Flow, Graph, Group, Link, Node, NodeKind, Settings};
use crate::Problems;
use std::collections::HashMap;

/// Nodes at both ends of the trunk.
const SWITCHES: [&str; 2] = ["switch1", "switch2"];
/// Hosts of the VBR source.
const VBR_HOSTS: [&str; 2] = ["vbr-source", "vbr-sink"];

/// Checks that the groups have as many flows as the dumbbell, and that all flows have different names.
fn check_groups(dumbbell: &Dumbbell) -> Result<(), Problems> {
    let Some(groups) = &dumbbell.groups else {
        return Ok(());
    };
    if groups.is_empty() {
        return Err("network.group: empty; needs at least one group".to_owned().into());
    }
    let (sources, flows) = (dumbbell.sources, groups.iter().map(|group| group.count).sum::<usize>());
    if sources != flows {
        return Err(format!(
            "network.sources: {sources}; the counts of the groups add up to {flows}; needs this number, or no value"
        )
        .into());
    }
    let mut first: HashMap<String, usize> = HashMap::with_capacity(flows);
    let mut flow = 0;
    for (i, group) in groups.iter().enumerate() {
        for number in 0..group.count {
            if let Some(mut earlier) = first.insert(group.flow(number), flow) {
                let mut owner = 0;
                while earlier >= groups[owner].count {
                    earlier -= groups[owner].count;
                    owner += 1;
                }
                return Err(collision(groups, (owner, earlier), (i, number)).into());
            }
            flow += 1;
        }
    }
    Ok(())
}

/// Adds the nodes and links to a graph, whose flows are the first flows of the groups, and completes its flows and
/// VBR source.
///
/// # Errors
/// Returns the problem of the groups.
pub(crate) fn expand(dumbbell: &Dumbbell, graph: &mut Graph) -> Result<(), Problems> {
    check_groups(dumbbell)?;
    let groups = dumbbell.all_groups();
    let host = |name: String, jitter: &str| Node(name, NodeKind::Host, jitter.to_owned());
    let [first, last] = SWITCHES;
    let hosts = |role: &'static str| (1..=groups.len()).map(move |i| host(format!("{role}{i}"), &dumbbell.send_jitter));
    graph.nodes.extend(hosts("source"));
    graph
        .nodes
        .extend(SWITCHES.map(|name| Node(name.to_owned(), NodeKind::Switch, "0 s".to_owned())));
    graph.nodes.extend(hosts("sink"));

    let trunk = &mut graph.settings[0];
    let at_hosts = Settings {
        rate: dumbbell.access_rate.clone(),
        host_policy: trunk.host_policy.take(),
        host_buffer: trunk.host_buffer.take(),
        ..Settings::default()
    };
    let at_exits = Settings {
        rate: dumbbell.exit_rate.clone().unwrap_or_else(|| at_hosts.rate.clone()),
        return_rate: dumbbell.exit_return_rate.clone(),
        access: dumbbell.exit_access,
        ..at_hosts.clone()
    };
    let has_own_exits = dumbbell.exit_rate.is_some()
        || dumbbell.exit_return_rate.is_some()
        || dumbbell.exit_access.iter().any(Option::is_some);
    let mut with_delay: HashMap<(bool, String), usize> = HashMap::new();
    let mut settings = |is_exit: bool, delay: &String, settings: &mut Vec<Settings>| {
        let like = if is_exit { &at_exits } else { &at_hosts };
        *with_delay
            .entry((is_exit && has_own_exits, delay.clone()))
            .or_insert_with(|| {
                settings.push(Settings {
                    delay: delay.clone(),
                    ..like.clone()
                });
                settings.len() - 1
            })
    };
    let link = |a: String, b: String, settings| Link(a, b, settings);
    for (i, group) in groups.iter().enumerate() {
        let delay = group.access_delay.as_ref().unwrap_or(&dumbbell.access_delay);
        let own = settings(false, delay, &mut graph.settings);
        graph
            .links
            .push(link(format!("source{}", i + 1), first.to_owned(), own));
    }
    graph.links.push(link(first.to_owned(), last.to_owned(), 0));
    for (i, group) in groups.iter().enumerate() {
        let delay = group.exit_delay.as_ref().unwrap_or(&dumbbell.exit_delay);
        let own = settings(true, delay, &mut graph.settings);
        graph.links.push(link(last.to_owned(), format!("sink{}", i + 1), own));
    }
    for (i, (flow, group)) in graph.flows.iter_mut().zip(&groups).enumerate() {
        let mut route = [
            format!("source{}", i + 1),
            first.to_owned(),
            last.to_owned(),
            format!("sink{}", i + 1),
        ];
        if group.is_back {
            route.reverse();
        }
        let [from, _, _, to] = route.clone();
        let Flow {
            name,
            from: sender,
            to: receiver,
            route: nodes,
            ..
        } = flow;
        (*name, *sender, *receiver, *nodes) = (group.flow(0), from, to, Some(route.to_vec()));
    }
    add_vbr(dumbbell, graph);
    Ok(())
}

/// Adds the hosts of the VBR source and their links, if there is a source.
fn add_vbr(dumbbell: &Dumbbell, graph: &mut Graph) {
    let [from, to] = VBR_HOSTS.map(str::to_owned);
    let Some(source) = graph.vbr.first_mut() else {
        return;
    };
    (source.from, source.to) = (from.clone(), to.clone());
    let [first, last] = SWITCHES.map(str::to_owned);
    let ends = [
        (from.clone(), first, &dumbbell.access_delay),
        (last, to.clone(), &dumbbell.exit_delay),
    ];
    for (a, b, delay) in ends {
        graph.links.push(Link(a, b, graph.settings.len()));
        graph.settings.push(Settings {
            rate: dumbbell.access_rate.clone(),
            delay: delay.clone(),
            ..Settings::default()
        });
    }
    graph
        .nodes
        .extend([from, to].map(|name| Node(name, NodeKind::Host, "0 s".to_owned())));
}

/// Returns the problem of a flow that has the name of an earlier one; flows are numbers of a group and of its flow.
fn collision(groups: &[Group], earlier: (usize, usize), later: (usize, usize)) -> String {
    let (group, other) = (&groups[later.0], &groups[earlier.0]);
    let (field, name) = (format!("network.group[{}].name", later.0), &group.name);
    let owner = format!("network.group[{}]", earlier.0);
    if *name == other.name {
        return format!("{field}: '{name}' is the name of {owner}; needs a unique name");
    }
    let holder = match other.count {
        1 => format!("the name of {owner}"),
        _ => format!("the name of flow {} of {owner}, '{}'", earlier.1 + 1, other.name),
    };
    let made = match group.count {
        1 => "is".to_owned(),
        _ => format!("and number {} give '{}', which is", later.1 + 1, group.flow(later.1)),
    };
    format!("{field}: '{name}' {made} {holder}; needs another name")
}
