//! Parameters of web traffic, including parameters that the papers do not specify.

use longpipe_events::PS_PER_SECOND;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Maximum mean of a Poisson-distributed variable.
pub(crate) const MAX_MEAN: f64 = 100.0;
/// Sum of the shares of all classes [parts per billion].
pub(crate) const ALL_SHARES: u64 = 1_000_000_000;

/// Web traffic of a client.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// Time [ps] between batches of requests.
    pub cycle_ps: u64,
    /// The request in a batch at which the cycle to the next batch begins.
    pub cycle_from: CycleFrom,
    /// Payload [byte] of a request.
    pub request_bytes: u32,
    /// Minimum time [ps] between the requests of a batch.
    pub spacing_from_ps: u64,
    /// Maximum time [ps] between the requests of a batch; the times are uniformly distributed.
    pub spacing_to_ps: u64,
    /// Mean of the Poisson-distributed number of requests per batch, before it is limited.
    pub requests_mean: f64,
    /// Maximum number of requests per batch; the minimum is 1.
    pub requests_most: u32,
    /// Mean of the Poisson-distributed variable that selects one of a class's nine sizes, before the variable is
    /// limited.
    pub size_mean: f64,
    /// Method that limits Poisson-distributed variables to their range.
    pub cut: PoissonCut,
    /// Share of requests for each class [parts per billion].
    pub class_shares_ppb: Vec<u64>,
    /// Size [byte] of 1 KB; the sizes of class c are 1 to 9 times 10^(c - 1) KB.
    pub kilobyte_bytes: u64,
}

/// The request in a batch at which the cycle to the next batch begins.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CycleFrom {
    /// The first request, so that a batch starts every cycle.
    FirstRequest,
    /// The last request, so that one cycle passes after each batch.
    LastRequest,
}

/// Methods of limiting a Poisson-distributed variable to a range.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PoissonCut {
    /// Draw again if the value is out of range.
    Rejection,
    /// Use the nearest end of the range.
    Clamping,
}

impl WebConfig {
    /// Returns an invalid field, its value, and the values that are accepted.
    pub fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let second = PS_PER_SECOND;
        let mean = |mean: f64| mean > 0.0 && mean <= MAX_MEAN;
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

    /// Returns the length [byte] of a file for a class and a size (1 to 9), rounded.
    pub fn file_bytes(&self, class: u32, size: u32) -> u64 {
        (u64::from(size) * 10u64.pow(class) * self.kilobyte_bytes + 5) / 10
    }
}
