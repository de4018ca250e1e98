//! The division of a scenario into parts for several threads, or the reason why it runs on one.
//!
//! A part consists of hosts with their interfaces, or of output ports of routers. A packet takes at least the propagation
//! delay of a link from one part to the next. Hosts whose flows have common state belong to one part, as do the ports
//! among which the end of a wire decides.

use super::windows::Windows;
use crate::ip::leaving::{Destinations, BY_NEXT_LINK};
use crate::lookahead::guarantees::Guarantees;
use crate::scenario::topology::Topology;
use crate::scenario::{Engine, FlowConfig, Framing, LossConfig, NodeKind, Scenario};
use crate::traffic::parameters::Transport;
use longpipe_tcp::config::CongestionConfig;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};

/// Minimum length of a window [ps].
const MIN_WINDOW: i64 = 10_000_000;
/// Costs of a packet in proportion to its instructions: at its sender with the ACK, at its receiver, and at a port of a
/// router.
const SENDER: u64 = 24;
const RECEIVER: u64 = 12;
const PORT: u64 = 5;
/// Number of weights by which flows of different rates count.
const WEIGHTS: f64 = 64.0;
/// Round trips [ps] up to this one count as equal, because packets also wait in queues.
const SHORT_ROUND_TRIP: u64 = 10_000_000_000;
/// Minimum number of groups of hosts per thread, so that the threads' shares are nearly equal.
const SHARES: u64 = 8;
/// Minimum number of packets at ports in a window for which threads pay.
const PAYS: f64 = 4000.0;

/// A division into parts.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Windows of time that the parts simulate in turn.
    pub windows: Windows,
    /// Number of the thread that simulates each part.
    pub threads: Vec<usize>,
    /// Number of parts that consist of hosts; they come first.
    pub host_parts: usize,
    /// Number of the part of each node that is a host.
    pub hosts: Vec<u32>,
    pub destinations: Destinations,
    /// Estimated number of packets that arrive at ports of routers in a window.
    pub packets: f64,
}

/// Returns why a scenario runs on one thread whatever its delays, if so.
fn sequential(scenario: &Scenario) -> Option<&'static str> {
    let module = |flow: &FlowConfig| matches!(flow.tcp.congestion, CongestionConfig::Module(_));
    let flows = &scenario.flows;
    let reasons = [
        (scenario.framing == Framing::Aal5, "it carries cells"),
        (
            scenario.engine == Engine::Reference,
            "the reference engine processes events one by one",
        ),
        (scenario.traces.any(), "traces are in the order of events"),
        (
            scenario.links.iter().any(|link| link.access.is_some()),
            "stations share a link with medium access",
        ),
        (
            flows.iter().any(|flow| flow.foreign),
            "real programs or stacks send packets",
        ),
        (flows.iter().any(module), "a congestion control is a module or a class"),
        (
            flows.iter().any(|flow| flow.traffic.facts().many_connections),
            "arriving flows share their connections",
        ),
    ];
    reasons
        .into_iter()
        .find_map(|(applies, reason)| applies.then_some(reason))
}

/// Returns whether both ends of a flow have common state.
fn shares_state(flow: &FlowConfig) -> bool {
    let facts = flow.traffic.facts();
    let writes_at_once = facts.transport == Transport::Tcp && facts.at_once && !facts.has_requests;
    let alone = flow.stop.is_none() && flow.onward.is_none() && !flow.relayed;
    !writes_at_once || !alone
}

/// Returns the estimated rate [packet/s] of each flow: flows share each link in inverse proportion to their round trips.
fn rates(scenario: &Scenario) -> Vec<f64> {
    let links = &scenario.links;
    let round_trip = |flow: &FlowConfig| {
        let ways = flow.route.iter().chain(&flow.return_route);
        let delay: u64 = ways.map(|&link| links[link].guarantees().min_delay).sum();
        delay.max(SHORT_ROUND_TRIP) as f64
    };
    let shares: Vec<f64> = scenario.flows.iter().map(|flow| 1.0 / round_trip(flow)).collect();
    let mut sums = vec![0.0; links.len()];
    for (flow, share) in scenario.flows.iter().zip(&shares) {
        flow.route.iter().for_each(|&link| sums[link] += share);
    }
    let of_flow = |(flow, share): (&FlowConfig, &f64)| {
        let rates = flow
            .route
            .iter()
            .map(|&link| links[link].rate_bps as f64 * share / sums[link]);
        rates.fold(f64::MAX, f64::min) / (8.0 * f64::from(flow.tcp.mss_bytes))
    };
    scenario.flows.iter().zip(&shares).map(of_flow).collect()
}

