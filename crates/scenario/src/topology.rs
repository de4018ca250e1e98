//! A checked graph: routes as numbers of directed links, and delays.

use crate::copies::Copies;
use crate::input::{self, Flow, Graph, Node, NodeKind, Settings};
use crate::names::nearest;
use crate::routes::{key, Numbers, ShortestRoutes};
use crate::units::{self, RATE, TIME};
use crate::Problems;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of reported problems of a network.
pub const MAX_PROBLEMS: usize = 10;
/// Maximum number of names per problem.
const MAX_NAMED: usize = 12;

/// Numbers of directed links.
pub type Route = Vec<usize>;

/// Routes of a flow to its receiver and back.
pub type BothWays = (Route, Route);

/// A flow of a graph with proxies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Number of the flow that the part belongs to; that flow is the last part of its connection.
    pub(crate) of: usize,
    /// Number of the proxy that sends.
    pub(crate) sender: Option<usize>,
    /// The part that begins at the receiving proxy, and the number of this proxy.
    pub(crate) onward: Option<(usize, usize)>,
}

impl Part {
    /// Returns a connection that is not split.
    pub(crate) fn whole(of: usize) -> Part {
        Part { of, ..Part::default() }
    }
}

/// A checked graph; link k consists of the directed links 2k (as written) and 2k + 1 (reverse).
#[derive(Debug)]
pub struct Topology {
    pub(crate) graph: Graph,
    /// Numbers of nodes by name.
    pub(crate) position: HashMap<String, usize>,
    /// Both nodes of each link.
    pub(crate) ends: Vec<[usize; 2]>,
    /// Rates [bit/s] of both directions, for each of the graph's settings.
    pub(crate) rates_bps: Vec<[u64; 2]>,
    /// Propagation delays [ps] of both directions, for each of the graph's settings.
    pub(crate) delays_ps: Vec<[u64; 2]>,
    /// Numbers of the directed links from one node to another.
    index: Numbers,
    /// Distinct routes.
    pub(crate) ways: Vec<BothWays>,
    /// Number of each flow's routes in `ways`.
    pub(crate) way_of: Vec<usize>,
    /// Routes of VBR sources.
    pub(crate) vbr_routes: Vec<Route>,
    /// The parts of split connections, one per flow.
    pub(crate) parts: Vec<Part>,
    /// Copies of nodes, links and flows.
    pub(crate) copies: Copies,
}

impl Topology {
    /// Checks a graph and finds the routes of its flows.
    ///
    /// # Errors
    /// Returns the problems of nodes, or else of links, or else of flows; at most `MAX_PROBLEMS`.
    pub fn new(graph: Graph) -> Result<Topology, Problems> {
        let position: HashMap<String, usize> = graph
            .nodes
            .iter()
            .enumerate()
            .map(|(i, node)| (node.0.clone(), i))
            .collect();
        for find in [node_problems, link_problems, flow_problems] {
            let mut problems = vec![];
            find(&graph, &position, &mut problems);
            problems.truncate(MAX_PROBLEMS);
            if !problems.is_empty() {
                return Err(Problems(problems));
            }
        }
        let ends: Vec<[usize; 2]> = graph
            .links
            .iter()
            .map(|link| [position[&link.0], position[&link.1]])
            .collect();
        let mut index = Numbers::with_capacity(2 * ends.len());
        let mut neighbors = vec![vec![]; graph.nodes.len()];
        for (k, [a, b]) in ends.iter().copied().enumerate() {
            index.insert(key(a, b), 2 * k);
            index.insert(key(b, a), 2 * k + 1);
            neighbors[a].push(b);
            neighbors[b].push(a);
        }
        let is_switch: Vec<bool> = graph.nodes.iter().map(|node| node.1 == NodeKind::Switch).collect();
        let mut shortest = ShortestRoutes::new(&is_switch, neighbors);
        let both = |settings: &Settings, units, of: fn(&Settings) -> (&String, &Option<String>), name| {
            let (first, second) = of(settings);
            let parse = |text: &String| {
                units::parse(units, text)
                    .ok_or_else(|| Problems::from(format!("{name}: {text}; needs a number, a space and a unit")))
            };
            Ok::<_, Problems>([parse(first)?, parse(second.as_ref().unwrap_or(first))?])
        };
        let rates_bps = graph
            .settings
            .iter()
            .map(|one| both(one, RATE, |one| (&one.rate, &one.return_rate), "rate"));
        let rates_bps = rates_bps.collect::<Result<_, _>>()?;
        let delays_ps = graph
            .settings
            .iter()
            .map(|one| both(one, TIME, |one| (&one.delay, &one.return_delay), "delay"));
        let delays_ps = delays_ps.collect::<Result<_, _>>()?;
        let parts = (0..graph.flows.len()).map(Part::whole).collect();
        let mut topology = Topology {
            graph,
            position,
            ends,
            rates_bps,
            delays_ps,
            index,
            ways: vec![],
            way_of: vec![],
            vbr_routes: vec![],
            parts,
            copies: Copies::default(),
        };
        topology.find_routes(&mut shortest)?;
        Ok(topology)
    }

