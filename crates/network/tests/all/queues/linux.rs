//! PIE with Linux's rules and FQ-PIE compared with the functions of Linux 6.12's `sch_pie.c` and `sch_fq_pie.c`, drop by
//! drop (`data/queues/README.md`).

use super::at_enqueue::{events_at_enqueue, EnqueueDecision};
use super::{column, constant, differ, expected, packet, regular, rows, serve, three, Event, MS};
use crate::common::queued::Packet;
use longpipe_events::{Stream, Time};
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::pie::Pie;
use longpipe_network::policies::{Arrival, Verdict};
use longpipe_network::queues::flow_queueing::FlowHash;
use longpipe_network::queues::fq_pie::{FqPie, FqPieConfig};
use longpipe_network::scenario::{PieConfig, PieDelay, PieRules};

impl EnqueueDecision for Pie {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict {
        self.decide(arrival, draw)
    }

    fn on_admitted(&mut self, arrival: &Arrival, begins: Time) {
        self.admit(arrival, begins);
    }
}

/// Returns PIE with Linux's defaults. Linux admits a packet if fewer than two MTUs wait, here 3000 bytes.
fn linux(delay: PieDelay, ecn: bool) -> Pie {
    Pie::new(&PieConfig {
        target_ps: 15 * MS,
        update_ps: 15 * MS,
        burst_ps: 150 * MS,
        alpha: 0.125,
        beta: 1.25,
        least_backlog_bytes: 2999,
        delay,
        rules: PieRules::Linux,
        derandomize: true,
        ecn,
    })
}

/// Returns packets of 200 to 1000 bytes at up to 30 Mbit/s, during the first 0.4 s of each 1.1 s.
fn bursts() -> Vec<Packet> {
    let gap = 8_000_000 / 30;
    let times = (0..10).flat_map(|burst| {
        let begin = burst * 1_100_000_000;
        (0..)
            .map(move |i| begin + i * gap)
            .take_while(move |&ns| ns < begin + 400_000_000)
    });
    let numbered = times.take_while(|&ns| ns < 10_000_000_000).zip(0..);
    numbered
        .map(|(ns, index)| packet(index, 0, ns, 200 + index * 7 % 9 * 100))
        .collect()
}

/// Returns 1000-byte packets whose rate [Mbit/s] depends on the time [ns].
fn at_rates(rate: impl Fn(u64) -> u64) -> Vec<Packet> {
    let times = std::iter::successors(Some(0), |&ns| Some(ns + 8_000_000 / rate(ns)));
    let numbered = times.take_while(|&ns| ns < 10_000_000_000).zip(0..);
    numbered.map(|(ns, index)| packet(index, 0, ns, 1000)).collect()
}

/// Returns bursts of 250 ms at 30 Mbit/s, between which Linux's burst allowance recovers at 2 Mbit/s.
fn rare() -> Vec<Packet> {
    at_rates(|ns| if ns % 4_900_000_000 < 250_000_000 { 30 } else { 2 })
}

/// Returns packets at rates around the link's.
fn mixed() -> Vec<Packet> {
    at_rates(|ns| [17, 4, 12, 9, 14][ns as usize / 100_000_000 % 5])
}

/// Returns 1000-byte packets at 25 Mbit/s for 4 s. Linux's probability exceeds 1.
fn overload() -> Vec<Packet> {
    let all = regular(|i| i * 8_000_000 / 25).into_iter();
    all.take_while(|packet| packet.arrival < Time(4_000 * MS)).collect()
}

fn capable(arrivals: Vec<Packet>) -> Vec<Packet> {
    arrivals
        .into_iter()
        .map(|packet| Packet {
            capable: true,
            ..packet
        })
        .collect()
}

#[test]
fn pie_drops_and_marks_equal_those_of_linux() {
    for (name, arrivals, delay, ecn) in [
        ("pie-linux-c12", constant(), PieDelay::Sojourn, false),
        ("pie-linux-ecn-c12", capable(constant()), PieDelay::Sojourn, true),
        ("pie-linux-bursts", bursts(), PieDelay::Sojourn, false),
        ("pie-linux-ecn-bursts", capable(bursts()), PieDelay::Sojourn, true),
        ("pie-linux-rate-bursts", bursts(), PieDelay::DepartureRate, false),
        ("pie-linux-c25", overload(), PieDelay::Sojourn, false),
        ("pie-linux-rare", rare(), PieDelay::Sojourn, false),
        ("pie-linux-mix", mixed(), PieDelay::Sojourn, false),
        ("pie-linux-rate-mix", mixed(), PieDelay::DepartureRate, false),
    ] {
        let events = events_at_enqueue(&arrivals, &mut linux(delay, ecn));
        assert_eq!(differ(&events, &expected(&format!("{name}.events"))), None, "{name}");
    }
}

#[test]
fn fq_pie_drops_and_marks_equal_those_of_linux() {
    for (name, arrivals, ecn) in [
        ("fqpie-three", three(), false),
        ("fqpie-ecn-three", capable(three()), true),
    ] {
        let config = FqPieConfig {
            target_ps: 15 * MS,
            update_ps: 15 * MS,
            burst_ps: 150 * MS,
            alpha: 0.125,
            beta: 1.25,
            least_backlog_bytes: 2999,
            ecn,
            quantum_bytes: 1500,
            queues: None,
        };
        // Linux drew the same random numbers.
        let stream = Stream::new(7, "policy", 0);
        let mut queue = FqPie::new(&config, FlowHash::new(None, 3, 0), stream);
        let (events, left) = serve(&arrivals, 1000, &mut queue);
        // Linux marks a packet when it arrives.
        let marks = left.iter().filter(|(packet, _)| packet.marked);
        let marks = marks.map(|(packet, _)| ("mark", packet.index, packet.arrival.0 / 1_000));
        let drops = events.into_iter().filter(|&(kind, ..)| kind == "drop");
        let mut found: Vec<Event> = drops.chain(marks).collect();
        found.sort_by_key(|&(_, index, _)| index);
        assert_eq!(differ(&found, &expected(&format!("{name}.events"))), None, "{name}");
        if !ecn {
            assert_eq!(departures(&left), departed(&format!("{name}.departures")), "{name}");
        }
    }
}

/// Returns the number of each packet that departed, with the time [ns] at which its transmission started.
fn departures(left: &[(Packet, Time)]) -> Vec<(u64, u64)> {
    left.iter()
        .map(|(packet, begins)| (packet.index, begins.0 / 1_000))
        .collect()
}

fn departed(name: &str) -> Vec<(u64, u64)> {
    let rows = rows(name);
    column(&rows, 0).into_iter().zip(column(&rows, 1)).collect()
}