/// Sets of entities that belong together: hosts, by node, and ports of routers, by the number of nodes plus the link.
struct Together(Vec<usize>);

impl Together {
    fn root(&mut self, entity: usize) -> usize {
        let mut root = entity;
        while self.0[root] != root {
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// A scenario as a graph of entities between which packets pass.
struct Graph<'a> {
    scenario: &'a Scenario,
    /// Pairs of consecutive links of routes.
    hops: HashSet<(usize, usize)>,
    /// Last links of routes.
    last: HashSet<usize>,
    /// Representative of the entity of each port or host, by entity.
    roots: Vec<usize>,
    /// Minimum time [ps], for each link, from a packet's arrival at the first port that forwards it at once until its
    /// arrival at the end of the link.
    delays: Vec<i64>,
    /// Estimated cost of each root, by its number.
    costs: Vec<u64>,
}

impl<'a> Graph<'a> {
    fn new(scenario: &'a Scenario, topology: &Topology, guarantees: &Guarantees) -> Graph<'a> {
        let nodes = scenario.nodes.len();
        let links = &scenario.links;
        let (mut hops, mut last, mut costs) = (HashSet::new(), HashSet::new(), vec![0; nodes + links.len()]);
        let mut together = Together((0..nodes + links.len()).collect());
        let mut ends = vec![];
        let rates = rates(scenario);
        let fastest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (flow, rate) in scenario.flows.iter().zip(&rates) {
            hops.extend(topology.crossings(scenario, flow));
            let weight = (WEIGHTS * rate / fastest).ceil().max(1.0) as u64;
            for (back, cost) in [(false, SENDER), (true, RECEIVER)] {
                for way in flow.ways(back) {
                    hops.extend(way.windows(2).map(|pair| (pair[0], pair[1])));
                    way.iter()
                        .skip(1)
                        .for_each(|&link| costs[nodes + link] += PORT * weight);
                    if let [only] = way {
                        ends.push((links[*only].from, links[*only].to));
                    }
                    last.extend(way.last().filter(|&&link| scenario.is_host(links[link].to)));
                }
                let way = if back { &flow.return_route } else { &flow.route };
                costs[links[way[0]].from] += cost * weight;
            }
            let hosts = (links[flow.route[0]].from, links[flow.return_route[0]].from);
            if shares_state(flow) {
                ends.push(hosts);
            }
            if let Some(onward) = flow.onward {
                ends.push((hosts.1, links[scenario.flows[onward.flow].route[0]].from));
            }
        }
        ends.into_iter().for_each(|(one, other)| together.join(one, other));
        let rerouted: HashSet<usize> = match scenario.reroutes() {
            true => (0..links.len())
                .filter(|&link| !scenario.is_host(links[link].to))
                .collect(),
            false => HashSet::new(),
        };
        let decides =
            |link: usize| rerouted.contains(&link) || matches!(links[link].loss, LossConfig::BitErrors { .. });
        let mut next_of = vec![None; links.len()];
        let mut forwarded_from = vec![None; links.len()];
        for &(from, to) in &hops {
            if decides(from) {
                let first = *next_of[from].get_or_insert(to);
                together.join(nodes + first, nodes + to);
            }
            let router = !scenario.is_host(links[from].from);
            if router && topology.ends[from].unshared && !decides(from) && guarantees.departures_are_known(to) {
                together.join(nodes + from, nodes + to);
                forwarded_from[to] = Some(from);
            }
        }
        let roots: Vec<usize> = (0..nodes + links.len()).map(|entity| together.root(entity)).collect();
        // Packets wait for their arrival at the end of a link whose next ports may belong to several parts.
        let waits: HashSet<usize> = hops
            .iter()
            .filter(|&&(from, to)| roots[nodes + from] != roots[nodes + to])
            .map(|&(from, _)| from)
            .collect();
        let min_delay = |link: usize| links[link].guarantees().min_delay as i64;
        let delays = (0..links.len()).map(|link| {
            let before = |&link: &usize| forwarded_from[link].filter(|from| !waits.contains(from));
            let chain = std::iter::successors(Some(link), before);
            chain.take(links.len()).map(min_delay).sum()
        });
        let delays = delays.collect();
        let mut of_roots = vec![0; costs.len()];
        costs
            .iter()
            .zip(&roots)
            .for_each(|(cost, &root)| of_roots[root] += cost);
        Graph {
            scenario,
            hops,
            last,
            roots,
            delays,
            costs: of_roots,
        }
    }

    /// Returns the root of the entity that owns the port of a link.
    fn owner(&self, link: usize) -> usize {
        let from = self.scenario.links[link].from;
        self.roots[match self.scenario.is_host(from) {
            true => from,
            false => self.scenario.nodes.len() + link,
        }]
    }

    /// Returns the roots of ports of routers that forward packets.
    fn ports(&self) -> Vec<usize> {
        let nodes = self.scenario.nodes.len();
        (nodes..self.roots.len())
            .filter(|&port| self.roots[port] == port && self.costs[port] > 0)
            .collect()
    }

    /// Returns the minimum delay [ps] from part to part, given the part of each root.
    fn delays_between(&self, parts: usize, part: &[u32]) -> Vec<Vec<Option<i64>>> {
        let mut delays = vec![vec![None; parts]; parts];
        let to_ports = self.hops.iter().map(|&(from, to)| (from, self.owner(to)));
        let to_hosts = self
            .last
            .iter()
            .map(|&link| (link, self.roots[self.scenario.links[link].to]));
        for (link, to) in to_ports.chain(to_hosts) {
            let (from, to) = (part[self.owner(link)] as usize, part[to] as usize);
            if from != to {
                let min = delays[from][to].get_or_insert(i64::MAX);
                *min = self.delays[link].min(*min);
            }
        }
        delays
    }

    /// Returns the groups of ports into which they may be divided, the simplest first.
    fn groupings(&self, threads: usize) -> Vec<Vec<Vec<usize>>> {
        let ports = self.ports();
        // Hosts reach some ports at once, and some ports reach hosts at once.
        let entries = self.entries();
        let (inner, outer): (Vec<usize>, Vec<usize>) = ports.iter().partition(|port| entries.contains(port));
        let regions = self.regions(&ports, threads);
        let by_region = |group: &[usize]| -> Vec<Vec<usize>> {
            (0..threads)
                .map(|number| group.iter().copied().filter(|port| regions[*port] == number).collect())
                .collect()
        };
        let mut groupings = vec![
            vec![ports.clone()],
            vec![inner.clone(), outer.clone()],
            by_region(&ports),
            [by_region(&inner), by_region(&outer)].concat(),
        ];
        groupings
            .iter_mut()
            .for_each(|groups| groups.retain(|group| !group.is_empty()));
        groupings
    }

    /// Returns the roots of the ports that packets reach first after their hosts, and of those that they reach without delay
    /// after these.
    fn entries(&self) -> HashSet<usize> {
        let by_host = |link: usize| self.scenario.is_host(self.scenario.links[link].from);
        let entered = self.hops.iter().filter(|&&(from, _)| by_host(from));
        let mut entries: HashSet<usize> = entered.map(|&(_, to)| self.owner(to)).collect();
        let mut reached: Vec<usize> = entries.iter().copied().collect();
        let mut next: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(from, to) in self
            .hops
            .iter()
            .filter(|&&(from, _)| self.delays[from] == 0 && !by_host(from))
        {
            next.entry(self.owner(from)).or_default().push(self.owner(to));
        }
        while let Some(port) = reached.pop() {
            let further = next.remove(&port).into_iter().flatten();
            reached.extend(further.filter(|&port| entries.insert(port)));
        }
        entries
    }

    /// Returns the number of each port's region: consecutive routers, as found by a breadth-first search, whose ports have
    /// about equal costs.
    fn regions(&self, ports: &[usize], threads: usize) -> Vec<usize> {
        let (nodes, links) = (self.scenario.nodes.len(), &self.scenario.links);
        let mut neighbors = vec![vec![]; nodes];
        for link in links {
            if self.scenario.nodes[link.from].kind == NodeKind::Switch
                && self.scenario.nodes[link.to].kind == NodeKind::Switch
            {
                neighbors[link.from].push(link.to);
            }
        }
        let (mut order, mut seen) = (vec![], vec![false; nodes]);
        for first in 0..nodes {
            let mut queue = VecDeque::from([first]);
            while let Some(node) = queue.pop_front() {
                if !std::mem::replace(&mut seen[node], true) {
                    order.push(node);
                    queue.extend(&neighbors[node]);
                }
            }
        }
        let mut of_node = vec![vec![]; nodes];
        ports
            .iter()
            .for_each(|&port| of_node[links[port - nodes].from].push(port));
        let total: u64 = ports.iter().map(|&port| self.costs[port]).sum();
        let (mut regions, mut before) = (vec![0; self.roots.len()], 0);
        for port in order.iter().flat_map(|&node| &of_node[node]) {
            regions[*port] = ((before * threads as u64) / total.max(1)) as usize;
            before += self.costs[*port];
        }
        regions
    }

    /// Returns, for each node, the representative of those `hosts` that exchange packets and therefore preferably belong to
    /// one part, and the cost of each representative. No representative has a large share of the costs of a thread.
    fn pairs(&self, hosts: &[usize], threads: usize) -> (Vec<usize>, Vec<u64>) {
        let (nodes, links) = (self.scenario.nodes.len(), &self.scenario.links);
        let most = hosts.iter().map(|&host| self.costs[host]).sum::<u64>() / (SHARES * threads as u64);
        let mut costs = self.costs[..nodes].to_vec();
        let mut together = Together((0..nodes).collect());
        for flow in &self.scenario.flows {
            let ends = [&flow.route, &flow.return_route].map(|way| self.roots[links[way[0]].from]);
            let [one, other] = ends.map(|host| together.root(host));
            if one != other && costs[one] + costs[other] <= most {
                together.join(one, other);
                costs[one.min(other)] = costs[one] + costs[other];
            }
        }
        ((0..nodes).map(|node| together.root(node)).collect(), costs)
    }

    /// Returns the estimated number of packets per second at ports of routers.
    fn packets_per_second(&self) -> f64 {
        let ports = |flow: &FlowConfig| (flow.route.len() + flow.return_route.len() - 2) as f64;
        let flows = self.scenario.flows.iter().zip(rates(self.scenario));
        flows.map(|(flow, rate)| rate * ports(flow)).sum()
    }
}

impl Plan {
    /// Returns a division of a scenario for up to `threads` threads.
    ///
    /// # Errors
    /// Returns the reason, as the end of a sentence, if it must run on one thread.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        guarantees: &Guarantees,
        threads: usize,
    ) -> Result<Plan, String> {
        if let Some(reason) = sequential(scenario) {
            return Err(reason.to_owned());
        }
        let graph = Graph::new(scenario, topology, guarantees);
        let plans: Vec<Plan> = graph
            .groupings(threads)
            .iter()
            .map(|groups| Plan::of(&graph, groups, threads))
            .collect();
        let longest = plans.iter().map(|plan| plan.windows.length).max().unwrap_or(0);
        if longest == 0 {
            return Err("links without delay form a cycle".to_owned());
        }
        if longest < MIN_WINDOW {
            return Err(format!(
                "packets return after {longest} ps; needs at least {MIN_WINDOW} ps per part"
            ));
        }
        // A shorter window pays only if it distributes the costs better.
        let eligible = plans
            .into_iter()
            .filter(|plan| plan.windows.length >= (longest / 4).max(MIN_WINDOW));
        let best = eligible.min_by_key(|plan| (plan.greatest_share(&graph), Reverse(plan.windows.length)));
        best.filter(|plan| plan.threads.len() > 1)
            .ok_or_else(|| "all flows belong to one part".to_owned())
    }

    /// Returns the plan with the given groups of ports.
    fn of(graph: &Graph<'_>, groups: &[Vec<usize>], threads: usize) -> Plan {
        let scenario = graph.scenario;
        let nodes = scenario.nodes.len();
        let cost = |group: &[usize]| group.iter().map(|&port| graph.costs[port]).sum::<u64>();
        // The most expensive groups first, each to the thread with the least to do.
        let mut by_cost: Vec<usize> = (0..groups.len()).collect();
        by_cost.sort_by_key(|&group| Reverse(cost(&groups[group])));
        let mut loads = vec![0; threads];
        let least = |loads: &[u64]| (0..loads.len()).min_by_key(|&thread| loads[thread]).unwrap_or(0);
        let mut thread_of_group = vec![0; groups.len()];
        for group in by_cost {
            let thread = least(&loads);
            thread_of_group[group] = thread;
            loads[thread] += cost(&groups[group]);
        }
        let hosts: Vec<usize> = (0..nodes)
            .filter(|&node| graph.roots[node] == node && graph.costs[node] > 0)
            .collect();
        let (pairs, costs) = graph.pairs(&hosts, threads);
        let mut by_cost: Vec<usize> = hosts.iter().copied().filter(|&host| pairs[host] == host).collect();
        by_cost.sort_by_key(|&pair| Reverse(costs[pair]));
        let mut thread_of_pair = vec![0; nodes];
        for pair in by_cost {
            let thread = least(&loads);
            thread_of_pair[pair] = thread;
            loads[thread] += costs[pair];
        }
        let thread_of_host: Vec<usize> = pairs.iter().map(|&pair| thread_of_pair[pair]).collect();
        let mut used: Vec<usize> = hosts.iter().map(|&host| thread_of_host[host]).collect();
        used.sort_unstable();
        used.dedup();
        let mut part = vec![0; graph.roots.len()];
        for &host in &hosts {
            part[host] = used.partition_point(|&thread| thread < thread_of_host[host]) as u32;
        }
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|&port| part[port] = (used.len() + number) as u32);
        }
        let parts = used.len() + groups.len();
        let duration = scenario.duration_ps as i64;
        let windows = Windows::longest(&graph.delays_between(parts, &part), duration);
        let packets = graph.packets_per_second() * windows.length as f64 / 1e12;
        Plan {
            threads: used.iter().copied().chain(thread_of_group).collect(),
            host_parts: used.len(),
            hosts: (0..nodes).map(|node| part[graph.roots[node]]).collect(),
            destinations: graph.destinations(&part),
            packets,
            windows,
        }
    }

