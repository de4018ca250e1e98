//! Random route changes: at times within the run, flows get other routes between the same hosts, or parts of such
//! routes.

use super::any_scenario;
use super::graph::Graph;
use super::pace::part;
use super::routes::route;
use super::time_varying::{self, any_time_variations};
use longpipe_network::scenario::rerouting::{RerouteInFlight, ReroutingConfig, RouteChange};
use longpipe_network::scenario::topology::Topology;
use longpipe_network::scenario::{Framing, Scenario};
use proptest::prelude::*;

/// A change: its time as a fraction of the run, the numbers that select the route in each direction, and the number of
/// links after which each of these routes ends.
type ChangeDraft = (u16, [u16; 2], [Option<usize>; 2]);

/// Route changes of a flow, and whether packets that are in flight keep their route.
#[derive(Clone, Debug)]
struct ReroutingDraft {
    keep: bool,
    changes: Vec<ChangeDraft>,
}

/// Strategy: a scenario with IP packets and some route changes; it may have time-varying links.
pub fn any_rerouted() -> impl Strategy<Value = Scenario> {
    let motions = prop_oneof![1 => Just(vec![]), 1 => any_time_variations()];
    let drawn = (any_scenario(Framing::Ip), motions, any_reroutings());
    drawn.prop_map(|(mut scenario, motions, reroutings)| {
        time_varying::set(&mut scenario, &motions);
        set(&mut scenario, &reroutings);
        scenario
    })
}

/// Strategy: route changes of some flows, which are given by their numbers.
fn any_reroutings() -> impl Strategy<Value = Vec<(usize, ReroutingDraft)>> {
    let way = || prop_oneof![1 => Just(0u16), 3 => any::<u16>()];
    let cut = || prop::option::weighted(0.1, 0usize..4);
    let change = (any::<u16>(), [way(), way()], [cut(), cut()]);
    let own = (any::<bool>(), prop::collection::vec(change, 1..9))
        .prop_map(|(keep, changes)| ReroutingDraft { keep, changes });
    prop::collection::vec((0usize..60, own), 1..5)
}

/// Adds those route changes to a scenario that the checks accept.
fn set(scenario: &mut Scenario, reroutings: &[(usize, ReroutingDraft)]) {
    let graph = Graph::of(scenario);
    let flows = scenario.flows.len();
    for (number, draft) in reroutings {
        let index = number % flows;
        let before = scenario.flows[index].rerouting.take();
        scenario.flows[index].rerouting = Some(Box::new(draft.build(&graph, scenario, index)));
        if Topology::new(scenario).is_err() {
            scenario.flows[index].rerouting = before;
        }
    }
}

impl ReroutingDraft {
    fn build(&self, graph: &Graph, scenario: &Scenario, index: usize) -> ReroutingConfig {
        let flow = &scenario.flows[index];
        let (from, to) = (graph.links[flow.route[0]].from, graph.links[flow.return_route[0]].from);
        let other = |first: &[usize], (from, to): (usize, usize), number: u16, cut: Option<usize>| {
            let way = route(graph, from, to, number).filter(|way| way.first() == first.first());
            let mut way = way.unwrap_or_else(|| first.to_vec());
            let max = way.len() - 1;
            if let Some(cut) = cut.filter(|_| max > 0) {
                way.truncate(1 + cut % max);
            }
            way
        };
        let change = |&(share, [there, back], [cut, cut_back]): &ChangeDraft| RouteChange {
            at_ps: 1 + part(scenario.duration_ps, share),
            route: other(&flow.route, (from, to), there, cut),
            return_route: other(&flow.return_route, (to, from), back, cut_back),
        };
        let mut changes: Vec<RouteChange> = self.changes.iter().map(change).collect();
        changes.sort_by_key(|change| change.at_ps);
        changes.dedup_by_key(|change| change.at_ps);
        ReroutingConfig {
            in_flight: if self.keep {
                RerouteInFlight::Keep
            } else {
                RerouteInFlight::Drop
            },
            changes,
        }
    }
}
