//! Bounds on repeated activities: the core rejects intervals so short that a run would not end in reasonable time.

use crate::common::{add_vbr, policy, tcp, Builder, LAN, SECOND};
use longpipe_network::scenario::web::{CycleFrom, PoissonCut, WebConfig};
use longpipe_network::scenario::{
    DualPi2Config, Engine, Framing, LossConfig, LowLatencyMarking, NodeKind, OnOffDatagramsConfig, PieConfig, PieDelay,
    PieRules, PolicyConfig, Scenario, SchedulerConfig, Times, TrafficConfig, TwoQueues, VideoConfig, MAX_REPETITIONS,
};
use longpipe_network::Simulation;
use longpipe_tcp::config::{RecoveryKind, TimerConfig};

const US: u64 = SECOND / 1_000_000;

/// Returns a flow through one router that lasts 100 days; `change` sets the repeated activity.
fn long_run(change: impl FnOnce(&mut Scenario)) -> Scenario {
    let mut build = Builder::new(1, 100, policy("tail-drop"));
    build.flow_over_a_switch(1_000_000, tcp(RecoveryKind::Reno, 65_536));
    let mut scenario = build.scenario;
    scenario.framing = Framing::Ip;
    for link in &mut scenario.links {
        link.buffer = None;
    }
    scenario.duration_ps = 100 * 86_400 * SECOND;
    change(&mut scenario);
    scenario
}

/// Returns the rejected field, if any.
fn refused(scenario: &Scenario) -> Option<String> {
    Simulation::new(scenario, 1).err().map(|error| error.field)
}

fn pie(update_ps: u64) -> PolicyConfig {
    PolicyConfig::Pie(PieConfig {
        target_ps: 15_000 * US,
        update_ps,
        burst_ps: 0,
        alpha: 0.125,
        beta: 1.25,
        least_backlog_bytes: 0,
        delay: PieDelay::Sojourn,
        rules: PieRules::Rfc8033,
        derandomize: false,
        ecn: false,
    })
}

fn dualpi2(update_ps: u64) -> PolicyConfig {
    PolicyConfig::DualPi2(DualPi2Config {
        target_ps: 15_000 * US,
        update_ps,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        marking: LowLatencyMarking::Step { threshold_ps: 1 },
        least_packets: 1,
        scheduler: TwoQueues::TimeShifted { shift_ps: 0 },
        ecn: false,
        nqb: false,
        protection: Default::default(),
    })
}

fn bursts(on_ps: u64, off_ps: u64, times: Times) -> TrafficConfig {
    TrafficConfig::OnOff(OnOffDatagramsConfig {
        rate_bps: 8_000,
        payload_bytes: 972,
        on_ps,
        off_ps,
        times,
    })
}

fn web(cycle_ps: u64) -> TrafficConfig {
    TrafficConfig::Web(WebConfig {
        cycle_ps,
        cycle_from: CycleFrom::FirstRequest,
        request_bytes: 128,
        spacing_from_ps: 0,
        spacing_to_ps: 0,
        requests_mean: 5.0,
        requests_most: 9,
        size_mean: 5.0,
        cut: PoissonCut::Clamping,
        class_shares_ppb: vec![1_000_000_000],
        kilobyte_bytes: 1000,
    })
}

fn video(frame_ps: u64) -> TrafficConfig {
    TrafficConfig::Video(VideoConfig {
        rate_bps: 8_000,
        frame_ps,
        payload_bytes: 1000,
        size_spread: 0.0,
        time_spread: 0.0,
    })
}

fn states(good_ps: u64, bad_ps: u64) -> LossConfig {
    LossConfig::GilbertElliottInTime {
        good_ps,
        bad_ps,
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    }
}

fn fine_timer(initial_rto_ps: u64, max_rto_ps: u64) -> TimerConfig {
    TimerConfig::Fine {
        granularity_ps: 1,
        min_rto_ps: initial_rto_ps,
        max_rto_ps,
        initial_rto_ps,
        timestamps: false,
    }
}

