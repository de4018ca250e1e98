//! Schedulers compared with calculated values: shares to within a quantum, and priorities to within a packet.

mod dualpi2;

use crate::common::packets::{ip, packets};
use crate::common::queued::{dequeue, enqueue, Packet};
use crate::common::{run, tcp, SECOND};
use longpipe_events::Time;
use longpipe_network::queues::fq::Fq;
use longpipe_network::queues::round_robin::{QueueMapping, RoundRobin};
use longpipe_network::queues::QueueDisc;
use longpipe_network::scenario::{
    AckFilterConfig, BufferUnit, CbrConfig, DrrConfig, Engine, FqConfig, PolicyConfig, Scenario, SfqConfig,
    StrictPriorityConfig, TrafficConfig, WeightedPriorityConfig,
};
use longpipe_network::{Report, Simulation};
use longpipe_tcp::config::{AimdConfig, CongestionConfig, RecoveryKind};

const DELAY: u64 = SECOND / 100;
const TRUNK_BPS: u64 = 10_000_000;

fn packet(flow: u32, bytes: u64) -> Packet {
    Packet {
        flow,
        bytes,
        ..Packet::default()
    }
}

/// Checks that each of three queues that never empty has sent n Q bytes after n turns, rounded down to whole packets of
/// the queue's packet length (Shreedhar and Varghese 1996, section 4).
#[test]
fn deficit_round_robin_is_fair_within_a_packet_per_flow() {
    for quantum in [500u64, 1514, 9000] {
        let lengths = [40u64, 700, 1500];
        let mut queues = RoundRobin::new([quantum; 3], QueueMapping::PerFlow);
        for flow in (0..3).cycle().take(60_000) {
            enqueue(&mut queues, Time(0), packet(flow, lengths[flow as usize]));
        }
        let mut sent = [0u64; 3];
        for turn in 1..50 {
            // Number of packets that each flow sends in this turn.
            for (flow, &length) in (0..).zip(&lengths) {
                let due = turn * quantum / length;
                while sent[flow as usize] < due {
                    let left = dequeue(&mut queues, Time(0)).expect("none is empty");
                    assert_eq!(left.flow, flow, "turn {turn}, quantum {quantum}: {sent:?}");
                    sent[flow as usize] += 1;
                }
            }
        }
    }
}

/// Checks that a queue that becomes empty loses its deficit.
#[test]
fn a_queue_that_empties_loses_its_deficit() {
    let mut queues = RoundRobin::new([1000; 2], QueueMapping::PerFlow);
    enqueue(&mut queues, Time(0), packet(0, 100));
    assert_eq!(dequeue(&mut queues, Time(0)).map(|one| one.flow), Some(0));
    (0..2).for_each(|_| assert!(enqueue(&mut queues, Time(0), packet(0, 600))));
    enqueue(&mut queues, Time(0), packet(1, 600));
    // If the queue kept the remaining 900 bytes, it would send both packets at once.
    let order: Vec<u32> = std::iter::from_fn(|| dequeue(&mut queues, Time(0)))
        .map(|one| one.flow)
        .collect();
    assert_eq!(order, [0, 1, 0]);
}

/// Returns flows of datagrams with the given rates [bit/s], payloads and classes, over a 10 Mbit/s trunk with the given
/// policy.
fn scenario(flows: &[(u64, u32, u32)], policy: PolicyConfig, buffer: u64, seconds: u64) -> Scenario {
    let tcp = tcp(RecoveryKind::Reno, 65_536);
    let mut scenario = packets(flows.len(), DELAY, 1_000, "tail-drop", seconds, &tcp);
    scenario = ip(scenario, BufferUnit::Packets, buffer);
    scenario.links.iter_mut().for_each(|link| link.rate_bps = 1_000_000_000);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].rate_bps = TRUNK_BPS;
    scenario.links[trunk].policy = policy;
    for (flow, &(rate_bps, payload_bytes, class)) in scenario.flows.iter_mut().zip(flows) {
        flow.traffic = TrafficConfig::Cbr(CbrConfig {
            rate_bps,
            payload_bytes,
        });
        flow.class = class;
    }
    scenario
}

fn both(scenario: &Scenario) -> Report {
    let mut reference = scenario.clone();
    reference.engine = Engine::Reference;
    let fast = run(scenario, 1);
    assert_eq!(fast.state_hash, run(&reference, 1).state_hash);
    fast
}

/// Returns the received bytes of IP packets for each flow.
fn received_bytes(report: &Report) -> Vec<f64> {
    let bytes = |row: &longpipe_network::report::flows::DatagramReport| row.received_bytes + 28 * row.received;
    report.datagrams.iter().map(|row| bytes(row) as f64).collect()
}

#[test]
fn drr_is_fair_within_a_turn_for_two_packet_lengths() {
    let drr = PolicyConfig::Drr(DrrConfig {
        quantum_bytes: 1514,
        queues: None,
    });
    let report = both(&scenario(&[(9_000_000, 972, 0), (20_000_000, 172, 0)], drr, 100, 10));
    let [long, short] = received_bytes(&report)[..] else {
        panic!()
    };
    // After their first packets, both flows are backlogged.
    assert!((long - short).abs() < 3.0 * 1514.0, "{long} {short}");
}

