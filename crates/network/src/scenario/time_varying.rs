//! Time-varying links: rate, delay, outages and order of arrivals.

mod problems;

use super::LinkConfig;
pub use crate::conditioners::jitter::OrderConfig;
use longpipe_json::FromJson;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// A time-varying link; absent parts are constant.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TimeVaryingConfig {
    /// Rate over time, which replaces the link's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceConfig>,
    /// Delay over time, which replaces the link's delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayConfig>,
    /// Outages: periods without transmission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<OutagesConfig>,
    /// Order of arrivals.
    pub order: OrderConfig,
}

/// Rate of a link over time.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum ServiceConfig {
    /// A piecewise constant rate.
    Steps {
        /// Times [ps], the first of which is 0, each with the rate [bit/s] from then on; at a rate of 0 nothing is
        /// sent.
        steps: Vec<[u64; 2]>,
        /// Period [ps] after which the series repeats; None means that the last rate remains in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycle_ps: Option<u64>,
    },
    /// Opportunities to transmit a fixed number of bytes each, in a repeating series; unused bytes are lost (mahimahi).
    Opportunities {
        /// Times [ps], nondecreasing; the series repeats after the last time, which is above 0.
        instants_ps: Vec<u64>,
        /// Bytes per opportunity.
        bytes: u64,
        /// Overhead [byte] of each packet.
        header_bytes: u64,
    },
}

/// Delay of a link over time.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DelayConfig {
    /// Points: times [ps], nondecreasing, each with its delay [ps]. If several points have the same time, the last of
    /// them is valid from then on.
    pub knots_ps: Vec<[u64; 2]>,
    /// Delay between two points.
    pub between: Between,
    /// Point in a packet's transmission that determines its delay.
    pub at: Instant,
    /// Interval of grants [ps]: a packet also waits until the next multiple of it after the time of the latest point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_ps: Option<u64>,
}

/// How the delay between two points is determined.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Between {
    /// Linear interpolation, rounded down to a picosecond.
    Linear,
    /// The delay of the earlier point.
    Hold,
}

/// Points in a packet's transmission.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Instant {
    /// When the last bit has been sent.
    End,
    /// When the first bit is sent.
    Start,
}

/// Outages, and the treatment of packets during them.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OutagesConfig {
    /// Start and end [ps] of each outage; outages are in order and do not overlap.
    pub intervals_ps: Vec<[u64; 2]>,
    /// Treatment of packets that arrive during an outage.
    pub arriving: HoldOrDrop,
    /// Treatment of packets that are queued when an outage begins.
    pub waiting: HoldOrDrop,
    /// Treatment of the packet in transmission when an outage begins.
    pub in_service: InService,
    /// Treatment of packets on the wire when an outage begins.
    pub in_flight: InFlight,
}

/// Treatment of packets at a port during an outage.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HoldOrDrop {
    /// Packets wait.
    Hold,
    /// Packets are lost.
    Drop,
}

/// Treatment of the packet in transmission when an outage begins.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InService {
    /// The bits that have already been sent count; the rest of the packet is sent after the outage.
    Hold,
    /// The packet is lost.
    Drop,
    /// The packet is transmitted as if there were no outage.
    Deliver,
}

/// Treatment of packets on the wire when an outage begins.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InFlight {
    /// Packets are delivered.
    Deliver,
    /// Packets are lost.
    Drop,
}

impl LinkConfig {
    /// Returns whether a packet's buffer space is freed when its first bit leaves (as in mahimahi) or when its batch
    /// begins, rather than when its last bit leaves.
    pub(crate) fn frees_at_begin(&self) -> bool {
        let service = self.motion.as_ref().and_then(|motion| motion.service.as_ref());
        self.access.is_some() || self.aggregates() || matches!(service, Some(ServiceConfig::Opportunities { .. }))
    }
}

impl DelayConfig {
    /// Returns the minimum delay [ps].
    pub(crate) fn min_ps(&self) -> u64 {
        self.knots_ps.iter().map(|knot| knot[1]).min().unwrap_or(0)
    }

    /// Returns the minimum ratio of the time between two arrivals to the time between the corresponding departures, in
    /// units of 2⁻³²; 0 if there is no bound.
    pub(crate) fn min_spacing_ratio(&self) -> u64 {
        const ONE: u64 = 1 << 32;
        if self.grant_ps.is_some() {
            // Packets that wait for the same grant arrive together.
            return 0;
        }
        let falling = self.knots_ps.windows(2).filter(|pair| pair[1][1] < pair[0][1]);
        // Slope of the delay where it falls, in units of 2⁻³².
        let slopes = falling.map(|pair| {
            let (fall, interval) = (pair[0][1] - pair[1][1], pair[1][0] - pair[0][0]);
            if self.between == Between::Linear && self.at == Instant::End && interval > fall {
                // Rounded up, so that the ratio remains a lower bound.
                (u128::from(fall) << 32).div_ceil(u128::from(interval)) as u64
            } else {
                ONE
            }
        });
        match slopes.max() {
            Some(steepest) => ONE - steepest.min(ONE),
            None if self.at == Instant::End => ONE,
            None => 0,
        }
    }

    /// Returns the maximum delay [ps].
    pub(crate) fn max_ps(&self) -> u64 {
        self.knots_ps.iter().map(|knot| knot[1]).max().unwrap_or(0) + self.grant_ps.unwrap_or(0)
    }
}
