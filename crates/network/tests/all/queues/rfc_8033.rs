//! PIE compared with an independent implementation of RFC 8033, which computes in seconds, processes each departure,
//! and uses the RFC's departure-rate estimator.

use super::at_enqueue::{events_at_rate, EnqueueDecision};
use super::{constant, differ, listed, MS, RATE};
use crate::common::queued::Packet;
use longpipe_events::Time;
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::pie::Pie;
use longpipe_network::policies::{Arrival, Verdict};
use longpipe_network::scenario::{PieConfig, PieDelay, PieRules};
use std::collections::VecDeque;

const REFERENCE: f64 = 0.015;
const UPDATE: f64 = 0.015;
const MAX_BURST: f64 = 0.150;
const DQ_THRESHOLD: f64 = 16_384.0;

/// The variables of RFC 8033 appendix B. The queue is always active, and the decay of the probability has the condition
/// of section 4.2.
#[derive(Default)]
struct Rfc {
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: f64,
    avg_dq_time: f64,
    /// Number of updates.
    updates: u64,
    /// Waiting packets: start of their transmission and length [byte].
    queue: VecDeque<(Time, f64)>,
    /// Probabilities after each update of the controller.
    probabilities: Vec<f64>,
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e12
}

impl Rfc {
    fn byte_length(&self) -> f64 {
        self.queue.iter().map(|&(_, bytes)| bytes).sum()
    }

    fn dequeue(&mut self) {
        let (now, bytes) = self.queue.pop_front().unwrap();
        if self.in_measurement {
            self.dq_count += bytes;
            if self.dq_count >= DQ_THRESHOLD {
                let dq_time = seconds(now) - self.measurement_start;
                let weight = DQ_THRESHOLD / 65_536.0;
                self.avg_dq_time = if self.avg_dq_time == 0.0 {
                    dq_time
                } else {
                    dq_time * weight + self.avg_dq_time * (1.0 - weight)
                };
                self.in_measurement = false;
            }
        }
        if self.byte_length() >= DQ_THRESHOLD && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = seconds(now);
            self.dq_count = 0.0;
        }
    }

    fn calculate_drop_prob(&mut self) {
        self.current_qdelay = self.byte_length() * self.avg_dq_time / DQ_THRESHOLD;
        let (now, before) = (self.current_qdelay, self.qdelay_old);
        let mut p = 0.125 * (now - REFERENCE) + 1.25 * (now - before);
        for (below, divisor) in [
            (1e-6, 2048.0),
            (1e-5, 512.0),
            (1e-4, 128.0),
            (1e-3, 32.0),
            (1e-2, 8.0),
            (1e-1, 2.0),
        ] {
            if self.drop_prob < below {
                p /= divisor;
                break;
            }
        }
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if now == 0.0 && before == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = (self.burst_allowance - UPDATE).max(0.0);
        self.qdelay_old = now;
        self.probabilities.push(self.drop_prob);
    }

    fn drop_early(&mut self, draw: &mut dyn FnMut() -> f64) -> bool {
        if self.burst_allowance > 1e-9
            || (self.qdelay_old < REFERENCE / 2.0 && self.drop_prob < 0.2)
            || self.byte_length() <= 2_000.0
        {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        let goes = self.accu_prob >= 8.5 || draw() <= self.drop_prob;
        if goes {
            self.accu_prob = 0.0;
        }
        goes
    }

    /// Processes departures and updates before an arrival, in order.
    fn pass(&mut self, now: Time) {
        loop {
            let update = Time(15 * MS * (self.updates + 1));
            let departs = self
                .queue
                .front()
                .map(|&(begins, _)| begins)
                .filter(|&begins| begins < now);
            match departs {
                Some(begins) if begins < update => self.dequeue(),
                _ if update < now => {
                    self.calculate_drop_prob();
                    self.updates += 1;
                }
                _ => return,
            }
        }
    }
}

impl EnqueueDecision for Rfc {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict {
        self.pass(arrival.now);
        if self.drop_prob == 0.0 && self.current_qdelay < REFERENCE / 2.0 && self.qdelay_old < REFERENCE / 2.0 {
            self.burst_allowance = MAX_BURST;
        }
        if !self.drop_early(draw) {
            Verdict::Admit
        } else if self.drop_prob < 0.1 && arrival.capable {
            Verdict::Mark
        } else {
            Verdict::Refuse
        }
    }

