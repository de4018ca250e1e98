//! Waiting times of datagrams at a port, compared with closed forms for evenly spaced and Poisson arrivals.

use crate::common::packets::{ip, packets};
use crate::common::{both, tcp, SECOND};
use longpipe_network::report::flows::DatagramReport;
use longpipe_network::scenario::conditioners::{ConditionerConfig, DuplicationConfig, JitterConfig, ReorderingConfig};
use longpipe_network::scenario::time_varying::OrderConfig;
use longpipe_network::scenario::{
    ArrivalsConfig, BufferUnit, CbrConfig, LossConfig, OnOffDatagramsConfig, PoissonConfig, Scenario, StopConfig,
    Times, TrafficConfig, VideoConfig,
};
use longpipe_network::Report;
use longpipe_tcp::config::RecoveryKind;

const ACCESS_BPS: u64 = 1_000_000_000;
const TRUNK_BPS: u64 = 10_000_000;
const DELAY: u64 = SECOND / 100;
/// Payload of 1250-byte IP packets. Their transmission time is 1 ms on the trunk and 10 us on other links.
const PAYLOAD: u32 = 1_222;

/// Returns flows over a 10 Mbit/s trunk between 1 Gbit/s links; each link has a delay of 10 ms.
fn dumbbell(traffic: &[TrafficConfig], seconds: u64) -> Scenario {
    let tcp = tcp(RecoveryKind::Reno, 65_536);
    let mut scenario = packets(traffic.len(), DELAY, 1_000_000, "tail-drop", seconds, &tcp);
    scenario.links.iter_mut().for_each(|link| link.rate_bps = ACCESS_BPS);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].rate_bps = TRUNK_BPS;
    for (flow, own) in scenario.flows.iter_mut().zip(traffic) {
        flow.traffic = own.clone();
    }
    scenario
}

fn cbr(rate_bps: u64) -> TrafficConfig {
    TrafficConfig::Cbr(CbrConfig {
        rate_bps,
        payload_bytes: PAYLOAD,
    })
}

fn only(report: &Report) -> &DatagramReport {
    &report.datagrams[0]
}

/// Delay without queueing [s]: transmission times of 10 us, 1 ms and 10 us, and three propagation delays of 10 ms.
const UNLOADED: f64 = 0.03102;

#[test]
fn evenly_spaced_datagrams_on_an_idle_path_have_the_path_delay_and_no_jitter() {
    let report = both(&dumbbell(&[cbr(1_000_000)], 10));
    let flow = only(&report);
    // Packets are sent every 10 ms from 0 s to 10 s, and received 31.02 ms later, so the last four have not arrived.
    assert_eq!((flow.sent, flow.received, flow.lost), (1001, 997, 0));
    assert_eq!(flow.received_bytes, 997 * u64::from(PAYLOAD));
    let (min, max) = flow.delays.extremes();
    assert!(
        (min - UNLOADED).abs() < 1e-11 && (max - UNLOADED).abs() < 1e-11,
        "{min} {max}"
    );
    assert_eq!(flow.delays.jitter(), 0.0);
    assert_eq!(report.flows[0].delivered_bytes, flow.received_bytes);
}

/// Checks a D/D/1 queue at twice its rate: packet k arrives at k · 0.5 ms, after k packets that take 1 ms each. With a
/// buffer of 50 packets, half of the packets are lost.
#[test]
fn overload_fills_the_buffer_at_computed_times() {
    let report = both(&dumbbell(&[cbr(20_000_000)], 1));
    let flow = only(&report);
    // Packet k, counted from 0, is received k ms after the first packet, which arrives at 31.02 ms: this makes 969
    // packets within a second.
    assert_eq!((flow.sent, flow.received, flow.lost), (2001, 969, 0));
    let (min, max) = flow.delays.extremes();
    assert!((min - UNLOADED).abs() < 1e-11 && (max - UNLOADED - 968.0 * 0.0005).abs() < 1e-11);
    let mean = UNLOADED + 0.0005 * 968.0 / 2.0;
    assert!((flow.delays.mean() - mean).abs() < 1e-11);
    // The delay grows by 0.5 ms per packet.
    assert!((flow.delays.jitter() - 0.0005).abs() < 1e-9, "{}", flow.delays.jitter());

    let mut scenario = dumbbell(&[cbr(20_000_000)], 10);
    let trunk = scenario.flows[0].route[1];
    scenario = ip(scenario, BufferUnit::Packets, 50);
    let report = both(&scenario);
    let (flow, port) = (only(&report), &report.packet_ports[trunk]);
    let sure = port.packets_in - port.packets_out - port.packets_held;
    assert_eq!(port.lost_overflow, sure);
    // Half of the packets of the last 81 ms are lost, but these losses are not counted yet, because no later packet has
    // arrived.
    assert!((sure - flow.lost).abs_diff(81) < 20, "{} {sure}", flow.lost);
    let max = flow.delays.extremes().1;
    assert!((max - UNLOADED - 0.049).abs() < 0.001, "{max}");
}

