//! Checks of a resolved scenario, part by part. `topology.rs` checks the graph and its routes.

use crate::bounds::{LONGEST_VBR_PERIOD, MAX_DURATION, MAX_PATH_DELAY, MAX_WAIT};
use crate::conditioners::{self, ConditionerConfig};
use crate::packets::aal5::{frame_cells, CELL_BITS};
use crate::scenario::access;
use crate::scenario::connection_slots;
use crate::scenario::forwarding;
use crate::scenario::link_ends::LinkEnd;
use crate::scenario::refusal::{accept, refuse, ScenarioError};
use crate::scenario::time_varying::ServiceConfig;
use crate::scenario::topology::Topology;
use crate::scenario::{
    BufferUnit, Engine, FlowConfig, Framing, LinkConfig, LossConfig, NodeKind, Scenario, SchedulerConfig, StartConfig,
    Ties, TrafficConfig,
};
use longpipe_events::key::MAX_ENTITIES;
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::described::Described;

/// Checks all parts of a scenario except flows.
pub(crate) fn check_scalars(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.duration_ps == 0 || scenario.duration_ps > MAX_DURATION {
        return refuse(
            "duration",
            scenario.duration_ps,
            "needs between 1 ps and 100 days, in ps",
        );
    }
    if !(0.0..1.0).contains(&scenario.slot_phase) {
        return refuse(
            "slot_phase",
            scenario.slot_phase,
            "needs a fraction of a cell in [0, 1)",
        );
    }
    if scenario.flows.is_empty() {
        return refuse("flows", "none", "needs at least one flow");
    }
    for (index, link) in scenario.links.iter().enumerate() {
        let field = |name: &str| format!("links[{index}].{name}");
        check_link(scenario, link, field)?;
        check_conditioners(scenario, link, || field("conditioners"))?;
        check_motion(scenario.framing, link, field)?;
    }
    if let Some((index, node)) = (0..)
        .zip(&scenario.nodes)
        .find(|(_, node)| node.send_jitter_ps > MAX_WAIT)
    {
        let field = format!("nodes[{index}].send_jitter");
        return refuse(field, node.send_jitter_ps, "needs at most 1000 s, in ps");
    }
    access::check(scenario)?;
    check_framing(scenario)?;
    check_host_queues(scenario)?;
    if scenario.links.len() + 3 * scenario.flows.len() + scenario.vbr.len() > MAX_ENTITIES {
        return refuse(
            "flows",
            scenario.flows.len(),
            "needs fewer than 16 million links and timers in total",
        );
    }
    Ok(())
}

/// Checks the parts of a link that exist whatever the framing is; `field` returns the whole name of its field.
fn check_link(scenario: &Scenario, link: &LinkConfig, field: impl Fn(&str) -> String) -> Result<(), ScenarioError> {
    if !(1_000..=10_000_000_000_000).contains(&link.rate_bps) {
        return refuse(
            field("rate"),
            link.rate_bps,
            "needs between 1 kbit/s and 10 Tbit/s, in bit/s",
        );
    }
    if link.delay_ps > MAX_WAIT {
        return refuse(field("delay"), link.delay_ps, "needs at most 1000 s, in ps");
    }
    for node in [link.from, link.to] {
        if node >= scenario.nodes.len() {
            return refuse(field("from/to"), node, "needs the index of a node");
        }
    }
    accept(|| field("policy"), link.policy.problem())?;
    accept(|| field("scheduler"), link.scheduler.invalid())?;
    accept(|| field("loss"), link.loss.invalid())
}

