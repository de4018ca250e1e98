//! Time-varying ATM links, compared with time-varying links of 53-byte packets, and with static links.

use crate::cells::red;
use crate::common::{both, dumbbell, policy, tcp, Builder, SECOND, WAN};
use longpipe_network::report::Report;
use longpipe_network::scenario::time_varying::{
    Between, DelayConfig, HoldOrDrop, InFlight, InService, Instant, OrderConfig, OutagesConfig, ServiceConfig,
    TimeVaryingConfig,
};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, CbrConfig, DfbaConfig, Framing, NodeKind, PolicyConfig, Scenario, SchedulerConfig,
    ServiceUnit, TrafficConfig,
};
use longpipe_tcp::config::RecoveryKind;

const MS: u64 = SECOND / 1000;
/// Rate at which a cell, or a 53-byte packet, takes 10 us.
const RATE: u64 = 42_400_000;

fn still() -> TimeVaryingConfig {
    TimeVaryingConfig {
        service: None,
        delay: None,
        outages: None,
        order: OrderConfig::Fifo,
    }
}

/// Returns a rate that falls to zero step by step, so that the transmitter never waits for cells.
fn falling() -> Option<ServiceConfig> {
    let steps = [
        (0, RATE),
        (7, RATE / 3),
        (13, 0),
        (16, RATE / 7),
        (40, 1_234_567),
        (55, RATE),
    ];
    Some(ServiceConfig::Steps {
        steps: steps.map(|(at, rate)| [at * MS, rate]).to_vec(),
        cycle_ps: None,
    })
}

fn wandering(between: Between, at: Instant) -> Option<DelayConfig> {
    let knots = [(0, 4), (10, 9), (20, 3), (21, 30), (21, 8), (60, 5)];
    Some(DelayConfig {
        knots_ps: knots.map(|(at, delay)| [at * MS, delay * MS + 12_345]).to_vec(),
        between,
        at,
        grant_ps: None,
    })
}

fn outages([arriving, waiting]: [HoldOrDrop; 2], in_service: InService, in_flight: InFlight) -> Option<OutagesConfig> {
    Some(OutagesConfig {
        intervals_ps: vec![
            [5 * MS + 3, 6 * MS],
            [9 * MS + 7_654_321, 11 * MS],
            [30 * MS, 33 * MS + 1],
        ],
        arriving,
        waiting,
        in_service,
        in_flight,
    })
}

/// Returns a scenario with datagrams every 10 us over a static link and a time-varying link, whose buffers hold `room`
/// cells or packets. For each of `payloads`, another host sends datagrams of this length over the same second link.
fn one_way(framing: Framing, room: u64, motion: TimeVaryingConfig, payloads: &[u32]) -> Scenario {
    let mut builder = Builder::new(1, room, policy("tail-drop"));
    let [from, switch, to] = [NodeKind::Host, NodeKind::Switch, NodeKind::Host].map(|kind| builder.node(kind));
    let first = builder.link(from, switch, RATE, MS);
    let second = builder.link(switch, to, RATE, MS);
    builder.flow(vec![first, second], tcp(RecoveryKind::Reno, 65_535));
    for &payload_bytes in payloads {
        let host = builder.node(NodeKind::Host);
        let route = vec![builder.link(host, switch, RATE, MS), second];
        builder.flow(route, tcp(RecoveryKind::Reno, 65_535));
        builder.scenario.flows.last_mut().expect("a flow was added").traffic = TrafficConfig::Cbr(CbrConfig {
            rate_bps: 3_000_000,
            payload_bytes,
        });
    }
    let mut scenario = builder.scenario;
    // 32 bytes of payload and 16 bytes of LLC/SNAP header and AAL5 trailer fill a cell.
    let bytes = if framing == Framing::Aal5 { 32 } else { 53 };
    scenario.flows[0].traffic = TrafficConfig::Cbr(CbrConfig {
        rate_bps: 8 * bytes * 100_000,
        payload_bytes: bytes as u32 - 28,
    });
    (scenario.framing, scenario.slot_phase, scenario.duration_ps) = (framing, 0.0, 70 * MS);
    let unit = if framing == Framing::Aal5 {
        BufferUnit::Cells
    } else {
        BufferUnit::Packets
    };
    for link in &mut scenario.links {
        link.buffer = link.buffer.map(|buffer| BufferConfig { unit, ..buffer });
    }
    scenario.links[second].motion = Some(Box::new(motion));
    scenario
}

/// Returns the numbers of delivered packets and of lost packets, by cause.
fn delivered_and_lost(report: &Report) -> [u64; 6] {
    match (report.ports.get(2), report.packet_ports.get(2)) {
        (Some(cells), _) => [
            cells.cells_in,
            cells.cells_out,
            cells.lost_overflow,
            cells.lost_outage,
            cells.lost_on_wire,
            cells.peak_queue,
        ],
        (None, Some(packets)) => {
            let motion = packets.motion.expect("a time-varying link");
            [
                packets.packets_in,
                packets.packets_out,
                packets.lost_overflow,
                motion.lost_outage,
                motion.lost_on_wire,
                packets.peak_packets,
            ]
        }
        (None, None) => unreachable!("there are ports"),
    }
}

