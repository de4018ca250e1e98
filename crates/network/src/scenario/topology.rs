//! The graph of a scenario, with the route of every circuit.

use crate::bounds::MAX_PATH_DELAY;
use crate::packets::aal5::CELL_BITS;
use crate::packets::{Circuit, Link};
use crate::scenario::check::{check_flow, check_path, check_scalars, check_vbr};
use crate::scenario::grouped::Grouped;
use crate::scenario::link_ends::{way_ends, LinkEnd};
use crate::scenario::refusal::{refuse, ScenarioError};
use crate::scenario::repetition;
use crate::scenario::{routes, FlowConfig, LinkConfig, NodeKind, Scenario};
use crate::schedulers::class::Class;
use crate::slots::SlotGrid;
use longpipe_events::{Rate, Span, Time, PS_PER_SECOND};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// A step of a circuit: over a link, or into the host at the end of the circuit.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Link of the step, or `HOST`.
    pub link: Link,
    /// Index of the circuit within its class at the link's port.
    pub local: u32,
}

/// Start of a circuit.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// First link.
    pub link: Link,
    /// Index of the step after the circuit's first step.
    pub step: u32,
}

/// Sentinel for the end of a circuit, used in place of a link.
pub const HOST: Link = Link(u32::MAX);

/// The graph with its routes. Flow `f` sends data on circuit `2f` and receives ACKs on circuit `2f + 1`; circuits of
/// VBR sources follow.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Upstream node of each link.
    pub origins: Vec<u32>,
    /// Downstream end of each link.
    pub ends: Vec<LinkEnd>,
    /// Output slots of each link.
    pub grids: Vec<SlotGrid>,
    /// Number of circuits of each class, UBR and VBR, through each link.
    pub vcs_of_link: Vec<[u32; 2]>,
    /// Steps of all circuits, concatenated; each circuit ends in a host.
    pub steps: Vec<Step>,
    /// First step of each circuit.
    first_step: Vec<u32>,
}

impl Topology {
    /// Checks the scenario and computes its circuits.
    pub fn new(scenario: &Scenario) -> Result<Topology, ScenarioError> {
        check_scalars(scenario)?;
        let ends = link_ends(scenario)?;
        let mut topology = Topology {
            origins: scenario.links.iter().map(|link| link.from as u32).collect(),
            grids: grids(scenario, &ends)?,
            ends,
            vcs_of_link: vec![[0; 2]; scenario.links.len()],
            steps: Vec::new(),
            first_step: Vec::new(),
        };
        for (index, flow) in scenario.flows.iter().enumerate() {
            check_flow(scenario, index, flow)?;
            let route = || format!("flows[{index}].route");
            let return_route = || format!("flows[{index}].return_route");
            let (source, sink) = route_ends(scenario, route, &flow.route)?;
            let back = route_ends(scenario, return_route, &flow.return_route)?;
            if back != (sink, source) {
                let names =
                    |(a, b): (usize, usize)| format!("{} to {}", scenario.nodes[a].name, scenario.nodes[b].name);
                return refuse(
                    return_route(),
                    names(back),
                    format!("needs to lead from {}", names((sink, source))),
                );
            }
            routes::check(scenario, index, flow)?;
            topology.add_circuit(scenario, route, flow.ways(false), Class::Ubr)?;
            topology.add_circuit(scenario, return_route, flow.ways(true), Class::Ubr)?;
        }
        for (index, source) in scenario.vbr.iter().enumerate() {
            let field = || format!("vbr[{index}].route");
            route_ends(scenario, field, &source.route)?;
            topology.add_circuit(scenario, field, std::iter::once(&source.route[..]), Class::Vbr)?;
        }
        topology.find_unshared(scenario);
        check_vbr(scenario, &topology)?;
        repetition::check(scenario)?;
        Ok(topology)
    }

