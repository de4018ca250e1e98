//! Conditioners of a port: policers before its queue discipline, a shaper or aggregation after it, jitter and
//! reordering on its wire.

use super::bounds::MAX_WAIT;
use super::refusal::refuse_unless;
use super::time_varying::OrderConfig;
use super::LinkConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Limits of jitter [ps].
const MAX_DELAY_PS: u64 = 1_000_000_000_000_000;
const MAX_JITTER_PS: u64 = 2_000_000_000_000;

/// A conditioner.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum ConditionerConfig {
    /// A token-bucket policer, which drops or marks packets that exceed a rate.
    Policer(PolicerConfig),
    /// A token-bucket shaper before the transmitter, which delays packets that exceed a rate.
    Tbf(TbfConfig),
    /// An additional delay on the wire, drawn for each packet.
    Jitter(JitterConfig),
    /// Reordering: some packets skip the jitter delay.
    Reordering(ReorderingConfig),
    /// Duplication: some packets arrive twice.
    Duplication(DuplicationConfig),
    /// A transmitter that sends packets in batches.
    Aggregation(AggregationConfig),
}

/// Aggregation of packets into batches.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AggregationConfig {
    /// Batches begin at multiples of this interval [ps]; if absent, they begin whenever the transmitter is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ps: Option<u64>,
    /// Idle time [ps] before each batch.
    pub overhead_ps: u64,
    /// Additional length [byte] of each packet in a batch.
    pub packet_overhead_bytes: u32,
    /// Maximum number of packets per batch.
    pub max_packets: u32,
    /// Maximum length [byte] of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size_bytes: Option<u64>,
    /// Maximum duration [ps] of a batch, excluding its overhead, computed at the link rate when the batch starts; if
    /// absent, a batch may take the rest of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ps: Option<u64>,
}

/// Duplication (Linux: `netem duplicate`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DuplicationConfig {
    /// Probability that a packet arrives twice.
    pub probability: f64,
    /// Correlation: weight of the previous draw.
    pub correlation: f64,
}

/// Jitter (Linux: `netem delay`).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct JitterConfig {
    /// Mean additional delay [ps].
    pub delay_ps: u64,
    /// Scale [ps] of the deviation from the mean.
    pub jitter_ps: u64,
    /// Inverse of the deviation's distribution function, in units of 2⁻¹³ of the jitter; if absent, the deviation is
    /// uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Vec<i16>>,
    /// Correlation: weight of the previous draw.
    pub correlation: f64,
    /// Whether packets may overtake each other.
    pub order: OrderConfig,
}

/// Reordering (Linux: `netem reorder`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ReorderingConfig {
    /// Probability that a candidate skips the delay.
    pub probability: f64,
    /// Correlation: weight of the previous draw.
    pub correlation: f64,
    /// A packet is a candidate for skipping the delay if at least `gap` - 1 packets have been delayed since the last
    /// one that skipped it.
    pub gap: u32,
}

/// A shaper (Linux: `tbf`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TbfConfig {
    /// Token rate [bit/s].
    pub rate_bps: u64,
    /// Size [byte] of the bucket.
    pub burst_bytes: u32,
    /// Peak rate [bit/s]; its bucket holds `mtu_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bps: Option<u64>,
    /// Maximum packet length [byte]; longer packets are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
}

/// A policer (Linux: `tc police`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// Token rate [bit/s].
    pub rate_bps: u64,
    /// Size [byte] of the bucket.
    pub burst_bytes: u64,
    /// Peak rate [bit/s]; its bucket holds `mtu_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bps: Option<u64>,
    /// Packet length [byte] above which packets always exceed the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Treatment of packets that exceed the rate.
    pub exceed: Exceed,
    /// Whether each direction of each flow has its own bucket, rather than all sharing one.
    pub per_flow: bool,
}

/// Treatment of packets that exceed a rate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Exceed {
    /// Packets are dropped.
    Drop,
    /// ECN-capable packets are marked, other packets are dropped.
    Mark,
}

