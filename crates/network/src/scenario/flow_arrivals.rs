//! Traffic of flows that arrive, transfer their data and leave.

use super::refusal::{refuse, ScenarioError};
use super::{FlowConfig, Framing, Scenario, StartConfig, TrafficConfig};
use crate::bounds::refuse_unless;
use longpipe_events::{memory, PS_PER_SECOND};
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;
use strum::VariantNames;

/// Flows that arrive over time, each with its own TCP connection.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FlowArrivalsConfig {
    /// Arrival times and sizes.
    pub arrivals: ArrivalTimesConfig,
    /// Maximum number of simultaneous flows; further flows start when earlier ones have ended.
    pub most_active: u32,
    /// Total number of flows; unlimited if None.
    pub most_flows: Option<u64>,
}

/// Arrival times of flows, and their sizes.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum ArrivalTimesConfig {
    /// A Poisson process.
    Poisson {
        /// Mean time [ps] between arrivals.
        gap_ps: u64,
        /// Sizes of the flows.
        sizes: SizesConfig,
    },
    /// A list.
    List {
        /// Arrival time [ps], relative to the start and ascending, and size [byte] of each flow.
        flows_ps: Vec<(u64, u64)>,
    },
}

/// Distribution of the sizes of flows.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum SizesConfig {
    /// Equal sizes.
    Fixed {
        /// Size [byte] of each flow.
        size_bytes: u64,
    },
    /// Pareto distribution.
    Pareto {
        /// Mean size [byte].
        mean_bytes: u64,
        /// Shape of the tail; values up to 2 have infinite variance.
        shape: f64,
    },
    /// Cumulative distribution, linear between its points.
    Cumulative {
        /// Sizes [byte], in ascending order, each with the cumulative share of flows [parts per billion]; the last
        /// share is 10⁹.
        points: Vec<(u64, u64)>,
    },
}

/// Maximum size [byte] of a flow.
pub(crate) const MAX_FLOW_BYTES: u64 = 1_000_000_000_000;
/// Maximum number of simultaneous flows.
const MAX_ACTIVE: u32 = 100_000;
/// All flows, the unit of shares in parts per billion.
pub(crate) const ALL_FLOWS: u64 = 1_000_000_000;

impl FlowArrivalsConfig {
    /// Returns the mean time [ps] between arrivals; None for a list.
    pub(super) fn mean_gap_ps(&self) -> Option<u64> {
        match self.arrivals {
            ArrivalTimesConfig::Poisson { gap_ps, .. } => Some(gap_ps),
            ArrivalTimesConfig::List { .. } => None,
        }
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        let active = (1..=MAX_ACTIVE).contains(&self.most_active);
        refuse_unless(active, "most_active", self.most_active, "needs 1 to 100 000 flows").or_else(|| {
            let problem = match &self.arrivals {
                ArrivalTimesConfig::Poisson { gap_ps, sizes } => {
                    let fits = (1..=100_000 * PS_PER_SECOND).contains(gap_ps);
                    refuse_unless(fits, "gap", gap_ps, "needs 1 ps to 100 000 s, in ps")
                        .or_else(|| sizes.problem().map(|problem| problem.within("sizes")))
                }
                ArrivalTimesConfig::List { flows_ps } => list_problem(flows_ps),
            };
            problem.map(|problem| problem.within("arrivals"))
        })
    }
}

impl SizesConfig {
    fn problem(&self) -> Option<Problem> {
        let accepted = "needs 1 byte to 1 TB, in bytes";
        match self {
            SizesConfig::Fixed { size_bytes } => {
                refuse_unless((1..=MAX_FLOW_BYTES).contains(size_bytes), "size", size_bytes, accepted)
            }
            SizesConfig::Pareto { mean_bytes, shape } => {
                refuse_unless((1..=MAX_FLOW_BYTES).contains(mean_bytes), "mean", mean_bytes, accepted).or_else(|| {
                    let accepted = "needs more than 1, so that there is a mean, and at most 100";
                    refuse_unless(*shape > 1.0 && *shape <= 100.0, "shape", shape, accepted)
                })
            }
            SizesConfig::Cumulative { points } => {
                let rises = points
                    .windows(2)
                    .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
                let ends = points.last().is_some_and(|last| last.1 == ALL_FLOWS);
                let fits = points.iter().all(|point| point.0 <= MAX_FLOW_BYTES);
                let accepted = "needs ascending sizes of up to 1 TB and ascending shares, the last of one billion";
                refuse_unless(
                    rises && ends && fits,
                    "points",
                    format!("{} points", points.len()),
                    accepted,
                )
            }
        }
    }
}

