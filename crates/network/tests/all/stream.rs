//! Applications that write over time, and flows that stop, compared with calculated numbers of segments and with the
//! calculated arrival time of the last byte.

use crate::common::packets::packets;
use crate::common::{both, tcp, SECOND};
use longpipe_network::scenario::{BurstsConfig, Scenario, StopConfig, StreamConfig, Times, TrafficConfig};
use longpipe_network::Report;
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

const MS: u64 = SECOND / 1000;
const US: u64 = SECOND / 1_000_000;
/// A 1250-byte packet takes 10 us on a 1 Gbit/s link and 1 ms on the 10 Mbit/s trunk.
const MSS: u32 = 1210;
/// Time from the transmission of a segment over an idle path to its arrival.
const ONE_WAY: u64 = 31_020 * US;
/// Time from the transmission of a segment to the arrival of its ACK of 40 bytes: 32 us on the trunk and 320 ns on
/// other links.
const ROUND_TRIP: u64 = ONE_WAY + 30_032 * US + 2 * 320_000;

/// Returns a flow over three links with a delay of 10 ms each; its initial window never limits a stream of 1 Mbit/s.
fn path(traffic: TrafficConfig, stop: StopConfig, window: u64) -> Scenario {
    let tcp = TcpConfig {
        mss_bytes: MSS,
        initial_window_segments: 20,
        ..tcp(RecoveryKind::Reno, window)
    };
    let mut scenario = packets(1, 10 * MS, 1_000_000, "tail-drop", 3, &tcp);
    scenario.links.iter_mut().for_each(|link| link.rate_bps = 1_000_000_000);
    let (trunk, back) = (scenario.flows[0].route[1], scenario.flows[0].return_route[1]);
    for link in [trunk, back] {
        scenario.links[link].rate_bps = 10_000_000;
    }
    scenario.flows[0].traffic = traffic;
    scenario.flows[0].stop = Some(stop);
    scenario
}

/// Returns writes at 1 Mbit/s, that is, a full segment every 9.68 ms.
fn stream(write_bytes: Option<u32>, bursts: Option<BurstsConfig>) -> TrafficConfig {
    TrafficConfig::Stream(StreamConfig {
        rate_bps: 1_000_000,
        write_bytes,
        bursts,
    })
}

/// Asserts that a flow sent the given numbers of segments and bytes, each only once, and that the last byte arrived at
/// `completion`.
fn sent_and_arrived(report: &Report, segments: u64, bytes: u64, completion: u64) {
    let flow = &report.flows[0];
    assert_eq!(
        (flow.sender.sent_segments, flow.sender.sent_bytes, flow.delivered_bytes),
        (segments, bytes, bytes)
    );
    assert_eq!(flow.completion.map(|at| at.0), Some(completion));
}

#[test]
fn a_stream_sends_a_segment_for_each_write_until_it_stops() {
    let report = both(&path(
        stream(None, None),
        StopConfig::After { after_ps: SECOND },
        65_536,
    ));
    // Writes 0 to 103 take place within the first second; the last one is at 103 · 9.68 ms.
    sent_and_arrived(&report, 104, 104 * u64::from(MSS), 103 * 9_680 * US + ONE_WAY);
}

#[test]
fn a_write_ends_with_a_short_segment() {
    let report = both(&path(
        stream(Some(3000), None),
        StopConfig::At { at_ps: SECOND / 10 },
        65_536,
    ));
    // Five writes at intervals of 24 ms, each of segments with 1210, 1210 and 580 bytes. The last segment waits 2 ms at
    // the trunk for the other two; its 620 · 8 bits are transmitted there and on two 1 Gbit/s links.
    let last = 96 * MS + 10 * US + 2 * MS + 496 * US + 4_960_000 + 30 * MS;
    sent_and_arrived(&report, 15, 15_000, last);
    assert_eq!(report.flows[0].sender.short_bytes, 5 * 580);
}

#[test]
fn bursts_of_fixed_times_hold_equal_numbers_of_writes() {
    let bursts = BurstsConfig {
        on_ps: 50 * MS,
        off_ps: 50 * MS,
        times: Times::Fixed {},
    };
    let report = both(&path(
        stream(None, Some(bursts)),
        StopConfig::At { at_ps: 960 * MS },
        65_536,
    ));
    // In each of ten bursts, writes 0 to 5 take place within the burst's 50 ms.
    let last = 900 * MS + 5 * 9_680 * US;
    sent_and_arrived(&report, 60, 60 * u64::from(MSS), last + ONE_WAY);
}

/// With a window of four segments, the ACK of each segment, which arrives one round trip later, releases the next
/// segment.
#[test]
fn a_greedy_flow_sends_nothing_after_its_stop() {
    let stop = |at_ps| path(TrafficConfig::GREEDY, StopConfig::At { at_ps }, 4 * u64::from(MSS));
    // Eight round trips take 488.421 12 ms, and the trunk spaces the four segments of each round trip by 1 ms.
    let eighth = 8 * ROUND_TRIP;
    // A packet that arrives at the same time as the stop is processed before the stop.
    let cases = [
        (500 * MS, 36),
        (eighth + MS, 34),
        (eighth + MS - 1, 33),
        (eighth, 33),
        (eighth - 1, 32),
    ];
    for (at_ps, segments) in cases {
        let report = both(&stop(at_ps));
        let (round, place) = ((segments - 1) / 4, (segments - 1) % 4);
        let last = round * ROUND_TRIP + place * MS;
        sent_and_arrived(&report, segments, segments * u64::from(MSS), at_ps.max(last + ONE_WAY));
    }
}

/// If all data of a flow have arrived when it is stopped, it is complete at that time; a flow that completed earlier
/// keeps its completion time.
#[test]
fn stop_after_last_arrival_completes_only_a_stream() {
    let once = path(stream(Some(100), None), StopConfig::After { after_ps: 1 }, 65_536);
    sent_and_arrived(&both(&once), 1, 100, 1_120_000 * 2 + 112 * US + 30 * MS);
    let bursts = BurstsConfig {
        on_ps: US,
        off_ps: 100 * MS,
        times: Times::Fixed {},
    };
    let idle = path(
        stream(Some(100), Some(bursts)),
        StopConfig::After { after_ps: 90 * MS },
        65_536,
    );
    sent_and_arrived(&both(&idle), 1, 100, 90 * MS);
    let file = TrafficConfig::transfer(1210);
    let file = path(file, StopConfig::After { after_ps: SECOND }, 65_536);
    sent_and_arrived(&both(&file), 1, 1210, ONE_WAY);
}

#[test]
fn a_stopped_datagram_flow_sends_no_more() {
    let cbr = TrafficConfig::Cbr(longpipe_network::scenario::CbrConfig {
        rate_bps: 1_000_000,
        payload_bytes: 1222,
    });
    let report = both(&path(cbr, StopConfig::At { at_ps: SECOND }, 65_536));
    // A datagram is sent every 10 ms; the last one is sent at 990 ms.
    assert_eq!((report.datagrams[0].sent, report.datagrams[0].received), (100, 100));
}