    fn find_routes(&mut self, shortest: &mut ShortestRoutes) -> Result<(), Problems> {
        // Flows without written routes between the same hosts share their routes.
        let mut way_number = Numbers::new();
        let (mut ways, mut way_of) = (vec![], Vec::with_capacity(self.graph.flows.len()));
        for (i, flow) in self.graph.flows.iter().enumerate() {
            let ends = key(self.position[&flow.from], self.position[&flow.to]);
            let written = flow.route.is_some() || flow.return_route.is_some();
            let shared = if written { None } else { way_number.get(&ends).copied() };
            let number = match shared {
                Some(number) => number,
                None => {
                    ways.push(self.routes_of(i, flow, shortest)?);
                    if !written {
                        way_number.insert(ends, ways.len() - 1);
                    }
                    ways.len() - 1
                }
            };
            way_of.push(number);
        }
        let mut vbr_routes = vec![];
        for (i, source) in self.graph.vbr.iter().enumerate() {
            let field = format!("network.vbr[{i}]");
            let (first, last) = (self.position[&source.from], self.position[&source.to]);
            let route = match &source.route {
                Some(route) if !route.is_empty() => self.checked(&format!("{field}.route"), route, first, last)?,
                _ => self.fewest_hops(&field, first, last, shortest)?,
            };
            let links = self.along(&route);
            if links.len() == 1 {
                let shown = self.shown(&route);
                return Err(format!("{field}.route: {shown}; needs a switch between its two hosts").into());
            }
            vbr_routes.push(links);
        }
        (self.ways, self.way_of, self.vbr_routes) = (ways, way_of, vbr_routes);
        Ok(())
    }

    fn routes_of(&self, i: usize, flow: &Flow, shortest: &mut ShortestRoutes) -> Result<BothWays, Problems> {
        let (first, last) = (self.position[&flow.from], self.position[&flow.to]);
        let there = match &flow.route {
            Some(route) if !route.is_empty() => {
                self.checked(&format!("network.flows[{i}].route"), route, first, last)?
            }
            _ => self.fewest_hops(&format!("network.flows[{i}]"), first, last, shortest)?,
        };
        let there = self.along(&there);
        let back = match &flow.return_route {
            Some(route) => {
                let field = format!("network.flows[{i}].return_route");
                self.along(&self.checked(&field, route, last, first)?)
            }
            // The numbers of a link's two directions differ in the last bit.
            None => there.iter().rev().map(|k| k ^ 1).collect(),
        };
        Ok((there, back))
    }

    fn fewest_hops(
        &self,
        field: &str,
        first: usize,
        last: usize,
        shortest: &mut ShortestRoutes,
    ) -> Result<Vec<usize>, Problems> {
        shortest.find(first, last).ok_or_else(|| {
            let (from, to) = (self.name(first), self.name(last));
            format!("{field}: no path from '{from}' to '{to}'; needs links through switches").into()
        })
    }