    /// Returns the estimated cost of the thread that has the most to do.
    fn greatest_share(&self, graph: &Graph<'_>) -> u64 {
        let mut loads = vec![0; self.threads.iter().max().map_or(0, |last| last + 1)];
        let nodes = graph.scenario.nodes.len();
        for (root, cost) in graph.costs.iter().enumerate() {
            let part = match root.checked_sub(nodes) {
                None => self.hosts[root],
                Some(link) => self.destinations.port[link],
            };
            loads[self.threads[part as usize]] += cost;
        }
        loads.into_iter().max().unwrap_or(0)
    }

    /// Returns whether several threads are expected to be faster than one.
    pub fn pays(&self) -> bool {
        self.packets >= PAYS
    }
}

impl Graph<'_> {
    /// Returns where packets go, given the part of each root.
    fn destinations(&self, part: &[u32]) -> Destinations {
        let links = &self.scenario.links;
        let port: Vec<u32> = (0..links.len()).map(|link| part[self.owner(link)]).collect();
        let mut end: Vec<Option<u32>> = links
            .iter()
            .map(|link| match self.scenario.is_host(link.to) {
                true => Some(part[self.roots[link.to]]),
                false => None,
            })
            .collect();
        for &(from, to) in &self.hops {
            end[from] = match end[from] {
                Some(other) if other != port[to] => Some(BY_NEXT_LINK),
                _ => Some(port[to]),
            };
        }
        let end = end
            .into_iter()
            .zip(&port)
            .map(|(end, &own)| end.unwrap_or(own))
            .collect();
        Destinations { port, end }
    }
}
