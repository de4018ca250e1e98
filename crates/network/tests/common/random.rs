//! Random scenarios that have few parameters.

use super::{tcp, web, Builder, LAN, SECOND, WAN};
use longpipe_network::scenario::web::WebConfig;
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, EpdConfig, FbaConfig, Framing, LossConfig, NodeKind, PartialPacketDiscardConfig,
    PolicyConfig, Scenario, SelectiveDropConfig, StartConfig, Ties, TrafficConfig,
};
use longpipe_tcp::config::{AckConfig, RecoveryKind, TcpConfig, TimerConfig};
use proptest::prelude::*;
use strum::IntoEnumIterator;

/// Rate of the papers' links [bit/s].
pub const RATE: u64 = 155_520_000;

/// Returns PROPTEST_CASES if it is set; otherwise `complete` for `make validate`, and a third of it for `make test`.
pub fn cases(complete: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config.cases,
        None if std::env::var_os("LONGPIPE_THOROUGH").is_some_and(|value| value == "1") => complete,
        None => complete.div_ceil(3),
    };
    // Some properties reject two of five scenarios.
    let max_global_rejects = config.max_global_rejects.max(cases);
    ProptestConfig {
        cases,
        max_global_rejects,
        ..config
    }
}

/// Turns every second flow into web traffic.
pub fn with_web(mut scenario: Scenario) -> Scenario {
    for flow in scenario.flows.iter_mut().skip(1).step_by(2) {
        flow.traffic = TrafficConfig::Web(WebConfig {
            cycle_ps: SECOND / 10,
            spacing_from_ps: SECOND / 1000,
            spacing_to_ps: SECOND / 100,
            ..web()
        });
    }
    scenario
}

/// Strategy: a buffer policy.
pub fn any_policy() -> impl Strategy<Value = PolicyConfig> {
    (0usize..5, 0.05f64..=1.0, 0.1f64..3.0, any::<bool>()).prop_map(|(kind, threshold, z, keep_last)| match kind {
        0 => PolicyConfig::TAIL_DROP,
        1 => PolicyConfig::PartialPacketDiscard(PartialPacketDiscardConfig { keep_last }),
        2 => PolicyConfig::Epd(EpdConfig { threshold, keep_last }),
        3 => PolicyConfig::SelectiveDrop(SelectiveDropConfig {
            threshold,
            z,
            keep_last,
        }),
        _ => PolicyConfig::Fba(FbaConfig {
            threshold,
            z,
            keep_last,
        }),
    })
}

/// Strategy: a buffer policy that routers support.
fn any_router_policy() -> impl Strategy<Value = PolicyConfig> {
    any_policy().prop_map(router_policy)
}

/// Returns the policy, or tail drop if routers do not support it.
pub fn router_policy(policy: PolicyConfig) -> PolicyConfig {
    match policy {
        PolicyConfig::PartialPacketDiscard(_) | PolicyConfig::Epd(_) | PolicyConfig::Dfba(_) => PolicyConfig::TAIL_DROP,
        other => other,
    }
}

/// Strategy: injected losses, usually none.
pub fn any_loss() -> impl Strategy<Value = LossConfig> {
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
        1 => (0.0f64..1e-4).prop_map(|rate| LossConfig::BitErrors { rate }),
    ]
}

/// Adds a flow that starts before `start`; it is greedy unless `size` is large.
fn add_flow(build: &mut Builder, route: Vec<usize>, config: TcpConfig, start: u64, size: u64) {
    build.flow(route, config);
    let flow = build.scenario.flows.last_mut().expect("one was added");
    flow.start = StartConfig::Random {
        from_ps: 0,
        over_ps: start,
    };
    if size > 200_000 {
        flow.traffic = TrafficConfig::transfer(size);
    }
}