fn list_problem(flows_ps: &[(u64, u64)]) -> Option<Problem> {
    let back = flows_ps.windows(2).find(|pair| pair[0].0 > pair[1].0);
    let odd = flows_ps.iter().find(|flow| !(1..=MAX_FLOW_BYTES).contains(&flow.1));
    let late = flows_ps.last().filter(|last| last.0 > 100 * 86_400 * PS_PER_SECOND);
    back.map(|pair| Problem::new("flows", pair[1].0, "needs nondecreasing times, in ps"))
        .or_else(|| odd.map(|flow| Problem::new("flows", flow.1, "needs sizes of 1 byte to 1 TB")))
        .or_else(|| late.map(|last| Problem::new("flows", last.0, "needs at most 100 days, in ps")))
}

/// Checks a flow whose traffic consists of arriving flows.
pub(super) fn check(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let TrafficConfig::FlowArrivals(config) = &flow.traffic else {
        return Ok(());
    };
    let field = |name: &str| format!("flows[{index}].{name}");
    if let Some(problem) = config.problem() {
        let problem = problem.within("traffic");
        return refuse(field(&problem.field), problem.value, problem.accepted);
    }
    if flow.foreign || flow.relayed || flow.onward.is_some() {
        let accepted = "needs a flow without a proxy or external packets";
        return refuse(field("traffic"), "flow-arrivals", accepted);
    }
    if scenario.framing == Framing::Aal5 {
        return refuse(field("traffic"), "flow-arrivals", "needs framing ip");
    }
    if flow.rerouting.is_some() {
        return refuse(field("traffic"), "flow-arrivals", "needs a route that never changes");
    }
    if flow.tcp.careful_resume.uses_earlier_connections() {
        return refuse(
            field("tcp.careful_resume"),
            "previous",
            "needs off or saved for flow-arrivals",
        );
    }
    Ok(())
}

/// Connection slots of arriving flows: each slot is represented by one flow, after all flows of the scenario file.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlots {
    /// Index of the flow whose arriving flows use the slots.
    pub owner: usize,
    /// Flow index of each slot.
    pub flows: Range<usize>,
}

/// Returns the flow of one slot of the arriving flows of `owner`. Its traffic is of the same kind as the owner's, which
/// determines its guarantees, but it has no list of arrivals, because such a list can have millions of rows.
fn slot_flow(owner: &FlowConfig, most_active: u32) -> FlowConfig {
    FlowConfig {
        name: owner.name.clone(),
        route: owner.route.clone(),
        return_route: owner.return_route.clone(),
        tcp: owner.tcp.clone(),
        traffic: TrafficConfig::FlowArrivals(FlowArrivalsConfig {
            arrivals: ArrivalTimesConfig::List { flows_ps: vec![] },
            most_active,
            most_flows: None,
        }),
        start: StartConfig::Fixed { at_ps: 0 },
        stop: None,
        class: owner.class,
        scalable: owner.scalable,
        foreign: false,
        onward: None,
        relayed: false,
        rerouting: None,
    }
}

/// Returns the memory [byte] that the flows of all slots occupy in a scenario, excluding the heap memory of their lists
/// and strings.
pub(crate) fn connection_slot_bytes(all: &[ConnectionSlots]) -> u64 {
    memory::bytes::<FlowConfig>(all.iter().map(|slots| slots.flows.len()).sum::<usize>())
}

impl Scenario {
    /// Returns the scenario with an additional flow, after its other flows, for each slot of its arriving flows. Their
    /// `connection_slot_bytes` are counted for the memory limit before they are allocated; the caller subtracts them
    /// when it drops the scenario.
    ///
    /// # Errors
    /// Returns an error if a setting of the arriving flows is invalid, for example the number of slots.
    pub(crate) fn with_connection_slots(&self) -> Result<(Cow<'_, Scenario>, Vec<ConnectionSlots>), ScenarioError> {
        let (mut all, mut count) = (Vec::new(), self.flows.len());
        for (owner, flow) in self.flows.iter().enumerate() {
            let TrafficConfig::FlowArrivals(config) = &flow.traffic else {
                continue;
            };
            check(self, owner, flow)?;
            let flows = count..count + config.most_active as usize;
            count = flows.end;
            all.push(ConnectionSlots { owner, flows });
        }
        let mut whole = Cow::Borrowed(self);
        if !all.is_empty() {
            memory::take(connection_slot_bytes(&all));
            let flows = &mut whole.to_mut().flows;
            flows.reserve_exact(count - self.flows.len());
            for ConnectionSlots { owner, flows: slots } in &all {
                let flow = slot_flow(&self.flows[*owner], slots.len() as u32);
                flows.extend(std::iter::repeat_n(flow, slots.len()));
            }
        }
        Ok((whole, all))
    }
}
