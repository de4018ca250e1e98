//! DualPI2: a low-latency queue for scalable congestion controllers and a classic queue, coupled by one PI controller
//! (RFC 9332).

use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::bounds::{gain_problem, refuse_unless, time_or_zero_problem, time_problem, update_problem};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Divides, Facts, Marks, Parameters};
use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Two coupled queues under a PI controller (RFC 9332 appendix A).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Config {
    /// Target queueing delay [ps] of the classic queue.
    pub target_ps: u64,
    /// Update interval [ps].
    pub update_ps: u64,
    /// Gain [1/s] for the deviation of the delay from the target.
    pub alpha: f64,
    /// Gain [1/s] for the change in the delay.
    pub beta: f64,
    /// Coupling factor k: the coupled mark probability of the low-latency queue is k p'.
    pub coupling: f64,
    /// Native marking of the low-latency queue.
    pub marking: LowLatencyMarking,
    /// Queue length, in packets, up to which the low-latency queue's native marking does not mark.
    pub least_packets: u64,
    /// Scheduler while both queues hold packets.
    pub scheduler: TwoQueues,
    /// Whether ECN-capable packets of the classic queue are marked instead of dropped.
    pub ecn: bool,
}

/// Native marking based on the delay of the low-latency queue.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LowLatencyMarking {
    /// Marks all packets whose delay is at least a threshold.
    Step {
        /// Delay [ps] at and above which packets are marked.
        threshold_ps: u64,
    },
    /// Marks with a probability that grows linearly with the delay.
    Ramp {
        /// Delay [ps] up to which the probability is 0.
        min_ps: u64,
        /// Delay [ps] at and above which the probability is 1.
        max_ps: u64,
    },
}

/// Methods by which two queues share a link.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TwoQueues {
    /// First come, first served, where low-latency packets are treated as if they had arrived earlier.
    TimeShifted {
        /// Time shift [ps].
        shift_ps: u64,
    },
    /// The classic queue gets a share of the bytes while both queues hold packets.
    Weighted {
        /// Share of the classic queue.
        classic: f64,
    },
}

impl DualPi2Config {
    /// Returns the native mark probability of the low-latency queue (RFC 9332 `laqm`) if its head packet has waited
    /// `delay_ps` and it holds `packets` packets, including the head.
    fn native_probability(&self, packets: u64, delay_ps: u64) -> f64 {
        if packets <= self.least_packets {
            return 0.0;
        }
        match self.marking {
            LowLatencyMarking::Step { threshold_ps } => f64::from(u8::from(delay_ps >= threshold_ps)),
            LowLatencyMarking::Ramp { min_ps, max_ps } if delay_ps <= min_ps => f64::from(u8::from(delay_ps >= max_ps)),
            LowLatencyMarking::Ramp { min_ps, max_ps } => {
                ((delay_ps - min_ps) as f64 / (max_ps - min_ps) as f64).min(1.0)
            }
        }
    }
}

impl Parameters for DualPi2Config {
    const FACTS: Facts = Facts::new(Decides::AtDequeue)
        .marking(Marks::Scalable)
        .dividing(Divides::ByScalability);

    fn problem(&self) -> Option<Problem> {
        time_problem("target", self.target_ps)
            .or_else(|| update_problem(self.update_ps))
            .or_else(|| gain_problem("alpha", self.alpha))
            .or_else(|| gain_problem("beta", self.beta))
            .or_else(|| {
                let fits = (1.0..=100.0).contains(&self.coupling);
                refuse_unless(fits, "coupling", self.coupling, "needs 1 to 100")
            })
            .or_else(|| match self.marking {
                LowLatencyMarking::Step { threshold_ps } => time_or_zero_problem("marking.threshold", threshold_ps),
                LowLatencyMarking::Ramp { min_ps, max_ps } => time_or_zero_problem("marking.max", max_ps)
                    .or_else(|| refuse_unless(min_ps < max_ps, "marking.max", max_ps, "needs more than min, in ps")),
            })
            .or_else(|| match self.scheduler {
                TwoQueues::TimeShifted { shift_ps } => time_or_zero_problem("scheduler.shift", shift_ps),
                TwoQueues::Weighted { classic } => {
                    let fits = classic > 0.0 && classic < 1.0;
                    refuse_unless(fits, "scheduler.classic", classic, "needs a share in (0, 1)")
                }
            })
    }

    /// A packet that is alone in its queue and has no delay is not marked if the native marking of the low-latency queue
    /// does not mark it, because the base probability stays at 0.
    fn is_inert_without_queue(&self) -> bool {
        self.native_probability(1, 0) == 0.0
    }

    fn queue_names(&self) -> Vec<String> {
        vec!["low-latency".to_owned(), "classic".to_owned()]
    }

    fn update_ps(&self) -> Option<u64> {
        Some(self.update_ps)
    }
}

impl Discipline for DualPi2Config {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::DualPi2(Box::new(DualPi2::new(self)))
    }
}

/// One of the two queues, with its accumulated probability.
#[derive(Clone, Debug)]
struct SubQueue<T> {
    backlog: Backlog<T>,
    /// Accumulated probability: `count` of the RFC's function `recur`.
    count: f64,
    counters: SubqueueCounters,
}

impl<T: Queued> SubQueue<T> {
    /// Returns the sojourn time [ps] of the first packet, or zero if the queue is empty.
    fn delay(&self, now: Time) -> u64 {
        self.backlog.first().map_or(0, |first| (now - first.arrival()).0)
    }

    /// Returns true for a fraction `likelihood` of the calls, evenly spaced rather than random (RFC 9332 appendix A.1,
    /// `recur`).
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let full = self.count > 1.0;
        if full {
            self.count -= 1.0;
        }
        full
    }
}