    /// Returns the pairs of consecutive links that a packet of a flow may take in addition to those within each route.
    pub(crate) fn crossings(&self, scenario: &Scenario, flow: &FlowConfig) -> Vec<(usize, usize)> {
        routes::crossings(&scenario.links, &self.ends, flow)
    }

    /// Finds unshared links: those whose downstream ports have no other input and feed unshared links.
    fn find_unshared(&mut self, scenario: &Scenario) {
        let pairs = self
            .steps
            .windows(2)
            .filter(|pair| pair[0].link != HOST && pair[1].link != HOST);
        let of_routes = pairs.map(|pair| (pair[0].link.index(), pair[1].link.index()));
        let crossings = scenario
            .flows
            .iter()
            .flat_map(|flow| routes::crossings(&scenario.links, &self.ends, flow));
        let hops: Vec<(usize, usize)> = of_routes.chain(crossings).collect();
        let mut input = vec![None; self.ends.len()];
        let mut several_inputs = vec![false; self.ends.len()];
        for &(from, to) in &hops {
            several_inputs[to] |= input[to].is_some_and(|other| other != from);
            input[to] = Some(from);
        }
        // If packets may be reordered, they meet other packets of their own link.
        let mut unshared: Vec<bool> = scenario.links.iter().map(|link| !link.may_reorder()).collect();
        for &(from, to) in &hops {
            // A port with a queue per VC, or with medium access, processes arrivals at their time.
            let in_time = scenario.has_queue_per_vc(to, self.vcs_of_link[to]) || scenario.links[to].access.is_some();
            unshared[from] &= !several_inputs[to] && !in_time;
        }
        // Each shared link makes the links that feed it shared too; each link is visited once.
        let feeding = Grouped::new(self.ends.len(), hops.iter().map(|&(from, to)| (to, from)));
        let mut shared: Vec<usize> = (0..unshared.len()).filter(|&link| !unshared[link]).collect();
        while let Some(link) = shared.pop() {
            for &from in feeding.of(link) {
                if std::mem::take(&mut unshared[from]) {
                    shared.push(from);
                }
            }
        }
        for (end, unshared) in self.ends.iter_mut().zip(unshared) {
            end.unshared = unshared;
        }
    }

    /// Returns the start of each circuit.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |&first: &u32| Entry {
            link: self.steps[first as usize].link,
            step: first + 1,
        };
        self.first_step.iter().map(entry).collect()
    }

    /// Returns the number of circuits.
    pub fn circuit_count(&self) -> usize {
        self.first_step.len()
    }

    /// Returns all circuits with their first step: those of flows, then those of VBR sources.
    pub fn circuits(&self) -> impl Iterator<Item = (Circuit, u32)> + '_ {
        let numbered = self.first_step.iter().zip(0..);
        numbered.map(|(&first, number)| (Circuit(number), first))
    }

    /// Returns the first step of a circuit.
    #[inline(always)]
    pub fn first_step(&self, circuit: Circuit) -> u32 {
        self.first_step[circuit.index()]
    }

    /// Returns the steps of a circuit starting with `step`, each with its link, up to the host.
    pub fn route(&self, step: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
        let links = self.steps[step as usize..].iter().take_while(|step| step.link != HOST);
        links.zip(step..).map(|(at, step)| (step, at.link.index()))
    }

    /// Adds a circuit for a route and for the later routes that replace it.
    fn add_circuit<'a>(
        &mut self,
        scenario: &Scenario,
        field: impl FnOnce() -> String + Copy,
        routes: impl Iterator<Item = &'a [usize]>,
        class: Class,
    ) -> Result<(), ScenarioError> {
        self.first_step.push(self.steps.len() as u32);
        for route in routes {
            check_path(scenario, &self.ends, field, route)?;
            if self.steps.len() + route.len() >= HOST.index() {
                return refuse(
                    field(),
                    format!("{} links", route.len()),
                    "needs fewer than 4 billion links in all routes",
                );
            }
            for &link in route {
                let local = &mut self.vcs_of_link[link][class as usize];
                self.steps.push(Step {
                    link: Link::new(link),
                    local: *local,
                });
                *local += 1;
            }
            self.steps.push(Step { link: HOST, local: 0 });
        }
        Ok(())
    }
}