/// Checks the limit of a billion intervals: 100 days contain a billion intervals of 8.64 ms.
#[test]
fn more_than_a_billion_intervals_per_run_are_rejected() {
    let min = 100 * 86_400 * SECOND / MAX_REPETITIONS;
    assert_eq!(min, 8_640 * US);
    for (interval, refuses) in [(min - 1, true), (min, false)] {
        let cases: [(&str, Scenario); 9] = [
            (
                "links[1].policy.update",
                long_run(|run| run.links[1].policy = pie(interval)),
            ),
            (
                "links[1].policy.update",
                long_run(|run| run.links[1].policy = dualpi2(interval)),
            ),
            (
                "links[1].loss.good and bad",
                long_run(|run| run.links[1].loss = states(interval - US, US)),
            ),
            (
                "flows[0].traffic.cycle",
                long_run(|run| run.flows[0].traffic = web(interval)),
            ),
            (
                "flows[0].traffic.frame",
                long_run(|run| run.flows[0].traffic = video(interval)),
            ),
            (
                "flows[0].tcp.timer.max_rto",
                long_run(|run| run.flows[0].tcp.timer = fine_timer(interval, interval)),
            ),
            // 64 × 135 µs = 8.64 ms.
            (
                "flows[0].tcp.timer.initial_rto with its backoff",
                long_run(|run| run.flows[0].tcp.timer = fine_timer(interval / 64, SECOND)),
            ),
            (
                "traces.vc_queue_interval",
                long_run(|run| {
                    run.traces.vc_queue = true;
                    run.traces.vc_queue_interval_ps = interval;
                }),
            ),
            // The interval of a disabled trace has no bound.
            ("", long_run(|run| run.traces.vc_queue_interval_ps = 1)),
        ];
        for (field, scenario) in cases {
            let expected = (refuses && !field.is_empty()).then(|| field.to_owned());
            assert_eq!(refused(&scenario), expected, "{interval} {field}");
        }
    }
}

/// Checks the bound on bursts: a 1000-byte packet takes a second at 8 kbit/s.
#[test]
fn bursts_closer_than_packets_at_the_peak_rate_are_rejected() {
    for (on_ps, off_ps, field) in [
        (US, 0, Some("flows[0].traffic.on")),
        (US, SECOND - US - 1, Some("flows[0].traffic.on")),
        (US, SECOND - US, None),
        (SECOND, 0, None),
    ] {
        let fixed = long_run(|run| run.flows[0].traffic = bursts(on_ps, off_ps, Times::Fixed {}));
        assert_eq!(refused(&fixed).as_deref(), field, "{on_ps} {off_ps}");
    }
    // The shortest time of a Pareto distribution is mean · (shape - 1) / shape, which is close to 0 for a shape near 1.
    for (shape, field) in [(1.0 + 1e-15, Some("flows[0].traffic.times.shape")), (1.01, None)] {
        let heavy = long_run(|run| run.flows[0].traffic = bursts(SECOND, SECOND, Times::Pareto { shape }));
        assert_eq!(refused(&heavy).as_deref(), field, "{shape}");
    }
}

/// A cell of 424 bits takes 424 us at 1 Mbit/s; a run with a burst of one cell in each picosecond would never end.
#[test]
fn bursts_closer_than_cells_on_their_link_are_rejected() {
    let mut build = Builder::new(1, 1000, policy("tail-drop"));
    let (first, second) = (build.node(NodeKind::Switch), build.node(NodeKind::Switch));
    let trunk = build.link(first, second, 1_000_000, LAN);
    let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
    let route = vec![
        build.link(source, first, 1_000_000, LAN),
        trunk,
        build.link(second, sink, 1_000_000, LAN),
    ];
    build.flow(route, tcp(RecoveryKind::Reno, 65_536));
    let base = add_vbr(build.scenario, SchedulerConfig::Priority {}, SECOND);
    for (on_ps, off_ps, field) in [
        (1, 0, Some("vbr[0].on")),
        (1, 4_240_000 - 2, Some("vbr[0].on")),
        (1, 424 * US - 1, None),
        (424 * US, 0, None),
    ] {
        let mut scenario = base.clone();
        let vbr = &mut scenario.vbr[0];
        (vbr.peak_bps, vbr.on_ps, vbr.off_ps) = (1_000_000, on_ps, off_ps);
        scenario.duration_ps = SECOND;
        assert_eq!(refused(&scenario).as_deref(), field, "{on_ps} {off_ps}");
        if field.is_none() {
            scenario.engine = Engine::Reference;
            let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
            simulation.run();
            let delivered = simulation.report().expect("cells are conserved").sources[0].delivered;
            // The number is 1 s divided by 424 us, minus the packets in transit.
            assert!((2350..=2359).contains(&delivered), "{delivered}");
        }
    }
}

/// Gains above 1e9 are rejected, because they could make the drop probability NaN.
#[test]
fn gains_above_a_billion_are_rejected() {
    for (gain, field) in [(1e9, None), (f64::MAX, Some("links[1].policy.alpha"))] {
        let scenario = long_run(|run| {
            let PolicyConfig::Pie(mut config) = pie(SECOND) else {
                unreachable!("it is PIE")
            };
            (config.alpha, config.beta) = (gain, gain);
            run.links[1].policy = PolicyConfig::Pie(config);
        });
        assert_eq!(refused(&scenario).as_deref(), field);
    }
}
