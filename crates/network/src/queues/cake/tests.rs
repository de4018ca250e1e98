//! Tests of CAKE, which compare it with closed-form results and with the rules of sch_cake.c.

use super::*;
use crate::queues::cake::{CakeFraming, CakeIsolation, CakeTins};

/// A packet: its number, circuit, arrival time, length, and acknowledgement number (0 for data), and whether it is
/// ECN-capable and whether it is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Packet {
    number: u64,
    circuit: u32,
    arrival: Time,
    bytes: u64,
    ack: u64,
    capable: bool,
    marked: bool,
}

impl Queued for Packet {
    fn arrival(&self) -> Time {
        self.arrival
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.circuit
    }

    fn is_capable(&self) -> bool {
        self.capable
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.capable;
        self.capable
    }

    fn is_marked(&self) -> bool {
        self.marked
    }

    fn supersedes(&self, earlier: &Packet) -> bool {
        self.circuit == earlier.circuit && earlier.ack > 0 && earlier.ack < self.ack
    }
}

const NS: u64 = PS_PER_NS;
const MS: u64 = 1_000_000 * NS;
const RATE: u64 = 8_000_000;

fn config() -> CakeConfig {
    CakeConfig {
        rate_bps: Some(RATE),
        overhead: 0,
        framing: CakeFraming::None,
        mpu: 0,
        rtt_ps: 100 * MS,
        tins: CakeTins::Besteffort,
        isolation: CakeIsolation::TripleIsolate,
        ack_filter: CakeAckFilter::Off,
        ingress: false,
    }
}

fn cake(config: &CakeConfig, circuits: &[Endpoints]) -> Cake<Packet> {
    Cake::new(config, circuits.iter().copied(), 7, Stream::new(1, "test", 0))
}

/// Returns a port that has room for some packets.
fn port(now: Time, room_packets: u64) -> PortState {
    PortState {
        now,
        room_packets,
        room_bytes: u64::MAX,
        in_service: false,
        idle_since: None,
    }
}

fn enqueue(cake: &mut Cake<Packet>, packet: Packet) {
    let refuse = |packet: Packet, _| panic!("{packet:?} was dropped");
    cake.enqueue(&port(packet.arrival, u64::MAX), packet, refuse);
}

/// Dequeues a packet whenever the shaper releases one, from `now` to `end`. Returns the packets with their times.
fn run(cake: &mut Cake<Packet>, now: Time, end: Time) -> Vec<(Time, Packet)> {
    let (mut now, mut sent) = (now, vec![]);
    while cake.backlog().0 > 0 {
        now = cake.release(now);
        if now > end {
            break;
        }
        sent.extend(cake.dequeue(now, |_, _| {}).map(|packet| (now, packet)));
    }
    sent
}

fn packets(circuit: u32, count: u64, bytes: u64) -> impl Iterator<Item = Packet> {
    (0..count).map(move |number| Packet {
        number,
        circuit,
        bytes,
        ..Packet::default()
    })
}

/// With ATM framing, a packet of L bytes occupies ceil((L + overhead) / 48) cells of 53 bytes. For each length, the
/// next packet is released exactly after the transmission time of these cells at 8 Mbit/s, which is a byte per
/// microsecond.
#[test]
fn atm_framing_is_exact_to_the_cell() {
    let of = |framing, overhead, mpu| CakeConfig {
        framing,
        overhead,
        mpu,
        ..config()
    };
    for overhead in [-20, 0, 8, 40, 48] {
        let atm = of(CakeFraming::Atm, overhead, 0);
        for bytes in 28..=1500u64 {
            let cells = (bytes as i64 + i64::from(overhead) + 47) as u64 / 48;
            assert_eq!(atm.line_bytes(bytes), 53 * cells);
            if bytes % 97 == 0 {
                let mut cake = cake(&atm, &[([0, 1], 0)]);
                packets(0, 3, bytes).for_each(|packet| enqueue(&mut cake, packet));
                let times: Vec<Time> = run(&mut cake, Time::ZERO, Time(MS * 100))
                    .iter()
                    .map(|sent| sent.0)
                    .collect();
                let apart = 53 * cells * 1_000 * NS;
                assert_eq!(times, [Time::ZERO, Time(apart), Time(2 * apart)]);
            }
        }
    }
    // Over PPPoE with LLC/SNAP, a 40-byte ACK takes two cells, and a 1492-byte packet takes 32 cells.
    assert_eq!(of(CakeFraming::Atm, 40, 0).line_bytes(40), 106);
    assert_eq!(of(CakeFraming::Atm, 40, 0).line_bytes(1492), 32 * 53);
    // The 64b/65b encapsulation adds a byte for every 64 bytes or part thereof. The minimum length is applied before
    // framing.
    assert_eq!(of(CakeFraming::Ptm, 30, 0).line_bytes(1482), 1512 + 24);
    assert_eq!(of(CakeFraming::None, 38, 84).line_bytes(40), 84);
    assert_eq!(of(CakeFraming::Atm, 0, 97).line_bytes(40), 159);
}

