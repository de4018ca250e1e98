//! Parameters of schedulers, and their bounds.

use super::queue::{time_problem, MAX_TIME_PS, MIN_UPDATE};
use super::refusal::refuse_unless;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Deficit round robin (Shreedhar and Varghese 1996).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DrrConfig {
    /// Bytes that a queue may send per turn.
    pub quantum_bytes: u32,
    /// Number of queues among which a hash distributes the flows; None means one queue per flow.
    pub queues: Option<u32>,
}

/// Stochastic fair queueing (McKenney 1990), with quanta in bytes.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Bytes that a queue may send per turn.
    pub quantum_bytes: u32,
    /// Number of queues among which a hash distributes the flows.
    pub queues: u32,
    /// Interval [ps] at which the hash changes; None means that it never changes.
    pub perturb_ps: Option<u64>,
}

/// Linux's fair queue (sch_fq), for senders that pace themselves.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FqConfig {
    /// Bytes that a flow may send per turn.
    pub quantum_bytes: u32,
    /// Bytes that a new flow may send in its first turn.
    pub initial_quantum_bytes: u32,
    /// Maximum number of queued packets per flow.
    pub flow_limit: u32,
    /// Idle time [ps] after which a flow starts with a full quantum.
    pub refill_delay_ps: u64,
}

/// Strict priority between classes.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StrictPriorityConfig {
    /// Number of classes.
    pub classes: u32,
}

/// Weighted round robin over classes.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WeightedPriorityConfig {
    /// Quantum of each class per turn.
    pub weights: Vec<u32>,
    /// Quantum [byte] of one class.
    pub quantum_bytes: u32,
}

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

fn quantum_problem(bytes: u32) -> Option<Problem> {
    refuse_unless(bytes >= 64, "quantum", bytes, "needs at least 64 bytes")
}

fn queues_problem(queues: u32) -> Option<Problem> {
    let fits = (1..=65_536).contains(&queues);
    refuse_unless(fits, "queues", queues, "needs 1 to 65 536 queues")
}

impl DrrConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        quantum_problem(self.quantum_bytes).or_else(|| self.queues.and_then(queues_problem))
    }
}

impl SfqConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        quantum_problem(self.quantum_bytes)
            .or_else(|| queues_problem(self.queues))
            .or_else(|| self.perturb_ps.and_then(|perturb| time_problem("perturb", perturb)))
    }
}

impl FqConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let initial = self.initial_quantum_bytes;
        quantum_problem(self.quantum_bytes)
            .or_else(|| refuse_unless(initial >= 64, "initial_quantum", initial, "needs at least 64 bytes"))
            .or_else(|| refuse_unless(self.flow_limit > 0, "flow_limit", 0, "needs at least 1 packet"))
            .or_else(|| {
                let fits = self.refill_delay_ps <= MAX_TIME_PS;
                refuse_unless(
                    fits,
                    "refill_delay",
                    self.refill_delay_ps,
                    "needs at most 1000 s, in ps",
                )
            })
    }
}

impl StrictPriorityConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let fits = (1..=256).contains(&self.classes);
        refuse_unless(fits, "classes", self.classes, "needs 1 to 256 classes")
    }
}

impl WeightedPriorityConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let fits = (1..=256).contains(&self.weights.len());
        refuse_unless(fits, "weights", self.weights.len(), "needs weights of 1 to 256 classes")
            .or_else(|| {
                let odd = self.weights.iter().find(|weight| !(1..=10_000).contains(*weight));
                odd.map(|weight| Problem::new("weights", weight, "needs weights of 1 to 10 000"))
            })
            .or_else(|| quantum_problem(self.quantum_bytes))
    }
}

impl DualPi2Config {
    /// Returns whether a packet that is alone in its queue and has no delay is never marked. The base probability stays
    /// at 0, so only the native marking of the low-latency queue matters.
    pub(super) fn is_inert_without_queue(&self) -> bool {
        self.native_probability(1, 0) == 0.0
    }

    /// Returns the native mark probability of the low-latency queue (RFC 9332 `laqm`) if its head packet has waited
    /// `delay_ps` and it holds `packets` packets, including the head.
    pub(crate) fn native_probability(&self, packets: u64, delay_ps: u64) -> f64 {
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

    pub(super) fn problem(&self) -> Option<Problem> {
        let positive = |field, value: f64| {
            let fits = value > 0.0 && value <= 1e9;
            refuse_unless(fits, field, value, "needs a positive number of up to 1e9")
        };
        let time = |field, ps: u64| refuse_unless(ps <= MAX_TIME_PS, field, ps, "needs up to 1000 s, in ps");
        time_problem("target", self.target_ps)
            .or_else(|| {
                let fits = (MIN_UPDATE..=MAX_TIME_PS).contains(&self.update_ps);
                refuse_unless(fits, "update", self.update_ps, "needs 10 us to 1000 s, in ps")
            })
            .or_else(|| positive("alpha", self.alpha))
            .or_else(|| positive("beta", self.beta))
            .or_else(|| {
                let fits = (1.0..=100.0).contains(&self.coupling);
                refuse_unless(fits, "coupling", self.coupling, "needs 1 to 100")
            })
            .or_else(|| match self.marking {
                LowLatencyMarking::Step { threshold_ps } => time("marking.threshold", threshold_ps),
                LowLatencyMarking::Ramp { min_ps, max_ps } => time("marking.max", max_ps)
                    .or_else(|| refuse_unless(min_ps < max_ps, "marking.max", max_ps, "needs more than min, in ps")),
            })
            .or_else(|| match self.scheduler {
                TwoQueues::TimeShifted { shift_ps } => time("scheduler.shift", shift_ps),
                TwoQueues::Weighted { classic } => {
                    let fits = classic > 0.0 && classic < 1.0;
                    refuse_unless(fits, "scheduler.classic", classic, "needs a share in (0, 1)")
                }
            })
    }
}
