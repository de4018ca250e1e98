//! Random valid scenarios: graphs, routes, ports, end points and traffic, independent of each other.
//!
//! Many defects need simultaneous events, so most links, connections and starts are equal. A scenario is drawn as small
//! numbers, from which its parts are built, so that proptest can shrink it.

pub mod access;
mod described;
mod extremes;
mod fields;
mod graph;
mod pace;
mod policies;
mod ports;
pub mod rerouting;
mod routes;
mod tcp;
pub mod time_varying;
mod traffic;
mod vbr;
mod work;

use super::SECOND;
use described::Scale;
use extremes::{any_extremes, Extreme};
use graph::{any_graph, Graph, GraphDraft};
use longpipe_events::Stream;
use longpipe_network::aal5::CELL_BITS;
use longpipe_network::scenario::topology::Topology;
use longpipe_network::scenario::{
    Engine, FlowConfig, ForwardingConfig, Framing, Scenario, ServiceCategory, StartConfig, Ties, TraceConfig,
};
use longpipe_network::traffic::parameters::Transport;
use pace::Pace;
use ports::{any_loss, any_port, LossDraft, PortDraft};
use proptest::prelude::*;
use tcp::{any_tcp, TcpDraft};
use traffic::{any_start, any_stop, any_traffic, StartDraft, StopDraft, TrafficDraft};
use vbr::{any_vbr, VbrDraft};

/// A flow; the numbers are indices into the hosts and the pools, or choose a route.
#[derive(Clone, Debug)]
struct FlowDraft {
    ends: (usize, usize),
    there: u16,
    back: Option<u16>,
    /// Alternative route that visits switches repeatedly and may lead back to the first host; it is used if the checks
    /// accept it.
    wandering: Option<(bool, u16)>,
    tcp: usize,
    traffic: TrafficDraft,
    start: StartDraft,
    stop: Option<StopDraft>,
    /// Host that splits the flow, and its buffer, given as a number of segments in addition to two.
    split: Option<(usize, u64)>,
    guarantee: Option<GuaranteeDraft>,
}

/// Guaranteed rate of a flow's VC: its share of the link's rate divided by the number of flows, its burst, and whether
/// frames are tagged.
#[derive(Clone, Copy, Debug)]
struct GuaranteeDraft {
    share: u16,
    mbs: u64,
    tagging: bool,
}

/// Parameters of the whole run.
#[derive(Clone, Debug)]
struct RunDraft {
    work: u64,
    /// Whether the run is long enough for all transfers.
    whole: bool,
    ties: usize,
    slot_phase: u16,
    traces: u8,
    samples: u64,
    extremes: Vec<Extreme>,
    /// Permutations of nodes and links; 0 preserves the order.
    orders: (u8, u8),
}

#[derive(Clone, Debug)]
struct Draft {
    graph: GraphDraft,
    ports: Vec<PortDraft>,
    odd_ports: Vec<(usize, usize)>,
    losses: Vec<(usize, LossDraft)>,
    tcps: Vec<TcpDraft>,
    flows: Vec<FlowDraft>,
    vbr: Vec<VbrDraft>,
    run: RunDraft,
}

/// Strategy: scenarios; in some of them, fields are at the ends of their ranges.
pub fn with_ends(usual: impl Strategy<Value = Scenario>) -> impl Strategy<Value = Scenario> {
    (usual, fields::any_fields()).prop_map(|(mut scenario, fields)| {
        fields::set(&mut scenario, &fields);
        scenario
    })
}