/// Checks that transmission time is lost while the queue is empty, but not while packets wait, even if the transmitter
/// dequeues them late.
#[test]
fn the_shaper_keeps_its_rate_despite_late_dequeues() {
    let mut cake = cake(&config(), &[([0, 1], 0)]);
    packets(0, 4, 1000).for_each(|packet| enqueue(&mut cake, packet));
    let mut ask = |at: u64| {
        (
            cake.dequeue(Time(at * MS), |_, _| {}).is_some(),
            cake.release(Time(at * MS)).0 / MS,
        )
    };
    // Each packet takes 1 ms. The second packet leaves at least 0.5 ms late; the third and fourth leave on time.
    assert_eq!(ask(0), (true, 1));
    assert_eq!(ask(2), (true, 2));
    assert_eq!(ask(2), (true, 3));
    assert_eq!(ask(2), (false, 3));
    assert_eq!(ask(3), (true, 4));
    let late = Packet {
        arrival: Time(9 * MS),
        bytes: 1000,
        ..Packet::default()
    };
    enqueue(&mut cake, late);
    assert_eq!(cake.dequeue(Time(9 * MS), |_, _| {}), Some(late));
    assert_eq!(cake.release(Time(9 * MS)), Time(10 * MS));
}

/// Returns the number of bytes that each of several backlogged circuits sends in a second.
fn shares(config: &CakeConfig, circuits: &[Endpoints]) -> Vec<u64> {
    let mut cake = cake(config, circuits);
    for circuit in 0..circuits.len() as u32 {
        packets(circuit, 2000, 500).for_each(|packet| enqueue(&mut cake, packet));
    }
    let mut sent = vec![0; circuits.len()];
    let mut now = Time::ZERO;
    while now < Time(1000 * MS) {
        if let Some(packet) = cake.dequeue(now, |_, _| {}) {
            sent[packet.circuit as usize] += packet.bytes;
        }
        now = cake.release(now);
    }
    sent
}

/// Host 0 has one flow and host 1 has three, all to host 9. With isolation by sending host, the first flow gets half of
/// the rate; with isolation by receiving host or by flow, all flows get equal shares. The configured RTT is long, so
/// COBALT drops no packets.
#[test]
fn the_rate_is_shared_by_hosts_first_and_then_by_flows() {
    let circuits = [([0, 9], 0), ([1, 9], 0), ([1, 9], 0), ([1, 9], 0)];
    let of = |isolation| {
        let config = CakeConfig {
            isolation,
            rtt_ps: 1_000_000 * MS,
            ..config()
        };
        shares(&config, &circuits)
    };
    // 10^6 bytes in total.
    for (isolation, first) in [
        (CakeIsolation::DualSrchost, 500_000),
        (CakeIsolation::Srchost, 500_000),
        (CakeIsolation::DualDsthost, 250_000),
        (CakeIsolation::Flows, 250_000),
        // The quantum of each flow is divided by the larger of its two hosts' numbers of bulk flows, which is 4 at the
        // receiver.
        (CakeIsolation::TripleIsolate, 250_000),
    ] {
        let sent = of(isolation);
        assert!(sent[0].abs_diff(first) < 20_000, "{isolation:?} {sent:?}");
        let others = (1_000_000 - first) / 3;
        let equal = sent[1..].iter().all(|&bytes| bytes.abs_diff(others) < 20_000);
        assert!(equal || isolation == CakeIsolation::Srchost, "{isolation:?} {sent:?}");
    }
    let apart = [([0, 9], 0), ([1, 8], 0), ([1, 7], 0), ([1, 6], 0)];
    let config = CakeConfig {
        rtt_ps: 1_000_000 * MS,
        ..config()
    };
    assert!(shares(&config, &apart)[0].abs_diff(500_000) < 20_000);
}

/// Voice (46) has priority over best effort up to a quarter of the rate, and best effort has priority over bulk (1)
/// except for a sixteenth of the rate. If only one tin is active, it gets the whole rate.
#[test]
fn tins_have_priority_up_to_their_shares() {
    let config = CakeConfig {
        tins: CakeTins::Diffserv3,
        rtt_ps: 1_000_000 * MS,
        ..config()
    };
    let of = |dscps: &[u32]| {
        let circuits: Vec<Endpoints> = dscps.iter().map(|&dscp| ([0, 1], dscp)).collect();
        shares(&config, &circuits)
    };
    let near = |sent: &[u64], expected: &[u64]| sent.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) < 15_000);
    let sent = of(&[0, 1, 46]);
    assert!(near(&sent, &[687_500, 62_500, 250_000]), "{sent:?}");
    assert!(near(&of(&[1]), &[1_000_000]));
}