    fn on_admitted(&mut self, arrival: &Arrival, begins: Time) {
        self.queue.push_back((begins, arrival.bytes as f64));
    }
}

struct Watched {
    pie: Pie,
    probabilities: Vec<f64>,
}

impl EnqueueDecision for Watched {
    fn verdict(&mut self, arrival: &Arrival, draw: &mut dyn FnMut() -> f64) -> Verdict {
        loop {
            // The time immediately after the next update.
            let due = Time(15 * MS * (self.probabilities.len() as u64 + 1) + 1);
            if due > arrival.now {
                return self.pie.decide(arrival, draw);
            }
            self.pie.update_before(due);
            self.probabilities.push(self.pie.probability());
        }
    }

    fn on_admitted(&mut self, arrival: &Arrival, begins: Time) {
        self.pie.admit(arrival, begins);
    }
}

/// Returns the rate, which alternates every half second between 10 Mbit/s and 4 Mbit/s. At such a rate, an average of
/// rates and an average of times differ.
fn alternating(begins: Time) -> u64 {
    if (begins.0 / (500 * MS)).is_multiple_of(2) {
        RATE
    } else {
        4_000_000
    }
}

fn bursts() -> Vec<Packet> {
    let kept = |packet: &Packet| !(packet.arrival.0 / (700 * MS)).is_multiple_of(3);
    constant().into_iter().filter(kept).collect()
}

/// Returns packets of which every second one is ECN-capable.
fn capable(packets: Vec<Packet>) -> Vec<Packet> {
    let capable = |packet: Packet| Packet {
        capable: packet.index.is_multiple_of(2),
        ..packet
    };
    packets.into_iter().map(capable).collect()
}

#[test]
fn pie_with_departure_times_follows_rfc_8033() {
    let config = |delay| PieConfig {
        target_ps: 15 * MS,
        update_ps: 15 * MS,
        burst_ps: 150 * MS,
        alpha: 0.125,
        beta: 1.25,
        least_backlog_bytes: 2000,
        delay,
        rules: PieRules::Rfc8033,
        derandomize: true,
        ecn: true,
    };
    let same: fn(Time) -> u64 = |_| RATE;
    for (name, arrivals, rate, min) in [
        ("constant", constant(), same, 1000),
        ("drawn", listed("arrivals-lcg"), same, 100),
        ("changing", constant(), alternating, 1000),
        ("bursts", bursts(), alternating, 100),
        ("marked", capable(constant()), same, 1000),
        ("marked at random", capable(listed("arrivals-lcg")), same, 100),
    ] {
        let watched = |delay| Watched {
            pie: Pie::new(&config(delay)),
            probabilities: vec![],
        };
        let (mut rfc, mut watched, mut by_rate) = (
            Rfc {
                burst_allowance: MAX_BURST,
                ..Rfc::default()
            },
            watched(PieDelay::DepartureTime),
            watched(PieDelay::DepartureRate),
        );
        let (expected, found) = (
            events_at_rate(&arrivals, &mut rfc, rate),
            events_at_rate(&arrivals, &mut watched, rate),
        );
        let updates = watched.probabilities.iter().zip(&rfc.probabilities);
        for (step, (found, expected)) in updates.enumerate() {
            let apart = (found - expected).abs();
            assert!(
                apart <= 1e-9 * expected + 1e-13,
                "{name}: {found} for {expected} at {step}"
            );
        }
        assert!(rfc.probabilities.len() > 500, "{name}");
        assert!(found.len() > min, "{name}: {} drops and marks", found.len());
        let marks = found.iter().filter(|event| event.0 == "mark").count();
        assert_eq!(marks > 0, name.starts_with("marked"), "{name}: {marks} marks");
        assert_eq!(differ(&found, &expected), None, "{name}");
        assert_ne!(
            differ(&events_at_rate(&arrivals, &mut by_rate, rate), &expected),
            None,
            "{name}"
        );
    }
}
