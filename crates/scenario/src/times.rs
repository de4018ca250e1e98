//! Starts and stops of flows.

use crate::units::{self, TIME};
use longpipe_json::Json;
use serde::Serialize;

/// Start of flows as the scenario sets it; times are in picoseconds.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// All flows start at the same time.
    Fixed { at_ps: u64 },
    /// Each flow starts an interval after the previous one.
    Staggered { first_ps: u64, interval_ps: u64 },
    /// Each flow starts at a random time of an interval.
    Random { from_ps: u64, over_ps: u64 },
}

/// Start of a flow in a resolved scenario.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum FlowStart {
    Fixed { at_ps: u64 },
    Random { from_ps: u64, over_ps: u64 },
}

/// Time at which a flow stops writing.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Stop {
    /// A time of the run.
    At { at_ps: u64 },
    /// A time since the flow's start.
    After { after_ps: u64 },
}

impl Start {
    /// Reads a kind and its times; None for null.
    pub(crate) fn of(mut row: Json<'_>) -> Option<Start> {
        let kind = row.item(0).text()?;
        let [first, second] = [row.item(1), row.item(2)].map(time);
        Some(match kind.as_str() {
            "staggered" => Start::Staggered {
                first_ps: first?,
                interval_ps: second?,
            },
            "random" => Start::Random {
                from_ps: first?,
                over_ps: second?,
            },
            _ => Start::Fixed { at_ps: first? },
        })
    }

    /// Returns the start of the flow with this number.
    pub(crate) fn of_flow(self, number: usize) -> FlowStart {
        match self {
            Start::Fixed { at_ps } => FlowStart::Fixed { at_ps },
            Start::Random { from_ps, over_ps } => FlowStart::Random { from_ps, over_ps },
            Start::Staggered { first_ps, interval_ps } => {
                let after_ps = interval_ps.saturating_mul(number as u64);
                FlowStart::Fixed {
                    at_ps: first_ps.saturating_add(after_ps),
                }
            }
        }
    }
}

impl FlowStart {
    /// Returns the earliest time of the start [ps].
    pub(crate) fn earliest_ps(self) -> u64 {
        match self {
            FlowStart::Fixed { at_ps: ps } | FlowStart::Random { from_ps: ps, .. } => ps,
        }
    }
}

impl Stop {
    /// Reads a kind and its time; None for null.
    pub(crate) fn of(mut row: Json<'_>) -> Option<Stop> {
        let (kind, ps) = (row.item(0).text()?, time(row.item(1))?);
        Some(match kind.as_str() {
            "after" => Stop::After { after_ps: ps },
            _ => Stop::At { at_ps: ps },
        })
    }
}

fn time(text: Json<'_>) -> Option<u64> {
    units::parse(TIME, &text.text()?)
}
