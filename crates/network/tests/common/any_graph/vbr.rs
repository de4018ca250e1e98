//! Random VBR sources: each uses a dedicated link to a switch, shares the switch's port with TCP, and then uses links
//! without TCP.

use super::graph::Graph;
use super::pace::{part, Pace};
use crate::common::SECOND;
use longpipe_network::aal5::CELL_BITS;
use longpipe_network::scenario::topology::Topology;
use longpipe_network::scenario::{NodeKind, OnOffConfig, Scenario, SchedulerConfig, Times};
use proptest::prelude::*;

/// Draft of a source, which does not depend on the graph.
#[derive(Clone, Debug)]
pub struct VbrDraft {
    /// Hosts at both ends; the number after that of the last host means a new host.
    ends: (usize, usize),
    direct: bool,
    switch: usize,
    /// Numbers that select one of the links that leave the switch, and one of the links that leave the next switch.
    targets: [usize; 2],
    /// Peak rate, in eighths of the slowest link's rate.
    peak: u64,
    /// Duration of on periods: a whole number of units, and a fraction of a unit.
    on: (u64, u16),
    off: (u64, u16),
    start: (u64, u16),
    times: Times,
}

/// Route of a source after its first switch.
#[derive(Clone, Copy)]
enum Way {
    /// The route continues over an existing link to a host.
    AsItIs,
    /// The route continues over an existing link and then a new one.
    OneOfItsOwn,
    /// The route continues over an existing link and then two new ones.
    TwoOfItsOwn,
    /// The route continues over a new link.
    Apart,
    /// The route has no further links.
    Direct,
}

/// Strategy: a source.
pub fn any_vbr() -> impl Strategy<Value = VbrDraft> {
    let span = |max: u64| prop_oneof![2 => (0..max, Just(0u16)), 1 => (0..max, any::<u16>())];
    (
        (0usize..8, 0usize..8, prop::bool::weighted(0.004)),
        0usize..60,
        [0usize..20, 0usize..20],
        prop_oneof![2 => Just(8u64), 1 => 1u64..9],
        prop_oneof![4 => span(100), 1 => span(2000)],
        prop_oneof![2 => Just((0, 0)), 4 => span(200)],
        prop_oneof![2 => Just((0, 0)), 1 => span(500)],
        prop_oneof![
            2 => Just(Times::Fixed {}),
            2 => Just(Times::Exponential {}),
            1 => Just(Times::Pareto { shape: 1.5 }),
        ],
    )
        .prop_map(
            |((from, to, direct), switch, targets, peak, on, off, start, times)| VbrDraft {
                ends: (from, to),
                direct,
                switch,
                targets,
                peak,
                on,
                off,
                start,
                times,
            },
        )
}

impl VbrDraft {
    /// Adds the source to a scenario, over the first route that the checks accept, if there is one.
    pub fn add(&self, graph: &mut Graph, scenario: &mut Scenario, pace: Pace) {
        let usual = [Way::AsItIs, Way::TwoOfItsOwn, Way::OneOfItsOwn, Way::Apart];
        let direct = self.direct.then_some(Way::Direct);
        for way in direct.into_iter().chain(usual) {
            let mut graph_with = graph.clone();
            let Some(route) = self.route(&mut graph_with, way) else {
                continue;
            };
            let mut with = scenario.clone();
            with.nodes.clone_from(&graph_with.nodes);
            with.links.clone_from(&graph_with.links);
            with.vbr.push(self.build(&with, route, pace));
            // Every port can have two queues.
            let mut furnished = with.clone();
            for link in &mut furnished.links {
                link.scheduler = SchedulerConfig::Priority {};
            }
            if Topology::new(&furnished).is_ok() {
                (*graph, *scenario) = (graph_with, with);
                return;
            }
        }
    }

    /// Returns a new link to a switch, and the route from this switch on.
    fn route(&self, graph: &mut Graph, way: Way) -> Option<Vec<usize>> {
        let switch = graph.switches[self.switch % graph.switches.len()];
        let leaving = (0..graph.links.len()).filter(|&link| graph.links[link].from == switch);
        let leaving: Vec<usize> = leaving.collect();
        let [source, sink] = [self.ends.0, self.ends.1].map(|number| graph.host(number));
        if source == sink {
            return None;
        }
        if let Way::Direct = way {
            return Some(vec![graph.plain_link(source, sink)]);
        }
        let mut route = vec![graph.plain_link(source, switch)];
        if let Way::Apart = way {
            route.push(graph.plain_link(switch, sink));
            return Some(route);
        }
        let first = *leaving.get(self.targets[0] % leaving.len().max(1))?;
        route.push(first);
        let next = graph.links[first].to;
        let ends = graph.nodes[next].kind == NodeKind::Host;
        match way {
            Way::AsItIs => return (ends && next != source).then_some(route),
            _ if ends => return None,
            Way::TwoOfItsOwn => {
                let other = graph.switches[self.targets[1] % graph.switches.len()];
                if other == next || other == switch {
                    return None;
                }
                route.push(graph.plain_link(next, other));
                route.push(graph.plain_link(other, sink));
            }
            Way::OneOfItsOwn | Way::Apart | Way::Direct => route.push(graph.plain_link(next, sink)),
        }
        Some(route)
    }

    fn build(&self, scenario: &Scenario, route: Vec<usize>, pace: Pace) -> OnOffConfig {
        let slowest = route.iter().map(|&link| scenario.links[link].rate_bps).min();
        let span = |(units, share): (u64, u16)| pace.units(units) + part(pace.unit_ps, share);
        let peak_bps = (slowest.unwrap_or(1000) / 8 * self.peak).max(1000);
        let on_ps = span(self.on).max(1);
        OnOffConfig {
            name: format!("v{}", scenario.vbr.len()),
            route,
            peak_bps,
            on_ps,
            // The interval between bursts of one cell each is at least a cell time.
            off_ps: span(self.off).max((CELL_BITS * SECOND / peak_bps).saturating_sub(on_ps)),
            times: self.times,
            start_ps: span(self.start),
        }
    }
}

impl Graph {
    /// Returns the host that a number selects, or a new host.
    fn host(&mut self, number: usize) -> usize {
        match self.hosts.get(number) {
            Some(&host) => host,
            None => self.node(NodeKind::Host, 0),
        }
    }
}
