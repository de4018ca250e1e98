//! Parameters of active queue management, and their bounds.

use super::refusal::refuse_unless;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Average queue [packet, byte or cell] below which no packet is dropped.
    pub min: f64,
    /// Average queue [packet, byte or cell] at and above which every packet is dropped (twice this value if gentle).
    pub max: f64,
    /// Unit of the queue.
    pub unit: QueueUnit,
    /// Weight w_q of a new sample in the average.
    pub weight: f64,
    /// Drop probability at `max`.
    pub max_p: f64,
    /// Whether the probability rises gradually from max_p to 1 between `max` and twice `max`, instead of jumping to 1
    /// at `max`.
    pub gentle: bool,
    /// Whether max_p adapts so that the average stays between the thresholds (Floyd, Gummadi and Shenker 2001).
    pub adaptive: bool,
    /// Distribution of the gaps between drops.
    pub gap: RedGap,
    /// Mean packet length [byte].
    pub mean_packet_bytes: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether the average is computed separately for the cells of each VC.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_vc: bool,
}

/// Unit of a queue.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum QueueUnit {
    /// Packets of any length.
    Packets,
    /// Bytes of packets.
    Bytes,
    /// ATM cells.
    Cells,
}

/// Distribution of the gaps between drops.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RedGap {
    /// Uniformly distributed from 1 to 1/p (Floyd and Jacobson 1993).
    Uniform,
    /// Uniformly distributed from 1/p to 2/p (ns-2's wait).
    Wait,
    /// Drawn once per gap, as in Linux.
    Drawn,
}

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Target queueing delay (QDELAY_REF) [ps].
    pub target_ps: u64,
    /// Update interval (T_UPDATE) [ps].
    pub update_ps: u64,
    /// Burst allowance (MAX_BURST) [ps].
    pub burst_ps: u64,
    /// Gain [1/s] for the deviation of the delay from the target.
    pub alpha: f64,
    /// Gain [1/s] for the change in the delay.
    pub beta: f64,
    /// Backlog [byte] up to which PIE neither drops nor marks.
    pub least_backlog_bytes: u64,
    /// Estimator of the delay.
    pub delay: PieDelay,
    /// Specification or implementation whose rules for bursts and for extreme probabilities are followed.
    pub rules: PieRules,
    /// Whether drops are spread out (derandomization, RFC 8033 section 5.4).
    pub derandomize: bool,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is at most 0.1.
    pub ecn: bool,
}

/// Estimators of the queueing delay in PIE.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PieDelay {
    /// Sojourn time of the packet that departed most recently.
    Sojourn,
    /// Queue length divided by the mean departure rate, as in ns-3.
    DepartureRate,
    /// Queue length times the mean time that 2^14 bytes took to depart, divided by 2^14 bytes (RFC 8033 section 5.2,
    /// appendix B).
    DepartureTime,
}

/// PIE's rules for bursts and for extreme probabilities, by their source.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PieRules {
    /// RFC 8033.
    #[serde(rename = "rfc-8033")]
    Rfc8033,
    /// Linux.
    Linux,
    /// ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Step marking (RFC 8257 section 3.1).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StepMarkingConfig {
    /// Threshold K [packet or byte] at and above which arrivals are marked.
    pub threshold: u64,
    /// Unit of the threshold.
    pub unit: QueueUnit,
}

