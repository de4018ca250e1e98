//! Values at the ends of their ranges: no run panics or overflows, and the engines give bit-identical results.
//!
//! `make checked` runs these tests with overflow checks.

use crate::common::random::{any_recovery, as_packets, cases};
use crate::common::{add_vbr, policy, tcp, Builder, LAN, SECOND};
use longpipe_network::scenario::{Engine, NodeKind, Scenario, SchedulerConfig, StartConfig, Ties, TrafficConfig};
use longpipe_network::{Report, Simulation};
use longpipe_tcp::config::{AckConfig, PhaseConfig, RecoveryKind, TimerConfig};
use proptest::prelude::*;

/// A run is stopped after this number of events. One event may carry a whole window over every link.
const MAX_EVENTS: u64 = 1_000;

fn run(scenario: &Scenario, engine: Engine) -> Option<Report> {
    let scenario = Scenario {
        engine,
        ..scenario.clone()
    };
    let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
    if simulation.advance(MAX_EVENTS) {
        return None;
    }
    let mut report = simulation.report().expect("cells and bytes are conserved");
    report.events = 0;
    for source in report.sources.iter_mut().filter(|source| source.delivered == 0) {
        // NaN is not equal to itself.
        source.mean_delay = 0.0;
    }
    Some(report)
}

fn agree(scenario: &Scenario) -> Result<(), TestCaseError> {
    let reports = [Engine::Reference, Engine::Trains].map(|engine| run(scenario, engine));
    if let [Some(cells), Some(trains)] = reports {
        prop_assert_eq!(cells, trains);
    }
    run(&as_packets(without_vbr(scenario.clone())), Engine::Trains);
    Ok(())
}

fn without_vbr(mut scenario: Scenario) -> Scenario {
    scenario.vbr.clear();
    for link in &mut scenario.links {
        link.scheduler = SchedulerConfig::Fifo {};
    }
    scenario
}

fn any_rate() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(1_000u64),
        1 => Just(1_001u64),
        1 => Just(9_999u64),
        1 => Just(155_520_000u64),
        1 => Just(999_999_999_989u64),
        1 => Just(9_999_999_999_999u64),
        3 => Just(10_000_000_000_000u64),
    ]
}

fn any_delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0u64),
        1 => Just(1u64),
        2 => Just(5_000_000u64),
        1 => Just(SECOND),
        2 => Just(1_000 * SECOND)
    ]
}

fn any_duration() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(1_000_000u64),
        1 => Just(SECOND / 100),
        1 => Just(100 * SECOND),
        2 => Just(100_000 * SECOND),
        2 => Just(100 * 86_400 * SECOND),
    ]
}

/// Returns the timer with the slowest clock, and with the longest RTO that this clock allows.
fn slow_timer(expires_on_tick: bool) -> TimerConfig {
    TimerConfig::Coarse {
        tick_ps: 100 * SECOND,
        phase: PhaseConfig::Common {},
        min_rto_ticks: 1,
        max_rto_ticks: 1_000,
        initial_rto_ticks: 1_000,
        count_from_one: false,
        expires_on_tick,
    }
}

fn any_timer() -> impl Strategy<Value = TimerConfig> {
    prop_oneof![
        Just(TimerConfig::Coarse {
            tick_ps: SECOND / 10,
            phase: PhaseConfig::PerFlow {},
            min_rto_ticks: 2,
            max_rto_ticks: 640,
            initial_rto_ticks: 30,
            count_from_one: true,
            expires_on_tick: true,
        }),
        any::<bool>().prop_map(slow_timer),
        (
            any::<bool>(),
            prop_oneof![Just(SECOND / 5), Just(SECOND)],
            prop_oneof![Just(SECOND), Just(100_000 * SECOND)]
        )
            .prop_map(|(timestamps, min_rto_ps, initial_rto_ps)| TimerConfig::Fine {
                granularity_ps: 1_000_000,
                min_rto_ps,
                max_rto_ps: 100_000 * SECOND,
                initial_rto_ps,
                timestamps,
            }),
    ]
}

