//! The memory limit of a run: a run that would exceed it ends with an error, and the limit does not change results
//! below it.

use crate::common::packets::ip;
use crate::common::{self, dumbbell, policy, tcp, watched, web, Builder, WAN};
use longpipe_network::defect::{guarded, Ended};
use longpipe_network::scenario::{
    ArrivalTimesConfig, BufferUnit, Engine, FlowArrivalsConfig, NodeKind, Scenario, TraceConfig, TrafficConfig,
};
use longpipe_network::Report;
use longpipe_tcp::config::{CongestionConfig, RecoveryKind, VegasConfig};
use longpipe_tcp::congestion::VegasRules;

const MB: u64 = 1 << 20;

/// Returns a scenario in which a flow sends a window of 16 MiB at once into an unlimited queue.
fn burst(recovery: RecoveryKind) -> Scenario {
    let mut config = tcp(recovery, 16 * MB);
    config.initial_window_segments = 65_535;
    let mut build = Builder::new(1, 1000, policy("tail-drop"));
    let (switch, source, sink) = (
        build.node(NodeKind::Switch),
        build.node(NodeKind::Host),
        build.node(NodeKind::Host),
    );
    let route = vec![
        build.link(source, switch, 10_000_000_000, WAN),
        build.link(switch, sink, 100_000_000, WAN),
    ];
    build.flow(route, config);
    build.scenario.links.iter_mut().for_each(|link| link.buffer = None);
    build.scenario
}

fn run(scenario: &Scenario, limit: u64) -> Result<Report, Ended> {
    guarded(limit, || match scenario.traces.any() {
        true => watched(scenario, 1).0,
        false => common::run(scenario, 1),
    })
}

/// Checks that the run ends with an error at one limit, and that its results at a limit at most three times as high
/// equal those without a limit.
fn ends(mut scenario: Scenario, limit: u64) {
    for engine in [Engine::Trains, Engine::Reference] {
        scenario.engine = engine;
        let free = run(&scenario, u64::MAX).expect("without a limit");
        assert_eq!(run(&scenario, 1000 * limit), Ok(free), "{engine:?}");
        let Err(Ended::Memory(found)) = run(&scenario, limit) else {
            panic!("{engine:?} takes no more than {limit} bytes")
        };
        assert_eq!(found.limit, limit);
        assert!((limit..3 * limit).contains(&found.needed), "{engine:?}: {found}");
    }
}

#[test]
fn the_memory_of_queues_counts_towards_the_limit() {
    ends(burst(RecoveryKind::Reno), MB);
    ends(ip(burst(RecoveryKind::Reno), BufferUnit::Packets, 1000), MB / 2);
}

/// The connection slots of these flows would occupy hundreds of gigabytes, so the limit must apply before any
/// allocation.
#[test]
fn slots_of_arriving_flows_are_counted_before_they_are_allocated() {
    let mut scenario = ip(burst(RecoveryKind::Reno), BufferUnit::Packets, 1000);
    scenario.flows[0].traffic = TrafficConfig::FlowArrivals(FlowArrivalsConfig {
        arrivals: ArrivalTimesConfig::List { flows_ps: vec![] },
        most_active: 100_000,
        most_flows: None,
    });
    scenario.flows = vec![scenario.flows[0].clone(); 10_000];
    let Err(Ended::Memory(found)) = run(&scenario, 100 * MB) else {
        panic!("a billion slots take no more than 100 MiB")
    };
    assert_eq!(found.limit, 100 * MB);
    assert!(found.needed > 100 * 1_000_000_000, "{found}");
}

#[test]
fn the_memory_of_end_points_counts_towards_the_limit() {
    let mut holes = burst(RecoveryKind::Sack);
    // Every other packet is lost, so that no two received packets in a window are adjacent.
    holes.links[0].loss = longpipe_network::scenario::LossConfig::Packets {
        indices: (0..40_000).filter(|index| index % 2 == 0).collect(),
    };
    ends(holes, MB);
    let mut vegas = burst(RecoveryKind::Reno);
    vegas.flows[0].tcp.congestion = CongestionConfig::Vegas(VegasConfig {
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        rules: VegasRules::Brakmo1995,
    });
    ends(vegas, MB);
}

#[test]
fn the_memory_of_traces_and_requests_counts_towards_the_limit() {
    let plain = dumbbell(2, WAN, 1000, policy("fba"), 3, &tcp(RecoveryKind::Reno, 65_536));
    let all = TraceConfig {
        cwnd: true,
        queue: true,
        sequence: true,
        rtt: true,
        vc_queue: true,
        vc_queue_interval_ps: 1_000_000_000,
        delay: true,
        drops: true,
        grants: true,
        events: true,
        arrivals: true,
        control: true,
        flight: true,
        packets: false,
    };
    ends(
        Scenario {
            traces: all,
            ..plain.clone()
        },
        MB / 8,
    );
    let mut asking = plain;
    asking.duration_ps *= 200;
    for flow in &mut asking.flows {
        flow.traffic = TrafficConfig::Web(web());
    }
    ends(asking, MB / 8);
}

#[test]
fn a_network_beyond_the_limit_ends_before_the_first_event() {
    let wide = dumbbell(2_000, WAN, 1000, policy("epd"), 1, &tcp(RecoveryKind::Reno, 65_536));
    let Err(Ended::Memory(found)) = run(&wide, MB) else {
        panic!("2000 flows in a megabyte")
    };
    assert!(found.needed > MB);
}