/// Checks the tins of the codepoints of a few services against the tables in sch_cake.c.
#[test]
fn codepoints_choose_tins() {
    let of = |tins: CakeTins| [0, 1, 8, 10, 18, 26, 34, 46, 48, 63, 64].map(|dscp| tins.of(dscp));
    assert_eq!(of(CakeTins::Besteffort), [0; 11]);
    assert_eq!(of(CakeTins::Diffserv3), [0, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0]);
    assert_eq!(of(CakeTins::Diffserv4), [0, 1, 1, 0, 2, 2, 2, 3, 3, 0, 0]);
    assert_eq!(of(CakeTins::Diffserv8), [2, 0, 1, 1, 4, 3, 3, 6, 7, 2, 2]);
    assert_eq!(of(CakeTins::Precedence), [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 0]);
}

/// Checks that a full buffer drops the oldest packet of the queue that holds the most bytes.
#[test]
fn the_longest_queue_loses_its_first_packet() {
    let mut cake = cake(&config(), &[([0, 2], 0), ([1, 2], 0)]);
    let mut dropped = vec![];
    let all = packets(0, 2, 1000).chain(packets(1, 3, 400)).chain(packets(1, 1, 1400));
    for packet in all {
        cake.enqueue(&port(Time::ZERO, 4), packet, |packet, _| {
            dropped.push((packet.circuit, packet.number))
        });
    }
    assert_eq!(dropped, [(0, 0), (1, 0)]);
    assert_eq!(cake.backlog(), (4, 3200));
}

/// The ACK filter keeps one redundant ACK, and the aggressive filter keeps no redundant ACK directly before the new
/// one. Data and the ACKs of other flows stay.
#[test]
fn acks_replace_redundant_ones() {
    // Circuits and acknowledgement numbers of the packets in one queue.
    let apart = [(0, 100), (0, 200), (0, 300), (0, 0), (0, 400), (0, 500)];
    let in_a_row = [(0, 0), (1, 50), (0, 100), (0, 200), (0, 300)];
    for (packets, ack_filter, kept) in [
        (&apart[..], CakeAckFilter::Off, vec![0, 1, 2, 3, 4, 5]),
        (&apart[..], CakeAckFilter::On, vec![3, 4, 5]),
        (&apart[..], CakeAckFilter::Aggressive, vec![3, 4, 5]),
        (&in_a_row[..], CakeAckFilter::On, vec![0, 1, 3, 4]),
        (&in_a_row[..], CakeAckFilter::Aggressive, vec![0, 1, 4]),
    ] {
        let config = CakeConfig {
            isolation: CakeIsolation::Flowblind,
            ack_filter,
            ..config()
        };
        let mut cake = cake(&config, &[([0, 1], 0), ([1, 0], 0)]);
        for (number, &(circuit, ack)) in packets.iter().enumerate() {
            let packet = Packet {
                number: number as u64,
                circuit,
                bytes: 40,
                ack,
                ..Packet::default()
            };
            cake.enqueue(&port(Time::ZERO, 99), packet, |_, cause| {
                assert_eq!(cause, DropCause::AckFilter)
            });
        }
        let left: Vec<u64> = run(&mut cake, Time::ZERO, Time(MS))
            .iter()
            .map(|sent| sent.1.number)
            .collect();
        assert_eq!(left, kept, "{ack_filter:?} {packets:?}");
    }
}

/// Checks that, in `ingress` mode, a dropped packet uses up transmission time of the shaper.
#[test]
fn dropped_packets_use_the_rate_at_ingress() {
    let of = |ingress| {
        let config = CakeConfig {
            ingress,
            rtt_ps: 20 * MS,
            ..config()
        };
        let mut cake = cake(&config, &[([0, 1], 0)]);
        packets(0, 400, 1000).for_each(|packet| enqueue(&mut cake, packet));
        let sent = run(&mut cake, Time::ZERO, Time(1000 * MS));
        (sent.len() as u64, sent[sent.len() - 1].0 .0 / MS)
    };
    let (sent, last) = of(false);
    assert!(sent < 380);
    assert_eq!(last, sent - 1);
    let (sent, last) = of(true);
    assert!(sent < 380);
    // The rate that is used is at least the failsafe rate, which is two thirds of the configured rate.
    assert!(last > sent && last <= 399, "{sent} {last}");
}
