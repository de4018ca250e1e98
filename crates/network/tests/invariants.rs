//! What must hold in every run, whatever the scenario.

mod common;

use common::{dumbbell, policy, tcp, Builder, LAN, SECOND, WAN};
use longpipe_network::scenario::{LossConfig, NodeKind, PolicyConfig, Scenario, StartConfig, Ties, TrafficConfig};
use longpipe_network::{Recorder, Report, Simulation};
use longpipe_tcp::config::{AckConfig, RecoveryKind, TimerConfig};
use proptest::prelude::*;

const POLICIES: [&str; 5] = ["tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"];
const RECOVERIES: [RecoveryKind; 5] = [
    RecoveryKind::Vanilla,
    RecoveryKind::Tahoe,
    RecoveryKind::Reno,
    RecoveryKind::Newreno,
    RecoveryKind::Sack,
];
const RATE: u64 = 155_520_000;

fn run(scenario: &Scenario, seed: u64) -> Report {
    let mut simulation = Simulation::new(scenario, seed, ()).expect("a valid scenario");
    simulation.run();
    simulation.report().expect("cells and bytes are conserved")
}

fn lost(report: &Report) -> u64 {
    let ports = report.ports.iter();
    ports
        .map(|port| port.lost_overflow + port.lost_refused + port.lost_discarded + port.lost_forced)
        .sum()
}

#[test]
fn every_policy_and_recovery_delivers_and_conserves() {
    for name in POLICIES {
        for recovery in RECOVERIES {
            let report = run(&dumbbell(5, LAN, 300, policy(name), 2, &tcp(recovery, 65_536)), 1);
            let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
            assert!(delivered > 300_000, "{name} {recovery:?}: {delivered} bytes");
            assert!(lost(&report) > 0, "{name} {recovery:?} loses cells at 300");
        }
    }
}

#[test]
fn a_window_smaller_than_the_pipe_gives_a_window_per_round_trip() {
    // 10 segments of 512 bytes; the round trip is 30 ms of propagation, 3 × 12 cells out and 3 × 2 cells back.
    let window = 5_120;
    let report = run(
        &dumbbell(1, WAN, 1000, policy("tail-drop"), 20, &tcp(RecoveryKind::Reno, window)),
        1,
    );
    let cell = 424.0 / RATE as f64;
    let round_trip = 0.030 + cell * (3.0 * 12.0 + 3.0 * 2.0);
    let expected = window as f64 / round_trip * 20.0;
    let delivered = report.flows[0].delivered_bytes as f64;
    assert!(
        (delivered / expected - 1.0).abs() < 0.01,
        "{delivered} bytes, window/RTT gives {expected}"
    );
}

#[test]
fn a_lone_flow_fills_the_link_to_the_cell_tax() {
    let report = run(
        &dumbbell(
            1,
            LAN,
            3000,
            policy("tail-drop"),
            2,
            &tcp(RecoveryKind::Vanilla, 65_536),
        ),
        1,
    );
    let attainable = RATE as f64 * 512.0 / 636.0 / 8.0 * 2.0;
    let efficiency = report.flows[0].delivered_bytes as f64 / attainable;
    assert!((0.999..=1.0).contains(&efficiency), "{efficiency}");
    assert_eq!(lost(&report), 0);
}

/// frr-96: without loss the queue holds every window but what is in the pipe.
#[test]
fn zero_loss_queues_peak_at_the_sum_of_the_windows() {
    for (sources, delay, window, expected) in [
        (5, LAN, 65_535, 7_609.0),
        (15, LAN, 65_535, 22_849.0),
        (5, WAN, 600_000, 59_256.0),
        (15, WAN, 600_000, 199_776.0),
    ] {
        let scenario = dumbbell(
            sources,
            delay,
            300_000,
            policy("tail-drop"),
            6,
            &tcp(RecoveryKind::Vanilla, window),
        );
        let report = run(&scenario, 1);
        let peak = report.ports[0].peak_queue as f64;
        assert_eq!(lost(&report), 0);
        assert!(
            (peak / expected - 1.0).abs() < 0.01,
            "{sources} sources: {peak} cells, analysis {expected}"
        );
    }
}

