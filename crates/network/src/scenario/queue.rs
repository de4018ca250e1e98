//! Parameters of queues that act, and what they may be.

use super::refusal::refuse_unless;
use longpipe_reading::Read;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Mean queue below which none goes [packet, byte or cell].
    pub min: f64,
    /// Mean queue from which on all go, or twice that if gentle, likewise.
    pub max: f64,
    /// What the queue is counted in.
    pub unit: QueueUnit,
    /// w: weight of the queue that an arrival finds in the mean.
    pub weight: f64,
    /// Probability at `max`.
    pub max_p: f64,
    /// Rise from max_p to 1 between `max` and twice that, rather than jump.
    pub gentle: bool,
    /// Move max_p so that the mean stays between the thresholds (Floyd, Gummadi and Shenker 2001).
    pub adaptive: bool,
    /// How the packets that go are spaced.
    pub gap: RedGap,
    /// Mean length of a packet [byte].
    pub mean_packet_bytes: u32,
    /// Mark rather than refuse what can be marked.
    pub ecn: bool,
    /// A mean for each VC, of its own cells.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_vc: bool,
}

/// What a queue is counted in.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum QueueUnit {
    /// Packets, whatever their length.
    Packets,
    /// Their bytes.
    Bytes,
    /// Their cells.
    Cells,
}

/// How the packets that go are spaced.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RedGap {
    /// Uniformly from 1 to 1/p (Floyd and Jacobson 1993).
    Uniform,
    /// From 1/p to 2/p, as ns-2 waits.
    Wait,
    /// Drawn once for each gap, as Linux does.
    Drawn,
}

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Delay aimed at [ps].
    pub target_ps: u64,
    /// Time from update to update [ps].
    pub update_ps: u64,
    /// How long a burst may last [ps].
    pub burst_ps: u64,
    /// Weight of the delay's distance from the target [1/s].
    pub alpha: f64,
    /// Weight of its change [1/s].
    pub beta: f64,
    /// No packet goes where no more waits [byte].
    pub least_backlog_bytes: u64,
    /// How the delay is known.
    pub delay: PieDelay,
    /// Whose reading of the rest.
    pub rules: PieRules,
    /// Keep the packets that go apart (RFC 8033 section 5.4).
    pub derandomize: bool,
    /// Mark rather than refuse, while the probability is at most a tenth.
    pub ecn: bool,
}

/// How PIE knows the delay.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PieDelay {
    /// That of the packet that left last.
    Sojourn,
    /// The queue's length over a mean rate of departures, as in ns-3.
    DepartureRate,
    /// The queue's length times the mean time that 2^14 bytes took to depart (RFC 8033 section 5.2, appendix A).
    DepartureTime,
}

/// Whose reading of PIE: how bursts are let through, and how the probability falls and rises at the extremes.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PieRules {
    /// Of the RFC.
    #[serde(rename = "rfc-8033")]
    Rfc8033,
    /// Of Linux.
    Linux,
    /// Of ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Step marking (RFC 8257 section 3.1).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StepMarkingConfig {
    /// K: waiting packets or bytes from which on arrivals are marked.
    pub threshold: u64,
    /// Which of these.
    pub unit: QueueUnit,
}

/// BLUE (Feng, Kandlur, Saha and Shin 1999).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BlueConfig {
    /// What an overflow adds to the probability.
    pub increment: f64,
    /// What an idle line takes off it.
    pub decrement: f64,
    /// Least time between two of these [ps].
    pub freeze_ps: u64,
    /// Mark rather than refuse what can be marked.
    pub ecn: bool,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// Delay that is no reason to drop [ps].
    pub target_ps: u64,
    /// How long it may be longer [ps].
    pub interval_ps: u64,
    /// No packet is dropped that leaves no more behind [byte].
    pub least_backlog_bytes: u64,
    /// How times are counted.
    pub arithmetic: CodelArithmetic,
    /// Mark rather than drop what can be marked.
    pub ecn: bool,
}

/// How CoDel counts.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CodelArithmetic {
    /// In picoseconds, with roots (RFC 8289 section 5).
    Exact,
    /// In 1024 ns, with a step towards the root at each drop, as Linux does.
    Linux,
    /// Likewise, and after a mark the next one is due from now on, as in ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Flow queueing with controlled delay (RFC 8290).
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Delay in a queue that is no reason to drop [ps].
    pub target_ps: u64,
    /// How long it may be longer [ps].
    pub interval_ps: u64,
    /// No packet is dropped that leaves no more behind [byte].
    pub least_backlog_bytes: u64,
    /// How times are counted.
    pub arithmetic: CodelArithmetic,
    /// Mark rather than drop what can be marked.
    pub ecn: bool,
    /// Bytes that a queue may send in a turn.
    pub quantum_bytes: u32,
    /// Queues among which a hash spreads the flows; none: one for each flow.
    pub queues: Option<u32>,
    /// Whose reading of the rest.
    pub rules: FqCodelRules,
}

