//! Duration of the handshake: one round trip, plus a timeout for each lost packet.

use crate::common::packets::packets;
use crate::common::random::RATE;
use crate::common::{run, tcp, SECOND, WAN};
use longpipe_network::scenario::{LossConfig, Scenario, TrafficConfig};
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

/// Returns a transfer of one segment over three links in each direction.
fn one_segment(config: &TcpConfig) -> Scenario {
    let mut scenario = packets(1, WAN, 10, "tail-drop", 20, config);
    scenario.flows[0].traffic = TrafficConfig::transfer(512);
    scenario
}

fn completion(scenario: &Scenario) -> f64 {
    run(scenario, 1).flows[0].completion.expect("it arrives").0 as f64
}

fn duration(bytes: u64) -> f64 {
    8.0 * bytes as f64 * SECOND as f64 / RATE as f64
}

fn config() -> TcpConfig {
    TcpConfig {
        handshake: true,
        ..tcp(RecoveryKind::Reno, 5_120)
    }
}

#[test]
fn a_segment_arrives_three_one_way_delays_after_the_syn() {
    let ways = |bytes| 3.0 * (duration(bytes) + WAN as f64);
    // SYN and SYN-ACK carry 8 bytes of options.
    let exact = 2.0 * ways(48) + duration(40) + ways(552);
    let found = completion(&one_segment(&config()));
    assert!((found - exact).abs() <= 9.0, "{found}, exactly {exact} ps");
}

#[test]
fn a_lost_syn_costs_the_first_timeout() {
    let mut scenario = one_segment(&config());
    let whole = completion(&scenario);
    scenario.links[0].loss = LossConfig::Packets { indices: vec![0] };
    let lost = completion(&scenario);
    // A timeout lasts 29 to 30 ticks of 100 ms.
    assert!(
        (2.9..=3.0).contains(&((lost - whole) / SECOND as f64)),
        "{lost} {whole}"
    );
}