prop_compose! {
    /// Strategy: flows with mixed segments, windows, timers, ACKs, starts, jitter and rates over a parking lot.
    pub fn any_parking_lot()(
        buffer in 16u64..600,
        policy in any_policy(),
        ties in prop_oneof![Just(Ties::PortOrder), Just(Ties::Rotating), Just(Ties::Random)],
        slot_phase in prop_oneof![Just(0.0), Just(0.5), 0.0f64..1.0],
        jitter in prop_oneof![Just(0u64), 1u64..10_000_000],
        delay in prop_oneof![Just(0u64), Just(LAN), Just(WAN / 10)],
        losses in prop::collection::vec(any_loss(), 4),
        trunk_rate in prop_oneof![Just(RATE), Just(45_000_000u64), Just(RATE * 4)],
        flows in prop::collection::vec((0usize..3, any_tcp(1u32..600), 0u64..SECOND / 20, 0u64..400_000), 1..6),
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
        for (way, config, start, size) in flows {
            let (enter, leave) = [(0, 2), (0, 1), (1, 2)][way];
            let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
            build.scenario.nodes[source].send_jitter_ps = jitter;
            let mut route = vec![build.link(source, switches[enter], RATE, delay)];
            route.extend(&trunks[enter..leave]);
            route.push(build.link(switches[leave], sink, RATE, delay));
            add_flow(&mut build, route, config, start, size);
        }
        for (link, loss) in build.scenario.links.iter_mut().zip(losses.into_iter().cycle()) {
            link.loss = loss;
        }
        build.scenario
    }
}

/// Strategy: any kind of loss recovery.
pub fn any_recovery() -> impl Strategy<Value = RecoveryKind> {
    prop::sample::select(RecoveryKind::iter().collect::<Vec<_>>())
}