/// Checks the conditioners of a link, each alone, together, and with the rest of the scenario.
fn check_conditioners(scenario: &Scenario, link: &LinkConfig, field: impl Fn() -> String) -> Result<(), ScenarioError> {
    let problem = link.conditioners.iter().find_map(ConditionerConfig::problem);
    accept(&field, problem)?;
    let kinds: Vec<&str> = link.conditioners.iter().map(<&str>::from).collect();
    if let Some((place, kind, accepted)) = conditioners::problems_of_all(&kinds).into_iter().next() {
        return refuse(format!("{}[{place}]", field()), kind, accepted);
    }
    let service = link.motion.as_ref().and_then(|motion| motion.service.as_ref());
    if link.aggregates() && matches!(service, Some(ServiceConfig::Opportunities { .. })) {
        return refuse(
            field(),
            "aggregation",
            "needs a rate, because the opportunities of a schedule are batches",
        );
    }
    if link.duplicates() && scenario.flows.iter().any(|flow| flow.foreign) {
        return refuse(
            field(),
            "duplication",
            "needs no duplication if external programs send packets",
        );
    }
    if scenario.framing == Framing::Aal5 && !link.conditioners.is_empty() {
        return refuse(field(), "set", "needs none under AAL5, because they act on IP packets");
    }
    Ok(())
}

/// Checks how a link varies in time, if it does.
fn check_motion(framing: Framing, link: &LinkConfig, field: impl Fn(&str) -> String) -> Result<(), ScenarioError> {
    let Some(motion) = &link.motion else { return Ok(()) };
    if let Some((value, accepted)) = unsupported_with_time_variation(link, framing) {
        return refuse(field("motion"), value, accepted);
    }
    let problem = match framing {
        Framing::Aal5 => motion.problem_of_cells(),
        Framing::Ip => None,
    };
    if let Some((name, value, accepted)) = problem.or_else(|| motion.problem()) {
        return refuse(field(&format!("motion.{name}")), value, accepted);
    }
    Ok(())
}

/// If a time-varying link sets a field that it does not support, returns the field and the accepted values.
fn unsupported_with_time_variation(link: &LinkConfig, framing: Framing) -> Option<(&'static str, &'static str)> {
    let may_corrupt = framing == Framing::Ip && matches!(link.loss, LossConfig::BitErrors { .. });
    may_corrupt.then_some(("with bit errors", "needs other losses"))
}

/// Checks the queues at the interfaces of hosts.
fn check_host_queues(scenario: &Scenario) -> Result<(), ScenarioError> {
    let queues = scenario.links.iter().filter(|link| scenario.has_queue_at_host(link));
    for link in queues {
        if scenario.framing == Framing::Aal5 {
            let name = &scenario.nodes[link.from].name;
            return refuse("policy of a host", name, "needs tail-drop without a limit under AAL5");
        }
        let jitter = scenario.nodes[link.from].send_jitter_ps;
        if jitter > 0 {
            let field = format!("nodes[{}].send_jitter", link.from);
            return refuse(
                field,
                jitter,
                "needs 0 if the host's interface has a queue discipline or a limit",
            );
        }
    }
    Ok(())
}

fn check_buffer(scenario: &Scenario, link: &LinkConfig, packet_bytes: u32) -> Result<(), ScenarioError> {
    let Some(buffer) = link.buffer else { return Ok(()) };
    let (min, unit) = match buffer.unit {
        BufferUnit::Cells => (u64::from(frame_cells(packet_bytes)), "cells"),
        BufferUnit::Packets => (1, "packets"),
        BufferUnit::Bytes => (u64::from(packet_bytes), "bytes"),
    };
    let field = format!(
        "buffer of {}->{}",
        scenario.nodes[link.from].name, scenario.nodes[link.to].name
    );
    if (buffer.unit == BufferUnit::Cells) != (scenario.framing == Framing::Aal5) {
        return refuse(field, unit, "needs cells under AAL5, otherwise packets or bytes");
    }
    if buffer.limit < min {
        return refuse(
            field,
            format!("{} {unit}", buffer.limit),
            format!("needs at least one full packet ({min} {unit})"),
        );
    }
    Ok(())
}

