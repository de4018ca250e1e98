//! Queue disciplines compared with those of ns-3, drop by drop, for equal arrivals and random numbers
//! (`data/queues/README.md`).

mod at_enqueue;
mod avq;
mod blue;
mod linux;
mod pi;
mod rfc_8033;

use crate::common::queued::{port, Packet};
use flate2::read::GzDecoder;
use longpipe_events::Time;
use longpipe_network::queues::codel::Codel;
use longpipe_network::queues::fq::Fq;
use longpipe_network::queues::fq_codel::FqCodel;
use longpipe_network::queues::QueueDisc;
use longpipe_network::scenario::{CodelArithmetic, CodelConfig, FqCodelConfig, FqCodelRules, FqConfig};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const RATE: u64 = 10_000_000;
const MS: u64 = 1_000_000_000;
/// End of the recordings.
const END: Time = Time(10_500 * MS);

/// An event: its kind, the number of the arriving packet, and its time [ns].
type Event = (&'static str, u64, u64);

/// Returns the rows of a table without its header.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/queues/{name}.csv.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let row = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(row).collect()
}

fn column<T: std::str::FromStr<Err: std::fmt::Debug>>(rows: &[Vec<String>], column: usize) -> Vec<T> {
    rows.iter().map(|row| row[column].parse().unwrap()).collect()
}

fn expected(name: &str) -> Vec<Event> {
    let kind = |row: &[String]| if row[0] == "mark" { "mark" } else { "drop" };
    let rows = rows(name);
    rows.iter()
        .map(|row| (kind(row), row[1].parse().unwrap(), row[3].parse().unwrap()))
        .collect()
}

fn packet(index: u64, flow: u32, ns: u64, bytes: u64) -> Packet {
    Packet {
        index,
        flow,
        arrival: Time(1_000 * ns),
        bytes,
        ..Packet::default()
    }
}

/// Returns 1000-byte packets for 10 s, the `i`th at `due(i)` [ns].
fn regular(due: impl Fn(u64) -> u64) -> Vec<Packet> {
    let all = (0..).map(|i| packet(i, 0, due(i), 1000));
    all.take_while(|packet| packet.arrival < Time(10_000 * MS)).collect()
}

/// Returns 1000-byte packets at 12 Mbit/s for 10 s.
fn constant() -> Vec<Packet> {
    regular(|i| i * 8_000_000 / 12)
}

/// Returns the packets in a table of times and lengths.
fn listed(name: &str) -> Vec<Packet> {
    let rows = rows(name);
    let (times, sizes) = (column(&rows, 0), column(&rows, 1));
    (0..)
        .zip(times)
        .zip(sizes)
        .map(|((index, ns), bytes)| packet(index, 0, ns, bytes))
        .collect()
}

/// Returns the packets of three flows with different rates.
fn three() -> Vec<Packet> {
    let flows = [
        (0, 1_000_000, 1000),
        (1_000_300_000, 2_000_000, 1000),
        (500_700_000, 10_000_000, 200),
    ];
    let mut all = vec![];
    for (flow, (from, every, bytes)) in (0..).zip(flows) {
        let times = (0u64..).map(|i| from + i * every).take_while(|&ns| ns < 10_000_000_000);
        all.extend(times.map(|ns| packet(0, flow, ns, bytes)));
    }
    all.sort_by_key(|packet| packet.arrival);
    (0..)
        .zip(all)
        .map(|(index, packet)| Packet { index, ..packet })
        .collect()
}

