//! What a link does over time: its rate, its delay, its outages, the order in which packets arrive.

use super::bounds::LONGEST_WAIT;
use longpipe_events::PS_PER_SECOND;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// A link that moves; what is absent stands still.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MotionConfig {
    /// What the line sends when, in place of the link's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceConfig>,
    /// Propagation over time, in place of the link's delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayConfig>,
    /// When the line sends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<OutagesConfig>,
    /// In which order packets arrive.
    pub order: OrderConfig,
}

/// What a line sends when.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum ServiceConfig {
    /// A rate from each instant on.
    Steps {
        /// Instants [ps], the first one 0, and the rate from each on [bit/s]; 0 sends nothing.
        steps: Vec<[u64; 2]>,
        /// After this they begin anew [ps]; none: the last rate stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycle_ps: Option<u64>,
    },
    /// So many bytes at each of some instants, over and over; what finds no packet is lost.
    Opportunities {
        /// Instants [ps], nondecreasing, the last one above 0: after it they begin anew.
        instants_ps: Vec<u64>,
        /// Bytes at each.
        bytes: u64,
        /// Bytes that each packet takes besides its own.
        header_bytes: u64,
    },
}

/// Propagation over time.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DelayConfig {
    /// Instants [ps], nondecreasing, and the delay at each [ps]; of equal ones the last counts from then on.
    pub knots_ps: Vec<[u64; 2]>,
    /// What it is between two knots.
    pub between: Between,
    /// Which instant of a packet's transmission decides.
    pub at: Instant,
}

/// What a delay is between two knots.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Between {
    /// On the line through both, rounded down to a picosecond.
    Linear,
    /// That of the former.
    Hold,
}

/// An instant of a packet's transmission.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Instant {
    /// When its last bit has left.
    End,
    /// When its first bit leaves.
    Start,
}

/// In which order packets arrive.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OrderConfig {
    /// In that in which they left, no sooner than a picosecond after one another.
    Fifo,
    /// Each after its own delay.
    Free,
}

/// When a line sends nothing, and what becomes of packets then.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OutagesConfig {
    /// Begin and end of each [ps], in order and apart.
    pub intervals_ps: Vec<[u64; 2]>,
    /// Whether what comes meanwhile is held or dropped.
    pub arriving: HoldOrDrop,
    /// Whether what waits at the begin is.
    pub waiting: HoldOrDrop,
    /// What becomes of the packet in service at the begin.
    pub in_service: InService,
    /// Whether what is on the wire at the begin is lost.
    pub in_flight: InFlight,
}

/// What becomes of packets at a port.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HoldOrDrop {
    /// They wait.
    Hold,
    /// They are lost.
    Drop,
}

/// What becomes of a packet in service.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InService {
    /// The bits that have left stay so, the others follow.
    Hold,
    /// It is lost.
    Drop,
    /// It leaves as if nothing were.
    Deliver,
}

/// What becomes of packets on the wire.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InFlight {
    /// They arrive.
    Deliver,
    /// They are lost.
    Drop,
}

/// Fastest rate of a step [bit/s].
pub const FASTEST: u64 = 10_000_000_000_000;
/// Latest instant of a series [ps]: no run lasts longer.
const LATEST: u64 = 100 * 86_400 * PS_PER_SECOND;

/// Field, value and what would be accepted of a value that cannot be.
type Problem = Option<(&'static str, String, &'static str)>;

impl MotionConfig {
    /// The first value that cannot be.
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

impl MotionConfig {
    /// The first value that links of cells can't have.
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
                    return Some(("service.steps", value, "needs ascending instants before the cycle ends"));
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
                        "needs more than the last instant, up to 100 days",
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
                    return Some(("service.instants", value, "needs instants that never decrease"));
                }
                match instants_ps.last() {
                    None | Some(0) => {
                        return Some(("service.instants", "all 0".to_owned(), "needs a last one above 0"))
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
            return Some(("delay.knots", value, "needs instants that never decrease"));
        }
        let far = self
            .knots_ps
            .iter()
            .find(|knot| knot[1] > LONGEST_WAIT || knot[0] > LATEST)?;
        Some((
            "delay.knots",
            format!("{far:?}"),
            "needs delays of at most 1000 s within 100 days, in ps",
        ))
    }

    /// The least that it ever is [ps].
    pub(crate) fn least_ps(&self) -> u64 {
        self.knots_ps.iter().map(|knot| knot[1]).min().unwrap_or(0)
    }

    /// What a time between two departures comes to at least between their arrivals, in parts of 2³²; 0 where nothing is known.
    pub(crate) fn least_spread(&self) -> u64 {
        const ONE: u64 = 1 << 32;
        let falls = self.knots_ps.windows(2).filter(|pair| pair[1][1] < pair[0][1]);
        let steepest = falls.map(|pair| {
            let (fall, over) = (pair[0][1] - pair[1][1], pair[1][0] - pair[0][0]);
            let steep = self.between == Between::Linear && self.at == Instant::End && over > fall;
            // Rounded up.
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

    /// The most that it ever is [ps].
    pub(crate) fn most_ps(&self) -> u64 {
        self.knots_ps.iter().map(|knot| knot[1]).max().unwrap_or(0)
    }
}

impl OutagesConfig {
    fn problem(&self) -> Problem {
        if let Some(one) = self.intervals_ps.iter().find(|one| one[0] >= one[1] || one[1] > LATEST) {
            return Some((
                "outages",
                format!("{} to {}", one[0], one[1]),
                "needs an end after the begin, within 100 days",
            ));
        }
        let pair = self.intervals_ps.windows(2).find(|pair| pair[0][1] >= pair[1][0])?;
        let value = format!("{} then {}", pair[0][1], pair[1][0]);
        Some(("outages", value, "needs intervals in order and apart"))
    }
}