fn parking_lot(seconds: u64, buffer: u64, name: &str) -> Scenario {
    let mut build = Builder::new(seconds, buffer, policy(name));
    let switches: Vec<usize> = (0..3).map(|_| build.node(NodeKind::Switch)).collect();
    let trunks = [
        build.link(switches[0], switches[1], RATE, LAN),
        build.link(switches[1], switches[2], RATE, LAN),
    ];
    for (enter, leave) in [(0, 2), (0, 1), (1, 2), (0, 2)] {
        let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
        let mut route = vec![build.link(source, switches[enter], RATE, LAN)];
        route.extend(&trunks[enter..leave]);
        route.push(build.link(switches[leave], sink, RATE, LAN));
        build.flow(route, tcp(RecoveryKind::Reno, 65_536));
    }
    build.scenario
}

#[test]
fn a_parking_lot_loses_at_both_bottlenecks_and_conserves() {
    let scenario = parking_lot(5, 1000, "epd");
    let report = run(&scenario, 1);
    for trunk in [0, 2] {
        let port = &report.ports[trunk];
        assert!(port.lost_refused > 0, "trunk {trunk} refuses frames");
        assert!(port.utilization > 0.7, "trunk {trunk}: {}", port.utilization);
    }
    let delivered: Vec<u64> = report.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert!(
        delivered[1] > delivered[0] && delivered[2] > delivered[3],
        "short routes get more: {delivered:?}"
    );
}

/// A flow that never starts makes the wires of its route shared, so that every cell there has an event of its own.
#[test]
fn going_on_at_once_changes_nothing() {
    for name in POLICIES {
        let config = tcp(RecoveryKind::Reno, 65_536);
        let plain = dumbbell(3, LAN, 200, policy(name), 1, &config);
        let mut build = Builder::new(1, 200, policy(name));
        build.scenario = plain.clone();
        let never = StartConfig::Fixed { at_ps: 10 * SECOND };
        for source in 0..3 {
            let host = build.node(NodeKind::Host);
            let access = build.link(host, 1, RATE, LAN);
            build.flow(vec![access, plain.flows[source].route[2]], config.clone());
            build.scenario.flows[3 + source].start = never.clone();
        }
        let (alone, shared) = (run(&plain, 7), run(&build.scenario, 7));
        assert!(shared.events > alone.events, "every cell has its own event");
        assert_eq!(shared.flows[..3], alone.flows[..]);
        assert_eq!(shared.ports[..alone.ports.len()][0], alone.ports[0]);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let scenario = dumbbell(5, LAN, 1000, policy("tail-drop"), 1, &tcp(RecoveryKind::Reno, 65_536));
    assert_eq!(run(&scenario, 3), run(&scenario, 3));
    assert_ne!(run(&scenario, 3).state_hash, run(&scenario, 4).state_hash);
}

#[test]
fn recording_changes_nothing() {
    let mut scenario = dumbbell(5, LAN, 1000, policy("epd"), 1, &tcp(RecoveryKind::Reno, 65_536));
    let plain = run(&scenario, 1);
    scenario.traces.cwnd = true;
    scenario.traces.queue = true;
    scenario.traces.sequence = true;
    let recorder = Recorder::new(scenario.traces, scenario.flows.len());
    let mut simulation = Simulation::new(&scenario, 1, recorder).expect("a valid scenario");
    simulation.run();
    assert_eq!(simulation.report().expect("invariants hold"), plain);
    let recorder = simulation.into_probe();
    let sent: u64 = plain.flows.iter().map(|flow| flow.sender.sent_segments).sum();
    assert_eq!(
        recorder.sequences.event.iter().filter(|&&event| event == 0).count() as u64,
        sent
    );
    let frames: u64 = plain
        .ports
        .iter()
        .filter(|port| !port.host)
        .map(|port| port.frames_in)
        .sum();
    assert_eq!(recorder.queues.held.len() as u64, frames);
    assert!(!recorder.windows.cwnd.is_empty());
}

#[test]
fn forced_losses_take_whole_frames_at_interfaces_and_ports() {
    // One flow without other losses: frames 3 of its interface, 5 of the trunk port and 2 of the sink's interface go.
    let mut scenario = dumbbell(1, LAN, 1000, policy("tail-drop"), 1, &tcp(RecoveryKind::Sack, 20 * 512));
    for (link, index) in [(2, 3), (0, 5), (5, 2)] {
        scenario.links[link].loss = LossConfig::Packets { indices: vec![index] };
    }
    let report = run(&scenario, 1);
    let forced: Vec<u64> = report.ports.iter().map(|port| port.lost_forced).collect();
    assert_eq!(forced, [12, 0, 12, 0, 0, 2]);
    assert_eq!(lost(&report), 26);
    assert_eq!(report.flows[0].sender.retransmitted_segments, 2);
}

fn any_policy() -> impl Strategy<Value = PolicyConfig> {
    (0usize..5, 0.05f64..=1.0, 0.1f64..3.0, any::<bool>()).prop_map(|(kind, threshold, z, keep_last)| match kind {
        0 => PolicyConfig::TailDrop {},
        1 => PolicyConfig::PartialPacketDiscard { keep_last },
        2 => PolicyConfig::Epd { threshold, keep_last },
        3 => PolicyConfig::SelectiveDrop {
            threshold,
            z,
            keep_last,
        },
        _ => PolicyConfig::Fba {
            threshold,
            z,
            keep_last,
        },
    })
}

fn any_loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        4 => Just(LossConfig::None {}),
        1 => prop::collection::btree_set(0u64..100, 0..5)
            .prop_map(|indices| LossConfig::Packets { indices: indices.into_iter().collect() }),
        1 => prop::collection::btree_set(0u64..SECOND / 5, 0..5)
            .prop_map(|instants| LossConfig::AtTimes { instants_ps: instants.into_iter().collect() }),
        1 => (0.0f64..0.3).prop_map(|probability| LossConfig::Bernoulli { probability }),
        1 => (0.0f64..0.1, 0.1f64..1.0).prop_map(|(good_to_bad, bad_to_good)| LossConfig::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good: 0.0,
            loss_in_bad: 0.7,
        }),
    ]
}