/// Checks fields that are valid only for cells or only for IP packets.
fn check_framing(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (index, link) in scenario.links.iter().enumerate() {
        let field = |name: &str| format!("links[{index}].{name}");
        if scenario.framing == Framing::Aal5 {
            if !link.policy.takes_cells() {
                let accepted = "needs tail-drop, partial-packet-discard, epd, selective-drop, fba or red by cells";
                return refuse(field("policy"), "a policy for IP packets", accepted);
            }
            continue;
        }
        if !link.policy.takes_packets() {
            let accepted = "needs a policy other than epd, partial-packet-discard and red by cells for IP packets";
            return refuse(field("policy"), "a policy for cells", accepted);
        }
        if link.scheduler != (SchedulerConfig::Fifo {}) {
            return refuse(field("scheduler"), "a scheduler for cells", "needs fifo for IP packets");
        }
    }
    if scenario.framing == Framing::Aal5 {
        return Ok(());
    }
    if scenario.ties == Ties::Rotating {
        return refuse("ties", "rotating", "needs random or port-order for IP packets");
    }
    if !scenario.vbr.is_empty() {
        return refuse("vbr", "sources of cells", "needs none for IP packets");
    }
    Ok(())
}

/// Checks that a flow is compatible with the links of its routes.
pub(crate) fn check_flow(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("flows[{index}].{name}");
    accept(|| field("tcp"), flow.tcp.problem())?;
    if scenario.framing == Framing::Aal5 && !flow.tcp.ecn.is_off() {
        return refuse(
            field("tcp.ecn"),
            "marks",
            "needs off under AAL5, whose cells carry no ECN marks",
        );
    }
    accept(|| field("service"), flow.service.invalid())?;
    if !flow.service.is_ubr() {
        check_guarantee(scenario, index, flow)?;
    }
    forwarding::check(scenario, index, flow)?;
    accept(|| field("traffic"), flow.traffic.problem(&flow.tcp))?;
    connection_slots::check(scenario, index, flow)?;
    if flow.stop.is_some() && flow.foreign {
        return refuse(field("stop"), "set", "needs a flow without external packets");
    }
    if flow.traffic.is_of_stack() && !flow.foreign {
        return refuse(field("foreign"), false, "needs true for the traffic of a stack");
    }
    if let TrafficConfig::StackPath(path) = &flow.traffic {
        let is_connection =
            |other: &FlowConfig| other.name == path.of && matches!(other.traffic, TrafficConfig::Stack(_));
        if !scenario.flows.iter().any(is_connection) {
            let accepted = "needs the name of a flow whose traffic is a stack";
            return refuse(field("traffic.of"), &path.of, accepted);
        }
    }
    if flow.foreign && scenario.engine != Engine::Reference {
        return refuse(field("foreign"), "in a fast engine", "needs engine reference");
    }
    let (mut data, mut ack) = flow.tcp.largest_packets_bytes();
    if flow.foreign {
        ack = data;
    } else if let Some([_, bytes]) = flow.traffic.datagram_bytes() {
        // A datagram flow has no reverse direction to check.
        (data, ack) = (bytes, 0);
    }
    if flow.traffic.facts().has_requests {
        // Requests that wait for the window may be sent together in one segment.
        ack = data;
    }
    for (back, bytes) in [(false, data), (true, ack)] {
        for link in flow.ways(back).flatten().filter_map(|&link| scenario.links.get(link)) {
            check_buffer(scenario, link, bytes)?;
            access::check_length(link, bytes)?;
        }
    }
    let all = flow.ways(false).chain(flow.ways(true)).flatten();
    for link in all.filter_map(|&link| scenario.links.get(link)) {
        if let Some(classes) = link.policy.classes().filter(|&classes| flow.class >= classes) {
            let name = |node: usize| scenario.nodes[node].name.as_str();
            let accepted = format!(
                "needs less than {classes}, the classes of {}->{}",
                name(link.from),
                name(link.to)
            );
            return refuse(field("class"), flow.class, accepted);
        }
    }
    match flow.start {
        StartConfig::Random { from_ps, over_ps } if from_ps.checked_add(over_ps).is_none() => {
            refuse(field("start"), over_ps, "needs an interval that ends before 213 days")
        }
        StartConfig::Random { .. } | StartConfig::Fixed { .. } => Ok(()),
    }
}