prop_compose! {
    /// Strategy: a few flows over a chain of switches, in which every parameter is at one end of its range.
    fn any_extreme()(
        hops in 0usize..4,
        rates in prop::array::uniform3(any_rate()),
        delays in prop::array::uniform3(any_delay()),
        duration in any_duration(),
        buffer in prop_oneof![2 => Just(None), 1 => Just(Some(1_400u64)), 1 => Just(Some(1_000_000_000))],
        name in prop::sample::select(vec!["tail-drop", "epd", "fba", "selective-drop", "partial-packet-discard"]),
        mss in prop_oneof![Just(1u32), Just(512), Just(65_000)],
        window in prop_oneof![Just(1u64), Just(65_536), Just(1 << 20)],
        initial in prop_oneof![Just(1u32), Just(4), Just(65_535)],
        recovery in any_recovery(),
        timer in any_timer(),
        delayed in any::<bool>(),
        jitter in prop_oneof![3 => Just(0u64), 1 => Just(1_000 * SECOND)],
        flows in 1usize..4,
        one_host in any::<bool>(),
        start in prop_oneof![2 => Just(0u64), 1 => Just(u64::MAX)],
        size in prop_oneof![2 => Just(None), 1 => Just(Some(1u64)), 1 => Just(Some(1 << 40)), 1 => Just(Some(u64::MAX))],
        vbr in prop_oneof![
            3 => Just(None),
            1 => Just(Some(SchedulerConfig::Priority {})),
            1 => Just(Some(SchedulerConfig::GuaranteedRate { share_ppb: 0 })),
        ],
        period in prop_oneof![Just(1_000_000u64), Just(SECOND), Just(1_000_000 * SECOND)],
        ties in prop::sample::select(vec![Ties::PortOrder, Ties::Rotating, Ties::Random]),
        slot_phase in prop_oneof![Just(0.0), Just(0.5), Just(0.999_999_999_999_999_9)],
    ) -> Scenario {
        let window = window.clamp(u64::from(mss), 4_096 * u64::from(mss));
        let mut config = tcp(recovery, window);
        (config.mss_bytes, config.initial_window_segments, config.timer) = (mss, initial, timer);
        if delayed {
            config.ack = AckConfig::Delayed { segments: 65_535, timeout_ps: 1_000 * SECOND, quick: 0 };
        }
        let mut build = Builder::new(1, buffer.unwrap_or(1), policy(name));
        build.scenario.duration_ps = duration;
        (build.scenario.ties, build.scenario.slot_phase) = (ties, slot_phase);
        let mut switches = vec![build.node(NodeKind::Switch), build.node(NodeKind::Switch)];
        let mut trunks = vec![build.link(switches[0], switches[1], rates[1], delays[1])];
        for _ in 0..hops {
            let last = switches[switches.len() - 1];
            switches.push(build.node(NodeKind::Switch));
            trunks.push(build.link(last, switches[switches.len() - 1], rates[1], delays[1]));
        }
        let mut own = None;
        for _ in 0..flows {
            let (access, exit) = own.filter(|_| one_host).unwrap_or_else(|| {
                let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
                build.scenario.nodes[source].send_jitter_ps = jitter;
                (
                    build.link(source, switches[0], rates[0], delays[0]),
                    build.link(switches[switches.len() - 1], sink, rates[2], delays[2]),
                )
            });
            own = Some((access, exit));
            let route = [&[access], &trunks[..], &[exit]].concat();
            build.flow(route, config.clone());
            let flow = build.scenario.flows.last_mut().expect("one was added");
            flow.start = StartConfig::Random { from_ps: 0, over_ps: start.min(duration.saturating_mul(2)) };
            if let Some(size_bytes) = size {
                flow.traffic = TrafficConfig::transfer(size_bytes);
            }
        }
        let mut scenario = build.scenario;
        if let (Some(scheduler), 0) = (vbr, hops) {
            // The source's own links have the rate of the first host's link, which may exceed the trunk's rate.
            let peak_bps = rates[0].min(rates[1]).min(1_000_000);
            // With shorter bursts, the source would generate more cells than the link can carry.
            let a_cell = 424 * SECOND / peak_bps;
            scenario = add_vbr(scenario, scheduler, period.max(a_cell));
            scenario.vbr[0].peak_bps = peak_bps;
        }
        for link in &mut scenario.links {
            if buffer.is_none() {
                link.buffer = None;
            }
        }
        scenario
    }
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn values_at_range_limits_do_not_overflow(scenario in any_extreme()) {
        agree(&scenario)?;
    }
}