impl ConditionerConfig {
    /// Returns the first invalid value.
    pub(crate) fn problem(&self) -> Option<Problem> {
        match self {
            ConditionerConfig::Policer(policer) => {
                let mtu_bytes = policer.mtu_bytes;
                bucket_problem(policer.rate_bps, policer.burst_bytes, policer.peak_bps, mtu_bytes)
            }
            ConditionerConfig::Tbf(tbf) => {
                bucket_problem(tbf.rate_bps, u64::from(tbf.burst_bytes), tbf.peak_bps, tbf.mtu_bytes)
            }
            ConditionerConfig::Jitter(jitter) => jitter.problem(),
            ConditionerConfig::Reordering(reordering) => reordering.problem(),
            ConditionerConfig::Duplication(duplication) => probability_problem("probability", duplication.probability)
                .or_else(|| probability_problem("correlation", duplication.correlation)),
            ConditionerConfig::Aggregation(aggregation) => aggregation.problem(),
        }
    }
}

/// Returns the first invalid value of a token bucket.
fn bucket_problem(rate_bps: u64, burst_bytes: u64, peak_bps: Option<u64>, mtu_bytes: Option<u32>) -> Option<Problem> {
    let rate = |name, bps: u64| {
        let fits = (1_000..=1_000_000_000_000).contains(&bps);
        refuse_unless(fits, name, bps, "needs 1 kbit/s to 1 Tbit/s, in bit/s")
    };
    rate("rate", rate_bps)
        .or_else(|| {
            let fits = (1..=1_000_000_000).contains(&burst_bytes);
            refuse_unless(fits, "burst", burst_bytes, "needs 1 byte to 1 GB")
        })
        .or_else(|| peak_bps.and_then(|peak| rate("peak", peak)))
        .or_else(|| {
            let ordered = peak_bps.is_none_or(|peak| peak > rate_bps);
            refuse_unless(ordered, "peak", peak_bps.unwrap_or(0), "needs more than the rate")
        })
        .or_else(|| {
            let bounded = peak_bps.is_none() || mtu_bytes.is_some();
            refuse_unless(
                bounded,
                "mtu",
                "none",
                "needs the maximum packet length with a peak rate",
            )
        })
}

/// If a link's conditioners cannot be combined, returns the invalid combination and the accepted ones.
pub(crate) fn problem_of_all(configs: &[ConditionerConfig]) -> Option<(&'static str, &'static str)> {
    let count = |is: fn(&ConditionerConfig) -> bool| configs.iter().filter(|&config| is(config)).count();
    let shapers = count(|config| matches!(config, ConditionerConfig::Tbf(_)));
    let jitters = count(|config| matches!(config, ConditionerConfig::Jitter(_)));
    let reorderings = count(|config| matches!(config, ConditionerConfig::Reordering(_)));
    let duplications = count(|config| matches!(config, ConditionerConfig::Duplication(_)));
    let aggregations = count(|config| matches!(config, ConditionerConfig::Aggregation(_)));
    if aggregations > 1 {
        return Some(("two aggregations", "needs at most one aggregation"));
    }
    if aggregations > 0 && shapers > 0 {
        return Some(("aggregation with tbf", "needs one of the two"));
    }
    if duplications > 1 {
        return Some(("two duplications", "needs at most one duplication"));
    }
    match (shapers, jitters, reorderings) {
        (2.., _, _) => Some(("two shapers", "needs at most one tbf")),
        (_, 2.., _) => Some(("two jitters", "needs at most one jitter")),
        (_, _, 2..) => Some(("two reorderings", "needs at most one reordering")),
        (_, 0, 1) => Some(("reordering", "needs a jitter, whose delay packets skip")),
        _ => None,
    }
}

/// Checks that a value is a probability.
fn probability_problem(name: &'static str, value: f64) -> Option<Problem> {
    refuse_unless((0.0..=1.0).contains(&value), name, value, "needs 0 to 1")
}