    /// Returns the nodes of a written route, which must lead through switches from one host to the other.
    fn checked(&self, field: &str, route: &[String], first: usize, last: usize) -> Result<Vec<usize>, Problems> {
        let shown = route.join(" -> ");
        let wrong = |problem: String| Err(Problems::from(format!("{field}: {problem}")));
        // A name that is no node has no number, and no link.
        let nodes: Vec<Option<usize>> = route.iter().map(|name| self.position.get(name).copied()).collect();
        if nodes.len() < 2 || nodes[0] != Some(first) || nodes[nodes.len() - 1] != Some(last) {
            let shown = if shown.is_empty() { "empty" } else { &shown };
            let (from, to) = (self.name(first), self.name(last));
            return wrong(format!("{shown}; needs to lead from '{from}' to '{to}'"));
        }
        for (k, hop) in nodes.windows(2).enumerate() {
            let linked = matches!(hop, [Some(a), Some(b)] if self.index.contains_key(&key(*a, *b)));
            if !linked {
                let (a, b) = (&route[k], &route[k + 1]);
                return wrong(format!(
                    "{shown}; is not connected, there is no link between '{a}' and '{b}'"
                ));
            }
        }
        let nodes: Vec<usize> = nodes.into_iter().flatten().collect();
        let mut places = Numbers::new();
        for node in &nodes {
            places.insert(key(*node, 0), *node);
        }
        if places.len() < nodes.len() {
            return wrong(format!("{shown}; needs to visit each node once"));
        }
        let within = &nodes[1..nodes.len() - 1];
        if let Some(host) = within.iter().find(|node| !self.is_switch(**node)) {
            let host = self.name(*host);
            return wrong(format!("{shown}; '{host}' is a host, only switches forward"));
        }
        Ok(nodes)
    }

    /// Returns the directed links of a route.
    fn along(&self, nodes: &[usize]) -> Route {
        nodes.windows(2).map(|hop| self.index[&key(hop[0], hop[1])]).collect()
    }

    fn shown(&self, nodes: &[usize]) -> String {
        let names: Vec<&str> = nodes.iter().map(|node| self.name(*node)).collect();
        names.join(" -> ")
    }

    /// Returns the name of a node.
    pub(crate) fn name(&self, node: usize) -> &str {
        &self.graph.nodes[node].0
    }

    /// Returns whether a node is a switch.
    pub(crate) fn is_switch(&self, node: usize) -> bool {
        self.graph.nodes[node].1 == NodeKind::Switch
    }

    /// Returns the settings of the link of a directed link.
    pub(crate) fn settings(&self, link: usize) -> &Settings {
        &self.graph.settings[self.graph.links[link / 2].2]
    }

    /// Returns the rate [bit/s] of a directed link.
    pub fn rate_bps(&self, link: usize) -> u64 {
        self.rates_bps[self.graph.links[link / 2].2][link % 2]
    }

    /// Returns the propagation delay [ps] of a directed link.
    pub fn delay_ps(&self, link: usize) -> u64 {
        self.delays_ps[self.graph.links[link / 2].2][link % 2]
    }