/// BLUE (Feng, Kandlur, Saha and Shin 1999).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BlueConfig {
    /// Increase in the probability at an overflow.
    pub increment: f64,
    /// Decrease in the probability when the link is idle.
    pub decrement: f64,
    /// Minimum time [ps] between changes of the probability.
    pub freeze_ps: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// Acceptable standing queue delay (TARGET) [ps].
    pub target_ps: u64,
    /// Time [ps] for which the delay may exceed the target (INTERVAL).
    pub interval_ps: u64,
    /// Backlog [byte] behind a packet up to which the packet is never dropped.
    pub least_backlog_bytes: u64,
    /// Arithmetic of times.
    pub arithmetic: CodelArithmetic,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Arithmetic of CoDel.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CodelArithmetic {
    /// Picoseconds and exact square roots (RFC 8289 section 5).
    Exact,
    /// Units of 1024 ns, and one Newton iteration per drop for the square root, as in Linux.
    Linux,
    /// Like Linux, except that the next mark is scheduled relative to the previous one (ns-3).
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Flow queueing with controlled delay (RFC 8290).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Acceptable standing delay [ps] of a queue (TARGET).
    pub target_ps: u64,
    /// Time [ps] for which the delay may exceed the target (INTERVAL).
    pub interval_ps: u64,
    /// Backlog [byte] behind a packet up to which the packet is never dropped.
    pub least_backlog_bytes: u64,
    /// Arithmetic of times.
    pub arithmetic: CodelArithmetic,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Bytes that a queue may send per turn.
    pub quantum_bytes: u32,
    /// Number of queues among which a hash distributes the flows; None means one queue per flow.
    pub queues: Option<u32>,
    /// Specification or implementation whose rules for the backlog and for queues that become empty are followed.
    pub rules: FqCodelRules,
}

/// Rules of FQ-CoDel, by their source.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FqCodelRules {
    /// RFC 8290: CoDel uses the backlog of the flow's own queue; a new queue that becomes empty moves to the list of
    /// old queues.
    #[serde(rename = "rfc-8290")]
    Rfc8290,
    /// Linux: CoDel uses the backlog of all queues; a new queue that becomes empty moves to the list of old queues only
    /// if that list is not empty.
    Linux,
}

/// Minimum update interval [ps]: 10 us, because shorter intervals would dominate the run time.
pub(super) const MIN_UPDATE: u64 = longpipe_events::PS_PER_SECOND / 100_000;

/// Maximum [ps] of a policy's time parameters: 1000 s.
pub(super) const MAX_TIME_PS: u64 = 1_000 * longpipe_events::PS_PER_SECOND;

pub(super) fn share_problem(field: &str, share: f64) -> Option<Problem> {
    refuse_unless(share > 0.0 && share <= 1.0, field, share, "needs a number in (0, 1]")
}

pub(super) fn time_problem(field: &str, ps: u64) -> Option<Problem> {
    refuse_unless((1..=MAX_TIME_PS).contains(&ps), field, ps, "needs up to 1000 s, in ps")
}

impl RedConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let RedConfig { min, max, .. } = *self;
        let ordered = min > 0.0 && min < max && max <= 1e12;
        refuse_unless(
            ordered,
            "max",
            max,
            "needs a mean of up to 1e12 above min, which needs to be above 0",
        )
        .or_else(|| share_problem("weight", self.weight))
        .or_else(|| share_problem("max_p", self.max_p))
        .or_else(|| refuse_unless(self.mean_packet_bytes > 0, "mean_packet", 0, "needs at least 1 byte"))
        .or_else(|| {
            let of_cells = self.unit == QueueUnit::Cells;
            refuse_unless(of_cells || !self.per_vc, "per_vc", true, "needs unit cells").or_else(|| {
                let accepted = "needs false if the unit is cells, which carry no marks of IP";
                refuse_unless(!(of_cells && self.ecn), "ecn", true, accepted)
            })
        })
        .or_else(|| {
            let plain = !(self.gentle || self.adaptive) || self.gap != RedGap::Drawn;
            refuse_unless(
                plain,
                "gap",
                "drawn",
                "needs uniform or wait if RED is gentle or adaptive",
            )
        })
    }
}

impl PieConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let positive = |field, value: f64| {
            refuse_unless(
                value > 0.0 && value <= 1e9,
                field,
                value,
                "needs a positive number of up to 1e9",
            )
        };
        time_problem("target", self.target_ps)
            .or_else(|| {
                let fits = (MIN_UPDATE..=MAX_TIME_PS).contains(&self.update_ps);
                refuse_unless(fits, "update", self.update_ps, "needs 10 us to 1000 s, in ps")
            })
            .or_else(|| {
                refuse_unless(
                    self.burst_ps <= MAX_TIME_PS,
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
    /// Returns the CoDel configuration of each queue.
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
