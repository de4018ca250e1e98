//! Invariants of every run of IP packets.

use crate::common::packets::{ip, lost, packets};
use crate::common::random::RATE;
use crate::common::{parking_lot, policy, run, short_routes_get_more, tcp, LAN, SECOND, WAN};
use longpipe_network::report::packets::PacketReport;
use longpipe_network::scenario::{BufferUnit, LossConfig, Scenario, Ties, TrafficConfig};
use longpipe_network::Simulation;
use longpipe_tcp::config::RecoveryKind;
use strum::IntoEnumIterator;

/// Returns the transmission time of `bytes` [ps].
fn duration(bytes: u64) -> f64 {
    8.0 * bytes as f64 * SECOND as f64 / RATE as f64
}

#[test]
fn every_policy_and_recovery_delivers_and_conserves() {
    for name in ["tail-drop", "selective-drop", "fba"] {
        for recovery in RecoveryKind::iter() {
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
fn the_delay_of_a_packet_is_transmission_and_propagation_on_each_link() {
    let mut scenario = packets(1, WAN, 10, "tail-drop", 1, &tcp(RecoveryKind::Reno, 5_120));
    scenario.flows[0].traffic = TrafficConfig::transfer(512);
    let exact = 3.0 * (duration(552) + WAN as f64);
    let completion = run(&scenario, 1).flows[0].completion.expect("it arrives");
    assert!(
        (completion.0 as f64 - exact).abs() <= 3.0,
        "{completion:?}, exactly {exact} ps"
    );
}

#[test]
fn a_window_smaller_than_the_pipe_yields_a_window_per_rtt() {
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
fn a_single_flow_fills_the_link_except_for_headers() {
    let report = run(
        &packets(1, LAN, 200, "tail-drop", 2, &tcp(RecoveryKind::Vanilla, 65_536)),
        1,
    );
    let attainable = RATE as f64 * 512.0 / 552.0 / 8.0 * 2.0;
    let efficiency = report.flows[0].delivered_bytes as f64 / attainable;
    assert!((0.999..=1.0).contains(&efficiency), "{efficiency}");
    assert_eq!((lost(&report), report.flows[0].sender.duplicate_acks), (0, 0));
}

/// Checks that, without loss, the trunk's queue contains all windows except for the data that are in flight elsewhere
/// or being acknowledged.
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
fn a_buffer_of_packets_or_bytes_fills_exactly_to_its_limit() {
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

/// A limit of B packets in ns-2 allows B packets to wait in addition to the one in service, which corresponds to a
/// limit of B + 1 in longpipe.
#[test]
fn a_burst_of_n_packets_needs_a_buffer_of_n_packets() {
    for (limit, losses) in [(8, 0), (7, 1), (1, 7)] {
        // Eight packets, each from its own host, arrive simultaneously at an idle trunk.
        let mut scenario = packets(8, LAN, limit, "tail-drop", 1, &tcp(RecoveryKind::Reno, 512));
        scenario.duration_ps = SECOND / 10;
        let report = run(&scenario, 1);
        assert_eq!(report.packet_ports[0].lost_overflow, losses, "{limit} places");
    }
}

#[test]
fn a_parking_lot_loses_at_both_bottlenecks_and_conserves() {
    let cells = parking_lot(5, 1000, policy("selective-drop"), &tcp(RecoveryKind::Reno, 65_536));
    let report = run(&ip(cells, BufferUnit::Packets, 60), 1);
    for trunk in [0, 2] {
        let port = &report.packet_ports[trunk];
        assert!(port.lost_aqm > 0, "trunk {trunk} refuses packets");
        assert!(port.utilization > 0.7, "trunk {trunk}: {}", port.utilization);
    }
    short_routes_get_more(&report);
}

#[test]
fn injected_losses_remove_packets_at_interfaces_and_ports() {
    // These are the only losses of the flow: packet 3 at its interface, packet 5 at the trunk port, and packet 2 at the
    // sink's interface.
    let mut scenario = packets(1, LAN, 1000, "tail-drop", 1, &tcp(RecoveryKind::Sack, 20 * 512));
    for (link, index) in [(2, 3), (0, 5), (5, 2)] {
        scenario.links[link].loss = LossConfig::Packets { indices: vec![index] };
    }
    let report = run(&scenario, 1);
    let forced: Vec<u64> = report.packet_ports.iter().map(|port| port.lost_injected).collect();
    assert_eq!(forced, [1, 0, 1, 0, 0, 1]);
    assert_eq!(lost(&report), 3);
    assert_eq!(report.flows[0].sender.retransmitted_segments, 2);
}

#[test]
fn options_for_cells_only_are_rejected_in_one_line() {
    let plain = packets(1, LAN, 10, "tail-drop", 1, &tcp(RecoveryKind::Reno, 5_120));
    let refused = |scenario: Scenario| Simulation::new(&scenario, 1).expect_err("refused").to_string();
    let mut epd = plain.clone();
    epd.links[0].policy = policy("epd");
    assert_eq!(
        refused(epd),
        "links[0].policy: a policy for cells; needs a policy other than epd, partial-packet-discard and red by cells for IP packets"
    );
    let mut rotating = plain.clone();
    rotating.ties = Ties::Rotating;
    assert_eq!(
        refused(rotating),
        "ties: rotating; needs random or port-order for IP packets"
    );
    assert_eq!(
        refused(ip(plain.clone(), BufferUnit::Cells, 100)),
        "buffer of n0->n1: cells; needs cells under AAL5, otherwise packets or bytes"
    );
    assert_eq!(
        refused(ip(plain, BufferUnit::Bytes, 551)),
        "buffer of n0->n1: 551 bytes; needs at least one full packet (552 bytes)"
    );
}
