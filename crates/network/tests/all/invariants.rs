//! Invariants of every run.

use crate::common::random::{any_parking_lot, cases, RATE};
use crate::common::{
    dumbbell, parking_lot, policy, run, short_routes_get_more, tcp, transfers_agree, watched,
    with_flows_that_never_start, LAN, WAN,
};
use longpipe_network::scenario::{Engine, LossConfig};
use longpipe_network::Report;
use longpipe_tcp::config::RecoveryKind;
use proptest::prelude::*;
use strum::IntoEnumIterator;

const POLICIES: [&str; 5] = ["tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"];

fn lost(report: &Report) -> u64 {
    let ports = report.ports.iter();
    ports
        .map(|port| port.lost_overflow + port.lost_aqm + port.lost_discarded + port.lost_injected)
        .sum()
}

#[test]
fn every_policy_and_recovery_delivers_and_conserves() {
    for name in POLICIES {
        for recovery in RecoveryKind::iter() {
            let report = run(&dumbbell(5, LAN, 300, policy(name), 2, &tcp(recovery, 65_536)), 1);
            let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
            assert!(delivered > 300_000, "{name} {recovery:?}: {delivered} bytes");
            assert!(lost(&report) > 0, "{name} {recovery:?} loses cells at 300");
        }
    }
}

#[test]
fn a_window_smaller_than_the_pipe_yields_a_window_per_rtt() {
    // The window is 10 segments of 512 bytes; the round trip is 30 ms of propagation, plus 3 × 12 cells for data and 3
    // × 2 cells for ACKs.
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
fn a_single_flow_fills_the_link_except_for_cell_overhead() {
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

/// Checks the formula of frr-96: without loss, the queue contains all windows except for the data in the pipe.
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

#[test]
fn a_parking_lot_loses_at_both_bottlenecks_and_conserves() {
    let scenario = parking_lot(5, 1000, policy("epd"), &tcp(RecoveryKind::Reno, 65_536));
    let report = run(&scenario, 1);
    for trunk in [0, 2] {
        let port = &report.ports[trunk];
        assert!(port.lost_aqm > 0, "trunk {trunk} refuses frames");
        assert!(port.utilization > 0.7, "trunk {trunk}: {}", port.utilization);
    }
    short_routes_get_more(&report);
}

/// Checks that results do not change if the wires of each route are shared by a flow that never starts, so that every
/// cell has an event there.
#[test]
fn events_at_every_port_do_not_change_results() {
    for name in POLICIES {
        let config = tcp(RecoveryKind::Reno, 65_536);
        let mut plain = dumbbell(3, LAN, 200, policy(name), 1, &config);
        plain.engine = Engine::Reference;
        let shared = with_flows_that_never_start(&plain, policy(name));
        let (alone, shared) = (run(&plain, 7), run(&shared, 7));
        assert!(shared.events > alone.events, "every cell has its own event");
        assert_eq!(shared.flows[..3], alone.flows[..]);
        assert_eq!(shared.ports[..alone.ports.len()][0], alone.ports[0]);
    }
}

#[test]
fn results_depend_on_the_seed_only() {
    let scenario = dumbbell(5, LAN, 1000, policy("tail-drop"), 1, &tcp(RecoveryKind::Reno, 65_536));
    assert_eq!(run(&scenario, 3), run(&scenario, 3));
    assert_ne!(run(&scenario, 3).state_hash, run(&scenario, 4).state_hash);
}

#[test]
fn recording_does_not_change_results() {
    let mut scenario = dumbbell(5, LAN, 1000, policy("epd"), 1, &tcp(RecoveryKind::Reno, 65_536));
    let mut plain = run(&scenario, 1);
    plain.events = 0;
    scenario.traces.cwnd = true;
    scenario.traces.queue = true;
    scenario.traces.sequence = true;
    let (mut watched, recorder) = watched(&scenario, 1);
    watched.events = 0;
    assert_eq!(watched, plain);
    let sent: u64 = plain.flows.iter().map(|flow| flow.sender.sent_segments).sum();
    assert_eq!(
        recorder.sequences.event.iter().filter(|&&event| event == 0).count() as u64,
        sent
    );
    let frames: u64 = plain
        .ports
        .iter()
        .filter(|port| port.mean_queue.is_some())
        .map(|port| port.frames_in)
        .sum();
    assert_eq!(recorder.queues.held.len() as u64, frames);
    assert!(!recorder.windows.cwnd.is_empty());
}

#[test]
fn injected_losses_remove_whole_frames_at_interfaces_and_ports() {
    // These are the only losses of the flow: frame 3 at its interface, frame 5 at the trunk port, and frame 2 at the
    // sink's interface.
    let mut scenario = dumbbell(1, LAN, 1000, policy("tail-drop"), 1, &tcp(RecoveryKind::Sack, 20 * 512));
    for (link, index) in [(2, 3), (0, 5), (5, 2)] {
        scenario.links[link].loss = LossConfig::Packets { indices: vec![index] };
    }
    let report = run(&scenario, 1);
    let forced: Vec<u64> = report.ports.iter().map(|port| port.lost_injected).collect();
    assert_eq!(forced, [12, 0, 12, 0, 0, 2]);
    assert_eq!(lost(&report), 26);
    assert_eq!(report.flows[0].sender.retransmitted_segments, 2);
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn any_run_conserves_cells_and_bytes_and_is_repeatable(scenario in any_parking_lot(), seed in any::<u64>()) {
        let report = run(&scenario, seed);
        prop_assert_eq!(&report, &run(&scenario, seed));
        prop_assert!(transfers_agree(&scenario, &report));
    }
}
