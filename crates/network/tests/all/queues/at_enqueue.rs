//! Active queue management at enqueue, RED and PIE, compared with recordings of ns-3.

use super::{column, constant, differ, expected, listed, packet, rows, Event, MS, RATE};
use crate::common::queued::Packet;
use longpipe_events::Time;
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::pie::Pie;
use longpipe_network::policies::red::Red;
use longpipe_network::policies::{Arrival, Verdict};
use longpipe_network::queues::Backlog;
use longpipe_network::scenario::{PieConfig, PieDelay, PieRules, QueueUnit, RedConfig, RedGap};
use std::collections::VecDeque;

/// A controller that decides on arrivals; its state is recorded after each arrival.
pub trait EnqueueDecision {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict;
    fn on_admitted(&mut self, _arrival: &Arrival, _begins: Time) {}
    fn look(&mut self) {}
}

/// Returns the events of arrivals at a FIFO queue of unlimited length that is served at 10 Mbit/s.
pub fn events_at_enqueue(arrivals: &[Packet], policy: &mut impl EnqueueDecision) -> Vec<Event> {
    events_at_rate(arrivals, policy, |_| RATE)
}

/// Like `events_at_enqueue`, but with a rate [bit/s] that depends on the start of each transmission.
pub fn events_at_rate(
    arrivals: &[Packet],
    policy: &mut impl EnqueueDecision,
    rate: impl Fn(Time) -> u64,
) -> Vec<Event> {
    let mut uniforms = column::<f64>(&rows("uniforms"), 1).into_iter();
    let (mut backlog, mut begins) = (Backlog::default(), VecDeque::<Time>::new());
    let (mut busy_until, mut events) = (None::<Time>, vec![]);
    for &packet in arrivals {
        let now = packet.arrival;
        // An arrival precedes a transmission that starts at the same time.
        while begins.front().is_some_and(|&begins| begins < now) {
            begins.pop_front();
            backlog.pop();
        }
        let arrival = Arrival {
            now,
            bytes: packet.bytes,
            capable: packet.capable,
            packets_waiting: backlog.len(),
            bytes_waiting: backlog.bytes(),
            idle_since: match busy_until {
                None => Some(now),
                Some(end) => (end < now).then_some(end),
            },
        };
        let verdict = policy.verdict(&arrival, &mut || uniforms.next().unwrap());
        let marked = verdict == Verdict::Mark && arrival.capable;
        if marked {
            events.push(("mark", packet.index, now.0 / 1_000));
        }
        if marked || verdict == Verdict::Admit {
            let starts = busy_until.map_or(now, |end| end.max(now));
            busy_until = Some(Time(starts.0 + 8 * packet.bytes * 1_000_000_000 / rate(starts) * 1_000));
            begins.push_back(starts);
            backlog.push(packet);
            policy.on_admitted(&arrival, starts);
            if starts == now && arrival.idle_since.is_some() {
                begins.pop_back();
                backlog.pop();
            }
        } else {
            events.push(("drop", packet.index, now.0 / 1_000));
        }
        policy.look();
    }
    events
}

struct WatchedRed {
    red: Red,
    averages: Vec<f64>,
}

impl EnqueueDecision for WatchedRed {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict {
        self.red.decide(arrival, draw)
    }

    fn look(&mut self) {
        self.averages.push(self.red.average());
    }
}

fn red(gentle: bool) -> RedConfig {
    RedConfig {
        min: 5.0,
        max: 15.0,
        unit: QueueUnit::Packets,
        weight: 0.002,
        max_p: 0.1,
        gentle,
        adaptive: false,
        gap: RedGap::Wait,
        mean_packet_bytes: 1000,
        ecn: false,
        per_vc: false,
    }
}

