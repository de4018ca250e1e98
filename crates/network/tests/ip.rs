//! What must hold in every run of IP packets.

mod common;

use common::{dumbbell, policy, tcp, Builder, LAN, SECOND, WAN};
use longpipe_network::ip::report::PacketReport;
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, Engine, Framing, LossConfig, NodeKind, PolicyConfig, Scenario, StartConfig, Ties,
    TrafficConfig,
};
use longpipe_network::{Recorder, Report, Simulation};
use longpipe_tcp::config::{AckConfig, RecoveryKind, TcpConfig, TimerConfig};
use proptest::prelude::*;

const RATE: u64 = 155_520_000;
const RECOVERIES: [RecoveryKind; 5] = [
    RecoveryKind::Vanilla,
    RecoveryKind::Tahoe,
    RecoveryKind::Reno,
    RecoveryKind::Newreno,
    RecoveryKind::Sack,
];

fn run(scenario: &Scenario, seed: u64) -> Report {
    let mut simulation = Simulation::new(scenario, seed, ()).expect("a valid scenario");
    simulation.run();
    simulation.report().expect("packets and bytes are conserved")
}

/// With a probe, so that every packet that reaches its host has an event of its own.
fn watched(scenario: &Scenario, seed: u64) -> (Report, Recorder) {
    let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
    let mut simulation = Simulation::new(scenario, seed, recorder).expect("a valid scenario");
    simulation.run();
    let report = simulation.report().expect("packets and bytes are conserved");
    (report, simulation.into_probe())
}

fn lost(report: &Report) -> u64 {
    let ports = report.packet_ports.iter();
    ports
        .map(|port| port.lost_overflow + port.lost_refused + port.lost_forced)
        .sum()
}

/// The same scenario with packets in place of cells.
fn ip(mut scenario: Scenario, unit: BufferUnit, limit: u64) -> Scenario {
    scenario.framing = Framing::Ip;
    for link in &mut scenario.links {
        link.buffer = link.buffer.map(|_| BufferConfig { unit, limit });
    }
    scenario
}

fn packets(sources: usize, delay: u64, limit: u64, name: &str, seconds: u64, tcp: &TcpConfig) -> Scenario {
    let cells = dumbbell(sources, delay, 1000, policy(name), seconds, tcp);
    ip(cells, BufferUnit::Packets, limit)
}

/// How long `bytes` last on a line [ps].
fn duration(bytes: u64) -> f64 {
    8.0 * bytes as f64 * SECOND as f64 / RATE as f64
}

#[test]
fn every_policy_and_recovery_delivers_and_conserves() {
    for name in ["tail-drop", "selective-drop", "fba"] {
        for recovery in RECOVERIES {
            for (unit, limit) in [(BufferUnit::Packets, 25), (BufferUnit::Bytes, 13_800)] {
                let scenario = packets(5, LAN, 25, name, 2, &tcp(recovery, 65_536));
                let report = run(&ip(scenario, unit, limit), 1);
                let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
                assert!(delivered > 300_000, "{name} {recovery:?}: {delivered} bytes");
                assert!(lost(&report) > 0, "{name} {recovery:?} loses packets");
            }
        }
    }
}

#[test]
fn a_packet_takes_its_bits_and_the_delay_of_each_link() {
    let mut scenario = packets(1, WAN, 10, "tail-drop", 1, &tcp(RecoveryKind::Reno, 5_120));
    scenario.flows[0].traffic = TrafficConfig::Transfer { size_bytes: 512 };
    let exact = 3.0 * (duration(552) + WAN as f64);
    let completion = run(&scenario, 1).flows[0].completion.expect("it arrives");
    assert!(
        (completion.0 as f64 - exact).abs() <= 3.0,
        "{completion:?}, exactly {exact} ps"
    );
}

#[test]
fn a_window_smaller_than_the_pipe_gives_a_window_per_round_trip() {
    let window = 5_120;
    let report = run(
        &packets(1, WAN, 100, "tail-drop", 20, &tcp(RecoveryKind::Reno, window)),
        1,
    );
    let round_trip = 0.030 + 3.0 * (duration(552) + duration(40)) / SECOND as f64;
    let expected = window as f64 / round_trip * 20.0;
    let delivered = report.flows[0].delivered_bytes as f64;
    assert!(
        (delivered / expected - 1.0).abs() < 0.01,
        "{delivered} bytes, window/RTT gives {expected}"
    );
}

#[test]
fn a_lone_flow_fills_the_link_but_for_its_headers() {
    let report = run(
        &packets(1, LAN, 200, "tail-drop", 2, &tcp(RecoveryKind::Vanilla, 65_536)),
        1,
    );
    let attainable = RATE as f64 * 512.0 / 552.0 / 8.0 * 2.0;
    let efficiency = report.flows[0].delivered_bytes as f64 / attainable;
    assert!((0.999..=1.0).contains(&efficiency), "{efficiency}");
    assert_eq!((lost(&report), report.flows[0].sender.duplicate_acks), (0, 0));
}