/// Whose reading of FQ-CoDel.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FqCodelRules {
    /// CoDel looks at the backlog of the flow's queue; one that begins and empties waits for a turn among the old ones.
    #[serde(rename = "rfc-8290")]
    Rfc8290,
    /// It looks at the backlog of all; one that empties waits only where there are old ones.
    Linux,
}

/// Least time between updates [ps]: 10 us, or a run would be nothing but these.
pub(super) const LEAST_UPDATE: u64 = longpipe_events::PS_PER_SECOND / 100_000;

/// Longest time of a policy [ps]: 1000 s.
pub(super) const LONGEST: u64 = 1_000 * longpipe_events::PS_PER_SECOND;

pub(super) fn share_problem(field: &str, share: f64) -> Option<Problem> {
    refuse_unless(share > 0.0 && share <= 1.0, field, share, "needs a number in (0, 1]")
}

pub(super) fn time_problem(field: &str, ps: u64) -> Option<Problem> {
    refuse_unless((1..=LONGEST).contains(&ps), field, ps, "needs up to 1000 s, in ps")
}

impl RedConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let RedConfig { min, max, .. } = *self;
        let ordered = min > 0.0 && min < max && max.is_finite();
        refuse_unless(
            ordered,
            "max",
            max,
            "needs a largest mean above the least, which needs to be above 0",
        )
        .or_else(|| share_problem("weight", self.weight))
        .or_else(|| share_problem("max_p", self.max_p))
        .or_else(|| refuse_unless(self.mean_packet_bytes > 0, "mean_packet", 0, "needs at least 1 byte"))
        .or_else(|| {
            let of_cells = self.unit == QueueUnit::Cells;
            refuse_unless(of_cells || !self.per_vc, "per_vc", true, "needs unit cells").or_else(|| {
                let accepted = "needs false where the unit is cells, which carry no marks of IP";
                refuse_unless(!(of_cells && self.ecn), "ecn", true, accepted)
            })
        })
        .or_else(|| {
            let plain = !(self.gentle || self.adaptive) || self.gap != RedGap::Drawn;
            refuse_unless(
                plain,
                "gap",
                "drawn",
                "needs uniform or wait where RED is gentle or adaptive",
            )
        })
    }
}

impl PieConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let positive = |field, value: f64| {
            refuse_unless(
                value > 0.0 && value.is_finite(),
                field,
                value,
                "needs a positive number",
            )
        };
        time_problem("target", self.target_ps)
            .or_else(|| {
                let fits = (LEAST_UPDATE..=LONGEST).contains(&self.update_ps);
                refuse_unless(fits, "update", self.update_ps, "needs 10 us to 1000 s, in ps")
            })
            .or_else(|| {
                refuse_unless(
                    self.burst_ps <= LONGEST,
                    "burst",
                    self.burst_ps,
                    "needs up to 1000 s, in ps",
                )
            })
            .or_else(|| positive("alpha", self.alpha))
            .or_else(|| positive("beta", self.beta))
    }
}

impl BlueConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        share_problem("increment", self.increment)
            .or_else(|| share_problem("decrement", self.decrement))
            .or_else(|| time_problem("freeze", self.freeze_ps))
    }
}

impl CodelConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        time_problem("target", self.target_ps)
            .or_else(|| time_problem("interval", self.interval_ps))
            .or_else(|| {
                let ordered = self.interval_ps >= self.target_ps;
                refuse_unless(
                    ordered,
                    "interval",
                    self.interval_ps,
                    "needs at least the target, in ps",
                )
            })
    }
}

impl FqCodelConfig {
    /// That of each queue.
    pub fn codel(&self) -> CodelConfig {
        CodelConfig {
            target_ps: self.target_ps,
            interval_ps: self.interval_ps,
            least_backlog_bytes: self.least_backlog_bytes,
            arithmetic: self.arithmetic,
            ecn: self.ecn,
        }
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        self.codel()
            .problem()
            .or_else(|| refuse_unless(self.quantum_bytes > 0, "quantum", 0, "needs at least 1 byte"))
            .or_else(|| {
                let fits = self.queues.is_none_or(|queues| (1..=65_536).contains(&queues));
                refuse_unless(fits, "queues", self.queues.unwrap_or(0), "needs 1 to 65 536 queues")
            })
    }
}