/// Strategy: a scenario with links of the given framing.
pub fn any_scenario(framing: Framing) -> impl Strategy<Value = Scenario> {
    let vbr_weight = if framing == Framing::Aal5 { 1 } else { 0 };
    let number = || 0usize..60;
    (
        any_graph(),
        prop::collection::vec(any_port(), 1..4),
        prop_oneof![1 => Just(vec![]), 1 => prop::collection::vec((number(), number()), 1..5)],
        prop_oneof![3 => Just(vec![]), 2 => prop::collection::vec((number(), any_loss()), 1..4)],
        prop_oneof![1 => prop::collection::vec(any_tcp(), 1), 1 => prop::collection::vec(any_tcp(), 2..4)],
        prop_oneof![
            1 => prop::collection::vec(any_flow(), 1..3),
            5 => prop::collection::vec(any_flow(), 3..8),
            1 => prop::collection::vec(any_flow(), 8..13),
        ],
        prop_oneof![3 => Just(vec![]), vbr_weight => prop::collection::vec(any_vbr(), 1..4)],
        any_run(),
    )
        .prop_map(|(graph, ports, odd_ports, losses, tcps, flows, vbr, run)| Draft {
            graph,
            ports,
            odd_ports,
            losses,
            tcps,
            flows,
            vbr,
            run,
        })
        .prop_map(move |draft| draft.build(framing))
}

fn any_flow() -> impl Strategy<Value = FlowDraft> {
    // Many flows share the same hosts.
    let end = || prop_oneof![1 => 0usize..2, 1 => 0usize..60];
    let way = || prop_oneof![2 => Just(0u16), 1 => any::<u16>()];
    (
        (end(), end()),
        way(),
        prop_oneof![2 => Just(None), 1 => way().prop_map(Some)],
        prop::option::weighted(0.01, any::<(bool, u16)>()),
        0usize..4,
        any_traffic(),
        (any_start(), prop::option::weighted(0.12, any_stop())),
        prop::option::weighted(0.06, (0usize..60, prop_oneof![0u64..4, 0u64..60, Just(1u64 << 20)])),
        prop::option::weighted(0.15, (any::<u16>(), 1u64..100, prop::bool::weighted(0.8))),
    )
        .prop_map(
            |(ends, there, back, wandering, tcp, traffic, (start, stop), split, guarantee)| FlowDraft {
                ends,
                there,
                back,
                wandering,
                tcp,
                traffic,
                start,
                stop,
                split,
                guarantee: guarantee.map(|(share, mbs, tagging)| GuaranteeDraft { share, mbs, tagging }),
            },
        )
}

fn any_run() -> impl Strategy<Value = RunDraft> {
    (
        prop_oneof![2 => 10u64..2000, 3 => 2000u64..15_000, 2 => 15_000u64..60_000],
        prop::bool::weighted(0.4),
        0usize..3,
        prop_oneof![2 => Just(0u16), 3 => Just(1 << 15), 1 => any::<u16>()],
        prop_oneof![3 => 0u8..16, 1 => 16u8..64],
        1u64..200,
        prop_oneof![14 => Just(vec![]), 1 => any_extremes()],
        (
            prop_oneof![2 => Just(0u8), 1 => any::<u8>()],
            prop_oneof![2 => Just(0u8), 1 => any::<u8>()],
        ),
    )
        .prop_map(
            |(work, whole, ties, slot_phase, traces, samples, extremes, orders)| RunDraft {
                work,
                whole,
                ties,
                slot_phase,
                traces,
                samples,
                extremes,
                orders,
            },
        )
}

