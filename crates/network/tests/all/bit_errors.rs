//! Tests of bit error rates: of the packets or frames of n bits, a fraction 1 − (1 − p)ⁿ is lost at the end of the
//! wire.

use crate::common::packets::packets;
use crate::common::{dumbbell, policy, run, tcp, LAN};
use longpipe_network::scenario::{LossConfig, Scenario};
use longpipe_tcp::config::RecoveryKind;

/// Index of the dumbbell's trunk.
const TRUNK: usize = 0;

fn with_errors(mut scenario: Scenario, mss: u32, rate: f64) -> Scenario {
    for flow in &mut scenario.flows {
        flow.tcp.mss_bytes = mss;
    }
    scenario.links[TRUNK].loss = LossConfig::BitErrors { rate };
    scenario
}

/// Asserts that `corrupted / all` is within three standard deviations of `1 − (1 − rate)^bits`.
fn assert_share(what: &str, (corrupted, all): (u64, u64), bits: f64, rate: f64) {
    let share = -f64::exp_m1(bits * f64::ln_1p(-rate));
    let (mean, deviation) = (all as f64 * share, (all as f64 * share * (1.0 - share)).sqrt());
    assert!(mean > 300.0, "{what}: {mean} of {all} are too few to tell");
    let off = (corrupted as f64 - mean) / deviation;
    assert!(
        off.abs() < 3.0,
        "{what}: {corrupted} of {all}, not {mean}: {off} deviations"
    );
}

#[test]
fn corrupted_packets_use_the_line_before_they_are_lost() {
    for (mss, rate) in [(512, 1e-5), (1460, 1e-5), (9180, 2e-6)] {
        let tcp = tcp(RecoveryKind::Newreno, 1 << 20);
        let scenario = with_errors(packets(8, LAN, 10_000, "tail-drop", 10, &tcp), mss, rate);
        let report = run(&scenario, 1);
        let trunk = report.packet_ports[TRUNK];
        let bits = f64::from(8 * (mss + 40));
        assert_share(
            &format!("packets of {mss}"),
            (trunk.corrupted, trunk.packets_out),
            bits,
            rate,
        );
        assert_eq!(trunk.bytes_corrupted, trunk.corrupted * u64::from(mss + 40));
        assert_eq!((trunk.lost_injected, trunk.lost_overflow), (0, 0));
        // Corrupted packets still occupy the transmitter but are not forwarded.
        let used = 8.0 * trunk.bytes_out as f64 / scenario.links[TRUNK].rate_bps as f64 / 10.0;
        assert!((trunk.utilization - used).abs() < 1e-9, "{trunk:?}");
        let exits = (0..8).map(|flow| report.packet_ports[scenario.flows[flow].route[2]].packets_in);
        let arrived: u64 = exits.sum();
        assert!(trunk.packets_out - trunk.corrupted - arrived <= 1, "{arrived} came");
    }
}

#[test]
fn corrupted_cells_are_forwarded_and_their_frames_lost() {
    for (mss, cells, rate) in [(512, 12, 1e-6), (1460, 32, 1e-6)] {
        let tcp = tcp(RecoveryKind::Newreno, 1 << 20);
        let cell_path = dumbbell(8, LAN, 100_000, policy("tail-drop"), 10, &tcp);
        let scenario = with_errors(cell_path, mss, rate);
        let report = run(&scenario, 1);
        let (trunk, exits) = (report.ports[TRUNK], scenario.flows.iter().map(|flow| flow.route[2]));
        let out: u64 = exits.map(|link| report.ports[link].cells_out).sum();
        assert_share(
            &format!("frames of {cells} cells"),
            (trunk.frames_corrupted, out / cells),
            424.0 * cells as f64,
            rate,
        );
        assert_eq!(report.ports.iter().map(|port| port.lost_injected).sum::<u64>(), 0);
        assert!(
            trunk.cells_out - out < 20,
            "bad cells go on: {out} of {}",
            trunk.cells_out
        );
    }
}

#[test]
fn an_error_rate_of_zero_changes_nothing_and_of_one_loses_everything() {
    let plain = packets(2, LAN, 20, "tail-drop", 1, &tcp(RecoveryKind::Reno, 65_536));
    let (without, never) = (run(&plain, 1), run(&with_errors(plain.clone(), 512, 0.0), 1));
    assert_eq!((never.flows, never.state_hash), (without.flows, without.state_hash));
    let always = run(&with_errors(plain, 512, 1.0), 1);
    assert!(always.flows.iter().all(|flow| flow.delivered_bytes == 0));
    assert_eq!(
        always.packet_ports[TRUNK].corrupted,
        always.packet_ports[TRUNK].packets_out
    );
    assert!(always.packet_ports[TRUNK].corrupted > 0);
}