impl JitterConfig {
    /// Returns the maximum additional delay [ps].
    pub(crate) fn max_ps(&self) -> u64 {
        // An entry of the distribution table is at most 4 times the jitter.
        self.delay_ps + 4 * self.jitter_ps
    }

    fn problem(&self) -> Option<Problem> {
        refuse_unless(
            self.delay_ps <= MAX_DELAY_PS,
            "delay",
            self.delay_ps,
            "needs at most 1000 s, in ps",
        )
        .or_else(|| {
            let fits = self.jitter_ps <= MAX_JITTER_PS;
            refuse_unless(fits, "jitter", self.jitter_ps, "needs at most 2 s, in ps")
        })
        .or_else(|| {
            let empty = self.table.as_ref().is_some_and(Vec::is_empty);
            refuse_unless(!empty, "table", "empty", "needs an entry or more")
        })
        .or_else(|| probability_problem("correlation", self.correlation))
    }
}

impl AggregationConfig {
    fn problem(&self) -> Option<Problem> {
        let time = |name, ps: Option<u64>, min: u64| {
            let ps = ps?;
            let fits = (min..=MAX_WAIT).contains(&ps);
            refuse_unless(
                fits,
                name,
                ps,
                "needs at most 1000 s, in ps, and an interval or duration more than 0",
            )
        };
        time("interval", self.interval_ps, 1)
            .or_else(|| time("overhead", Some(self.overhead_ps), 0))
            .or_else(|| time("max_duration", self.max_duration_ps, 1))
            .or_else(|| {
                let fits = self.packet_overhead_bytes <= 65_000;
                refuse_unless(
                    fits,
                    "packet_overhead",
                    self.packet_overhead_bytes,
                    "needs at most 65000 bytes",
                )
            })
            .or_else(|| {
                let fits = (1..=1_000_000).contains(&self.max_packets);
                refuse_unless(fits, "max_packets", self.max_packets, "needs 1 to 1000000 packets")
            })
            .or_else(|| {
                let fits = self.interval_ps.is_none_or(|interval| self.overhead_ps < interval);
                refuse_unless(fits, "overhead", self.overhead_ps, "needs less than the interval")
            })
    }
}

impl ReorderingConfig {
    fn problem(&self) -> Option<Problem> {
        probability_problem("probability", self.probability)
            .or_else(|| probability_problem("correlation", self.correlation))
            .or_else(|| refuse_unless(self.gap > 0, "gap", self.gap, "needs at least 1 packet"))
    }
}

impl LinkConfig {
    /// Returns the jitter of the wire, if there is any.
    pub(crate) fn jitter(&self) -> Option<&JitterConfig> {
        self.conditioners.iter().find_map(|config| match config {
            ConditionerConfig::Jitter(jitter) => Some(jitter),
            _ => None,
        })
    }

    /// Returns whether the transmitter sends packets in batches.
    pub(crate) fn aggregates(&self) -> bool {
        let aggregation = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Aggregation(_));
        self.conditioners.iter().any(aggregation)
    }

    /// Returns whether the transmitter's rate or the delay on the wire varies, over time or from packet to packet.
    pub(crate) fn varies(&self) -> bool {
        self.motion.is_some() || self.jitter().is_some() || self.aggregates()
    }

    /// Returns whether packets may arrive twice.
    pub(crate) fn duplicates(&self) -> bool {
        let duplication = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Duplication(_));
        self.conditioners.iter().any(duplication)
    }

    /// Returns whether the link has conditioners or a shaping queue discipline. If it does, departure times do not
    /// depend only on the policy and the transmitter.
    pub(crate) fn is_conditioned(&self) -> bool {
        !self.conditioners.is_empty() || self.policy.shapes()
    }

    /// Returns whether a shaper precedes the transmitter.
    pub(crate) fn has_shaper(&self) -> bool {
        let shaper = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Tbf(_));
        self.conditioners.iter().any(shaper)
    }
}
