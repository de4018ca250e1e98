//! Conditioners of a port: policers before its queue discipline, and a shaper behind it.

use super::refusal::refuse_unless;
use super::LinkConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// A conditioner.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum ConditionerConfig {
    /// A token bucket that drops or marks what exceeds a rate.
    Policer(PolicerConfig),
    /// A token bucket that delays what exceeds a rate, in front of the transmitter.
    Tbf(TbfConfig),
}

/// A shaper (Linux: `tbf`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TbfConfig {
    /// Token rate [bit/s].
    pub rate_bps: u64,
    /// Size of the bucket [byte].
    pub burst_bytes: u32,
    /// Peak rate [bit/s], with a bucket of `mtu_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bps: Option<u64>,
    /// Longer packets are dropped [byte].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
}

/// A policer (Linux: `tc police`).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// Token rate [bit/s].
    pub rate_bps: u64,
    /// Size of the bucket [byte].
    pub burst_bytes: u64,
    /// Peak rate [bit/s], with a bucket of `mtu_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bps: Option<u64>,
    /// Longer packets always exceed [byte].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// What happens to packets that exceed the rate.
    pub exceed: Exceed,
    /// A bucket for each direction of each flow rather than one for all.
    pub per_flow: bool,
}

/// What happens to packets that exceed a rate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Exceed {
    /// They are dropped.
    Drop,
    /// ECN-capable packets are marked, others dropped.
    Mark,
}

impl ConditionerConfig {
    /// The first invalid value.
    pub(crate) fn problem(&self) -> Option<Problem> {
        match self {
            ConditionerConfig::Policer(policer) => {
                let mtu_bytes = policer.mtu_bytes;
                bucket_problem(policer.rate_bps, policer.burst_bytes, policer.peak_bps, mtu_bytes)
            }
            ConditionerConfig::Tbf(tbf) => {
                bucket_problem(tbf.rate_bps, u64::from(tbf.burst_bytes), tbf.peak_bps, tbf.mtu_bytes)
            }
        }
    }
}

/// The first invalid value of a token bucket.
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
            refuse_unless(bounded, "mtu", "none", "needs the longest packet beside a peak rate")
        })
}

impl LinkConfig {
    /// Whether a shaper is in front of the transmitter.
    pub(crate) fn has_shaper(&self) -> bool {
        let shaper = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Tbf(_));
        self.conditioners.iter().any(shaper)
    }
}