/// Returns a flow over a chain of links.
fn chain(links: usize, delay: u64) -> Scenario {
    let mut build = Builder::new(1, 1_400, policy("tail-drop"));
    let mut last = build.node(NodeKind::Host);
    let mut route = vec![];
    for index in 0..links {
        let kind = if index + 1 < links {
            NodeKind::Switch
        } else {
            NodeKind::Host
        };
        let next = build.node(kind);
        route.push(build.link(last, next, 155_520_000, delay));
        last = next;
    }
    build.flow(route, tcp(RecoveryKind::Reno, 65_536));
    build.scenario
}

#[test]
fn a_path_of_more_than_a_million_seconds_is_rejected() {
    for (links, field) in [
        (1_001, "flows[0].route: 1001 links of 1001000 s in total"),
        (20_000, "nodes["),
    ] {
        let refused = Simulation::new(&chain(links, 1_000 * SECOND), 1);
        let line = refused.expect_err("times beyond 64 bits").to_string();
        assert!(line.starts_with(field), "{line}");
    }
    let mut scenario = chain(990, 1_000 * SECOND);
    scenario.duration_ps = 100 * 86_400 * SECOND;
    scenario.flows[0].tcp.timer = slow_timer(true);
    let report = run(&scenario, Engine::Trains).expect("few packets");
    assert!(report.flows[0].delivered_bytes > 0);
    assert_eq!(Some(report), run(&scenario, Engine::Reference));
}

#[test]
fn a_jitter_and_an_rto_beyond_their_bounds_are_rejected() {
    let mut scenario = chain(2, LAN);
    scenario.nodes[0].send_jitter_ps = 1_001 * SECOND;
    let refused = Simulation::new(&scenario, 1).expect_err("too long");
    assert_eq!(refused.field, "nodes[0].send_jitter");
    let mut scenario = chain(2, LAN);
    let TimerConfig::Coarse {
        tick_ps, max_rto_ticks, ..
    } = &mut scenario.flows[0].tcp.timer
    else {
        unreachable!("frr-96 has a coarse timer")
    };
    (*tick_ps, *max_rto_ticks) = (100 * SECOND, 1_000_000);
    let refused = Simulation::new(&scenario, 1).expect_err("too long");
    assert_eq!(
        refused.to_string(),
        "flows[0].tcp.timer.max_rto: 1000000 ticks of 100000000000000 ps; needs at most 100 000 s in total"
    );
}

/// Three windows of 1 GiB wait in an unlimited queue, and each of them takes a hundred days over the slowest link.
#[test]
fn packets_that_cannot_leave_within_the_run_wait_until_after_it() {
    let mut config = tcp(RecoveryKind::Reno, 1 << 30);
    (config.mss_bytes, config.initial_window_segments) = (65_000, 65_535);
    for slow_link in [0, 1] {
        let mut build = Builder::new(1, 1_400, policy("tail-drop"));
        let (switch, sink) = (build.node(NodeKind::Switch), build.node(NodeKind::Host));
        let rate = |link| if link == slow_link { 1_000 } else { 1_000_000_000_000 };
        let exit = build.link(switch, sink, rate(1), LAN);
        let source = build.node(NodeKind::Host);
        let access = build.link(source, switch, rate(0), LAN);
        for _ in 0..3 {
            build.flow(vec![access, exit], config.clone());
        }
        build.scenario.duration_ps = 100 * SECOND;
        build.scenario.links.iter_mut().for_each(|link| link.buffer = None);
        let trains = run(&build.scenario, Engine::Trains).expect("few edges");
        let segments = |report: &Report| report.flows.iter().map(|flow| flow.sender.sent_segments).sum::<u64>();
        let delivered = |report: &Report| report.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>();
        assert!(segments(&trains) >= 3 * ((1 << 30) / 65_000));
        assert_eq!(delivered(&trains), 0);
        let packets = as_packets(build.scenario);
        let mut simulation = Simulation::new(&packets, 1).expect("a valid scenario");
        simulation.run();
        let report = simulation.report().expect("packets and bytes are conserved");
        let held: u64 = report.packet_ports.iter().map(|port| port.packets_held).sum();
        assert_eq!((held, delivered(&report)), (segments(&report), 0));
    }
}
