//! Split connections: a host beside each proxy's switch, and a flow per part of a connection.

use crate::input::{Flow, Graph, Link, Node, NodeKind, Pep, Ports, Settings, TAIL_DROP};
use crate::topology::{Part, Topology};
use crate::units::{self, SIZE};
use crate::Problems;

/// Link between a switch and its proxy, which are one machine.
const RATE: &str = "10 Tbit/s";
const DELAY: &str = "0 s";
/// A connection needs space for a segment while another segment is not yet acknowledged.
const MIN_SEGMENTS: u64 = 2;

/// Checks that proxies are at switches.
///
/// # Errors
/// Returns the problem of the first proxy at a host.
pub(crate) fn check(graph: &Graph) -> Result<(), Problems> {
    for Pep { node, .. } in &graph.peps {
        let hosts = graph.nodes.iter().enumerate();
        let mut hosts = hosts.filter(|(_, host)| host.0 == *node && host.1 == NodeKind::Host);
        if let Some((i, _)) = hosts.next() {
            let needs = "splits passing connections, needs a switch";
            return Err(format!("network.nodes[{i}].pep: at a host; {needs}").into());
        }
    }
    Ok(())
}

/// Splits the flows of a graph at its proxies, and returns the new graph with the parts of connections: those that are
/// flows of the graph, followed by the additional ones.
///
/// # Errors
/// Returns the problem of the first flow whose return route passes other proxies.
pub(crate) fn split(topology: &Topology) -> Result<(Graph, Vec<Part>), Problems> {
    let mut graph = topology.graph.clone();
    let place = graph.settings.len();
    graph.settings.push(Settings {
        rate: RATE.to_owned(),
        delay: DELAY.to_owned(),
        buffer: Some("unlimited".to_owned()),
        policy: Some(TAIL_DROP),
        ..Settings::default()
    });
    for Pep { node, .. } in &topology.graph.peps {
        graph.nodes.push(Node(host(node), NodeKind::Host, DELAY.to_owned()));
        graph.links.push(Link(node.clone(), host(node), place));
    }
    let number = |name: &String| topology.graph.peps.iter().position(|pep| pep.node == *name);
    let mut parts: Vec<Part> = (0..graph.flows.len()).map(Part::whole).collect();
    for (i, flow) in topology.graph.flows.iter().enumerate() {
        let [there, back] = topology.route_names(i);
        let at: Vec<&String> = there[1..there.len() - 1]
            .iter()
            .filter(|name| number(name).is_some())
            .collect();
        if at.is_empty() || !flow.splits {
            continue;
        }
        let returning: Vec<&String> = back.iter().rev().filter(|name| at.contains(name)).collect();
        if returning != at {
            let field = format!("{}.return_route", topology.flow_field(i));
            let needs: Vec<&str> = at.iter().rev().map(|name| name.as_str()).collect();
            let needs = format!("also needs to pass {}", needs.join(" and "));
            return Err(format!("{field}: {}; {needs}", back.join(" -> ")).into());
        }
        for (k, piece) in pieces(flow, &at, &there, &back).into_iter().enumerate() {
            let sender = k.checked_sub(1).and_then(|before| number(at[before]));
            // The last part is the flow itself.
            let following = if k + 1 < at.len() { graph.flows.len() + 1 } else { i };
            let onward = at.get(k).and_then(|name| Some((following, number(name)?)));
            let part = Part { of: i, sender, onward };
            if k == at.len() {
                (graph.flows[i], parts[i]) = (piece, part);
            } else {
                graph.flows.push(piece);
                parts.push(part);
            }
        }
    }
    Ok((graph, parts))
}

/// Returns the connections of a flow, in order.
fn pieces(flow: &Flow, at: &[&String], there: &[String], back: &[String]) -> Vec<Flow> {
    let ends: Vec<&String> = there
        .first()
        .into_iter()
        .chain(at.iter().copied())
        .chain(there.last())
        .collect();
    let between = |route: &[String], first: &String, last: &String| {
        let place = |name| route.iter().position(|node| node == name).unwrap_or_default();
        route[place(first)..=place(last)].to_vec()
    };
    let pieces = ends.windows(2).enumerate().map(|(k, ends)| {
        let (first, last) = (ends[0], ends[1]);
        let (mut way, mut home) = (between(there, first, last), between(back, last, first));
        if at.contains(&first) {
            way.insert(0, host(first));
            home.push(host(first));
        }
        if at.contains(&last) {
            way.push(host(last));
            home.insert(0, host(last));
        }
        let name = if k == at.len() {
            flow.name.clone()
        } else {
            format!("{}-to-{last}", flow.name)
        };
        let (from, to) = (way[0].clone(), way[way.len() - 1].clone());
        Flow {
            name,
            from,
            to,
            route: Some(way),
            return_route: Some(home),
            ..flow.clone()
        }
    });
    pieces.collect()
}

/// Returns the name of the host that represents a switch's proxy.
fn host(switch: &str) -> String {
    format!("{switch}-pep")
}

/// Checks the buffers of proxies.
///
/// # Errors
/// Returns the problem of the first buffer that is too small.
pub(crate) fn check_buffers(topology: &Topology, ports: &Ports) -> Result<(), Problems> {
    for (part, tcp) in topology.parts.iter().zip(&ports.tcp_of) {
        let Some((_, proxy)) = part.onward else {
            continue;
        };
        let (Pep { node, .. }, buffer, minimum) = (
            &topology.graph.peps[proxy],
            buffer_bytes(topology, proxy),
            MIN_SEGMENTS * ports.tcps[*tcp].mss_bytes,
        );
        if buffer < minimum {
            let pep = match topology.graph.dumbbell {
                Some(_) => "network.pep".to_owned(),
                None => format!("pep of node '{node}'"),
            };
            let needs = format!("needs at least two full segments ({minimum} B)");
            return Err(format!("{pep}.buffer: {buffer} B; {needs}").into());
        }
    }
    Ok(())
}

/// Returns the size [byte] of a proxy's buffer.
pub(crate) fn buffer_bytes(topology: &Topology, proxy: usize) -> u64 {
    units::parse(SIZE, &topology.graph.peps[proxy].buffer).unwrap_or_default()
}
