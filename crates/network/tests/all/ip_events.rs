//! Checks that the results of IP runs do not depend on which packets have their own events.

use crate::common::packets::{ip, packets};
use crate::common::random::{any_dumbbell, any_parking_lot_of_packets, as_packets, cases};
use crate::common::{policy, run, tcp, transfers_agree, watched, with_flows_that_never_start, LAN, SECOND};
use longpipe_network::scenario::{BufferUnit, Engine, Scenario};
use longpipe_network::Report;
use longpipe_tcp::config::{AckConfig, RecoveryKind, TimerConfig};
use proptest::prelude::*;

/// Checks that results do not change if the wires of each route are shared by a flow that never starts, so that every
/// packet has an event there.
#[test]
fn events_at_every_port_do_not_change_results() {
    for name in ["tail-drop", "selective-drop", "fba"] {
        let plain = packets(3, LAN, 20, name, 1, &tcp(RecoveryKind::Reno, 65_536));
        let shared = ip(
            with_flows_that_never_start(&plain, policy(name)),
            BufferUnit::Packets,
            20,
        );
        let (alone, shared) = (run(&plain, 7), run(&shared, 7));
        assert!(shared.events > alone.events, "every packet has its own event");
        assert_eq!(shared.flows[..3], alone.flows[..]);
        assert_eq!(shared.packet_ports[0], alone.packet_ports[0]);
    }
}

#[test]
fn recording_does_not_change_results() {
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

/// Checks that a run conserves packets and bytes, is repeatable, and has the same results with a probe and in the
/// reference engine.
fn check(mut scenario: Scenario, seed: u64) -> Result<(), TestCaseError> {
    let report = run(&scenario, seed);
    prop_assert_eq!(&report, &run(&scenario, seed));
    prop_assert!(transfers_agree(&scenario, &report));
    let (watched, _) = watched(&scenario, seed);
    scenario.engine = Engine::Reference;
    let reference = run(&scenario, seed);
    prop_assert!(reference.events >= watched.events && watched.events >= report.events);
    for other in [watched, reference] {
        prop_assert_eq!(
            &report,
            &Report {
                events: report.events,
                ..other
            }
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn engines_agree_over_a_parking_lot(scenario in any_parking_lot_of_packets(), seed in any::<u64>()) {
        check(scenario, seed)?;
    }

    #[test]
    fn over_a_dumbbell_of_hosts_with_several_flows(scenario in any_dumbbell(), seed in any::<u64>()) {
        check(as_packets(scenario), seed)?;
    }

    #[test]
    fn over_a_dumbbell_whose_receivers_delay_acks(
        scenario in any_dumbbell(),
        ack in any_delayed_acks(),
        handshakes in any::<u32>(),
        seed in any::<u64>(),
    ) {
        let mut scenario = as_packets(scenario);
        for (index, flow) in scenario.flows.iter_mut().enumerate() {
            flow.tcp.ack = ack.clone();
            flow.tcp.handshake = handshakes >> (index % 32) & 1 == 1;
        }
        check(scenario, seed)?;
    }
}

/// Strategy: rules by which ACKs are delayed.
fn any_delayed_acks() -> impl Strategy<Value = AckConfig> {
    let delays = (1u64..SECOND / 10, prop_oneof![Just(0u32), 1u32..20], any::<[bool; 3]>());
    delays.prop_map(
        |(timeout_ps, quick, [linux, compresses, least_round_trip])| match linux {
            true => AckConfig::Linux {
                timeout_ps,
                quick,
                least_round_trip,
                sack_delay_ps: if compresses { SECOND / 1000 } else { 0 },
                write_every_ps: 0,
                growing_window: false,
            },
            false => AckConfig::Delayed {
                segments: 2 + u32::from(compresses),
                timeout_ps,
                quick,
            },
        },
    )
}

#[test]
fn delayed_acks_of_established_connections_take_no_events() {
    let mut tcp = tcp(RecoveryKind::Rack, 65_536);
    tcp.handshake = true;
    tcp.timer = TimerConfig::Fine {
        granularity_ps: SECOND / 1000,
        min_rto_ps: SECOND / 5,
        max_rto_ps: 60 * SECOND,
        initial_rto_ps: SECOND,
        timestamps: true,
    };
    tcp.ack = AckConfig::Delayed {
        segments: 2,
        timeout_ps: SECOND / 25,
        quick: 0,
    };
    let report = run(&packets(5, LAN, 40, "tail-drop", 2, &tcp), 1);
    let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes / 512).sum();
    // With an event for each ACK, a packet takes more than 1.6 events.
    assert!(
        report.events < delivered * 5 / 4,
        "{} events for {delivered} packets",
        report.events
    );
}
