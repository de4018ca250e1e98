//! Datagram traffic: parameters of the applications, and their bounds.

use crate::bounds::refuse_unless;
use crate::bounds::MAX_WAIT;
use crate::packets::contents::DATAGRAM_HEADER_BYTES;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Fixed-length datagrams at a constant rate.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CbrConfig {
    /// Rate [bit/s] of the IP packets, including headers.
    pub rate_bps: u64,
    /// Payload [byte] of each datagram.
    pub payload_bytes: u32,
}

/// Datagrams at a constant rate while on, and none while off.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OnOffDatagramsConfig {
    /// Rate [bit/s] of the IP packets while on, including headers.
    pub rate_bps: u64,
    /// Payload [byte] of each datagram.
    pub payload_bytes: u32,
    /// Mean duration [ps] of on periods.
    pub on_ps: u64,
    /// Mean duration [ps] of off periods.
    pub off_ps: u64,
    /// Distribution of the durations of on and off periods.
    pub times: Times,
}

impl OnOffDatagramsConfig {
    /// Returns the durations of on and off periods.
    pub(crate) fn bursts(&self) -> BurstsConfig {
        BurstsConfig {
            on_ps: self.on_ps,
            off_ps: self.off_ps,
            times: self.times,
        }
    }
}

/// Durations of on and off periods.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// Mean duration [ps] of on periods.
    pub on_ps: u64,
    /// Mean duration [ps] of off periods.
    pub off_ps: u64,
    /// Distribution of the durations of on and off periods.
    pub times: Times,
}

/// Distribution of a duration with a given mean.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum Times {
    /// Every duration equals the mean.
    Fixed {},
    /// Exponential distribution.
    Exponential {},
    /// Pareto distribution.
    Pareto {
        /// Shape of the tail; values up to 2 have infinite variance.
        shape: f64,
    },
}

/// Fixed-length datagrams at exponentially distributed intervals (a Poisson process).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PoissonConfig {
    /// Mean rate [bit/s] of the IP packets, including headers.
    pub rate_bps: u64,
    /// Payload [byte] of each datagram.
    pub payload_bytes: u32,
}

/// Frames of video, each sent as several datagrams (RFC 8593 section 5).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VideoConfig {
    /// Mean rate [bit/s] of the frames' payload.
    pub rate_bps: u64,
    /// Mean interval [ps] between frames.
    pub frame_ps: u64,
    /// Maximum payload [byte] of a datagram.
    pub payload_bytes: u32,
    /// Mean absolute deviation of the frame length, as a fraction of the mean (Laplace distribution).
    pub size_spread: f64,
    /// Mean absolute deviation of the interval between frames, as a fraction of the mean (Laplace distribution).
    pub time_spread: f64,
}

/// Datagrams from a list.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsConfig {
    /// Send time [ps], relative to the start and ascending, and payload [byte] of each datagram.
    pub sent_ps: Vec<(u64, u32)>,
}

/// Accepted rates [bit/s].
pub(super) const RATES: std::ops::RangeInclusive<u64> = 1_000..=10_000_000_000_000;
/// Maximum payload [byte] of an IP packet; it also limits a TCP segment.
const MAX_PAYLOAD: u32 = 65_000;
/// Minimum interval [ps] between frames.
const MIN_FRAME: u64 = longpipe_events::PS_PER_SECOND / 10_000;

/// Returns the problem with a rate or a payload, if any.
fn rate_problem(rate_bps: u64, payload_bytes: u32) -> Option<Problem> {
    refuse_unless(
        RATES.contains(&rate_bps),
        "rate",
        rate_bps,
        "needs 1 kbit/s to 10 Tbit/s, in bit/s",
    )
    .or_else(|| {
        let fits = (1..=MAX_PAYLOAD).contains(&payload_bytes);
        refuse_unless(fits, "payload", payload_bytes, "needs 1 to 65 000 bytes")
    })
}

impl CbrConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        rate_problem(self.rate_bps, self.payload_bytes)
    }
}

impl PoissonConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        rate_problem(self.rate_bps, self.payload_bytes)
    }
}

impl OnOffDatagramsConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        rate_problem(self.rate_bps, self.payload_bytes).or_else(|| self.bursts().problem())
    }
}

impl BurstsConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let fits = (1_000_000..=MAX_WAIT).contains(&self.on_ps);
        refuse_unless(fits, "on", self.on_ps, "needs 1 us to 1000 s, in ps")
            .or_else(|| {
                let fits = self.off_ps <= MAX_WAIT;
                refuse_unless(fits, "off", self.off_ps, "needs at most 1000 s, in ps")
            })
            .or_else(|| match self.times {
                Times::Pareto { shape } => refuse_unless(
                    shape > 1.0 && shape <= 100.0,
                    "times.shape",
                    shape,
                    "needs more than 1, so that there is a mean, and at most 100",
                ),
                Times::Fixed {} | Times::Exponential {} => None,
            })
    }
}