#[test]
fn single_cell_frames_equal_53_byte_packets() {
    for between in [Between::Linear, Between::Hold] {
        for at in [Instant::End, Instant::Start] {
            let (hold, drop) = (HoldOrDrop::Hold, HoldOrDrop::Drop);
            // After all queued cells have been dropped, the transmitter continues with the bits of the interrupted cell
            // when cells arrive again.
            for (policies, in_service, in_flight) in [
                ([hold, hold], InService::Hold, InFlight::Deliver),
                ([drop, drop], InService::Hold, InFlight::Drop),
                ([drop, hold], InService::Drop, InFlight::Drop),
                ([hold, hold], InService::Deliver, InFlight::Deliver),
                ([drop, hold], InService::Deliver, InFlight::Drop),
            ] {
                for room in [20, 100_000] {
                    let motion = TimeVaryingConfig {
                        service: falling(),
                        delay: wandering(between, at),
                        outages: outages(policies, in_service, in_flight),
                        ..still()
                    };
                    let [cells, packets] =
                        [Framing::Aal5, Framing::Ip].map(|framing| both(&one_way(framing, room, motion.clone(), &[])));
                    let name = format!("{between:?} {at:?} {policies:?} {in_service:?} {in_flight:?} {room}");
                    assert_eq!(delivered_and_lost(&cells), delivered_and_lost(&packets), "{name}");
                    // Sum, minimum, maximum and jitter of all delays, and number of delays in each class.
                    let [one, other] = [&cells, &packets].map(|report| &report.datagrams[0]);
                    assert_eq!(
                        (one.received, one.lost, &one.delays),
                        (other.received, other.lost, &other.delays),
                        "{name}"
                    );
                    assert!(one.received > 500, "{name}: {one:?}");
                }
            }
        }
    }
}

/// Checks links whose series contain only equal values.
#[test]
fn series_of_equal_values_equal_a_static_link() {
    let units = [None, Some(ServiceUnit::Cells), Some(ServiceUnit::Frames)];
    let of_cells = PolicyConfig::kinds().filter(|(_, facts)| facts.cells);
    for (name, unit) in of_cells.flat_map(|(name, _)| units.map(|unit| (name, unit))) {
        let policy = match name {
            "red" => red(true),
            "dfba" => PolicyConfig::Dfba(DfbaConfig {
                low: 0.5,
                high: 0.9,
                alpha: 0.5,
                z: 1.0,
                keep_last: true,
            }),
            name => policy(name),
        };
        let mut static_links = dumbbell(3, WAN, 300, policy, 1, &tcp(RecoveryKind::Sack, 600_000));
        if let Some(unit) = unit {
            let wfq = SchedulerConfig::Wfq { unit };
            static_links
                .links
                .iter_mut()
                .for_each(|link| link.scheduler = wfq.clone());
        }
        let mut time_varying = static_links.clone();
        for link in &mut time_varying.links {
            link.rate_bps /= 10;
            let service = ServiceConfig::Steps {
                steps: vec![[0, link.rate_bps]],
                cycle_ps: None,
            };
            let delay = DelayConfig {
                knots_ps: vec![[0, link.delay_ps], [SECOND / 2, link.delay_ps]],
                between: Between::Linear,
                at: Instant::Start,
                grant_ps: None,
            };
            link.motion = Some(Box::new(TimeVaryingConfig {
                service: Some(service),
                delay: Some(delay),
                ..still()
            }));
        }
        static_links.links.iter_mut().for_each(|link| link.rate_bps /= 10);
        let (one, other) = (both(&static_links), both(&time_varying));
        assert_eq!(one.flows, other.flows, "{name} {unit:?}");
        for (stood, moved) in one.ports.iter().zip(&other.ports) {
            assert_eq!(
                (
                    stood.cells_in,
                    stood.cells_out,
                    stood.lost_aqm,
                    stood.lost_discarded,
                    stood.lost_overflow
                ),
                (
                    moved.cells_in,
                    moved.cells_out,
                    moved.lost_aqm,
                    moved.lost_discarded,
                    moved.lost_overflow
                ),
            );
            assert!((stood.utilization - moved.utilization).abs() < 1e-4);
        }
    }
}

/// A queue per VC sends a cell whenever a FIFO does, so that the sums over all cells are equal. Weights do not matter.
#[test]
fn per_vc_queues_keep_fifo_totals_on_a_time_varying_link() {
    let (hold, drop) = (HoldOrDrop::Hold, HoldOrDrop::Drop);
    for (policies, in_service, in_flight) in [
        ([hold, hold], InService::Hold, InFlight::Deliver),
        ([drop, drop], InService::Hold, InFlight::Drop),
        ([hold, drop], InService::Drop, InFlight::Deliver),
        ([drop, hold], InService::Drop, InFlight::Drop),
        ([hold, hold], InService::Deliver, InFlight::Drop),
    ] {
        let motion = TimeVaryingConfig {
            service: falling(),
            delay: wandering(Between::Linear, Instant::End),
            outages: outages(policies, in_service, in_flight),
            ..still()
        };
        let [fifo, per_vc] = [
            SchedulerConfig::Fifo {},
            SchedulerConfig::Wfq {
                unit: ServiceUnit::Cells,
            },
        ]
        .map(|scheduler| {
            let mut scenario = one_way(Framing::Aal5, 20, motion.clone(), &[4, 200]);
            let second = scenario.flows[0].route[1];
            scenario.links[second].scheduler = scheduler;
            both(&scenario)
        });
        let port = |report: &Report| format!("{:?}", report.ports.iter().find(|port| !port.host));
        let name = format!("{policies:?} {in_service:?} {in_flight:?}");
        assert_eq!(port(&fifo), port(&per_vc), "{name}");
    }
}