/// Serves `arrivals` with one server and a buffer of `room` packets. Returns the events, and each departed packet with
/// the time at which its transmission started.
fn serve(arrivals: &[Packet], room: u64, queue: &mut impl QueueDisc<Packet>) -> (Vec<Event>, Vec<(Packet, Time)>) {
    let (mut events, mut left, mut busy_until) = (vec![], vec![], None::<Time>);
    let mut arrivals = arrivals.iter().copied().peekable();
    loop {
        let next = arrivals.peek().map(|packet| packet.arrival);
        let arrives = match (next, busy_until) {
            (Some(arrival), Some(end)) => arrival <= end,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return (events, left),
        };
        let now = if arrives { next } else { busy_until }.unwrap();
        if now > END {
            return (events, left);
        }
        if arrives {
            let drop = |packet: Packet, _| events.push(("drop", packet.index, now.0 / 1_000));
            queue.enqueue(&port(now, room), arrivals.next().unwrap(), drop);
            if busy_until.is_some() {
                continue;
            }
        }
        let packet = queue.dequeue(now, |packet, _| events.push(("drop", packet.index, now.0 / 1_000)));
        if let Some(packet) = packet.filter(|packet| packet.marked) {
            events.push(("mark", packet.index, now.0 / 1_000));
        }
        left.extend(packet.map(|packet| (packet, now)));
        busy_until = packet.map(|packet| Time(now.0 + 8 * packet.bytes * 1_000_000_000 / RATE * 1_000));
    }
}

fn differ(found: &[Event], expected: &[Event]) -> Option<(usize, Option<Event>, Option<Event>)> {
    (0..found.len().max(expected.len()))
        .map(|i| (i, found.get(i).copied(), expected.get(i).copied()))
        .find(|(_, found, expected)| found != expected)
}

fn codel_config(arithmetic: CodelArithmetic, ecn: bool) -> CodelConfig {
    CodelConfig {
        target_ps: 5 * MS,
        interval_ps: 100 * MS,
        least_backlog_bytes: 1499,
        arithmetic,
        ecn,
        ce_threshold_ps: None,
    }
}

fn codel(arrivals: &[Packet], config: &CodelConfig) -> Vec<Event> {
    let capable = config.ecn;
    let arrivals: Vec<_> = arrivals.iter().map(|&packet| Packet { capable, ..packet }).collect();
    serve(&arrivals, 1000, &mut Codel::new(config)).0
}

#[test]
fn codel_drops_and_marks_equal_those_of_ns_3() {
    for (name, arrivals, ecn) in [
        ("codel-c12", constant(), false),
        ("codel-ecn-c12", constant(), true),
        // With this spacing, the sojourn times are just below the target.
        ("codel-c10.5", regular(|i| i * 761_904), false),
        ("codel-lcg", listed("arrivals-lcg"), false),
    ] {
        let events = codel(&arrivals, &codel_config(CodelArithmetic::Ns3, ecn));
        assert_eq!(differ(&events, &expected(&format!("{name}.events"))), None, "{name}");
    }
}

/// Checks RFC 8289 section 5: in a dropping state, the nth drop follows the previous one after interval/√n.
#[test]
fn codel_with_exact_roots_drops_at_the_times_of_the_control_law() {
    let events = codel(&constant(), &codel_config(CodelArithmetic::Exact, false));
    // This is the first departure that is at least 100 ms later than a packet that waited 5 ms; it takes 30 ms to build
    // up a backlog of 5 ms.
    let first = events[0].2;
    assert!((130_400_000..132_000_000).contains(&first), "{first}");
    let (mut due, service) = (first as f64, 800_000.0);
    for (n, event) in (1..).zip(&events[1..500]) {
        due += 100e6 / f64::from(n).sqrt();
        let late = event.2 as f64 - due;
        assert!((-1.0..=service).contains(&late), "drop {n}: {late} ns late");
    }
    // Linux's approximation of the square root differs by 0.1 to 0.3 %.
    let linux = codel(&constant(), &codel_config(CodelArithmetic::Linux, false));
    let ratio = events.len() as f64 / linux.len() as f64;
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
}

/// Ten packets arrive at once, so that packet n waits for 0.8 n ms. Packet 5 waits for exactly `ce_threshold`, and packet 8
/// is not ECN-capable.
#[test]
fn ce_threshold_marks_each_capable_packet_that_waited_longer() {
    let capable = |index| index != 8;
    let arrivals: Vec<_> = (0..10)
        .map(|index| Packet {
            capable: capable(index),
            ..packet(index, 0, 0, 1000)
        })
        .collect();
    let ce_threshold_ps = Some(4 * MS);
    let codel = CodelConfig {
        ce_threshold_ps,
        ..codel_config(CodelArithmetic::Exact, false)
    };
    let fq_codel = FqCodelConfig {
        ce_threshold_ps,
        ..fq_codel_config(CodelArithmetic::Exact, FqCodelRules::Rfc8290)
    };
    let fq = FqConfig {
        quantum_bytes: 3028,
        initial_quantum_bytes: 15_140,
        flow_limit: 100,
        refill_delay_ps: 40 * MS,
        ce_threshold_ps,
    };
    let expected: Vec<Event> = [6, 7, 9].map(|index| ("mark", index, 800_000 * index)).to_vec();
    assert_eq!(serve(&arrivals, 1000, &mut Codel::new(&codel)).0, expected);
    assert_eq!(serve(&arrivals, 1000, &mut FqCodel::new(&fq_codel, 1, 0)).0, expected);
    assert_eq!(serve(&arrivals, 1000, &mut Fq::new(&fq, 1)).0, expected);
}

