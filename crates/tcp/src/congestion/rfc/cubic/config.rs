//! Parameters of CUBIC.

use crate::congestion::linux::hystart::HystartConfig;
use crate::congestion::paper_or_linux::Rules;
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Factor by which an ECN mark multiplies cwnd with ABE (RFC 8511 section 3.1).
pub(super) const MARK_BETA: f64 = 0.85;

/// Selects between the rules of the RFC and of Linux's tcp_cubic.c (6.1) where they differ.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CubicRules {
    /// The rules of RFC 9438.
    #[serde(rename = "rfc-9438")]
    Rfc9438,
    /// Linux: evaluates the cubic one minimum RTT ahead, in whole segments; grows by at least 5 % per RTT before the
    /// first loss; grows towards Reno's estimated window if that is above cwnd.
    Linux,
}

/// After slow start, cwnd is a cubic function of the time since the last reduction (RFC 9438).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "CUBIC")]
#[described(fact("after_loss", "0.7 of the window (RFC 9438 section 4.6)"))]
pub struct CubicConfig {
    /// Scaling factor C of the cubic [segments/s³]; RFC 9438 section 5.
    #[field(range = "(0, 1000]", default = 0.4)]
    pub scaling: f64,
    /// Factor by which a loss multiplies cwnd; RFC 9438 β_cubic.
    #[field(range = "(0, 1)", default = 0.7)]
    pub beta: f64,
    /// Lower W_max further after a loss below the previous one; RFC 9438 section 4.7.
    #[field(default = true)]
    pub fast_convergence: bool,
    /// Grow at least as fast as Reno; RFC 9438 section 4.3.
    #[field(default = true)]
    pub reno_friendly: bool,
    /// How slow start ends before a loss: none, long RTTs and ACK trains as in Linux (Ha and Rhee 2011), HyStart++ (RFC
    /// 9406), or SEARCH (draft-chung-ccwg-search-09).
    #[field(default = "linux")]
    pub hystart: HystartConfig,
    /// Arithmetic of the RFC, or of Linux's tcp_cubic.c where it differs.
    #[field(default = "rfc-9438", profile("linux-6", "linux"))]
    pub rules: CubicRules,
}

impl Parameters for CubicConfig {}

impl Rules for CubicConfig {
    fn is_linux(&self) -> bool {
        self.rules == CubicRules::Linux
    }
}
