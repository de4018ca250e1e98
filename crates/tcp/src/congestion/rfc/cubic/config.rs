//! Parameters of CUBIC.

use crate::congestion::linux::hystart::HystartConfig;
use crate::congestion::paper_or_linux::Rules;
use crate::problem::Problem;
use crate::variant::Parameters;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Factor by which an ECN mark multiplies cwnd with ABE (RFC 8511 section 3.1).
pub(super) const MARK_BETA: f64 = 0.85;

/// Selects between the rules of the RFC and of Linux's tcp_cubic.c (6.1) where they differ.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CubicRules {
    /// The rules of RFC 9438.
    #[serde(rename = "rfc-9438")]
    #[strum(serialize = "rfc-9438")]
    Rfc9438,
    /// Linux: evaluates the cubic one minimum RTT ahead, in whole segments; grows by at least 5 % per RTT before the
    /// first loss; grows towards Reno's estimated window if that is above cwnd.
    Linux,
}

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CubicConfig {
    /// Scaling factor C of the cubic [segment/s³].
    pub scaling: f64,
    /// Factor β by which a loss multiplies cwnd.
    pub beta: f64,
    /// Whether a loss below the previous maximum lowers W_max further, to release bandwidth to other flows (RFC 9438
    /// section 4.7).
    pub fast_convergence: bool,
    /// Whether cwnd grows at least as fast as Reno's would (RFC 9438 section 4.3).
    pub reno_friendly: bool,
    /// Criterion that ends slow start before a loss.
    pub hystart: HystartConfig,
    /// Whether the rules of the RFC or of Linux apply.
    pub rules: CubicRules,
}

impl Parameters for CubicConfig {
    fn problem(&self) -> Option<Problem> {
        let fine = self.scaling > 0.0 && self.scaling <= 1000.0 && self.beta > 0.0 && self.beta < 1.0;
        (!fine).then(|| {
            Problem::new(
                "congestion",
                format!("scaling {}, beta {}", self.scaling, self.beta),
                "needs 0 < scaling <= 1000 and 0 < beta < 1",
            )
        })
    }
}

impl Rules for CubicConfig {
    fn is_linux(&self) -> bool {
        self.rules == CubicRules::Linux
    }
}