impl Draft {
    fn build(&self, framing: Framing) -> Scenario {
        let pace = Pace::new(framing, 40 + self.tcps[0].mss, self.graph.base_bps());
        let mut graph = self.graph.build(pace);
        let ties = match (self.run.ties, framing) {
            (0, _) => Ties::Random,
            (1, Framing::Aal5) => Ties::Rotating,
            _ => Ties::PortOrder,
        };
        let mut scenario = Scenario {
            engine: Engine::Trains,
            framing,
            duration_ps: SECOND,
            ties,
            slot_phase: f64::from(self.run.slot_phase) / 65_536.0,
            nodes: graph.nodes.clone(),
            links: graph.links.clone(),
            flows: self
                .flows
                .iter()
                .enumerate()
                .map(|(index, flow)| self.flow(&graph, pace, index, flow))
                .collect(),
            vbr: vec![],
            traces: TraceConfig::default(),
        };
        for flow in &mut scenario.flows {
            traffic::adapt(flow, framing);
        }
        if framing == Framing::Aal5 {
            scenario
                .flows
                .iter_mut()
                .for_each(|flow| tcp::without_marks(&mut flow.tcp));
        }
        self.split(&graph, &mut scenario);
        self.let_wander(&graph, &mut scenario);
        for source in &self.vbr {
            source.add(&mut graph, &mut scenario, pace);
        }
        let mut duration = work::duration_ps(&scenario, self.run.work);
        if self.run.whole && duration > pace.unit_ps {
            duration -= duration % pace.unit_ps;
        }
        scenario.duration_ps = duration;
        scenario.traces = self.run.traces(duration);
        for (flow, draft) in scenario.flows.iter_mut().zip(&self.flows) {
            flow.start = draft.start.build(pace, duration);
            flow.stop = draft.stop.as_ref().map(|stop| stop.build(pace, duration));
        }
        if framing == Framing::Aal5 {
            self.guarantee(&mut scenario);
        }
        ports::furnish(&mut scenario, &self.ports, &self.odd_ports);
        let links = scenario.links.len();
        for (link, loss) in &self.losses {
            let link = &mut scenario.links[link % links];
            link.loss = loss.build(&Scale::of(link, 1500, duration));
        }
        for &extreme in &self.run.extremes {
            extremes::set(&mut scenario, extreme);
        }
        // Both parts of a split connection carry the same traffic, until the same stop.
        for index in 0..scenario.flows.len() {
            if let Some(onward) = scenario.flows[index].onward {
                let last = &scenario.flows[onward.flow];
                let (traffic, stop) = (last.traffic.clone(), last.stop);
                (scenario.flows[index].traffic, scenario.flows[index].stop) = (traffic, stop);
            }
        }
        let (nodes, links) = self.run.orders;
        reorder_nodes(&mut scenario, nodes);
        reorder_links(&mut scenario, links);
        scenario
    }

    /// Gives some flows a guaranteed rate, so that the guarantees of all flows fit on each link.
    fn guarantee(&self, scenario: &mut Scenario) {
        let count = scenario.flows.len() as u64;
        for (flow, draft) in scenario.flows.iter_mut().zip(&self.flows) {
            let slowest = flow.route.iter().map(|&link| scenario.links[link].rate_bps).min();
            let most = slowest.unwrap_or(0) / CELL_BITS / count;
            if let Some(GuaranteeDraft { share, mbs, tagging }) = draft.guarantee.filter(|_| most > 0) {
                flow.service = ServiceCategory::Gfr {
                    mcr: ((most * u64::from(share)) >> 16).max(1),
                    mbs,
                    tagging,
                };
            }
        }
    }

    /// Splits flows at hosts; each part of a flow is a connection.
    fn split(&self, graph: &Graph, scenario: &mut Scenario) {
        for (index, draft) in self.flows.iter().enumerate() {
            let whole = &scenario.flows[index];
            let (Some((host, room)), Transport::Tcp) = (draft.split, whole.traffic.facts().transport) else {
                continue;
            };
            let (from, to) = (
                graph.links[whole.route[0]].from,
                graph.links[whole.return_route[0]].from,
            );
            let between: Vec<usize> = graph
                .hosts
                .iter()
                .copied()
                .filter(|&host| host != from && host != to)
                .collect();
            let Some(&host) = between.get(host % between.len().max(1)) else {
                continue;
            };
            let way = |from: usize, to: usize| routes::route(graph, from, to, draft.there);
            let ways = [way(from, host), way(host, from), way(host, to), way(to, host)];
            let [Some(there), Some(back), Some(on), Some(home)] = ways else {
                continue;
            };
            let tcp = whole.tcp.clone();
            let buffer_bytes = (2 + room) * u64::from(tcp.mss_bytes);
            let first = FlowConfig {
                name: format!("f{}", scenario.flows.len()),
                route: there,
                return_route: back,
                onward: Some(ForwardingConfig {
                    flow: index,
                    buffer_bytes,
                }),
                ..whole.clone()
            };
            scenario.flows.push(first);
            let last = &mut scenario.flows[index];
            (last.route, last.return_route, last.relayed) = (on, home, true);
        }
    }

