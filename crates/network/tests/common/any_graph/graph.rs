//! Random graphs: a tree of switches, additional links that close cycles or are parallel to others, and hosts with one
//! or more links.

use super::pace::{any_delay, any_rate, delay_ps, rate_bps, DelayDraft, Pace, RateDraft};
use super::ports::plain_link;
use crate::common::SECOND;
use longpipe_network::scenario::{LinkConfig, NodeConfig, NodeKind, Scenario};
use proptest::prelude::*;

/// A link in both directions; the numbers are indices into the pools of rates and delays.
#[derive(Clone, Debug)]
pub struct LinkDraft {
    rate: usize,
    delay: usize,
    /// Rate and delay of the reverse direction, if they are different.
    back: Option<(usize, usize)>,
}

/// A host's links to switches, and its send jitter.
type HostDraft = (Vec<(usize, LinkDraft)>, Option<u16>);

/// A draft of a graph; nodes are given by numbers, which are taken modulo the number of nodes.
#[derive(Clone, Debug)]
pub struct GraphDraft {
    rates: Vec<RateDraft>,
    delays: Vec<DelayDraft>,
    /// For each switch after the first one: an earlier switch, and the link to it.
    switches: Vec<(usize, LinkDraft)>,
    /// Additional links between switches, and whether they are one-way.
    more_links: Vec<(usize, usize, LinkDraft, bool)>,
    hosts: Vec<HostDraft>,
    /// Links between hosts.
    direct: Vec<(usize, usize, LinkDraft)>,
}

/// A graph under construction.
#[derive(Clone, Debug)]
pub struct Graph {
    pub nodes: Vec<NodeConfig>,
    pub links: Vec<LinkConfig>,
    pub switches: Vec<usize>,
    pub hosts: Vec<usize>,
    pools: (Vec<u64>, Vec<u64>),
}

/// Strategy: a link that usually has the rate and the delay at index `usual`, so that cells often arrive
/// simultaneously.
fn any_link(usual: usize) -> impl Strategy<Value = LinkDraft> {
    let choice = move || prop_oneof![2 => Just(usual), 1 => 0usize..4];
    let back = prop_oneof![9 => Just(None), 1 => (choice(), choice()).prop_map(Some)];
    (choice(), choice(), back).prop_map(|(rate, delay, back)| LinkDraft { rate, delay, back })
}

/// Strategy: a link between switches that has either the rate and the delay of hosts' links or the next ones in the
/// pools.
fn any_trunk() -> impl Strategy<Value = LinkDraft> {
    prop_oneof![any_link(0), any_link(1)]
}

