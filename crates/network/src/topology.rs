//! The graph of a scenario, checked, with every virtual circuit's way through it.

use crate::aal5::{frame_cells, CELL_BITS};
use crate::loss;
use crate::scenario::{FlowConfig, NodeKind, PolicyConfig, Scenario, StartConfig, TrafficConfig};
use longpipe_events::{agenda, Rate, SlotGrid, Time, PS_PER_SECOND};
use longpipe_tcp::config::{AckConfig, PhaseConfig, TcpConfig, TimerConfig, MAX_WINDOW_SCALE};
use longpipe_tcp::segment::MAX_SACK_BLOCKS;
use std::collections::VecDeque;

/// What is wrong with a scenario, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value}; {accepted}")]
pub struct ScenarioError {
    /// Path of the field.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

fn refuse<T>(field: impl Into<String>, value: impl ToString, accepted: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError {
        field: field.into(),
        value: value.to_string(),
        accepted: accepted.into(),
    })
}

/// One step of a virtual circuit: over a link, or into the host at its end.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The link taken, or `HOST`.
    pub link: u32,
    /// The VC's number at that link's port.
    pub local: u32,
}

/// Stands for a link where a circuit ends.
pub const HOST: u32 = u32::MAX;

/// Where a link ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// Downstream node.
    pub node: u32,
    /// Whether the wire need be looked at only when the last cell of a frame arrives: it ends at a host, or
    /// its cells never again meet those of another wire.
    pub whole_frames: bool,
    /// The link's number among the inputs of that node.
    pub input: u32,
    /// Number of inputs of that node.
    pub inputs: u32,
    /// Length of a cell, rounded down [ps].
    pub cell: u64,
}

/// The graph with its routes. Flow `f` sends data on VC `2f` and receives ACKs on VC `2f + 1`.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Where each link ends.
    pub ends: Vec<LinkEnd>,
    /// Output slots of each link.
    pub grids: Vec<SlotGrid>,
    /// Virtual circuits through each link.
    pub vcs_of_link: Vec<u32>,
    /// Steps of all VCs, one VC after the other, each ending in a host.
    pub steps: Vec<Step>,
    /// First step of each VC.
    pub first_step: Vec<u32>,
}

impl Topology {
    /// Checks the scenario and lays out its circuits.
    pub fn new(scenario: &Scenario) -> Result<Topology, ScenarioError> {
        check_scalars(scenario)?;
        let ends = link_ends(scenario)?;
        let mut topology = Topology {
            grids: grids(scenario, &ends),
            ends,
            vcs_of_link: vec![0; scenario.links.len()],
            steps: Vec::new(),
            first_step: Vec::new(),
        };
        for (index, flow) in scenario.flows.iter().enumerate() {
            check_flow(scenario, index, flow)?;
            let (source, sink) = route_ends(scenario, &format!("flows[{index}].route"), &flow.route)?;
            let back = route_ends(scenario, &format!("flows[{index}].return_route"), &flow.return_route)?;
            if back != (sink, source) {
                let names =
                    |(a, b): (usize, usize)| format!("{} to {}", scenario.nodes[a].name, scenario.nodes[b].name);
                return refuse(
                    format!("flows[{index}].return_route"),
                    names(back),
                    format!("needs to lead from {}", names((sink, source))),
                );
            }
            topology.add_circuit(&flow.route);
            topology.add_circuit(&flow.return_route);
        }
        topology.find_whole_frames();
        Ok(topology)
    }

    /// A wire qualifies if each port it feeds has no other input and feeds, in turn, a wire that qualifies.
    fn find_whole_frames(&mut self) {
        let links = self.ends.len();
        let mut inputs = vec![None; links];
        let mut shared = vec![false; links];
        for pair in self
            .steps
            .windows(2)
            .filter(|pair| pair[0].link != HOST && pair[1].link != HOST)
        {
            let (from, to) = (pair[0].link, pair[1].link as usize);
            shared[to] |= inputs[to].is_some_and(|other| other != from);
            inputs[to] = Some(from);
        }
        let mut whole = vec![true; links];
        loop {
            let before = whole.clone();
            for pair in self
                .steps
                .windows(2)
                .filter(|pair| pair[0].link != HOST && pair[1].link != HOST)
            {
                let next = pair[1].link as usize;
                whole[pair[0].link as usize] &= whole[next] && !shared[next];
            }
            if whole == before {
                break;
            }
        }
        for (end, whole) in self.ends.iter_mut().zip(whole) {
            end.whole_frames = whole;
        }
    }

    fn add_circuit(&mut self, route: &[usize]) {
        self.first_step.push(self.steps.len() as u32);
        for &link in route {
            let local = &mut self.vcs_of_link[link];
            self.steps.push(Step {
                link: link as u32,
                local: *local,
            });
            *local += 1;
        }
        self.steps.push(Step { link: HOST, local: 0 });
    }
}