    /// Returns the node at which a directed link begins, and that at which it ends.
    pub(crate) fn ends_of(&self, link: usize) -> (usize, usize) {
        let [a, b] = self.ends[link / 2];
        if link.is_multiple_of(2) {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// Returns the conditioners of the port of a directed link.
    pub(crate) fn conditioners(&self, link: usize) -> impl Iterator<Item = &input::Part> {
        let settings = self.settings(link);
        let own = [&settings.conditioners, &settings.return_conditioners][link % 2];
        own.iter().map(|part| &self.graph.parts[*part])
    }

    /// Returns the mean delay [ps] of a directed link: its propagation delay, and the mean delay of its jitter.
    pub(crate) fn delay_with_jitter_ps(&self, link: usize) -> u64 {
        let jitter = self.conditioners(link).filter(|part| part.kind == "jitter");
        let delays = jitter.filter_map(|part| part.delay_ps);
        self.delay_ps(link) + delays.sum::<u64>()
    }

    /// Returns the longest RTT [ps] of all flows without queues: propagation, and the mean delay of jitter.
    pub fn longest_round_trip_ps(&self) -> u64 {
        let round_trip = |(there, back): &BothWays| {
            let delays = there.iter().chain(back).map(|link| self.delay_with_jitter_ps(*link));
            delays.fold(0, u64::saturating_add)
        };
        self.ways.iter().map(round_trip).max().unwrap_or(0)
    }

    /// Returns, for each part of a connection, the number of its flow and the number of the sending proxy.
    pub fn parts(&self) -> Vec<(usize, Option<usize>)> {
        self.parts.iter().map(|part| (part.of, part.sender)).collect()
    }

    /// Returns the policy of the port of a directed link at a switch; None is that of the switches.
    pub(crate) fn policy(&self, link: usize) -> Option<usize> {
        let settings = self.settings(link);
        let returning = settings.return_policy.filter(|_| link % 2 == 1);
        returning.or(settings.policy)
    }

    /// Returns the numbers of the links that the scenario describes: of a dumbbell, the trunk.
    pub(crate) fn described_links(&self) -> Range<usize> {
        match self.graph.dumbbell {
            Some(_) => {
                let trunk = self.graph.links.iter().position(|link| link.2 == 0).unwrap_or_default();
                trunk..trunk + 1
            }
            None => 0..self.graph.links.len(),
        }
    }

    /// Returns what a directed link needs if packets enter it after a send jitter; None if they do not.
    pub(crate) fn needs_no_jitter(&self, link: usize) -> Option<String> {
        let Node(name, _, jitter) = &self.graph.nodes[self.ends_of(link).0];
        if units::parse(TIME, jitter) == Some(0) {
            return None;
        }
        let needs = format!("needs send_jitter 0 s, not {jitter}");
        // All hosts of a dumbbell have the same jitter.
        Some(match self.graph.dumbbell {
            Some(_) => needs,
            None => format!("{needs}, at {name}"),
        })
    }

    /// Returns the name of a field of link i in the scenario.
    pub(crate) fn link_field(&self, i: usize, name: &str) -> String {
        if self.graph.dumbbell.is_some() {
            format!("network.{name}")
        } else {
            format!("network.links[{i}].{name}")
        }
    }

    /// Returns the name of the field of a VBR source.
    pub(crate) fn vbr_field(&self, i: usize) -> String {
        match self.graph.dumbbell {
            Some(_) => "network.vbr".to_owned(),
            None => format!("network.vbr[{i}]"),
        }
    }

    /// Returns the name of the field of a flow, or of the group that begins with it.
    pub(crate) fn flow_field(&self, i: usize) -> String {
        let grouped = self
            .graph
            .dumbbell
            .as_ref()
            .is_some_and(|dumbbell| dumbbell.groups.is_some());
        format!(
            "network.{}[{}]",
            if grouped { "group" } else { "flows" },
            self.parts[i].of
        )
    }

    /// Returns the nodes of a flow's routes to its receiver and back.
    pub(crate) fn route_names(&self, i: usize) -> [Vec<String>; 2] {
        let (there, back) = &self.ways[self.way_of[i]];
        [there, back].map(|route| {
            let first = route.first().map(|link| self.ends_of(*link).0);
            let nodes = first.into_iter().chain(route.iter().map(|link| self.ends_of(*link).1));
            nodes.map(|node| self.name(node).to_owned()).collect()
        })
    }
}

fn node_problems(graph: &Graph, position: &HashMap<String, usize>, problems: &mut Vec<String>) {
    if graph.nodes.is_empty() {
        problems.push("network.nodes: empty; needs at least two hosts".to_owned());
    }
    if position.len() < graph.nodes.len() {
        duplicates("network.nodes", graph.nodes.iter().map(|node| &node.0), problems);
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        if node.1 == NodeKind::Switch && !node.2.starts_with("0 ") {
            let jitter = &node.2;
            problems.push(format!(
                "network.nodes[{i}].send_jitter: {jitter}; only hosts delay packets, needs '0 s'"
            ));
        }
    }
}

fn link_problems(graph: &Graph, position: &HashMap<String, usize>, problems: &mut Vec<String>) {
    let is_host = |name: &String| {
        let node = position.get(name).map(|node| &graph.nodes[*node]);
        node.is_some_and(|node| node.1 == NodeKind::Host)
    };
    // Numbers of all names, which may be unknown, and the links between them.
    let mut numbers = position.clone();
    let mut seen = Numbers::new();
    for (i, link) in graph.links.iter().enumerate() {
        let (a, b) = (&link.0, &link.1);
        for name in [a, b] {
            if !position.contains_key(name) {
                let names: Vec<&str> = graph.nodes.iter().map(|node| node.0.as_str()).collect();
                let accepted = nearest(name, &names, MAX_NAMED);
                problems.push(format!(
                    "network.links[{i}].between: '{name}' is not a node; {accepted}"
                ));
            }
        }
        let [first, second] = [a, b].map(|name| {
            let next = numbers.len();
            *numbers.entry(name.clone()).or_insert(next)
        });
        let pair = key(first.min(second), first.max(second));
        if a == b {
            problems.push(format!(
                "network.links[{i}].between: both are '{a}'; needs two different nodes"
            ));
        } else if seen.insert(pair, i).is_some() {
            problems.push(format!(
                "network.links[{i}].between: {a} and {b} are already linked; needs each pair once"
            ));
        }
        let Settings {
            buffer,
            return_buffer,
            policy,
            return_policy,
            ..
        } = &graph.settings[link.2];
        let queues = buffer.is_some() || return_buffer.is_some() || policy.is_some() || return_policy.is_some();
        if queues && is_host(a) && is_host(b) {
            problems.push(format!(
                "network.links[{i}]: buffer or policy between two hosts; needs a switch at one end"
            ));
        }
        if problems.len() >= MAX_PROBLEMS {
            return;
        }
    }
}

fn flow_problems(graph: &Graph, position: &HashMap<String, usize>, problems: &mut Vec<String>) {
    if graph.flows.is_empty() {
        problems.push("network.flows: empty; needs at least one flow".to_owned());
    }
    let flows = graph.flows.iter().map(|flow| (&flow.name, &flow.from, &flow.to));
    stream_problems("network.flows", flows, graph, position, problems);
    let sources = graph.vbr.iter().map(|source| (&source.name, &source.from, &source.to));
    stream_problems("network.vbr", sources, graph, position, problems);
}

/// Adds the problems of flows or VBR sources, each with its name, sender and receiver.
fn stream_problems<'a>(
    field: &str,
    streams: impl Iterator<Item = (&'a String, &'a String, &'a String)> + Clone,
    graph: &Graph,
    position: &HashMap<String, usize>,
    problems: &mut Vec<String>,
) {
    duplicates(field, streams.clone().map(|(name, _, _)| name), problems);
    let is_host = |name: &String| {
        let node = position.get(name).map(|node| &graph.nodes[*node]);
        node.is_some_and(|node| node.1 == NodeKind::Host)
    };
    for (i, (_, from, to)) in streams.enumerate() {
        for (end, name) in [("from", from), ("to", to)] {
            if !is_host(name) {
                let hosts = graph.nodes.iter().filter(|node| node.1 == NodeKind::Host);
                let hosts: Vec<&str> = hosts.map(|node| node.0.as_str()).collect();
                let accepted = nearest(name, &hosts, MAX_NAMED);
                problems.push(format!("{field}[{i}].{end}: '{name}' is not a host; {accepted}"));
            }
        }
        if from == to {
            problems.push(format!(
                "{field}[{i}].to: '{to}' is also the sender; needs another host"
            ));
        }
        if problems.len() >= MAX_PROBLEMS {
            return;
        }
    }
}

/// Adds a problem for each name that occurs earlier in its list.
fn duplicates<'a>(field: &str, names: impl Iterator<Item = &'a String>, problems: &mut Vec<String>) {
    let mut first: HashMap<String, usize> = HashMap::new();
    for (i, name) in names.enumerate() {
        let earlier = *first.entry(name.clone()).or_insert(i);
        if earlier != i {
            problems.push(format!(
                "{field}[{i}].name: '{name}' is the name of {field}[{earlier}]; needs a unique name"
            ));
        }
    }
}
