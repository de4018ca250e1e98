//! What web clients ask for, as far as papers state it or leave it open.

use longpipe_events::PS_PER_SECOND;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Largest mean of a Poisson variable.
pub(crate) const LARGEST_MEAN: f64 = 100.0;
/// The shares of all classes.
pub(crate) const ALL_SHARES: u64 = 1_000_000_000;

/// Everything about web traffic that the papers state or leave open.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// From one batch of requests to the next [ps].
    pub cycle_ps: u64,
    /// From which request of a batch the cycle counts.
    pub cycle_from: CycleFrom,
    /// Payload of a request [byte].
    pub request_bytes: u32,
    /// Least time between two requests of a batch [ps].
    pub spacing_from_ps: u64,
    /// Most time between them [ps]; uniform in between.
    pub spacing_to_ps: u64,
    /// Mean of the Poisson variable that counts a batch's requests, before it is cut.
    pub requests_mean: f64,
    /// Most requests in a batch; the least is 1.
    pub requests_most: u32,
    /// Mean of the Poisson variable that picks one of a class's nine sizes, before it is cut.
    pub size_mean: f64,
    /// How Poisson variables are cut to their range.
    pub cut: PoissonCut,
    /// Share of the requests that ask for each class [parts per billion].
    pub class_shares_ppb: Vec<u64>,
    /// 1 KB [byte]: class c has the sizes 1 to 9 times 10^(c - 1) KB.
    pub kilobyte_bytes: u64,
}

/// From which request of a batch the cycle counts.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CycleFrom {
    /// A batch every cycle.
    FirstRequest,
    /// A pause of one cycle after each batch.
    LastRequest,
}

/// How a Poisson variable is cut to a range.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PoissonCut {
    /// Draws again outside of it.
    Rejection,
    /// Takes its nearest end outside of it.
    Clamping,
}

impl WebConfig {
    /// The field that can't be, its value, and what would be accepted.
    pub fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let second = PS_PER_SECOND;
        let mean = |mean: f64| mean > 0.0 && mean <= LARGEST_MEAN;
        let mut shares = self.class_shares_ppb.iter().copied();
        let problems = [
            (
                !(second / 1000..=100_000 * second).contains(&self.cycle_ps),
                "cycle",
                self.cycle_ps.to_string(),
                "needs 1 ms to 100 000 s, in ps",
            ),
            (
                !(1..=65_000).contains(&self.request_bytes),
                "request",
                self.request_bytes.to_string(),
                "needs 1 to 65 000 bytes",
            ),
            (
                self.spacing_from_ps > self.spacing_to_ps || self.spacing_to_ps > 1_000 * second,
                "spacing",
                format!("{} to {}", self.spacing_from_ps, self.spacing_to_ps),
                "needs an interval within 0 to 1000 s, in ps",
            ),
            (
                !mean(self.requests_mean) || !mean(self.size_mean),
                "requests_mean, size_mean",
                format!("{}, {}", self.requests_mean, self.size_mean),
                "needs means above 0 and up to 100",
            ),
            (
                !(1..=1000).contains(&self.requests_most),
                "requests_most",
                self.requests_most.to_string(),
                "needs 1 to 1000 requests",
            ),
            (
                !(1..=9).contains(&self.class_shares_ppb.len())
                    || shares.try_fold(0, u64::checked_add) != Some(ALL_SHARES),
                "class_shares",
                format!("{:?}", self.class_shares_ppb),
                "needs 1 to 9 shares that add up to one billion parts per billion",
            ),
            (
                ![1000, 1024].contains(&self.kilobyte_bytes),
                "kilobyte",
                self.kilobyte_bytes.to_string(),
                "needs 1000 or 1024 bytes",
            ),
        ];
        problems
            .into_iter()
            .find_map(|(broken, field, value, accepted)| broken.then_some((field, value, accepted)))
    }

    /// Length of the file of a size (1 to 9) of a class [byte], rounded.
    pub fn file_bytes(&self, class: u32, size: u32) -> u64 {
        (u64::from(size) * 10u64.pow(class) * self.kilobyte_bytes + 5) / 10
    }
}
