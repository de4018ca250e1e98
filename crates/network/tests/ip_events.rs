//! A run of IP packets is the same whichever of them have events of their own.

mod common;

use common::packets::{ip, packets, run};
use common::random::{RATE, RECOVERIES};
use common::{policy, tcp, Builder, LAN, SECOND, WAN};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, Engine, Framing, LossConfig, NodeKind, PolicyConfig, Scenario, StartConfig, Ties,
    TrafficConfig,
};
use longpipe_network::{Recorder, Report, Simulation};
use longpipe_tcp::config::{AckConfig, RecoveryKind, TimerConfig};
use proptest::prelude::*;

/// With a probe, so that every packet that reaches its host has an event of its own.
fn watched(scenario: &Scenario, seed: u64) -> (Report, Recorder) {
    let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
    let mut simulation = Simulation::new(scenario, seed, recorder).expect("a valid scenario");
    simulation.run();
    let report = simulation.report().expect("packets and bytes are conserved");
    (report, simulation.into_probe())
}

/// A flow that never starts makes the wires of its route shared, so that every packet there has an event of its own.
#[test]
fn going_on_at_once_changes_nothing() {
    for name in ["tail-drop", "selective-drop", "fba"] {
        let config = tcp(RecoveryKind::Reno, 65_536);
        let plain = packets(3, LAN, 20, name, 1, &config);
        let mut build = Builder::new(1, 200, policy(name));
        build.scenario = plain.clone();
        let never = StartConfig::Fixed { at_ps: 10 * SECOND };
        for source in 0..3 {
            let host = build.node(NodeKind::Host);
            let access = build.link(host, 1, RATE, LAN);
            build.flow(vec![access, plain.flows[source].route[2]], config.clone());
            build.scenario.flows[3 + source].start = never.clone();
        }
        let (alone, shared) = (run(&plain, 7), run(&ip(build.scenario, BufferUnit::Packets, 20), 7));
        assert!(shared.events > alone.events, "every packet has its own event");
        assert_eq!(shared.flows[..3], alone.flows[..]);
        assert_eq!(shared.packet_ports[0], alone.packet_ports[0]);
    }
}

#[test]
fn recording_changes_nothing() {
    let mut scenario = packets(5, LAN, 40, "fba", 1, &tcp(RecoveryKind::Sack, 65_536));
    let plain = run(&scenario, 1);
    scenario.traces.cwnd = true;
    scenario.traces.queue = true;
    scenario.traces.sequence = true;
    let (watched, recorder) = watched(&scenario, 1);
    assert_eq!(
        watched,
        Report {
            events: watched.events,
            ..plain.clone()
        }
    );
    let routers = plain.packet_ports.iter().filter(|port| !port.host);
    let seen: u64 = routers.map(|port| port.packets_in).sum();
    assert_eq!(recorder.queues.held.len() as u64, seen);
}

fn any_policy() -> impl Strategy<Value = PolicyConfig> {
    (0usize..3, 0.05f64..=1.0, 0.1f64..3.0).prop_map(|(kind, threshold, z)| match kind {
        0 => PolicyConfig::TailDrop {},
        1 => PolicyConfig::SelectiveDrop {
            threshold,
            z,
            keep_last: true,
        },
        _ => PolicyConfig::Fba {
            threshold,
            z,
            keep_last: true,
        },
    })
}

fn any_loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        4 => Just(LossConfig::None {}),
        1 => prop::collection::btree_set(0u64..100, 0..5)
            .prop_map(|indices| LossConfig::Packets { indices: indices.into_iter().collect() }),
        1 => (0.0f64..0.3).prop_map(|probability| LossConfig::Bernoulli { probability }),
    ]
}

