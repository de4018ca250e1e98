//! Random paths on which cells from several wires meet more than once, or come from hosts at several distances.

use super::random::{any_loss, any_policy, any_tcp, any_ties, RATE};
use super::{Builder, LAN, SECOND, WAN};
use longpipe_network::scenario::{LossConfig, NodeKind, Scenario, StartConfig, TrafficConfig};
use longpipe_tcp::config::TcpConfig;
use proptest::prelude::*;

/// A flow: its first and last switch, its hosts at these switches, its connection, its start time and its size.
type FlowDraft = (usize, usize, usize, TcpConfig, u64, u64);

fn any_flow(mss: impl Strategy<Value = u32>) -> impl Strategy<Value = FlowDraft> {
    (
        0usize..6,
        1usize..6,
        0usize..3,
        any_tcp(mss),
        0u64..SECOND / 20,
        0u64..400_000,
    )
}

fn any_segment() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(512u32), 2 => 1u32..600, 1 => Just(1024), 1 => Just(9180)]
}

prop_compose! {
    /// Strategy: two to six switches in a row, with flows in both directions; the distances of hosts are either all
    /// different or mostly equal.
    pub fn any_chain()(
        switches in prop_oneof![1 => Just(2usize), 3 => 3usize..7],
        buffer in prop_oneof![193u64..260, 193u64..1500],
        unlimited in prop::bool::weighted(0.05),
        policy in any_policy(),
        ties in any_ties(),
        slot_phase in prop_oneof![1 => Just(0.0), 3 => Just(0.5), 1 => 0.0f64..1.0],
        jitter in prop_oneof![5 => Just(0u64), 1 => 1u64..10_000_000],
        access in prop_oneof![4 => Just(RATE), 1 => Just(149_760_000u64), 1 => 10_000_000u64..1_000_000_000],
        trunks in prop::collection::vec(
            (
                prop_oneof![2 => Just(RATE), 3 => Just(45_000_000u64), 1 => Just(4 * RATE), 1 => 10_000_000u64..1_000_000_000],
                prop_oneof![2 => Just(0u64), 2 => Just(LAN), 1 => Just(WAN / 10), 1 => 0u64..WAN / 10],
            ),
            5,
        ),
        one_trunk in any::<bool>(),
        distances in prop::collection::vec(prop_oneof![3 => Just(0u64), 2 => Just(LAN), 2 => 1u64..LAN, 1 => 0u64..WAN / 10], 4),
        losses in prop::collection::vec(prop_oneof![8 => Just(LossConfig::None {}), 1 => any_loss()], 5),
        flows in prop_oneof![
            prop::collection::vec(any_flow(any_segment()), 2..8),
            prop::collection::vec(any_flow(Just(512u32)), 6..14),
        ],
        duration in SECOND / 50..SECOND / 3,
    ) -> Scenario {
        let mut build = Builder::new(1, buffer, policy);
        (build.scenario.duration_ps, build.scenario.ties) = (duration, ties);
        build.scenario.slot_phase = slot_phase;
        let row: Vec<usize> = (0..switches).map(|_| build.node(NodeKind::Switch)).collect();
        let trunk = |at: usize| trunks[if one_trunk { 0 } else { at }];
        let trunks: Vec<usize> = (1..switches).map(|at| build.link(row[at - 1], row[at], trunk(at - 1).0, trunk(at - 1).1)).collect();
        // Links to the hosts of each switch, at most three.
        let mut hosts = vec![[None; 3]; switches];
        for (enter, further, number, config, start, size) in flows {
            let enter = enter % switches;
            let leave = (enter + 1 + further % (switches - 1)) % switches;
            let [from, to] = [enter, leave].map(|at| {
                *hosts[at][number].get_or_insert_with(|| {
                    let host = build.node(NodeKind::Host);
                    build.scenario.nodes[host].send_jitter_ps = jitter;
                    build.link(host, row[at], access, distances[(at + number) % distances.len()])
                })
            });
            let mut route = vec![from];
            if enter < leave {
                route.extend(&trunks[enter..leave]);
            } else {
                route.extend(trunks[leave..enter].iter().rev().map(|trunk| trunk ^ 1));
            }
            route.push(to ^ 1);
            build.flow(route, config);
            let flow = build.scenario.flows.last_mut().expect("one was added");
            flow.start = StartConfig::Random { from_ps: 0, over_ps: start.max(1) };
            if size > 200_000 {
                flow.traffic = TrafficConfig::transfer(size);
            }
        }
        for (link, loss) in build.scenario.links.iter_mut().zip(losses.into_iter().cycle()) {
            link.loss = loss;
            if unlimited {
                link.buffer = None;
            }
        }
        build.scenario
    }
}