/// Strategy: one value for all parts, or several values from which each part chooses.
fn pool<T: std::fmt::Debug>(any: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Vec<T>> {
    prop_oneof![
        3 => prop::collection::vec(any.clone(), 1),
        2 => prop::collection::vec(any, 2..4),
    ]
}

/// Strategy: a graph of one to five switches and two to seven hosts.
pub fn any_graph() -> impl Strategy<Value = GraphDraft> {
    let number = || 0usize..60;
    let links_of_host = || {
        prop_oneof![
            4 => prop::collection::vec((number(), any_link(0)), 1),
            1 => prop::collection::vec((number(), any_link(0)), 2..4),
        ]
    };
    let jitter = || prop_oneof![20 => Just(None), 1 => any::<u16>().prop_map(Some)];
    let one_way = prop::bool::weighted(0.1);
    let one_more = (number(), number(), any_trunk(), one_way);
    (
        pool(any_rate()),
        pool(any_delay()),
        prop_oneof![
            2 => Just(vec![]),
            2 => prop::collection::vec((number(), any_trunk()), 1..3),
            1 => prop::collection::vec((number(), any_trunk()), 3..5),
        ],
        prop_oneof![
            2 => Just(vec![]),
            1 => prop::collection::vec(one_more, 1..5),
        ],
        prop_oneof![
            1 => prop::collection::vec((links_of_host(), jitter()), 2..4),
            4 => prop::collection::vec((links_of_host(), jitter()), 4..8),
        ],
        prop_oneof![
            9 => Just(vec![]),
            1 => prop::collection::vec((number(), number(), any_link(0)), 1..3),
        ],
    )
        .prop_map(|(rates, delays, switches, more_links, hosts, direct)| GraphDraft {
            rates,
            delays,
            switches,
            more_links,
            hosts,
            direct,
        })
}

impl GraphDraft {
    /// Returns the rate that most links have.
    pub fn base_bps(&self) -> u64 {
        rate_bps(&self.rates[0], 0)
    }

    /// Builds nodes and links, with unlimited ports.
    pub fn build(&self, pace: Pace) -> Graph {
        let base = self.base_bps();
        let mut graph = Graph {
            nodes: vec![],
            links: vec![],
            switches: vec![],
            hosts: vec![],
            pools: (
                self.rates.iter().map(|rate| rate_bps(rate, base)).collect(),
                self.delays.iter().map(|delay| delay_ps(delay, pace)).collect(),
            ),
        };
        let first = graph.node(NodeKind::Switch, 0);
        graph.switches.push(first);
        for (parent, link) in &self.switches {
            let parent = graph.switches[parent % graph.switches.len()];
            let switch = graph.node(NodeKind::Switch, 0);
            graph.switches.push(switch);
            graph.link(parent, switch, link, false);
        }
        let switch = |graph: &Graph, number: usize| graph.switches[number % graph.switches.len()];
        for (from, to, link, one_way) in &self.more_links {
            let (from, to) = (switch(&graph, *from), switch(&graph, *to));
            graph.link(from, to, link, *one_way);
        }
        for (links, jitter) in &self.hosts {
            let jitter = jitter.map_or(0, |share| pace.share(share, 4).min(1_000 * SECOND));
            let host = graph.node(NodeKind::Host, jitter);
            graph.hosts.push(host);
            for (number, link) in links {
                let switch = switch(&graph, *number);
                graph.link(host, switch, link, false);
            }
        }
        for (from, to, link) in &self.direct {
            let [from, to] = [from, to].map(|number| graph.hosts[number % graph.hosts.len()]);
            graph.link(from, to, link, false);
        }
        graph
    }
}

impl Graph {
    /// Returns the graph of a scenario, in which routes can be found.
    pub fn of(scenario: &Scenario) -> Graph {
        Graph {
            nodes: scenario.nodes.clone(),
            links: scenario.links.clone(),
            switches: vec![],
            hosts: vec![],
            pools: (vec![], vec![]),
        }
    }

    /// Adds a node. Returns its number.
    pub fn node(&mut self, kind: NodeKind, send_jitter_ps: u64) -> usize {
        let letter = if kind == NodeKind::Host { 'h' } else { 's' };
        let name = format!("{letter}{}", self.nodes.len());
        self.nodes.push(NodeConfig {
            name,
            kind,
            send_jitter_ps,
        });
        self.nodes.len() - 1
    }

    /// Adds a link that has the first rate and the first delay, and its reverse. Returns the number of the link.
    pub fn plain_link(&mut self, from: usize, to: usize) -> usize {
        let plain = LinkDraft {
            rate: 0,
            delay: 0,
            back: None,
        };
        self.link(from, to, &plain, false);
        self.links.len() - 2
    }

    fn link(&mut self, from: usize, to: usize, draft: &LinkDraft, one_way: bool) {
        if from == to {
            return;
        }
        let (rates, delays) = &self.pools;
        let of = |(rate, delay): (usize, usize)| (rates[rate % rates.len()], delays[delay % delays.len()]);
        let there = (draft.rate, draft.delay);
        let (rate, delay) = of(there);
        let (rate_back, delay_back) = of(draft.back.unwrap_or(there));
        self.links.push(plain_link(from, to, rate, delay));
        if !one_way {
            self.links.push(plain_link(to, from, rate_back, delay_back));
        }
    }
}