impl VideoConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let share = |field: &str, share: f64| {
            refuse_unless((0.0..=1.0).contains(&share), field, share, "needs a number in [0, 1]")
        };
        rate_problem(self.rate_bps, self.payload_bytes)
            .or_else(|| {
                let fits = (MIN_FRAME..=MAX_WAIT).contains(&self.frame_ps);
                refuse_unless(fits, "frame", self.frame_ps, "needs 100 us to 1000 s, in ps")
            })
            .or_else(|| share("size_spread", self.size_spread))
            .or_else(|| share("time_spread", self.time_spread))
    }
}

impl ArrivalsConfig {
    pub(super) fn problem(&self) -> Option<Problem> {
        let before = self.sent_ps.windows(2).position(|pair| pair[0].0 > pair[1].0);
        let odd = self
            .sent_ps
            .iter()
            .find(|(_, bytes)| !(1..=MAX_PAYLOAD).contains(bytes));
        let late = self
            .sent_ps
            .last()
            .filter(|last| last.0 > 100 * 86_400 * longpipe_events::PS_PER_SECOND);
        before
            .map(|at| Problem::new("sent", self.sent_ps[at + 1].0, "needs nondecreasing times, in ps"))
            .or_else(|| odd.map(|&(_, bytes)| Problem::new("sent", bytes, "needs a payload of 1 to 65 000 bytes")))
            .or_else(|| late.map(|&(at, _)| Problem::new("sent", at, "needs at most 100 days, in ps")))
    }
}

impl super::TrafficConfig {
    /// Returns whether the traffic consists of datagrams instead of a TCP stream.
    pub fn is_datagrams(&self) -> bool {
        self.largest_datagram_bytes().is_some()
    }

    /// Returns whether the flow's receiver requests its data.
    pub fn has_requests(&self) -> bool {
        matches!(
            self,
            super::TrafficConfig::Web(_) | super::TrafficConfig::AdaptiveVideo(_)
        )
    }

    /// Returns the length [byte] of the IP packet that carries the longest datagram; None for other traffic.
    pub fn largest_datagram_bytes(&self) -> Option<u32> {
        let payload = match self {
            super::TrafficConfig::Greedy {}
            | super::TrafficConfig::Transfer { .. }
            | super::TrafficConfig::Stream(_)
            | super::TrafficConfig::FlowArrivals(_)
            | super::TrafficConfig::Web(_)
            | super::TrafficConfig::AdaptiveVideo(_)
            | super::TrafficConfig::Stack(_)
            | super::TrafficConfig::StackPath(_) => return None,
            super::TrafficConfig::Cbr(cbr) => cbr.payload_bytes,
            super::TrafficConfig::OnOff(on_off) => on_off.payload_bytes,
            super::TrafficConfig::Poisson(poisson) => poisson.payload_bytes,
            super::TrafficConfig::Video(video) => video.payload_bytes,
            super::TrafficConfig::Arrivals(list) => list.sent_ps.iter().map(|sent| sent.1).max().unwrap_or(0),
        };
        Some(payload.saturating_add(DATAGRAM_HEADER_BYTES))
    }

    /// Returns the length [byte] of the IP packet that carries the shortest possible datagram; None for other traffic.
    pub fn shortest_datagram_bytes(&self) -> Option<u32> {
        let payload = match self {
            // The last datagram of a frame may carry only one byte.
            super::TrafficConfig::Video(_) => 1,
            super::TrafficConfig::Arrivals(list) => list.sent_ps.iter().map(|sent| sent.1).min().unwrap_or(1),
            _ => return self.largest_datagram_bytes(),
        };
        Some(payload.saturating_add(DATAGRAM_HEADER_BYTES))
    }

    /// Returns the first problem with the datagrams' parameters, if any.
    pub(super) fn datagram_problem(&self) -> Option<Problem> {
        match self {
            super::TrafficConfig::Greedy {}
            | super::TrafficConfig::Transfer { .. }
            | super::TrafficConfig::Stream(_)
            | super::TrafficConfig::FlowArrivals(_)
            | super::TrafficConfig::Web(_)
            | super::TrafficConfig::AdaptiveVideo(_)
            | super::TrafficConfig::Stack(_)
            | super::TrafficConfig::StackPath(_) => None,
            super::TrafficConfig::Cbr(cbr) => cbr.problem(),
            super::TrafficConfig::OnOff(on_off) => on_off.problem(),
            super::TrafficConfig::Poisson(poisson) => poisson.problem(),
            super::TrafficConfig::Video(video) => video.problem(),
            super::TrafficConfig::Arrivals(list) => list.problem(),
        }
    }
}
