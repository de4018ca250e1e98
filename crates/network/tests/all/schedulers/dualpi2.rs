//! DualPI2 compared step by step with the pseudocode of RFC 9332.

use super::packet;
use crate::common::kept::Kept;
use crate::common::queued::{enqueue, Packet};
use crate::common::{run, SECOND};
use longpipe_events::{Stream, Time};
use longpipe_network::queues::dualpi2::DualPi2;
use longpipe_network::queues::QueueDisc;
use longpipe_network::scenario::{DualPi2Config, Engine, LowLatencyMarking, Scenario, TwoQueues};
use std::collections::VecDeque;
use std::path::Path;

/// The pseudocode of RFC 9332 appendix A, in the same order and with the same names; times are in floating-point
/// seconds.
struct Pseudocode {
    lq: VecDeque<Packet>,
    cq: VecDeque<Packet>,
    p: f64,
    prevq: f64,
    count: [f64; 2],
    updates: u64,
}

const TUPDATE: f64 = 0.016;

impl Pseudocode {
    fn time(queue: &VecDeque<Packet>, now: f64) -> f64 {
        queue.front().map_or(0.0, |head| now - head.arrival.0 as f64 / 1e12)
    }

    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.count[queue] += likelihood;
        if self.count[queue] > 1.0 {
            self.count[queue] -= 1.0;
            return true;
        }
        false
    }

    fn update(&mut self, now: f64) {
        while (self.updates + 1) as f64 * TUPDATE < now - 1e-13 {
            self.updates += 1;
            let at = self.updates as f64 * TUPDATE;
            let curq = Self::time(&self.cq, at).max(Self::time(&self.lq, at));
            self.p = (self.p + 0.16 * (curq - 0.015) + 3.2 * (curq - self.prevq)).clamp(0.0, 1.0);
            self.prevq = curq;
        }
    }

    /// Returns the packet to be transmitted, and the packets that are dropped before it.
    fn dequeue(&mut self, now: f64) -> (Option<Packet>, Vec<Packet>) {
        self.update(now);
        let mut dropped = vec![];
        loop {
            let (l, c) = (!self.lq.is_empty(), !self.cq.is_empty());
            if !l && !c {
                return (None, dropped);
            }
            let (p_cl, p_c) = (2.0 * self.p, self.p * self.p);
            if l && (!c || Self::time(&self.lq, now) + 0.050 >= Self::time(&self.cq, now)) {
                let delay = Self::time(&self.lq, now);
                let ramp = ((delay - 0.0008) / 0.0004).clamp(0.0, 1.0);
                let native = if self.lq.len() > 1 { ramp } else { 0.0 };
                let mut pkt = self.lq.pop_front().unwrap();
                if p_cl < 1.0 {
                    pkt.marked |= self.recur(0, native.max(p_cl));
                } else if self.recur(0, p_c) {
                    dropped.push(pkt);
                    continue;
                } else {
                    pkt.marked = true;
                }
                return (Some(pkt), dropped);
            }
            let mut pkt = self.cq.pop_front().unwrap();
            if self.recur(1, p_c) {
                if !pkt.capable || p_cl >= 1.0 {
                    dropped.push(pkt);
                    continue;
                }
                pkt.marked = true;
            }
            return (Some(pkt), dropped);
        }
    }
}

fn dualpi2() -> DualPi2Config {
    DualPi2Config {
        target_ps: 15 * SECOND / 1000,
        update_ps: 16 * SECOND / 1000,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        marking: LowLatencyMarking::Ramp {
            min_ps: 8 * SECOND / 10_000,
            max_ps: 12 * SECOND / 10_000,
        },
        least_packets: 1,
        scheduler: TwoQueues::TimeShifted {
            shift_ps: 50 * SECOND / 1000,
        },
        ecn: true,
        nqb: false,
        protection: Default::default(),
    }
}

/// Compares DualPI2 with the pseudocode for packets that arrive at random times, at several loads, over a link that
/// takes 1.2 ms per packet: the same packets must depart, be marked and be dropped.
#[test]
fn dualpi2_equals_the_pseudocode_of_rfc_9332_packet_by_packet() {
    for (load, low_share, capable_share) in [(0.9, 0.5, 0.0), (1.02, 0.5, 0.5), (1.1, 0.2, 0.0), (1.5, 0.7, 1.0)] {
        let mut stream = Stream::new(1, "dualpi2", (load * 100.0) as u64);
        let mut ours = DualPi2::new(&dualpi2());
        let mut theirs = Pseudocode {
            lq: VecDeque::new(),
            cq: VecDeque::new(),
            p: 0.0,
            prevq: 0.0,
            count: [0.0; 2],
            updates: 0,
        };
        let service = 1_200_000_000u64;
        let (mut arrival, mut free, mut seen) = (0u64, 0u64, [0u64; 4]);
        for _ in 0..40_000 {
            arrival += 1 + stream.below((2.0 * service as f64 / load) as u64);
            while free < arrival {
                let mut dropped = vec![];
                let left = ours.dequeue(Time(free), |packet, _| dropped.push(packet));
                let (their, their_dropped) = theirs.dequeue(free as f64 / 1e12);
                assert_eq!((left, &dropped), (their, &their_dropped), "at {free} ps, load {load}");
                let (base, classic, coupled) = ours.probabilities();
                assert!((base - theirs.p).abs() < 1e-9, "{base} {}", theirs.p);
                // The coupling law of RFC 9332 is p_C = (p_CL/2)².
                assert!((classic - (coupled / 2.0).powi(2)).abs() < 1e-12 || base > 0.5);
                let Some(packet) = left else { break };
                seen[usize::from(packet.low_latency)] += u64::from(packet.marked);
                seen[2] += dropped.len() as u64;
                seen[3] += 1;
                free += service;
            }
            if free < arrival {
                free = arrival;
            }
            let low_latency = stream.fraction() < low_share;
            let packet = Packet {
                arrival: Time(arrival),
                low_latency,
                capable: low_latency || stream.fraction() < capable_share,
                ..packet(0, 1500)
            };
            enqueue(&mut ours, Time(arrival), packet);
            theirs.update(arrival as f64 / 1e12);
            if low_latency {
                theirs.lq.push_back(packet);
            } else {
                theirs.cq.push_back(packet);
            }
        }
        let [_, low_marks, drops, _] = seen;
        assert!(
            low_marks > 100 && (load < 1.0 || capable_share > 0.4 || drops > 100),
            "{seen:?}"
        );
    }
}

/// A step threshold of 0 s marks every packet of the low-latency queue, even if no packet ever waits, except for the
/// first one: `recur` returns true once its count exceeds 1 (RFC 9332 appendix A.1).
#[test]
fn a_step_at_zero_marks_packets_that_never_wait() {
    let path = "tests/regressions/dualpi2_without_queue.json";
    let kept = Kept::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    for engine in [Engine::Reference, Engine::Trains] {
        let scenario = Scenario {
            engine,
            ..kept.scenario.clone()
        };
        let report = run(&scenario, kept.seed);
        let [trunk, exit] = [2, 4].map(|link| report.packet_ports[link]);
        assert_eq!((trunk.packets_marked, exit.packets_marked), (166, 165));
        assert_eq!(exit.peak_packets, 1, "none ever waits");
    }
}