prop_compose! {
    /// Flows of mixed segments, windows, timers, ACKs, starts, jitter and rates over a parking lot, both ways.
    fn any_scenario()(
        buffer in prop_oneof![
            4 => (1u64..60).prop_map(|limit| Some(BufferConfig { unit: BufferUnit::Packets, limit })),
            3 => (640u64..40_000).prop_map(|limit| Some(BufferConfig { unit: BufferUnit::Bytes, limit })),
            1 => Just(None),
        ],
        policy in any_policy(),
        ties in prop_oneof![Just(Ties::PortOrder), Just(Ties::Random)],
        jitter in prop_oneof![Just(0u64), 1u64..10_000_000],
        delay in prop_oneof![Just(0u64), Just(LAN), Just(WAN / 10)],
        losses in prop::collection::vec(any_loss(), 4),
        trunk_rate in prop_oneof![Just(RATE), Just(45_000_000u64), Just(RATE * 4)],
        flows in prop::collection::vec(
            (0usize..4, any::<bool>(), 1u32..600, 2u64..200, 0..RECOVERIES.len(), any::<bool>(), any::<bool>(), 0u64..SECOND / 20, 0u64..400_000),
            1..8,
        ),
    ) -> Scenario {
        let mut build = Builder::new(1, 1000, policy);
        build.scenario.duration_ps = SECOND / 5;
        build.scenario.ties = ties;
        let switches: Vec<usize> = (0..3).map(|_| build.node(NodeKind::Switch)).collect();
        let trunks = [
            build.link(switches[0], switches[1], trunk_rate, delay),
            build.link(switches[1], switches[2], RATE, delay),
        ];
        let mut hosts = [[None; 2]; 4];
        for (way, apart, mss, segments, recovery, delayed, fine, start, size) in flows {
            let (enter, leave) = [(0, 2), (0, 1), (1, 2), (2, 0)][way];
            // Flows of one way share their hosts, or have hosts of their own.
            let [access, exit] = match hosts[way] {
                [Some(access), Some(exit)] if !apart => [access, exit],
                _ => {
                    let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
                    build.scenario.nodes[source].send_jitter_ps = jitter;
                    [build.link(source, switches[enter], RATE, delay), build.link(switches[leave], sink, RATE, delay)]
                }
            };
            hosts[way] = [Some(access), Some(exit)];
            let mut route = vec![access];
            match way {
                3 => route.extend(trunks.iter().rev().map(|trunk| trunk ^ 1)),
                _ => route.extend(&trunks[enter..leave]),
            }
            route.push(exit);
            let mut config = tcp(RECOVERIES[recovery], segments * u64::from(mss));
            config.mss_bytes = mss;
            if delayed {
                config.ack = AckConfig::Delayed { segments: 2, timeout_ps: SECOND / 5 };
            }
            if fine {
                config.timer = TimerConfig::Fine {
                    granularity_ps: SECOND / 1000,
                    min_rto_ps: SECOND / 100,
                    max_rto_ps: 60 * SECOND,
                    initial_rto_ps: SECOND / 10,
                    timestamps: way == 1,
                };
            }
            build.flow(route, config);
            let flow = build.scenario.flows.last_mut().expect("one was added");
            flow.start = StartConfig::Random { from_ps: 0, over_ps: start };
            if size > 200_000 {
                flow.traffic = TrafficConfig::Transfer { size_bytes: size };
            }
        }
        for (link, loss) in build.scenario.links.iter_mut().zip(losses.into_iter().cycle()) {
            link.loss = loss;
            link.buffer = link.buffer.and(buffer);
        }
        build.scenario.framing = Framing::Ip;
        build.scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_run_conserves_packets_and_bytes_and_is_the_same_watched_or_not(scenario in any_scenario(), seed in any::<u64>()) {
        let report = run(&scenario, seed);
        prop_assert_eq!(&report, &run(&scenario, seed));
        let (watched, _) = watched(&scenario, seed);
        let mut scenario = scenario;
        scenario.engine = Engine::Reference;
        prop_assert_eq!(&watched, &run(&scenario, seed));
        prop_assert!(watched.events >= report.events);
        prop_assert_eq!(&report, &Report { events: report.events, ..watched });
        for (flow, config) in report.flows.iter().zip(&scenario.flows) {
            if let TrafficConfig::Transfer { size_bytes } = config.traffic {
                prop_assert!(flow.delivered_bytes <= size_bytes);
                prop_assert_eq!(flow.completion.is_some(), flow.delivered_bytes == size_bytes);
            }
        }
    }
}