/// Returns Linux's defaults: quanta of 2 and 10 Ethernet packets, a limit of 100 packets per flow, and 40 ms.
fn fq() -> FqConfig {
    FqConfig {
        quantum_bytes: 3028,
        initial_quantum_bytes: 15_140,
        flow_limit: 100,
        refill_delay_ps: SECOND / 25,
        ce_threshold_ps: None,
    }
}

/// A new flow sends 16 packets of 1000 bytes, until its credit of 15 140 bytes is used up, while other flows wait. Its
/// later turns have 3028 bytes, minus the overdraft.
#[test]
fn fq_serves_a_new_flow_for_its_initial_credit_and_then_by_quanta() {
    let mut queues = Fq::new(&fq(), 2);
    for _ in 0..40 {
        assert!(enqueue(&mut queues, Time(0), packet(0, 1000)));
    }
    let order = |queues: &mut Fq<Packet>, count: usize| -> Vec<u32> {
        (0..count)
            .filter_map(|_| dequeue(queues, Time(0)))
            .map(|one| one.flow)
            .collect()
    };
    // 16 packets overdraw the first credit by 860 bytes, and the flow moves to the old flows.
    assert_eq!(order(&mut queues, 17), [0; 17]);
    for _ in 0..40 {
        assert!(enqueue(&mut queues, Time(0), packet(1, 1000)));
    }
    // The new flow sends its 16 packets; the old flow had sent one of the packets that its credit of 2168 bytes covers.
    let mut expected = vec![1; 16];
    expected.extend([0, 0]);
    // The credit continues with 2168 - 3000 = -832 bytes, and so on; in the long run, this makes 3028 bytes per turn.
    assert_eq!(order(&mut queues, 18), expected);
    let rest = order(&mut queues, 36);
    let ones = rest.iter().filter(|&&flow| flow == 1).count();
    assert!(ones.abs_diff(18) <= 3, "{rest:?}");
}

#[test]
fn fq_limits_the_packets_of_a_flow() {
    let mut queues = Fq::new(&FqConfig { flow_limit: 3, ..fq() }, 2);
    let taken = (0..5).filter(|_| enqueue(&mut queues, Time(0), packet(0, 1000)));
    assert_eq!(taken.count(), 3);
    assert!(enqueue(&mut queues, Time(0), packet(1, 1000)));
    assert_eq!(queues.backlog(), (4, 4000));
}

/// Checks that two flows with different packet lengths that overload the link get equal numbers of bytes per turn, and
/// that a slow flow waits for at most one turn of each.
#[test]
fn fq_is_fair_within_a_turn() {
    let flows = [(9_000_000, 972, 0), (20_000_000, 172, 0), (100_000, 97, 0)];
    let report = both(&scenario(&flows, PolicyConfig::Fq(fq()), 1000, 20));
    let [long, short, slow] = received_bytes(&report)[..] else {
        panic!()
    };
    // The flow that arrived first received the first credit.
    assert!((long - short).abs() < 15_140.0 + 3.0 * 3028.0, "{long} {short}");
    assert_eq!(report.datagrams[2].lost, 0);
    // Two turns take 6.5 ms if each includes one additional packet.
    let (min, max) = report.datagrams[2].delays.extremes();
    assert!(max - min < 0.0066 + 0.015, "{min} {max} {slow}");
}

#[test]
fn sfq_with_one_queue_and_priority_with_one_class_are_fifos() {
    let flows = [(9_000_000, 972, 0), (7_000_000, 172, 0), (3_000_000, 1300, 0)];
    let plain = both(&scenario(&flows, PolicyConfig::TAIL_DROP, 30, 5));
    for policy in [
        PolicyConfig::Sfq(SfqConfig {
            quantum_bytes: 1514,
            queues: 1,
            perturb_ps: None,
        }),
        PolicyConfig::StrictPriority(StrictPriorityConfig { classes: 1 }),
        PolicyConfig::WeightedPriority(WeightedPriorityConfig {
            weights: vec![1],
            quantum_bytes: 1514,
        }),
    ] {
        assert_eq!(both(&scenario(&flows, policy, 30, 5)).datagrams, plain.datagrams);
    }
}

#[test]
fn perturbing_the_hash_separates_colliding_flows() {
    let flows: Vec<(u64, u32, u32)> = (0..8).map(|_| (4_000_000, 972, 0)).collect();
    let spread = |perturb_ps| {
        let sfq = PolicyConfig::Sfq(SfqConfig {
            quantum_bytes: 1000,
            queues: 8,
            perturb_ps,
        });
        let received_bytes = received_bytes(&both(&scenario(&flows, sfq, 200, 60)));
        let (min, max) = received_bytes
            .iter()
            .fold((f64::MAX, 0f64), |(min, max), &one| (min.min(one), max.max(one)));
        max / min
    };
    let (fixed, moving) = (spread(None), spread(Some(SECOND)));
    // Some of the eight flows share a queue with another flow, and each of these flows gets half as much.
    assert!(fixed > 1.9 && moving < 1.5, "{fixed} {moving}");
}

