//! All nodes and flows of a resolved network.

use crate::input::NodeKind;
use crate::settings::{Settings, Transport};
use crate::splits;
use crate::times::{FlowStart, Start, Stop};
use crate::topology::{BothWays, Topology};
use crate::units::{self, TIME};
use crate::Problems;
use serde::Serialize;

/// A node of a resolved scenario.
#[derive(Serialize)]
pub struct NodeRow {
    name: String,
    kind: &'static str,
    send_jitter_ps: u64,
}

/// A flow of a resolved scenario: number of the flow of the graph that it copies, number of its routes, and the fields that
/// differ between copies.
#[derive(Serialize)]
pub struct FlowRow(pub(crate) usize, pub(crate) usize, pub(crate) FlowFields);

#[derive(Serialize)]
pub(crate) struct FlowFields {
    name: String,
    start: FlowStart,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Stop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    onward: Option<Forwarding>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relayed: bool,
}

/// The flow that forwards the data of a flow.
#[derive(Serialize)]
struct Forwarding {
    flow: usize,
    buffer_bytes: u64,
}

/// Returns all nodes of a network.
pub fn nodes(topology: &Topology) -> Vec<NodeRow> {
    let copies = &topology.copies;
    let mut rows = Vec::with_capacity(topology.graph.nodes.len());
    for (i, (node, group)) in topology.graph.nodes.iter().zip(&copies.of_node).enumerate() {
        let kind = match node.1 {
            NodeKind::Host => "host",
            NodeKind::Switch => "switch",
        };
        let send_jitter_ps = units::parse(TIME, &node.2).unwrap_or_default();
        let role = if i < copies.groups.len() { "source" } else { "sink" };
        for copy in 0..copies.count(*group) {
            let name = match group {
                Some(group) => format!("{role}{}", copies.firsts[*group] + copy + 1),
                None => node.0.clone(),
            };
            rows.push(NodeRow {
                name,
                kind,
                send_jitter_ps,
            });
        }
    }
    rows
}

/// Returns the distinct routes of all flows of a network, and the flows.
///
/// # Errors
/// Returns the problem of the first flow that does not start before the end of the run and stop after its start.
pub(crate) fn flows(topology: &Topology, times: &Settings<'_>) -> Result<(Vec<BothWays>, Vec<FlowRow>), Problems> {
    let copies = &topology.copies;
    for i in 0..topology.graph.flows.len() {
        start_of(topology, times, i, 0)?;
        check_has_stop(topology, times, i)?;
    }
    let mut ways = if copies.groups.is_empty() {
        topology.ways.clone()
    } else {
        vec![]
    };
    let mut rows = Vec::with_capacity(topology.graph.flows.len());
    for (i, flow) in topology.graph.flows.iter().enumerate() {
        let part = &topology.parts[i];
        let (there, back) = &topology.ways[topology.way_of[i]];
        for copy in 0..copies.count(copies.of_flow[i]) {
            let way = match copies.of_flow[i] {
                None => topology.way_of[i],
                Some(_) => {
                    ways.push((copies.route(there, copy), copies.route(back, copy)));
                    ways.len() - 1
                }
            };
            let onward = part.onward.map(|(flow, proxy)| Forwarding {
                flow: copies.flows[flow].of_copy(copy),
                buffer_bytes: splits::buffer_bytes(topology, proxy),
            });
            let row = FlowFields {
                name: name_of(topology, i, copy),
                start: start_of(topology, times, i, copy)?,
                stop: flow.stop.or(times.stop),
                onward,
                relayed: part.sender.is_some(),
            };
            rows.push(FlowRow(i, way, row));
        }
    }
    for FlowRow(of, _, row) in &rows {
        let begin_ps = row.start.earliest_ps();
        if let Some(Stop::At { at_ps }) = row
            .stop
            .filter(|stop| matches!(stop, Stop::At { at_ps } if *at_ps <= begin_ps))
        {
            let field = format!("{} of flow '{}'.at", stop_field(topology, *of), row.name);
            let [at, begin] = [at_ps, begin_ps].map(|ps| TIME.format(i128::from(ps)));
            return Err(format!("{field}: {at}; needs more than the start, {begin}").into());
        }
    }
    Ok((ways, rows))
}

/// Returns the name of a copy of a flow. The first part of a split flow has a suffix.
fn name_of(topology: &Topology, i: usize, copy: usize) -> String {
    let name = &topology.graph.flows[i].name;
    match topology.copies.of_flow[i].map(|group| &topology.copies.groups[group]) {
        None => name.clone(),
        Some(group) => group.flow(copy) + name.strip_prefix(&group.flow(0)).unwrap_or_default(),
    }
}

/// Returns the start of a copy of a flow.
///
/// # Errors
/// Returns a problem if it is not before the end of the run.
fn start_of(topology: &Topology, times: &Settings<'_>, i: usize, copy: usize) -> Result<FlowStart, Problems> {
    let of = topology.parts[i].of;
    let own = topology.graph.flows[i].start;
    let chosen = own.unwrap_or(times.start);
    let first = topology.copies.firsts.get(of).copied().unwrap_or(of);
    // Staggered starts count all flows of the network.
    let start = chosen.of_flow(first + copy);
    let begin_ps = start.earliest_ps();
    if Some(begin_ps) < units::parse(TIME, &times.duration) {
        return Ok(start);
    }
    let field = match own {
        Some(_) => format!("{}.start", topology.flow_field(i)),
        None => "start".to_owned(),
    };
    let field = match chosen {
        Start::Fixed { .. } => format!("{field}.at"),
        Start::Random { .. } => format!("{field}.from"),
        Start::Staggered { .. } => format!("{field} of flow '{}'", name_of(topology, of, copy)),
    };
    let (at, duration) = (TIME.format(i128::from(begin_ps)), &times.duration);
    Err(format!("{field}: {at}; needs less than the duration, {duration}").into())
}

/// Checks that a flow with a stop is not one of a real stack.
fn check_has_stop(topology: &Topology, times: &Settings<'_>, i: usize) -> Result<(), Problems> {
    let flow = &topology.graph.flows[i];
    if flow.stop.or(times.stop).is_none() || times.traffics[flow.traffic].transport != Transport::Stack {
        return Ok(());
    }
    let needs = "needs traffic without a real stack, which ends after its size";
    let field = format!("{} of flow '{}'", stop_field(topology, i), flow.name);
    Err(format!("{field}: set; {needs}").into())
}

/// Returns the name of the field that sets the stop of a flow.
fn stop_field(topology: &Topology, i: usize) -> String {
    match topology.graph.flows[i].stop {
        Some(_) => format!("{}.stop", topology.flow_field(i)),
        None => "stop".to_owned(),
    }
}
