//! Conditioners of a port between the arrival of a packet and the queue discipline.

use super::refusal::refuse_unless;
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
            ConditionerConfig::Policer(policer) => policer.problem(),
        }
    }
}

impl PolicerConfig {
    fn problem(&self) -> Option<Problem> {
        let rate = |name, bps: u64| {
            let fits = (1_000..=1_000_000_000_000).contains(&bps);
            refuse_unless(fits, name, bps, "needs 1 kbit/s to 1 Tbit/s, in bit/s")
        };
        rate("rate", self.rate_bps)
            .or_else(|| {
                let fits = (1..=1_000_000_000).contains(&self.burst_bytes);
                refuse_unless(fits, "burst", self.burst_bytes, "needs 1 byte to 1 GB")
            })
            .or_else(|| self.peak_bps.and_then(|peak| rate("peak", peak)))
            .or_else(|| {
                let ordered = self.peak_bps.is_none_or(|peak| peak > self.rate_bps);
                refuse_unless(ordered, "peak", self.peak_bps.unwrap_or(0), "needs more than the rate")
            })
            .or_else(|| {
                let bounded = self.peak_bps.is_none() || self.mtu_bytes.is_some();
                refuse_unless(bounded, "mtu", "none", "needs the longest packet beside a peak rate")
            })
    }
}