/// The first class waits for at most the one packet in transmission; the second class gets the remaining capacity, to
/// within one packet.
#[test]
fn strict_priority_delays_the_first_class_by_at_most_a_packet() {
    let strict = PolicyConfig::StrictPriority(StrictPriorityConfig { classes: 2 });
    let report = both(&scenario(&[(4_000_000, 472, 0), (20_000_000, 1222, 1)], strict, 20, 10));
    let first = &report.datagrams[0];
    // 500 bytes take 0.4 ms on the trunk and 4 us on the other links; 1250 bytes of the other class take 1 ms on the
    // trunk.
    let unloaded = 0.030_408;
    let (min, max) = first.delays.extremes();
    assert!(
        first.lost == 0 && min >= unloaded - 1e-9 && max <= unloaded + 0.001 + 1e-9,
        "{min} {max}"
    );
    let [first, second] = received_bytes(&report)[..] else {
        panic!()
    };
    // The trunk carries 1.25 MB per second; the data of the last 30 ms and the first packet of each flow are in flight.
    let rest = 12_500_000.0 - first * (10.0 / 9.97);
    assert!((second / rest - 1.0).abs() < 0.006, "{second} {rest}");
}

#[test]
fn weights_are_exact_within_a_turn() {
    let weighted = PolicyConfig::WeightedPriority(WeightedPriorityConfig {
        weights: vec![5, 2, 1],
        quantum_bytes: 1514,
    });
    let flows = [(9_000_000, 972, 0), (9_000_000, 372, 1), (9_000_000, 1222, 2)];
    let report = both(&scenario(&flows, weighted, 50, 20));
    let parts: Vec<f64> = received_bytes(&report)
        .iter()
        .zip([5.0, 2.0, 1.0])
        .map(|(bytes, weight)| bytes / weight)
        .collect();
    // The tolerance is one turn, plus the packets that arrived before all queues were backlogged.
    assert!(
        parts.iter().all(|part| (part - parts[0]).abs() < 3.0 * 1514.0),
        "{parts:?}"
    );
}

#[test]
fn a_nonexistent_class_is_rejected_in_one_line() {
    let weighted = PolicyConfig::WeightedPriority(WeightedPriorityConfig {
        weights: vec![5, 2],
        quantum_bytes: 1514,
    });
    let flows = [(9_000_000, 972, 0), (9_000_000, 372, 2)];
    let error = Simulation::new(&scenario(&flows, weighted, 50, 20), 1).expect_err("it has two");
    assert_eq!(
        error.to_string(),
        "flows[1].class: 2; needs less than 2, the classes of n0->n1"
    );
}

/// RFC 3449 section 2: a 10 kbit/s reverse link transmits a 40-byte ACK in 32 ms. In this time, a 10 Mbit/s link
/// carries 26.7 packets of 1500 bytes. Without a filter, each ACK releases one packet. With a filter, at most one ACK
/// waits, and it covers all earlier ACKs.
#[test]
fn an_ack_filter_fills_a_link_despite_a_slow_return_link() {
    let throughput = |policy: PolicyConfig| {
        let mut config = tcp(RecoveryKind::Reno, 300_000);
        config.mss_bytes = 1460;
        // With few ACKs the window opens slowly, unless bytes are counted (RFC 3449 section 5.3.1).
        config.congestion = CongestionConfig::Aimd(AimdConfig { byte_counting: true });
        let mut scenario = packets(1, DELAY, 100, "tail-drop", 60, &config);
        // The buffer holds a whole window, so that only ACKs are lost.
        scenario = ip(scenario, BufferUnit::Packets, 1000);
        let [trunk, back] = [scenario.flows[0].route[1], scenario.flows[0].return_route[1]];
        scenario.links.iter_mut().for_each(|link| link.rate_bps = 1_000_000_000);
        (scenario.links[trunk].rate_bps, scenario.links[back].rate_bps) = (TRUNK_BPS, 10_000);
        scenario.links[back].policy = policy;
        let report = both(&scenario);
        let port = report.packet_ports[back];
        (report.flows[0].delivered_bytes as f64 * 8.0 / 60.0, port)
    };
    let (plain, _) = throughput(PolicyConfig::TAIL_DROP);
    let (filtered, port) = throughput(PolicyConfig::AckFilter(AckFilterConfig {}));
    // Once the window is open, the link is fully used, so that the goodput is 1460/1500 of 10 Mbit/s.
    assert!(filtered > 0.95 * 9.733e6, "{filtered}");
    // An ACK every 32 ms releases 1460 bytes; at the end, one window is in flight.
    let slow = 1460.0 * 8.0 / 0.032;
    assert!(plain > slow && plain < slow + 8.0 * 300_000.0 / 60.0, "{plain}");
    // One ACK is in transmission, and one is waiting, which covers all earlier ACKs.
    assert!(port.peak_packets == 2 && port.lost_overflow == 0, "{port:?}");
    assert!((port.packets_out as f64 - 60.0 / 0.032).abs() < 20.0, "{port:?}");
}