/// The two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2<T> {
    config: DualPi2Config,
    low: SubQueue<T>,
    classic: SubQueue<T>,
    /// Base probability p'.
    base: f64,
    delay_before: u64,
    next_update: Time,
    /// Number of weighted bytes that the low-latency queue has sent beyond its share.
    credit: f64,
}

impl<T: Queued> DualPi2<T> {
    /// Creates two empty queues.
    pub fn new(config: &DualPi2Config) -> DualPi2<T> {
        let side = || SubQueue {
            backlog: Backlog::default(),
            count: 0.0,
            counters: SubqueueCounters::default(),
        };
        DualPi2 {
            config: config.clone(),
            low: side(),
            classic: side(),
            base: 0.0,
            delay_before: 0,
            next_update: Time(config.update_ps),
            credit: 0.0,
        }
    }

    /// Returns the base probability p', the classic probability p'², and the coupled probability k p'.
    pub fn probabilities(&self) -> (f64, f64, f64) {
        (
            self.base,
            self.base * self.base,
            (self.config.coupling * self.base).min(1.0),
        )
    }

    /// Returns whether the low-latency queue is served next if both queues hold packets.
    fn low_is_first(&self, now: Time) -> bool {
        match self.config.scheduler {
            TwoQueues::TimeShifted { shift_ps } => self.low.delay(now) + shift_ps >= self.classic.delay(now),
            TwoQueues::Weighted { .. } => self.credit <= 0.0,
        }
    }

    /// Updates the scheduler's credit when a packet departs; if the other queue is empty, the credit is reset.
    fn count_turn(&mut self, low: bool, other_is_empty: bool, bytes: u64) {
        if let TwoQueues::Weighted { classic } = self.config.scheduler {
            self.credit = match (other_is_empty, low) {
                (true, _) => 0.0,
                (false, true) => self.credit + classic * bytes as f64,
                (false, false) => self.credit - (1.0 - classic) * bytes as f64,
            };
        }
    }

    /// Performs the controller's updates that are due before `now`.
    fn update_before(&mut self, now: Time) {
        while self.next_update < now {
            let due = self.next_update;
            self.next_update.0 += self.config.update_ps;
            let seconds = |ps: u64| ps as f64 / PS_PER_SECOND as f64;
            let delay = self.low.delay(due).max(self.classic.delay(due));
            let DualPi2Config { alpha, beta, .. } = self.config;
            let error = seconds(delay) - seconds(self.config.target_ps);
            let moved = self.base + alpha * error + beta * (seconds(delay) - seconds(self.delay_before));
            self.base = moved.clamp(0.0, 1.0);
            let rests = self.base == 0.0 && delay == 0 && self.delay_before == 0;
            self.delay_before = delay;
            if rests && self.low.backlog.is_empty() && self.classic.backlog.is_empty() && self.next_update < now {
                // The queues are empty and the probability is 0, so the remaining updates change nothing.
                let others = (now.0 - self.next_update.0).div_ceil(self.config.update_ps);
                self.next_update.0 += others * self.config.update_ps;
            }
        }
    }
}

impl<T: Queued> QueueDisc<T> for DualPi2<T> {
    /// Enqueues a packet in the low-latency queue if it carries ECT(1) or CE, otherwise in the classic queue.
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let full = port.is_full(self.backlog(), packet.bytes());
        if !full {
            self.update_before(port.now);
        }
        let queue = if packet.is_low_latency() {
            &mut self.low
        } else {
            &mut self.classic
        };
        if full {
            queue.counters.refuse(packet.bytes());
            drop(packet, DropCause::Overflow);
        } else {
            queue.counters.enter(port.now, packet.bytes());
            queue.backlog.push(packet);
        }
        false
    }

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        self.update_before(now);
        loop {
            let low = match (self.low.backlog.is_empty(), self.classic.backlog.is_empty()) {
                (true, true) => return None,
                (low, classic) => !low && (classic || self.low_is_first(now)),
            };
            let (_, classic, coupled) = self.probabilities();
            let overload = self.config.coupling * self.base >= 1.0;
            let native = match low {
                true => self
                    .config
                    .native_probability(self.low.backlog.len(), self.low.delay(now)),
                false => 0.0,
            };
            let (side, other) = match low {
                true => (&mut self.low, &self.classic),
                false => (&mut self.classic, &self.low),
            };
            let alone = other.backlog.is_empty();
            let mut packet = side.backlog.pop()?;
            self.count_turn(low, alone, packet.bytes());
            let side = if low { &mut self.low } else { &mut self.classic };
            let keeps = match (low, overload) {
                (true, false) => {
                    if side.recurs(native.max(coupled)) {
                        packet.mark();
                    }
                    true
                }
                // Marking is saturated: both queues drop with equal probability (appendix A.2).
                (true, true) => {
                    let signals = side.recurs(classic);
                    if !signals {
                        packet.mark();
                    }
                    !signals
                }
                (false, overload) => !side.recurs(classic) || (self.config.ecn && !overload && packet.mark()),
            };
            if keeps {
                side.counters.leave(now, &packet);
                return Some(packet);
            }
            side.counters.lose(now, &packet, DropCause::Aqm);
            drop(packet, DropCause::Aqm);
        }
    }

    fn backlog(&self) -> (u64, u64) {
        let (low, classic) = (&self.low.backlog, &self.classic.backlog);
        (low.len() + classic.len(), low.bytes() + classic.bytes())
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        // Updates that are due precede the purge, so they still count the packets that it drops.
        self.update_before(now);
        for SubQueue { backlog, counters, .. } in [&mut self.low, &mut self.classic] {
            backlog.purge(|packet| {
                counters.lose(now, &packet, DropCause::Outage);
                drop(packet);
            });
        }
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        vec![&self.low.counters, &self.classic.counters]
    }
}