#[test]
fn red_averages_and_drops_equal_those_of_ns_3() {
    let adaptive = RedConfig {
        adaptive: true,
        // This is 1 − exp(−1/1250), for 1250 packets per second.
        weight: 0.000_799_680_085_312_878_3,
        ..red(true)
    };
    for (name, arrivals, config) in [
        ("red-gentle-wait-c12", constant(), red(true)),
        ("red-hard-wait-lcg", listed("arrivals-lcg"), red(false)),
        ("ared-c12", constant(), adaptive),
    ] {
        let mut watched = WatchedRed {
            red: Red::new(&config, RATE),
            averages: vec![],
        };
        let events = events_at_enqueue(&arrivals, &mut watched);
        if name != "red-hard-wait-lcg" {
            let rows = rows(&format!("{name}.avg"));
            let (indices, averages) = (column::<usize>(&rows, 0), column::<f64>(&rows, 2));
            for (index, average) in indices.into_iter().zip(averages) {
                let found = watched.averages[index];
                assert!(
                    (found - average).abs() <= 1e-9 * average,
                    "{name}: {found} for {average} at {index}"
                );
            }
        }
        assert_eq!(differ(&events, &expected(&format!("{name}.events"))), None, "{name}");
    }
}

struct WatchedPie {
    pie: Pie,
    /// Probability after each update. The number of updates so far determines the time of the next update.
    updates: Vec<f64>,
}

impl EnqueueDecision for WatchedPie {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict {
        loop {
            let due = Time(15 * MS * self.updates.len() as u64 + 1_000);
            if due > arrival.now {
                return self.pie.decide(arrival, draw);
            }
            self.pie.update_before(due);
            self.updates.push(self.pie.probability());
        }
    }

    fn on_admitted(&mut self, arrival: &Arrival, begins: Time) {
        self.pie.admit(arrival, begins);
    }
}

/// Returns arrivals of 1000 bytes at a rate that changes four times within 10 s.
fn steps() -> Vec<Packet> {
    let phases = [
        (0, 3_000, 12.0),
        (3_000, 4_000, 8.0),
        (4_000, 7_000, 15.0),
        (7_000, 7_500, 4.7),
        (7_500, 10_000, 12.0),
    ];
    let times = phases.into_iter().flat_map(|(from, to, rate): (u64, u64, f64)| {
        let gap = (8e6 / rate) as u64;
        (0..)
            .map(move |i| from * 1_000_000 + i * gap)
            .take_while(move |&ns| ns < to * 1_000_000)
    });
    times.zip(0..).map(|(ns, index)| packet(index, 0, ns, 1000)).collect()
}

fn watched_pie(delay: PieDelay, derandomize: bool) -> WatchedPie {
    let config = PieConfig {
        target_ps: 15 * MS,
        update_ps: 15 * MS,
        burst_ps: 150 * MS,
        alpha: 0.125,
        beta: 1.25,
        least_backlog_bytes: 2000,
        delay,
        rules: PieRules::Ns3,
        derandomize,
        ecn: false,
    };
    WatchedPie {
        pie: Pie::new(&config),
        updates: vec![],
    }
}

#[test]
fn pie_probabilities_and_drops_equal_those_of_ns_3() {
    for (name, arrivals, delay, derandomize) in [
        ("pie-c12", constant(), PieDelay::Sojourn, false),
        ("pie-derand-c12", constant(), PieDelay::Sojourn, true),
        ("pie-rate-steps", steps(), PieDelay::DepartureRate, false),
    ] {
        let mut watched = watched_pie(delay, derandomize);
        let events = events_at_enqueue(&arrivals, &mut watched);
        let expected_probabilities = column::<f64>(&rows(&format!("{name}.prob")), 1);
        for (step, (found, expected)) in watched.updates.iter().zip(&expected_probabilities).enumerate() {
            assert!(
                (found - expected).abs() <= 1e-9 * expected,
                "{name}: {found} for {expected} at {step}"
            );
        }
        assert!(watched.updates.len() > 650);
        assert_eq!(differ(&events, &expected(&format!("{name}.events"))), None, "{name}");
    }
}

/// ns-3 neither drops nor marks while at most two packets wait, whatever their lengths.
#[test]
fn pie_drops_equal_those_of_ns_3_for_packets_of_random_lengths() {
    let events = events_at_enqueue(&listed("arrivals-lcgsize"), &mut watched_pie(PieDelay::Sojourn, false));
    assert_eq!(events.len(), 1339);
    assert_eq!(differ(&events, &expected("pie-lcgsize.events")), None);
}