    /// Reroutes flows so that they pass switches more than once or return to their first host.
    fn let_wander(&self, graph: &Graph, scenario: &mut Scenario) {
        for (index, draft) in self.flows.iter().enumerate() {
            let Some((home, number)) = draft.wandering else {
                continue;
            };
            let usual = scenario.flows[index].clone();
            let from = graph.links[usual.route[0]].from;
            let to = graph.links[usual.return_route[0]].from;
            let to = if home { from } else { to };
            let ways = [(from, to), (to, from)].map(|(from, to)| routes::wandering(graph, from, to, number));
            if let [Some(route), Some(return_route)] = ways {
                let flow = &mut scenario.flows[index];
                (flow.route, flow.return_route) = (route, return_route);
            }
            if Topology::new(scenario).is_err() {
                scenario.flows[index] = usual;
            }
        }
    }

    fn flow(&self, graph: &Graph, pace: Pace, index: usize, draft: &FlowDraft) -> FlowConfig {
        let hosts = &graph.hosts;
        let from = draft.ends.0 % hosts.len();
        // This can be any host except the first one.
        let to = (from + 1 + draft.ends.1 % (hosts.len() - 1)) % hosts.len();
        let way = |from: usize, to: usize, number: u16| {
            routes::route(graph, hosts[from], hosts[to], number)
                .expect("links of a tree lead from every host to every other")
        };
        let route = way(from, to, draft.there);
        let return_route = match draft.back {
            None => routes::reversed(&graph.links, &route).unwrap_or_else(|| way(to, from, 0)),
            Some(number) => way(to, from, number),
        };
        let tcp = self.tcps[draft.tcp % self.tcps.len()].build(pace);
        FlowConfig {
            name: format!("f{index}"),
            route,
            return_route,
            traffic: draft.traffic.build(pace, tcp.mss_bytes),
            tcp,
            start: StartConfig::Fixed { at_ps: 0 },
            class: (index % 3) as u32,
            service: ServiceCategory::UBR,
            scalable: index.is_multiple_of(2),
            foreign: false,
            onward: None,
            relayed: false,
            stop: None,
            rerouting: None,
        }
    }
}

impl RunDraft {
    fn traces(&self, duration: u64) -> TraceConfig {
        let wanted = |bit: u8| self.traces >> bit & 1 == 1;
        TraceConfig {
            cwnd: wanted(0),
            queue: wanted(1),
            sequence: wanted(2),
            rtt: wanted(3),
            vc_queue: wanted(4),
            vc_queue_interval_ps: (duration / self.samples).max(1),
            delay: wanted(0),
            drops: wanted(4),
            grants: wanted(1),
            arrivals: wanted(2),
            control: wanted(3),
            events: wanted(4),
            flight: wanted(5),
            packets: false,
        }
    }
}

/// Returns a permutation: for each of `count` items, its new index.
fn order(count: usize, number: u8) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    if number > 0 {
        let mut stream = Stream::new(u64::from(number), "any-order", 0);
        for last in (1..count).rev() {
            places.swap(last, stream.below(last as u64 + 1) as usize);
        }
    }
    places
}

fn arrange<T: Clone>(things: &mut [T], places: &[usize]) {
    let before = things.to_vec();
    for (thing, &place) in before.into_iter().zip(places) {
        things[place] = thing;
    }
}

fn reorder_nodes(scenario: &mut Scenario, number: u8) {
    let places = order(scenario.nodes.len(), number);
    arrange(&mut scenario.nodes, &places);
    for link in &mut scenario.links {
        (link.from, link.to) = (places[link.from], places[link.to]);
    }
}

/// Permutes the links, which affects ties and the slot phases of switches.
fn reorder_links(scenario: &mut Scenario, number: u8) {
    let places = order(scenario.links.len(), number);
    arrange(&mut scenario.links, &places);
    let routes = scenario
        .flows
        .iter_mut()
        .flat_map(|flow| [&mut flow.route, &mut flow.return_route]);
    let vbr = scenario.vbr.iter_mut().map(|source| &mut source.route);
    for link in routes.chain(vbr).flatten() {
        *link = places[*link];
    }
}
