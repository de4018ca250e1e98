//! Flows that arrive and leave: completion times compared with arithmetic, reuse of connection slots, and traces.

use crate::common::packets::packets;
use crate::common::{both, tcp, watched, SECOND};
use longpipe_network::report::flows::{ArrivedFlow, ArrivedReport};
use longpipe_network::scenario::{
    ArrivalTimesConfig, BufferConfig, BufferUnit, FlowArrivalsConfig, Scenario, StopConfig, TraceConfig, TrafficConfig,
};
use longpipe_network::Simulation;
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

const MS: u64 = SECOND / 1000;
/// A 1250-byte packet takes 10 us on a 1 Gbit/s link and 1 ms on the 10 Mbit/s trunk.
const MSS: u32 = 1210;
/// Time from the arrival of a flow of one segment to its completion, and time to the arrival of its ACK of 40 bytes.
const ONE_WAY: u64 = 31_020 * MS / 1000;
const ROUND_TRIP: u64 = ONE_WAY + 30_032 * MS / 1000 + 2 * 320_000;

/// Returns arriving flows over a 10 Mbit/s trunk between 1 Gbit/s links; each link has a delay of 10 ms.
fn path(flows_ps: Vec<(u64, u64)>, most_active: u32) -> Scenario {
    let tcp = TcpConfig {
        mss_bytes: MSS,
        initial_window_segments: 20,
        ..tcp(RecoveryKind::Reno, 65_536)
    };
    let mut scenario = packets(1, 10 * MS, 1_000_000, "tail-drop", 3, &tcp);
    scenario.links.iter_mut().for_each(|link| link.rate_bps = 1_000_000_000);
    let (trunk, back) = (scenario.flows[0].route[1], scenario.flows[0].return_route[1]);
    for link in [trunk, back] {
        scenario.links[link].rate_bps = 10_000_000;
    }
    scenario.flows[0].traffic = TrafficConfig::FlowArrivals(FlowArrivalsConfig {
        arrivals: ArrivalTimesConfig::List { flows_ps },
        most_active,
        most_flows: None,
    });
    scenario
}

fn completions(report: &ArrivedReport) -> Vec<Option<u64>> {
    let time = |flow: &ArrivedFlow| flow.completed.get().map(|time| time.0);
    report.flows.iter().map(time).collect()
}

#[test]
fn flows_that_do_not_meet_complete_after_the_path_delay() {
    let size = u64::from(MSS);
    let report = both(&path(vec![(0, size), (200 * MS, 3 * size), (2_990 * MS, size)], 5));
    let own = &report.arrived[0];
    // The last flow is still in transit at the end of the run.
    let expected = [Some(ONE_WAY), Some(200 * MS + ONE_WAY + 2 * MS), None];
    assert_eq!((completions(own), own.waited), (expected.to_vec(), 0));
    let flow = &report.flows[0];
    assert_eq!((report.flows.len(), flow.completion), (1, None));
    assert_eq!((flow.delivered_bytes, flow.sender.sent_bytes), (4 * size, 5 * size));
}

/// With one connection slot, each flow starts when the ACK of the last segment of the previous flow arrives.
#[test]
fn further_flows_wait_for_a_free_slot() {
    let size = u64::from(MSS);
    let report = both(&path(vec![(0, size); 4], 1));
    let expected: Vec<_> = (0..4).map(|turn| Some(turn * ROUND_TRIP + ONE_WAY)).collect();
    assert_eq!(
        (completions(&report.arrived[0]), report.arrived[0].waited),
        (expected, 3)
    );
    let slots = both(&path(vec![(0, size); 4], 4));
    let expected: Vec<_> = (0..4).map(|turn| Some(ONE_WAY + turn * MS)).collect();
    assert_eq!((completions(&slots.arrived[0]), slots.arrived[0].waited), (expected, 0));
}

#[test]
fn a_stop_ends_arrivals_but_not_active_flows() {
    let mut scenario = path(vec![(0, 1), (999 * MS, 12_100), (SECOND, 1), (SECOND, 1)], 5);
    scenario.flows[0].stop = Some(StopConfig::At { at_ps: SECOND });
    let report = both(&scenario);
    // The second flow has 10 segments.
    let last = 999 * MS + ONE_WAY + 9 * MS;
    assert_eq!(completions(&report.arrived[0])[1..], [Some(last)]);
}

/// At any time, two flows share a buffer of two packets.
#[test]
fn traces_of_ports_and_receivers_name_the_flow_of_the_scenario() {
    let size = 20 * u64::from(MSS);
    let mut scenario = path(vec![(0, size), (MS, size), (500 * MS, size)], 2);
    // Timeouts repair losses at the end of a flow.
    scenario.duration_ps = 100 * SECOND;
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].buffer = Some(BufferConfig {
        unit: BufferUnit::Packets,
        limit: 2,
    });
    scenario.traces = TraceConfig {
        cwnd: true,
        sequence: true,
        rtt: true,
        control: true,
        drops: true,
        events: true,
        delay: true,
        arrivals: true,
        ..TraceConfig::default()
    };
    let (report, recorder) = watched(&scenario, 1);
    assert_eq!(both(&scenario).state_hash, report.state_hash);
    assert!(completions(&report.arrived[0]).iter().all(Option::is_some));
    let arrived: u64 = recorder.arrivals.bytes.iter().map(|&bytes| u64::from(bytes)).sum();
    assert_eq!(arrived, 3 * size);
    assert!(recorder.arrivals.flow.iter().all(|&flow| flow == 0));
    let lost = report.packet_ports[trunk].lost_overflow;
    assert!(lost > 0);
    assert_eq!(recorder.drops.flow, vec![0; lost as usize]);
    assert_eq!(recorder.drops.sequence, vec![-1; lost as usize]);
    assert!(!recorder.delays.vc.is_empty() && recorder.delays.vc.iter().all(|&vc| vc < 2));
    assert!(recorder.windows.time.is_empty() && recorder.timers.time.is_empty());
    assert!(recorder.sequences.time.is_empty() && recorder.controls.time.is_empty());
    assert!(recorder.events.time.is_empty());
}

/// Slots for four billion flows would need more memory than any machine has.
#[test]
fn too_many_slots_are_rejected_before_they_are_allocated() {
    let refused = Simulation::new(&path(vec![(0, 1)], u32::MAX), 1).expect_err("too many slots");
    assert_eq!(
        refused.to_string(),
        "flows[0].traffic.most_active: 4294967295; needs 1 to 100000"
    );
}