/// Strategy: a TCP configuration with one of the given MSSs, and with any window, recovery algorithm, delayed ACKs and
/// fine timer.
pub fn any_tcp(mss: impl Strategy<Value = u32>) -> impl Strategy<Value = TcpConfig> {
    (
        mss,
        2u64..300,
        any_recovery(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(mss, segments, recovery, delayed, fine, timestamps)| {
            let mut config = tcp(recovery, segments * u64::from(mss));
            config.mss_bytes = mss;
            if delayed {
                config.ack = AckConfig::Delayed {
                    segments: 2,
                    timeout_ps: SECOND / 5,
                    quick: 0,
                };
            }
            if fine {
                config.timer = TimerConfig::Fine {
                    granularity_ps: SECOND / 1000,
                    min_rto_ps: SECOND / 100,
                    max_rto_ps: 60 * SECOND,
                    initial_rto_ps: SECOND / 10,
                    timestamps,
                };
            }
            config
        })
}

fn any_mss() -> impl Strategy<Value = u32> {
    prop_oneof![1u32..600, Just(512), Just(1024), Just(9180)]
}

/// Strategy: a tie-breaking rule.
pub fn any_ties() -> impl Strategy<Value = Ties> {
    prop_oneof![1 => Just(Ties::PortOrder), 1 => Just(Ties::Rotating), 2 => Just(Ties::Random)]
}

prop_compose! {
    /// Strategy: hosts that send several flows each over one trunk, usually with equal rates and delays, so that
    /// differences between the engines matter.
    pub fn any_dumbbell()(
        buffer in prop_oneof![200u64..1500, 193u64..260],
        unlimited in prop::bool::weighted(0.05),
        policy in any_policy(),
        ties in any_ties(),
        slot_phase in prop_oneof![1 => Just(0.0), 3 => Just(0.5), 1 => 0.0f64..1.0],
        jitter in prop_oneof![3 => Just(0u64), 1 => 1u64..10_000_000],
        rates in (
            prop_oneof![3 => Just(RATE), 1 => Just(149_760_000u64), 1 => 10_000_000u64..1_000_000_000],
            prop_oneof![3 => Just(RATE), 1 => Just(45_000_000u64), 1 => Just(RATE * 4), 1 => 10_000_000u64..1_000_000_000],
            prop_oneof![6 => Just(RATE), 1 => Just(1_000_000_000u64), 1 => 10_000_000u64..1_000_000_000],
        ),
        delays in prop::array::uniform3(prop_oneof![2 => Just(LAN), 1 => Just(WAN / 10), 1 => Just(WAN), 1 => 0u64..WAN]),
        odd_delay in prop_oneof![6 => Just(0u64), 1 => 1u64..LAN],
        losses in prop::collection::vec(prop_oneof![8 => Just(LossConfig::None {}), 1 => any_loss()], 4),
        one_tcp in any::<bool>(),
        hosts in prop::collection::vec(prop::collection::vec((any_tcp(any_mss()), 0u64..SECOND / 20, 0u64..400_000), 1..4), 1..8),
        duration in SECOND / 50..SECOND / 2,
    ) -> Scenario {
        let mut build = Builder::new(1, buffer, policy);
        build.scenario.duration_ps = duration;
        build.scenario.ties = ties;
        build.scenario.slot_phase = slot_phase;
        let (left, right) = (build.node(NodeKind::Switch), build.node(NodeKind::Switch));
        let trunk = build.link(left, right, rates.1, delays[1]);
        let shared = hosts[0][0].0.clone();
        for (index, flows) in hosts.into_iter().enumerate() {
            let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
            build.scenario.nodes[source].send_jitter_ps = jitter;
            let odd = if index == 1 { odd_delay } else { 0 };
            let access = build.link(source, left, rates.0, delays[0] + odd);
            let exit = build.link(right, sink, rates.2, delays[2]);
            for (own, start, size) in flows {
                add_flow(&mut build, vec![access, trunk, exit], if one_tcp { shared.clone() } else { own }, start, size);
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

/// Returns the scenario with IP packets; features that only switches have are replaced.
pub fn as_packets(mut scenario: Scenario) -> Scenario {
    scenario.framing = Framing::Ip;
    if scenario.ties == Ties::Rotating {
        scenario.ties = Ties::Random;
    }
    for link in &mut scenario.links {
        link.policy = router_policy(link.policy.clone());
        link.buffer = link.buffer.map(|buffer| BufferConfig {
            unit: BufferUnit::Packets,
            limit: buffer.limit / 12,
        });
    }
    scenario
}

prop_compose! {
    /// Strategy: IP flows with mixed segments, windows, timers, ACKs, starts, jitter and rates over a parking lot, in
    /// both directions.
    pub fn any_parking_lot_of_packets()(
        buffer in prop_oneof![
            4 => (1u64..60).prop_map(|limit| Some(BufferConfig { unit: BufferUnit::Packets, limit })),
            3 => (640u64..40_000).prop_map(|limit| Some(BufferConfig { unit: BufferUnit::Bytes, limit })),
            1 => Just(None),
        ],
        policy in any_router_policy(),
        ties in prop_oneof![Just(Ties::PortOrder), Just(Ties::Random)],
        jitter in prop_oneof![Just(0u64), 1u64..10_000_000],
        delay in prop_oneof![Just(0u64), Just(LAN), Just(WAN / 10)],
        losses in prop::collection::vec(any_loss(), 4),
        trunk_rate in prop_oneof![Just(RATE), Just(45_000_000u64), Just(RATE * 4)],
        flows in prop::collection::vec(
            (0usize..4, any::<bool>(), any_tcp(1u32..600), 0u64..SECOND / 20, 0u64..400_000),
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
        for (way, apart, config, start, size) in flows {
            let (enter, leave) = [(0, 2), (0, 1), (1, 2), (2, 0)][way];
            // Flows in one direction share their hosts or have hosts of their own.
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
            add_flow(&mut build, route, config, start, size);
        }
        for (link, loss) in build.scenario.links.iter_mut().zip(losses.into_iter().cycle()) {
            link.loss = loss;
            link.buffer = link.buffer.and(buffer);
        }
        build.scenario.framing = Framing::Ip;
        build.scenario
    }
}