fn link_ends(scenario: &Scenario) -> Result<Vec<LinkEnd>, ScenarioError> {
    let mut inputs = vec![0u32; scenario.nodes.len()];
    let mut ends = Vec::with_capacity(scenario.links.len());
    for link in &scenario.links {
        let input = inputs[link.to];
        inputs[link.to] += 1;
        ends.push(LinkEnd {
            node: link.to as u32,
            host: scenario.is_host(link.to),
            unshared: false,
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

/// Returns the slots of every link. A host's slots begin at 0. A switch's slots begin `slot_phase` · cell time after
/// the slots in which cells arrive from the nearest host (over the first link that a breadth-first search finds).
fn grids(scenario: &Scenario, ends: &[LinkEnd]) -> Result<Vec<SlotGrid>, ScenarioError> {
    let mut phase = vec![None; scenario.nodes.len()];
    let mut queue = VecDeque::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.kind == NodeKind::Host {
            phase[index] = Some(0);
            queue.push_back((index, 0));
        }
    }
    let leaving = Grouped::new(
        scenario.nodes.len(),
        scenario.links.iter().enumerate().map(|(at, link)| (link.from, at)),
    );
    while let Some((node, start)) = queue.pop_front() {
        for &at in leaving.of(node) {
            let (link, end) = (&scenario.links[at], &ends[at]);
            if phase[link.to].is_none() {
                let offset = start + link.guarantees().min_delay + (scenario.slot_phase * end.cell as f64) as u64;
                if offset > MAX_PATH_DELAY {
                    return refuse(
                        format!("nodes[{}]", link.to),
                        format!(
                            "{}, {} s from a host",
                            scenario.nodes[link.to].name,
                            offset / PS_PER_SECOND
                        ),
                        "needs links of at most 1 000 000 s from the nearest host",
                    );
                }
                phase[link.to] = Some(offset);
                queue.push_back((link.to, offset));
            }
        }
    }
    let grid = |link: &LinkConfig| SlotGrid::new(Time(phase[link.from].unwrap_or(0)), CELL_BITS, Rate(link.rate_bps));
    Ok(scenario.links.iter().map(grid).collect())
}

/// Returns the typical time between the scheduling of an event and its occurrence: a cell time, or a few packet times
/// on the link with the most circuits. Among links with equally many circuits, the slowest link is used, because it
/// limits how often events occur. With this bucket width, a few buckets of the event queue hold all events of a packet,
/// and they stay in the cache while many simulations are advanced in turn.
pub(crate) fn usual_interval(scenario: &Scenario, topology: &Topology, cell_by_cell: bool) -> Span {
    if cell_by_cell {
        return Span(topology.ends.iter().map(|end| end.cell).min().unwrap_or(1));
    }
    let circuits = |link: usize| topology.vcs_of_link[link][0];
    let busiest =
        (0..scenario.links.len()).max_by_key(|&link| (circuits(link), Reverse(scenario.links[link].rate_bps)));
    let rate = busiest.map_or(1, |link| scenario.links[link].rate_bps);
    let packets = scenario.flows.iter().map(|flow| flow.tcp.largest_packets_bytes().0);
    let bits = 8 * u64::from(packets.max().unwrap_or(1));
    Span(4 * bits * (PS_PER_SECOND / rate).max(1))
}

/// Returns the first and last node of a route, which must connect two hosts through switches.
fn route_ends(
    scenario: &Scenario,
    field: impl FnOnce() -> String + Copy,
    route: &[usize],
) -> Result<(usize, usize), ScenarioError> {
    let ends = way_ends(scenario, field, route)?;
    for node in [ends.0, ends.1] {
        if !scenario.is_host(node) {
            return refuse(field(), &scenario.nodes[node].name, "needs a host at either end");
        }
    }
    Ok(ends)
}