/// Checks the Pollaczek-Khinchine formula for constant service time S and load r: the mean waiting time is r S/(2 (1 -
/// r)).
#[test]
fn a_poisson_flow_waits_as_in_an_m_d_1_queue() {
    for (rate_bps, load) in [(3_000_000, 0.3), (5_000_000, 0.5), (8_000_000, 0.8)] {
        let poisson = TrafficConfig::Poisson(PoissonConfig {
            rate_bps,
            payload_bytes: PAYLOAD,
        });
        let report = both(&dumbbell(&[poisson], 500));
        let flow = only(&report);
        let wait = flow.delays.mean() - UNLOADED;
        // Arrivals over a 1 Gbit/s link are at least 10 us apart, which shortens the wait by 1 %.
        let expected = load * 0.001 / (2.0 * (1.0 - load)) - load / 100.0 * 0.00001 / (2.0 * (1.0 - load / 100.0));
        assert!(
            (wait / expected - 1.0).abs() < 0.04,
            "{load}: {wait} s, M/D/1 has {expected} s"
        );
        let sent = rate_bps as f64 / 10_000.0 * 500.0;
        assert!((flow.sent as f64 - sent).abs() < 4.0 * sent.sqrt(), "{}", flow.sent);
        // A fraction 1 - r of the packets finds the port idle and does not wait (PASTA).
        let idle = flow.delays.quantile(1.0 - load - 0.02) - UNLOADED;
        assert!(idle < 0.0001, "{idle}");
    }
}

/// Voice packets are sent every 20 ms in talk spurts of 1.004 s, with silences of 1.587 s: the source is active for 39
/// % of the time.
#[test]
fn voice_is_active_for_its_share_of_time_and_is_delayed_by_bulk() {
    let voice = TrafficConfig::OnOff(OnOffDatagramsConfig {
        rate_bps: 80_000,
        payload_bytes: 172,
        on_ps: 1_004 * SECOND / 1000,
        off_ps: 1_587 * SECOND / 1000,
        times: Times::Exponential {},
    });
    let mut scenario = dumbbell(&[voice, TrafficConfig::GREEDY], 300);
    scenario.flows[1].tcp = tcp(RecoveryKind::Reno, 600_000);
    scenario = ip(scenario, BufferUnit::Packets, 20);
    let report = both(&scenario);
    let flow = only(&report);
    // A talk spurt of 1.004 s contains 50.7 packets on average: one every 20 ms, including one at its start.
    let expected = 300.0 / 2.591 * 50.7;
    assert!(
        (flow.sent as f64 / expected - 1.0).abs() < 0.2,
        "{} {expected}",
        flow.sent
    );
    assert!(flow.lost > 0 && flow.delays.jitter() > 0.0);
    assert!(report.flows[1].delivered_bytes > 200_000_000);
}

#[test]
fn video_frames_and_lists_arrive_except_for_injected_losses() {
    let video = TrafficConfig::Video(VideoConfig {
        rate_bps: 1_500_000,
        frame_ps: SECOND / 30,
        payload_bytes: 1_200,
        size_spread: 0.15,
        time_spread: 0.15,
    });
    let sent_ps: Vec<(u64, u32)> = (0..100).map(|k| (k / 3 * SECOND / 100, 100 + k as u32)).collect();
    let list = TrafficConfig::Arrivals(ArrivalsConfig { sent_ps });
    let mut scenario = dumbbell(&[video, list], 2);
    let access = scenario.flows[1].route[0];
    scenario.links[access].loss = LossConfig::Packets {
        indices: vec![0, 7, 99],
    };
    let report = both(&scenario);
    let [video, list] = &report.datagrams[..] else {
        panic!("two of them")
    };
    assert!(video.sent > 300 && video.sent - video.received < 20 && video.lost == 0);
    // The last lost packet is not counted, because no later packet arrives.
    assert_eq!((list.sent, list.received, list.lost), (100, 97, 2));
}