fn check_scalars(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.duration_ps == 0 || scenario.duration_ps > 100 * 86_400 * PS_PER_SECOND {
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
        if !(1_000..=10_000_000_000_000).contains(&link.rate_bps) {
            return refuse(
                field("rate"),
                link.rate_bps,
                "needs between 1 kbit/s and 10 Tbit/s, in bit/s",
            );
        }
        if link.delay_ps > 1_000 * PS_PER_SECOND {
            return refuse(field("delay"), link.delay_ps, "needs at most 1000 s, in ps");
        }
        for node in [link.from, link.to] {
            if node >= scenario.nodes.len() {
                return refuse(field("from/to"), node, "needs the index of a node");
            }
        }
        check_policy(&field("policy"), &link.policy)?;
        if let Some((value, accepted)) = loss::problem(&link.loss) {
            return refuse(field("loss"), value, accepted);
        }
    }
    if scenario.links.len() + 3 * scenario.flows.len() > agenda::MAX_ENTITIES {
        return refuse(
            "flows",
            scenario.flows.len(),
            "needs fewer than 16 million links and timers in all",
        );
    }
    Ok(())
}

fn check_policy(field: &str, policy: &PolicyConfig) -> Result<(), ScenarioError> {
    let (threshold, z) = match *policy {
        PolicyConfig::TailDrop {} | PolicyConfig::PartialPacketDiscard { .. } => return Ok(()),
        PolicyConfig::Epd { threshold, .. } => (threshold, 1.0),
        PolicyConfig::SelectiveDrop { threshold, z, .. } | PolicyConfig::Fba { threshold, z, .. } => (threshold, z),
    };
    if !(threshold > 0.0 && threshold <= 1.0) {
        return refuse(
            format!("{field}.threshold"),
            threshold,
            "needs a fraction of the buffer in (0, 1]",
        );
    }
    if !(z > 0.0 && z.is_finite()) {
        return refuse(format!("{field}.z"), z, "needs a positive number");
    }
    Ok(())
}

fn link_ends(scenario: &Scenario) -> Result<Vec<LinkEnd>, ScenarioError> {
    let mut inputs = vec![0u32; scenario.nodes.len()];
    let mut ends = Vec::with_capacity(scenario.links.len());
    for link in &scenario.links {
        let input = inputs[link.to];
        inputs[link.to] += 1;
        ends.push(LinkEnd {
            node: link.to as u32,
            whole_frames: false,
            input,
            inputs: 0,
            cell: SlotGrid::new(Time::ZERO, CELL_BITS, Rate(link.rate_bps)).period_floor(),
        });
    }
    for end in &mut ends {
        end.inputs = inputs[end.node as usize];
    }
    Ok(ends)
}

/// Slots of every link: a host's begin at 0, a switch's `slot_phase` of a cell after those in which cells arrive
/// from the nearest host (the first link in order, breadth first).
fn grids(scenario: &Scenario, ends: &[LinkEnd]) -> Vec<SlotGrid> {
    let mut phase = vec![None; scenario.nodes.len()];
    let mut queue = VecDeque::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.kind == NodeKind::Host {
            phase[index] = Some(0);
            queue.push_back((index, 0));
        }
    }
    while let Some((node, start)) = queue.pop_front() {
        for (link, end) in scenario.links.iter().zip(ends).filter(|(link, _)| link.from == node) {
            if phase[link.to].is_none() {
                let offset = start + link.delay_ps + (scenario.slot_phase * end.cell as f64) as u64;
                phase[link.to] = Some(offset);
                queue.push_back((link.to, offset));
            }
        }
    }
    scenario
        .links
        .iter()
        .map(|link| SlotGrid::new(Time(phase[link.from].unwrap_or(0)), CELL_BITS, Rate(link.rate_bps)))
        .collect()
}

/// First and last node of a route, which must connect two hosts through switches.
fn route_ends(scenario: &Scenario, field: &str, route: &[usize]) -> Result<(usize, usize), ScenarioError> {
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
    let (source, sink) = (scenario.links[first].from, scenario.links[last].to);
    for node in [source, sink] {
        if scenario.nodes[node].kind != NodeKind::Host {
            return refuse(field, name(node), "needs a host at either end");
        }
    }
    Ok((source, sink))
}

fn check_flow(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("flows[{index}].{name}");
    check_tcp(&field("tcp"), &flow.tcp)?;
    let data = frame_cells(flow.tcp.mss_bytes + 52);
    for (route, cells) in [(&flow.route, data), (&flow.return_route, frame_cells(52))] {
        for link in route.iter().filter_map(|&link| scenario.links.get(link)) {
            if let Some(buffer) = link.buffer_cells.filter(|&buffer| buffer < u64::from(cells)) {
                let (a, b) = (&scenario.nodes[link.from].name, &scenario.nodes[link.to].name);
                return refuse(
                    format!("buffer of {a}->{b}"),
                    format!("{buffer} cells"),
                    format!("needs at least one full packet ({cells} cells)"),
                );
            }
        }
    }
    match flow.traffic {
        TrafficConfig::Transfer { size_bytes: 0 } => refuse(field("traffic.size"), 0, "needs at least one byte"),
        TrafficConfig::Transfer { .. } | TrafficConfig::Greedy {} => Ok(()),
    }?;
    match flow.start {
        StartConfig::Random { from_ps, over_ps } if from_ps.checked_add(over_ps).is_none() => {
            refuse(field("start"), over_ps, "needs an interval that ends before 213 days")
        }
        StartConfig::Random { .. } | StartConfig::Fixed { .. } => Ok(()),
    }
}