prop_compose! {
    /// Flows of mixed segments, windows, timers, ACKs, starts, jitter and rates over a parking lot.
    fn any_scenario()(
        buffer in 16u64..600,
        policy in any_policy(),
        ties in prop_oneof![Just(Ties::PortOrder), Just(Ties::Rotating), Just(Ties::Random)],
        slot_phase in prop_oneof![Just(0.0), Just(0.5), 0.0f64..1.0],
        jitter in prop_oneof![Just(0u64), 1u64..10_000_000],
        delay in prop_oneof![Just(0u64), Just(LAN), Just(WAN / 10)],
        losses in prop::collection::vec(any_loss(), 4),
        trunk_rate in prop_oneof![Just(RATE), Just(45_000_000u64), Just(RATE * 4)],
        flows in prop::collection::vec(
            (0usize..3, 1u32..600, 2u64..200, 0..RECOVERIES.len(), any::<bool>(), any::<bool>(), 0u64..SECOND / 20, 0u64..400_000),
            1..6,
        ),
    ) -> Scenario {
        let mut build = Builder::new(1, buffer, policy);
        build.scenario.duration_ps = SECOND / 5;
        build.scenario.ties = ties;
        build.scenario.slot_phase = slot_phase;
        let switches: Vec<usize> = (0..3).map(|_| build.node(NodeKind::Switch)).collect();
        let trunks = [
            build.link(switches[0], switches[1], trunk_rate, delay),
            build.link(switches[1], switches[2], RATE, delay),
        ];
        for (way, mss, segments, recovery, delayed, fine, start, size) in flows {
            let (enter, leave) = [(0, 2), (0, 1), (1, 2)][way];
            let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
            build.scenario.nodes[source].send_jitter_ps = jitter;
            let mut route = vec![build.link(source, switches[enter], RATE, delay)];
            route.extend(&trunks[enter..leave]);
            route.push(build.link(switches[leave], sink, RATE, delay));
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
        }
        build.scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_run_conserves_cells_and_bytes_and_repeats(scenario in any_scenario(), seed in any::<u64>()) {
        let report = run(&scenario, seed);
        prop_assert_eq!(&report, &run(&scenario, seed));
        for (flow, config) in report.flows.iter().zip(&scenario.flows) {
            if let TrafficConfig::Transfer { size_bytes } = config.traffic {
                prop_assert!(flow.delivered_bytes <= size_bytes);
                prop_assert_eq!(flow.completion.is_some(), flow.delivered_bytes == size_bytes);
            }
        }
    }
}