/// Returns a dumbbell with one flow of `rate_bps` that stops after 5 s, and conditioners at its trunk.
fn conditioned(rate_bps: u64, conditioners: Vec<ConditionerConfig>, seconds: u64) -> Scenario {
    let mut scenario = dumbbell(&[cbr(rate_bps)], seconds);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].conditioners = conditioners;
    scenario.flows[0].stop = Some(StopConfig::At { at_ps: 5 * SECOND });
    scenario
}

fn jitter(delay_ps: u64, jitter_ps: u64) -> ConditionerConfig {
    ConditionerConfig::Jitter(JitterConfig {
        delay_ps,
        jitter_ps,
        table: None,
        correlation: 0.0,
        order: OrderConfig::Free,
    })
}

/// Datagrams in transit are not lost, although others that were sent after them have arrived: every tenth datagram
/// skips a delay of 200 ms.
#[test]
fn datagrams_that_others_have_overtaken_are_not_lost() {
    let reordering = ConditionerConfig::Reordering(ReorderingConfig {
        probability: 1.0,
        correlation: 0.0,
        gap: 10,
    });
    let conditioners = vec![jitter(SECOND / 5, 0), reordering];
    let report = both(&conditioned(2_000_000, conditioners.clone(), 5));
    let flow = only(&report);
    assert_eq!((flow.sent, flow.lost, flow.duplicates), (1000, 0, 0));
    // The datagrams of the last 31 ms, and nine tenths of those of the 200 ms before them, are in transit.
    assert_eq!(flow.sent - flow.received, 6 + 36);
    let report = both(&conditioned(2_000_000, conditioners, 6));
    assert_eq!((only(&report).received, only(&report).lost), (1000, 0));
}

/// A fifth of the datagrams arrive twice at the trunk, which loses a tenth of all packets and reorders the others.
#[test]
fn a_datagram_is_received_once_and_lost_with_its_last_copy() {
    let duplication = ConditionerConfig::Duplication(DuplicationConfig {
        probability: 0.2,
        correlation: 0.0,
    });
    let [ended, running] = [6, 5].map(|seconds| {
        let mut scenario = conditioned(
            5_000_000,
            vec![duplication.clone(), jitter(SECOND / 50, SECOND / 50)],
            seconds,
        );
        let trunk = scenario.flows[0].route[1];
        scenario.links[trunk].loss = LossConfig::Bernoulli { probability: 0.1 };
        let report = both(&scenario);
        let flow = report.datagrams[0].clone();
        assert_eq!(flow.received_bytes, flow.received * u64::from(PAYLOAD));
        assert_eq!(report.flows[0].delivered_bytes, flow.received_bytes);
        assert_eq!(flow.delays.count(), flow.received);
        (flow, report.packet_ports[trunk])
    });
    let (flow, port) = &ended;
    assert_eq!(flow.sent, 2500);
    assert_eq!(flow.received + flow.duplicates, port.packets_out);
    assert!(port.packets_duplicated > flow.duplicates && flow.duplicates > 300);
    // Only losses after the last datagram that arrived are not counted.
    assert!(flow.sent - flow.received - flow.lost < 3, "{flow:?}");
    // A datagram is lost with probability 0.8 · 0.1 + 0.2 · 0.1² = 0.082; the standard deviation is 14.
    assert!(flow.lost.abs_diff(205) < 45, "{}", flow.lost);
    let (earlier, _) = &running;
    assert!(earlier.lost <= flow.lost && flow.lost < earlier.lost + 8);
    assert!(earlier.sent - earlier.received - earlier.lost > 10);
}

/// On a path that keeps packets in order, counting lost packets gives the same as counting missing datagrams.
#[test]
fn losses_of_a_path_in_order_are_the_same_if_it_might_reorder() {
    let losses = [vec![], vec![jitter(0, 0)]].map(|conditioners| {
        let scenario = ip(conditioned(20_000_000, conditioners, 4), BufferUnit::Packets, 50);
        let report = both(&scenario);
        let flow = only(&report);
        (flow.sent, flow.received, flow.lost, flow.delays.mean())
    });
    assert!(losses[0].2 > 3000);
    assert_eq!(losses[0], losses[1]);
}