fn check_tcp(field: &str, tcp: &TcpConfig) -> Result<(), ScenarioError> {
    if !(1..=65_000).contains(&tcp.mss_bytes) {
        return refuse(format!("{field}.mss"), tcp.mss_bytes, "needs 1 to 65 000 bytes");
    }
    if tcp.receiver_window_bytes < u64::from(tcp.mss_bytes) || tcp.receiver_window_bytes > 1 << 30 {
        return refuse(
            format!("{field}.receiver_window"),
            tcp.receiver_window_bytes,
            format!("needs at least one segment ({} bytes) and at most 1 GiB", tcp.mss_bytes),
        );
    }
    let least = TcpConfig::least_window_scale(tcp.receiver_window_bytes);
    if !(least..=MAX_WINDOW_SCALE).contains(&tcp.window_scale) {
        return refuse(
            format!("{field}.window_scale"),
            tcp.window_scale,
            format!(
                "needs {least} to {MAX_WINDOW_SCALE} for a window of {} bytes",
                tcp.receiver_window_bytes
            ),
        );
    }
    if !(1..=MAX_SACK_BLOCKS).contains(&(tcp.sack.blocks as usize)) {
        return refuse(
            format!("{field}.sack.blocks"),
            tcp.sack.blocks,
            format!("needs room for 1 to {MAX_SACK_BLOCKS} blocks"),
        );
    }
    if tcp.initial_window_segments == 0 || tcp.initial_window_segments > 1_000_000 {
        return refuse(
            format!("{field}.initial_window"),
            tcp.initial_window_segments,
            "needs 1 to 1 000 000 segments",
        );
    }
    if tcp.duplicate_ack_threshold == 0 {
        return refuse(format!("{field}.duplicate_ack_threshold"), 0, "needs at least 1");
    }
    if let AckConfig::Delayed { segments, timeout_ps } = tcp.ack {
        if segments == 0 || timeout_ps == 0 || timeout_ps > 1_000 * PS_PER_SECOND {
            return refuse(
                format!("{field}.ack"),
                format!("{segments} segments, {timeout_ps} ps"),
                "needs at least one segment and a timeout of up to 1000 s",
            );
        }
    }
    check_timer(&format!("{field}.timer"), &tcp.timer)
}

fn check_timer(field: &str, timer: &TimerConfig) -> Result<(), ScenarioError> {
    match *timer {
        TimerConfig::Coarse {
            tick_ps,
            ref phase,
            min_rto_ticks,
            max_rto_ticks,
            initial_rto_ticks,
        } => {
            if tick_ps == 0 || tick_ps > 100 * PS_PER_SECOND {
                return refuse(format!("{field}.tick"), tick_ps, "needs a tick of up to 100 s, in ps");
            }
            if let PhaseConfig::Fixed { at_ps } = *phase {
                if at_ps >= tick_ps {
                    return refuse(
                        format!("{field}.phase"),
                        at_ps,
                        "needs an instant within the first tick",
                    );
                }
            }
            let ordered = 1 <= min_rto_ticks && min_rto_ticks <= max_rto_ticks && max_rto_ticks <= 1_000_000;
            if !ordered || !(1..=max_rto_ticks).contains(&initial_rto_ticks) {
                return refuse(
                    format!("{field}.min_rto, initial_rto, max_rto"),
                    format!("{min_rto_ticks}, {initial_rto_ticks}, {max_rto_ticks} ticks"),
                    "needs 1 <= min_rto <= max_rto <= 1 000 000 and 1 <= initial_rto <= max_rto",
                );
            }
        }
        TimerConfig::Fine {
            granularity_ps: _,
            min_rto_ps,
            max_rto_ps,
            initial_rto_ps,
            timestamps: _,
        } => {
            let ordered = 1 <= min_rto_ps && min_rto_ps <= max_rto_ps && max_rto_ps <= 100_000 * PS_PER_SECOND;
            if !ordered || !(1..=max_rto_ps).contains(&initial_rto_ps) {
                return refuse(
                    format!("{field}.min_rto, initial_rto, max_rto"),
                    format!("{min_rto_ps}, {initial_rto_ps}, {max_rto_ps} ps"),
                    "needs 0 < min_rto <= max_rto <= 100 000 s and 0 < initial_rto <= max_rto",
                );
            }
        }
    }
    Ok(())
}
