//! Parameters of CUBIC.

use crate::congestion::hystart::HystartConfig;
use crate::congestion::ruled::Rules;
use crate::problem::Problem;
use crate::variant::Parameters;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// What a mark leaves of the window where it costs less than a loss (RFC 8511 section 3.1).
pub(super) const MARK_BETA: f64 = 0.85;

/// Where Linux's tcp_cubic.c (6.1) does otherwise than the RFC.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CubicRules {
    /// RFC 9438.
    #[serde(rename = "rfc-9438")]
    #[strum(serialize = "rfc-9438")]
    Rfc9438,
    /// It looks ahead by the shortest round trip, in whole segments, grows by 5 % at least before the first loss, and by as
    /// much as Reno's estimate is above the window, which goes on at one rate.
    Linux,
}

/// The cubic, the cut, and what goes with them.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CubicConfig {
    /// How steep the cubic is [segment/s³], C.
    pub scaling: f64,
    /// Share of the window that a loss leaves, β.
    pub beta: f64,
    /// A loss before the old maximum lowers it further, which makes room for others.
    pub fast_convergence: bool,
    /// Grow at least as Reno would.
    pub reno_friendly: bool,
    /// What ends slow start besides a loss.
    pub hystart: HystartConfig,
    /// The RFC's, or Linux's where they differ.
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