fn fq_codel_config(arithmetic: CodelArithmetic, rules: FqCodelRules) -> FqCodelConfig {
    FqCodelConfig {
        target_ps: 5 * MS,
        interval_ps: 100 * MS,
        least_backlog_bytes: 1499,
        arithmetic,
        ecn: false,
        ce_threshold_ps: None,
        quantum_bytes: 1500,
        queues: None,
        rules,
    }
}

/// Returns the times of drops at the head [ms] of an FQ-CoDel queue with one flow, which drops 8 packets when it
/// reaches its limit after 110 ms.
fn head_drops(rules: FqCodelRules) -> Vec<u64> {
    let config = fq_codel_config(CodelArithmetic::Exact, rules);
    let mut queue = FqCodel::new(&config, 1, 0);
    let enqueue = |queue: &mut FqCodel<Packet>, packet: Packet| {
        queue.enqueue(&port(packet.arrival, u64::MAX), packet, |_, _| panic!("there is room"));
    };
    (0..16).for_each(|index| enqueue(&mut queue, packet(index, 0, 0, 1000)));
    let mut drops = vec![];
    for ms in 0..400 {
        if ms == 110 {
            let mut batch = 0;
            queue.shorten_longest(|_| batch += 1);
            assert_eq!(batch, 8, "half of 16 packets");
        }
        let left = queue.dequeue(Time(ms * MS), |_, _| drops.push(ms));
        assert!(left.is_some());
        // The queue length is constant, and the sojourn time of each packet is above the target.
        while queue.backlog().0 < 16 {
            let arrival = 1_000_000 * ms.saturating_sub(10);
            enqueue(&mut queue, packet(0, 0, arrival, 1000));
        }
    }
    drops
}

/// Checks that, as in Linux 6.1's `fq_codel_drop`, the drops at the limit count: it adds the dropped packets to the
/// flow's `cvars.count`, and the `n`th drop is followed by interval/√n.
#[test]
fn fq_codel_of_linux_counts_packets_dropped_at_the_limit() {
    for (rules, counted) in [(FqCodelRules::Rfc8290, 0), (FqCodelRules::Linux, 8)] {
        // The sojourn time exceeds the target after 5 ms, and the first drop follows 100 ms later.
        let mut expected = vec![105];
        let mut due = 205.0;
        for count in 2 + counted.. {
            if due >= 399.0 {
                break;
            }
            expected.push(f64::ceil(due) as u64);
            due += 100.0 / f64::from(count).sqrt();
        }
        assert_eq!(head_drops(rules), expected, "{rules:?}");
    }
}

#[test]
fn fq_codel_departures_and_drops_equal_those_of_ns_3() {
    let config = fq_codel_config(CodelArithmetic::Linux, FqCodelRules::Rfc8290);
    let (events, left) = serve(&three(), 10_240, &mut FqCodel::new(&config, 3, 0));
    assert_eq!(differ(&events, &expected("fqcodel-three.events")), None);
    let rows = rows("fqcodel-three.departures");
    let expected: Vec<(u64, u64)> = column(&rows, 0).into_iter().zip(column(&rows, 2)).collect();
    let left: Vec<(u64, u64)> = left
        .iter()
        .map(|(packet, begins)| (packet.index, begins.0 / 1_000))
        .collect();
    assert_eq!(left.len(), expected.len());
    assert_eq!(
        left.iter().zip(&expected).find(|(left, expected)| left != expected),
        None
    );
}
