//! Time-varying links: rate, delay, outages and order of arrivals.

use super::LinkConfig;
use crate::bounds::MAX_WAIT;
pub use crate::conditioners::jitter::OrderConfig;
use longpipe_events::PS_PER_SECOND;
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

/// Maximum rate [bit/s] of a step.
pub const FASTEST: u64 = 10_000_000_000_000;
/// Maximum time [ps] in a series; no run lasts longer.
const LATEST: u64 = 100 * 86_400 * PS_PER_SECOND;

/// An invalid field, its value and the values that are accepted.
type Problem = Option<(&'static str, String, &'static str)>;

impl LinkConfig {
    /// Returns whether a packet's buffer space is freed when its first bit leaves (as in mahimahi) or when its batch
    /// begins, rather than when its last bit leaves.
    pub(crate) fn frees_at_begin(&self) -> bool {
        let service = self.motion.as_ref().and_then(|motion| motion.service.as_ref());
        self.access.is_some() || self.aggregates() || matches!(service, Some(ServiceConfig::Opportunities { .. }))
    }
}

impl TimeVaryingConfig {
    /// Returns the first invalid value.
    pub(crate) fn problem(&self) -> Problem {
        let service = self.service.as_ref().and_then(ServiceConfig::problem);
        service
            .or_else(|| self.delay.as_ref().and_then(DelayConfig::problem))
            .or_else(|| self.outages.as_ref().and_then(OutagesConfig::problem))
            .or_else(|| {
                let both = matches!(self.service, Some(ServiceConfig::Opportunities { .. })) && self.outages.is_some();
                both.then(|| ("outages", "beside opportunities".to_owned(), "needs a rate in steps"))
            })
    }
}

impl TimeVaryingConfig {
    /// Returns the first value that cell links do not support.
    pub(crate) fn problem_of_cells(&self) -> Problem {
        if matches!(self.service, Some(ServiceConfig::Opportunities { .. })) {
            let accepted = "needs a rate in steps under AAL5: a schedule's opportunities carry packets";
            return Some(("service", "opportunities".to_owned(), accepted));
        }
        let reorders = self.order == OrderConfig::Free;
        let accepted = "needs fifo under AAL5: the cells of a circuit keep their order";
        reorders.then(|| ("order", "free".to_owned(), accepted))
    }
}

impl ServiceConfig {
    fn problem(&self) -> Problem {
        match self {
            ServiceConfig::Steps { steps, cycle_ps } => {
                let instants: Vec<u64> = steps.iter().map(|step| step[0]).collect();
                if instants.first() != Some(&0) {
                    return Some(("service.steps", format!("{:?}", instants.first()), "needs a step at 0"));
                }
                let end = cycle_ps.unwrap_or(LATEST);
                if let Some(pair) = instants.windows(2).find(|pair| pair[0] >= pair[1] || pair[1] > end) {
                    let value = format!("{} then {}", pair[0], pair[1]);
                    return Some((
                        "service.steps",
                        value,
                        "needs ascending times before the end of the cycle",
                    ));
                }
                if let Some(step) = steps.iter().find(|step| step[1] > FASTEST) {
                    return Some((
                        "service.steps",
                        step[1].to_string(),
                        "needs at most 10 Tbit/s, in bit/s",
                    ));
                }
                if steps.iter().all(|step| step[1] == 0) {
                    return Some(("service.steps", "all 0".to_owned(), "needs a rate above 0 at some time"));
                }
                match cycle_ps {
                    Some(cycle) if *cycle > LATEST || instants.last().is_some_and(|last| last >= cycle) => Some((
                        "service.cycle",
                        cycle.to_string(),
                        "needs more than the last time, up to 100 days",
                    )),
                    _ => None,
                }
            }
            ServiceConfig::Opportunities {
                instants_ps,
                bytes,
                header_bytes,
            } => {
                if let Some(pair) = instants_ps.windows(2).find(|pair| pair[0] > pair[1]) {
                    let value = format!("{} then {}", pair[0], pair[1]);
                    return Some(("service.instants", value, "needs nondecreasing times"));
                }
                match instants_ps.last() {
                    None | Some(0) => {
                        return Some(("service.instants", "all 0".to_owned(), "needs a last time above 0"))
                    }
                    Some(&last) if last > LATEST => {
                        return Some(("service.instants", last.to_string(), "needs at most 100 days, in ps"));
                    }
                    Some(_) => {}
                }
                let sizes = !(1..=1_000_000).contains(bytes) || *header_bytes > 10_000;
                sizes.then(|| {
                    (
                        "service.bytes",
                        bytes.to_string(),
                        "needs 1 to 1000000, and a header of at most 10000",
                    )
                })
            }
        }
    }
}

impl DelayConfig {
    fn problem(&self) -> Problem {
        if self.knots_ps.is_empty() {
            return Some(("delay.knots", "none".to_owned(), "needs at least one knot"));
        }
        if let Some(pair) = self.knots_ps.windows(2).find(|pair| pair[0][0] > pair[1][0]) {
            let value = format!("{} then {}", pair[0][0], pair[1][0]);
            return Some(("delay.knots", value, "needs nondecreasing times"));
        }
        if let Some(grant) = self.grant_ps.filter(|grant| !(1..=MAX_WAIT).contains(grant)) {
            return Some(("delay.grant", grant.to_string(), "needs 1 ps to 1000 s"));
        }
        let far = self
            .knots_ps
            .iter()
            .find(|knot| knot[1] > MAX_WAIT || knot[0] > LATEST)?;
        Some((
            "delay.knots",
            format!("{far:?}"),
            "needs delays of at most 1000 s within 100 days, in ps",
        ))
    }

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
        let falls = self.knots_ps.windows(2).filter(|pair| pair[1][1] < pair[0][1]);
        let steepest = falls.map(|pair| {
            let (fall, over) = (pair[0][1] - pair[1][1], pair[1][0] - pair[0][0]);
            let steep = self.between == Between::Linear && self.at == Instant::End && over > fall;
            // Rounded up, so that the ratio remains a lower bound.
            if steep {
                (u128::from(fall) << 32).div_ceil(u128::from(over)) as u64
            } else {
                ONE
            }
        });
        match steepest.max() {
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

impl OutagesConfig {
    fn problem(&self) -> Problem {
        if let Some(interval) = self
            .intervals_ps
            .iter()
            .find(|interval| interval[0] >= interval[1] || interval[1] > LATEST)
        {
            return Some((
                "outages",
                format!("{} to {}", interval[0], interval[1]),
                "needs an end after the start, within 100 days",
            ));
        }
        let pair = self.intervals_ps.windows(2).find(|pair| pair[0][1] >= pair[1][0])?;
        let value = format!("{} then {}", pair[0][1], pair[1][0]);
        Some(("outages", value, "needs ordered and disjoint intervals"))
    }
}
