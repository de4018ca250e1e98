//! Parameters of ports that choose between queues, and what they may be.

use super::queue::{time_problem, LEAST_UPDATE, LONGEST};
use super::refusal::refuse_unless;
use longpipe_reading::Read;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Deficit round robin (Shreedhar and Varghese 1996).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DrrConfig {
    /// Bytes that a queue may send in a turn.
    pub quantum_bytes: u32,
    /// Queues among which a hash spreads the flows; none: one for each flow.
    pub queues: Option<u32>,
}

/// Stochastic fair queueing (McKenney 1990), by bytes.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Bytes that a queue may send in a turn.
    pub quantum_bytes: u32,
    /// Queues among which a hash spreads the flows.
    pub queues: u32,
    /// How often the hash changes [ps]; none: never.
    pub perturb_ps: Option<u64>,
}

/// Linux's fair queue (sch_fq), whose senders pace themselves.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FqConfig {
    /// Bytes that a flow may send in a turn.
    pub quantum_bytes: u32,
    /// Bytes that it may send in its first.
    pub initial_quantum_bytes: u32,
    /// Most packets of a flow that wait.
    pub flow_limit: u32,
    /// A flow that had no turn to come for longer begins with a whole one [ps].
    pub refill_delay_ps: u64,
}

/// Strict priority between classes.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StrictPriorityConfig {
    /// How many there are.
    pub classes: u32,
}

/// Classes in turn, each by its weight.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WeightedPriorityConfig {
    /// What each class's turn has of quanta.
    pub weights: Vec<u32>,
    /// A quantum [byte].
    pub quantum_bytes: u32,
}

/// Two coupled queues under a PI controller (RFC 9332 appendix A).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Config {
    /// Delay aimed at in the classic queue [ps].
    pub target_ps: u64,
    /// Time from update to update [ps].
    pub update_ps: u64,
    /// Weight of the delay's distance from the target [1/s].
    pub alpha: f64,
    /// Weight of its change [1/s].
    pub beta: f64,
    /// k: what a mark in the queue of low latency is likelier by than the base.
    pub coupling: f64,
    /// When packets of low latency are marked by their own queue.
    pub marking: LowLatencyMarking,
    /// None is marked by its own queue where no more wait [packet].
    pub least_packets: u64,
    /// Who sends where both wait.
    pub scheduler: TwoQueues,
    /// Mark rather than drop what can be marked in the classic queue.
    pub ecn: bool,
}

/// Marking by the delay of the queue of low latency.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LowLatencyMarking {
    /// All, from a delay on.
    Step {
        /// The delay [ps].
        threshold_ps: u64,
    },
    /// The more, the longer it is.
    Ramp {
        /// None up to here [ps].
        min_ps: u64,
        /// All from here on [ps].
        max_ps: u64,
    },
}

/// How two queues share a line.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TwoQueues {
    /// First come, first served, as if packets of low latency had come earlier.
    TimeShifted {
        /// By so much [ps].
        shift_ps: u64,
    },
    /// The classic queue has a share of the bytes while both wait.
    Weighted {
        /// The share.
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
                let fits = self.refill_delay_ps <= LONGEST;
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
    /// Whether a packet that waits for no time, alone in its queue, is never marked: the base probability stays at zero, so only
    /// the marking of the low-latency queue itself counts.
    pub(super) fn is_inert_without_queue(&self) -> bool {
        self.native_probability(1, 0) == 0.0
    }

    /// The probability of a mark by the low-latency queue alone (RFC 9332 `laqm`), for a first packet that waited `delay_ps` where
    /// `packets` are queued, itself included.
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
        let time = |field, ps: u64| refuse_unless(ps <= LONGEST, field, ps, "needs up to 1000 s, in ps");
        time_problem("target", self.target_ps)
            .or_else(|| {
                let fits = (LEAST_UPDATE..=LONGEST).contains(&self.update_ps);
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