/// Without loss the trunk's queue holds every window but what is elsewhere: on its way, or in an acknowledgement.
#[test]
fn zero_loss_queues_peak_at_the_sum_of_the_windows() {
    for (sources, delay, window) in [
        (5, LAN, 65_535),
        (15, LAN, 65_535),
        (5, WAN, 600_000),
        (15, WAN, 600_000),
    ] {
        let scenario = packets(
            sources,
            delay,
            100_000,
            "tail-drop",
            6,
            &tcp(RecoveryKind::Vanilla, window),
        );
        let report = run(&scenario, 1);
        let elsewhere = (6.0 * delay as f64 + 2.0 * duration(552) + 3.0 * duration(40)) / duration(552);
        let expected = sources as f64 * (window / 512) as f64 - elsewhere;
        let peak = report.packet_ports[0].peak_packets as f64;
        assert_eq!(lost(&report), 0);
        assert!(
            (peak - expected).abs() < 0.01 * expected,
            "{sources} sources: {peak} packets, analysis {expected}"
        );
    }
}

#[test]
fn a_buffer_of_packets_or_bytes_fills_to_its_limit_and_no_further() {
    let config = tcp(RecoveryKind::Sack, 65_536);
    let peaks = |unit, limit| {
        let report = run(&ip(packets(5, LAN, 1, "tail-drop", 1, &config), unit, limit), 1);
        let PacketReport {
            peak_packets,
            peak_bytes,
            ..
        } = report.packet_ports[0];
        assert!(lost(&report) > 0);
        (peak_packets, peak_bytes)
    };
    assert_eq!(peaks(BufferUnit::Packets, 31), (31, 31 * 552));
    assert_eq!(peaks(BufferUnit::Bytes, 31 * 552 + 551), (31, 31 * 552));
    assert_eq!(peaks(BufferUnit::Bytes, 31 * 552 - 1), (30, 30 * 552));
}

/// ns-2's limit of B lets B packets wait behind the one in service, which is B + 1 here.
#[test]
fn a_burst_of_n_packets_needs_n_places() {
    for (limit, losses) in [(8, 0), (7, 1), (1, 7)] {
        // Eight packets meet an idle trunk at one instant, each from a host of its own.
        let mut scenario = packets(8, LAN, limit, "tail-drop", 1, &tcp(RecoveryKind::Reno, 512));
        scenario.duration_ps = SECOND / 10;
        let report = run(&scenario, 1);
        assert_eq!(report.packet_ports[0].lost_overflow, losses, "{limit} places");
    }
}

fn parking_lot(seconds: u64, name: &str) -> Scenario {
    let mut build = Builder::new(seconds, 1000, policy(name));
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
    ip(build.scenario, BufferUnit::Packets, 60)
}

#[test]
fn a_parking_lot_loses_at_both_bottlenecks_and_conserves() {
    let report = run(&parking_lot(5, "selective-drop"), 1);
    for trunk in [0, 2] {
        let port = &report.packet_ports[trunk];
        assert!(port.lost_refused > 0, "trunk {trunk} refuses packets");
        assert!(port.utilization > 0.7, "trunk {trunk}: {}", port.utilization);
    }
    let delivered: Vec<u64> = report.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert!(
        delivered[1] > delivered[0] && delivered[2] > delivered[3],
        "short routes get more: {delivered:?}"
    );
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

#[test]
fn forced_losses_take_packets_at_interfaces_and_ports() {
    // One flow without other losses: packets 3 of its interface, 5 of the trunk port and 2 of the sink's interface go.
    let mut scenario = packets(1, LAN, 1000, "tail-drop", 1, &tcp(RecoveryKind::Sack, 20 * 512));
    for (link, index) in [(2, 3), (0, 5), (5, 2)] {
        scenario.links[link].loss = LossConfig::Packets { indices: vec![index] };
    }
    let report = run(&scenario, 1);
    let forced: Vec<u64> = report.packet_ports.iter().map(|port| port.lost_forced).collect();
    assert_eq!(forced, [1, 0, 1, 0, 0, 1]);
    assert_eq!(lost(&report), 3);
    assert_eq!(report.flows[0].sender.retransmitted_segments, 2);
}

#[test]
fn what_only_cells_can_have_is_refused_in_one_line() {
    let plain = packets(1, LAN, 10, "tail-drop", 1, &tcp(RecoveryKind::Reno, 5_120));
    let refused = |scenario: Scenario| Simulation::new(&scenario, 1, ()).expect_err("refused").to_string();
    let mut epd = plain.clone();
    epd.links[0].policy = policy("epd");
    assert_eq!(
        refused(epd),
        "links[0].policy: a policy for cells; needs tail-drop, selective-drop or fba for IP packets"
    );
    let mut rotating = plain.clone();
    rotating.ties = Ties::Rotating;
    assert_eq!(
        refused(rotating),
        "ties: rotating; needs random or port-order for IP packets"
    );
    assert_eq!(
        refused(ip(plain.clone(), BufferUnit::Cells, 100)),
        "buffer of n0->n1: cells; needs cells under AAL5, packets or bytes without"
    );
    assert_eq!(
        refused(ip(plain, BufferUnit::Bytes, 551)),
        "buffer of n0->n1: 551 bytes; needs at least one full packet (552 bytes)"
    );
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
