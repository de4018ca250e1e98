use super::*;

/// Windows, rates, alphas and waits that an independent program (tests/udp_prague_witness.py) computes by the rules of
/// prague_cc.cpp, for RTTs from 1 to 80 ms.
const WITNESS: &str = include_str!("witness.csv");

const MSS: f64 = 1400.0;

fn sender(initial_rate_bps: u64) -> UdpPrague {
    UdpPrague::new(&UdpPragueConfig {
        initial_rate_bps,
        max_rate_bps: 100_000_000_000,
    })
}

#[test]
fn windows_rates_and_alphas_equal_those_of_the_independent_program() {
    let (mut case, mut prague) = ("", sender(100_000));
    for row in WITNESS.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let number = |index: usize| fields[index].parse::<f64>().expect(row);
        let bytes = |index: usize| (number(index) * MSS) as u64;
        if fields[0] != case {
            (case, prague) = (fields[0], sender(number(1) as u64));
        }
        if fields[8] == "1" {
            prague.undo();
        }
        prague.on_feedback(&Feedback {
            now: number(2) / 1e6,
            rtt: Some(number(6) / 1e6),
            delivered: bytes(3),
            marked: bytes(4),
            lost: bytes(5),
            in_flight: bytes(7),
            mss: MSS,
        });
        let found = [prague.window, prague.rate, prague.alpha, prague.waits];
        for (value, column) in found.into_iter().zip(9..) {
            let expected = number(column);
            assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{row}: {value}");
        }
    }
}

/// Acknowledges `rtts` windows in four parts each, the first of which is marked in each RTT if `marked` is a number of
/// packets.
fn acknowledge(prague: &mut UdpPrague, rtts: u32, rtt: f64, marked: u64) {
    for part in 0..4 * rtts {
        let begin = prague.alpha_period.begin.max(prague.mark_period.begin);
        prague.on_feedback(&Feedback {
            now: begin.max(f64::from(part) * rtt / 4.0) + rtt / 4.0,
            rtt: Some(rtt),
            delivered: (prague.window / 4.0).max(MSS) as u64,
            marked: if part % 4 == 0 { marked * MSS as u64 } else { 0 },
            lost: 0,
            in_flight: 0,
            mss: MSS,
        });
    }
}

#[test]
fn growth_waits_thirteen_virtual_rtts_at_100_mbit_per_s() {
    let prague = sender(100_000_000);
    assert_eq!(prague.waits, 13.0);
    // Then it grows by 1 ms of the rate, 12.5 kB, instead of a packet.
    let mut late = UdpPrague { waits: 0.0, ..prague };
    acknowledge(&mut late, 1, 0.05, 0);
    assert!(
        (late.window / (0.05 * 12.5e6 + 12_500.0) - 1.0).abs() < 0.01,
        "{}",
        late.window
    );
}

#[test]
fn a_mark_reduces_the_window_by_half_of_alpha_once_per_virtual_rtt() {
    let mut prague = sender(20_000_000);
    acknowledge(&mut prague, 1, 0.05, 0);
    prague.alpha = 0.5;
    let before = prague.window;
    let mark = Feedback {
        now: 10.0,
        rtt: None,
        delivered: MSS as u64,
        marked: MSS as u64,
        lost: 0,
        in_flight: 100 * MSS as u64,
        mss: MSS,
    };
    // The period of alpha ends with this ACK, and all its data are marked or not: set it to keep alpha.
    prague.alpha_period = Period {
        sent: u64::MAX,
        begin: 10.0,
    };
    prague.on_feedback(&mark);
    assert!((prague.window / before - 0.75).abs() < 1e-9);
    prague.on_feedback(&Feedback { now: 10.02, ..mark });
    assert!((prague.window / before - 0.75).abs() < 1e-9);
}

#[test]
fn an_undone_loss_restores_window_and_waits() {
    let mut prague = sender(20_000_000);
    acknowledge(&mut prague, 2, 0.05, 0);
    let (window, waits) = (prague.window, prague.waits);
    prague.reduce_for_loss(MSS);
    assert!((prague.window - window / 2.0).abs() < 1e-9);
    prague.undo();
    assert!((prague.window - window).abs() < 1e-9);
    assert_eq!(prague.waits, waits);
}