/// Checks that a flow can have a guaranteed rate.
fn check_guarantee(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("flows[{index}].{name}");
    if scenario.framing == Framing::Ip {
        return refuse(field("service"), "gfr", "needs ubr for IP packets, which have no VCs");
    }
    for &at in &flow.route {
        let Some(link) = scenario.links.get(at) else { continue };
        let passing = scenario.flows.iter().filter(|other| other.route.contains(&at));
        let total: u128 = passing.map(|other| u128::from(other.service.mcr())).sum();
        if total * u128::from(CELL_BITS) > u128::from(link.rate_bps) {
            let node = |node: usize| scenario.nodes.get(node).map_or("", |node| node.name.as_str());
            return refuse(
                field("service.mcr"),
                format!("{total} cells/s in total over {}->{}", node(link.from), node(link.to)),
                format!("needs at most the {} cells/s of the link", link.rate_bps / CELL_BITS),
            );
        }
    }
    Ok(())
}

/// Checks that the VBR sources are compatible with the circuits of each class on each link.
pub(crate) fn check_vbr(scenario: &Scenario, topology: &Topology) -> Result<(), ScenarioError> {
    for (index, source) in scenario.vbr.iter().enumerate() {
        let field = |name: &str| format!("vbr[{index}].{name}");
        if let [link] = source.route[..] {
            let LinkConfig { from, to, .. } = scenario.links[link];
            return refuse(
                field("route"),
                format!("{}->{}", scenario.nodes[from].name, scenario.nodes[to].name),
                "needs a switch between its two hosts",
            );
        }
        if source.on_ps == 0 || source.on_ps > LONGEST_VBR_PERIOD.0 {
            return refuse(field("on"), source.on_ps, "needs a time on of up to 1 000 000 s, in ps");
        }
        accept(|| format!("vbr[{index}].times"), source.times.invalid())?;
        if source.off_ps.max(source.start_ps) > LONGEST_VBR_PERIOD.0 {
            return refuse(field("off, start"), source.off_ps, "needs at most 1 000 000 s, in ps");
        }
        for (hop, &at) in source.route.iter().enumerate() {
            let link = &scenario.links[at];
            let name = format!("{}->{}", scenario.nodes[link.from].name, scenario.nodes[link.to].name);
            if link.motion.is_some() {
                return refuse(field("route"), name, "needs static links for VBR");
            }
            if !(1_000..=link.rate_bps).contains(&source.peak_bps) {
                return refuse(
                    field("peak"),
                    source.peak_bps,
                    format!("needs 1 kbit/s to the rate of {name}, {} bit/s", link.rate_bps),
                );
            }
            let [ubr, vbr] = topology.vcs_of_link[at];
            if hop == 0 && (ubr, vbr) != (0, 1) {
                return refuse(field("route"), name, "needs a first link that carries nothing else");
            }
            if hop > 0 && !topology.ends[at].unshared {
                return refuse(
                    field("route"),
                    name,
                    "needs links whose cells meet no cells of another link further downstream",
                );
            }
            if hop > 1 && ubr > 0 {
                return refuse(field("route"), name, "needs links without TCP after its first switch");
            }
            let switch = scenario.nodes[link.from].kind == NodeKind::Switch;
            if switch && !link.scheduler.has_vbr_queue() {
                return refuse(
                    format!("scheduler of {name}"),
                    link.scheduler.name(),
                    "has no queue for VBR; needs priority or guaranteed-rate",
                );
            }
        }
    }
    Ok(())
}

/// Checks that a route is not too long.
pub(crate) fn check_path(
    scenario: &Scenario,
    ends: &[LinkEnd],
    field: impl FnOnce() -> String,
    route: &[usize],
) -> Result<(), ScenarioError> {
    let links = route
        .iter()
        .map(|&link| scenario.links[link].max_delay_ps() + 2 * ends[link].cell);
    let total: u128 = links.map(u128::from).sum();
    if total > u128::from(MAX_PATH_DELAY) {
        return refuse(
            field(),
            format!(
                "{} links of {} s in total",
                route.len(),
                total / u128::from(PS_PER_SECOND)
            ),
            "needs links of at most 1 000 000 s in total",
        );
    }
    Ok(())
}
