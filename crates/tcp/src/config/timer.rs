//! Parameters of the retransmission timer.

use crate::problem::Problem;
use longpipe_events::PS_PER_SECOND;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Maximum RTO that a scenario may set [ps].
pub const LONGEST_RTO: u64 = 100_000 * PS_PER_SECOND;

/// Retransmission timers.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum TimerConfig {
    /// BSD's slow timer: it counts whole ticks, times one segment at a time, and computes with scaled integers.
    Coarse {
        /// Length of a tick [ps].
        tick_ps: u64,
        /// Phase of the ticks.
        phase: PhaseConfig,
        /// Smallest RTO [tick].
        min_rto_ticks: u32,
        /// Largest RTO [tick].
        max_rto_ticks: u32,
        /// RTO before the first measurement [tick].
        initial_rto_ticks: u32,
        /// If true, the first measurement is increased by one tick (BSD); otherwise each measurement is at least one
        /// tick.
        count_from_one: bool,
        /// If true, the timer expires on a tick (BSD); otherwise, it expires a whole number of tick lengths after it
        /// was armed.
        expires_on_tick: bool,
    },
    /// RFC 6298 with a fine-grained clock.
    Fine {
        /// Clock granularity G [ps].
        granularity_ps: u64,
        /// Smallest RTO [ps].
        min_rto_ps: u64,
        /// Largest RTO [ps].
        max_rto_ps: u64,
        /// RTO before the first measurement [ps].
        initial_rto_ps: u64,
        /// If true, every segment is timed with the timestamp option (RFC 7323); otherwise, only one segment is timed
        /// at a time.
        timestamps: bool,
    },
}

/// Phase of the ticks of a coarse clock.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum PhaseConfig {
    /// The first tick is at a given time, which is the same for all hosts.
    Fixed {
        /// Time of the first tick [ps], less than one tick.
        at_ps: u64,
    },
    /// Uniformly distributed over one tick; one value per run, shared by all hosts.
    Common {},
    /// Uniformly distributed over one tick; one value per flow.
    PerFlow {},
}

impl TimerConfig {
    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        match *self {
            TimerConfig::Coarse {
                tick_ps,
                ref phase,
                min_rto_ticks,
                max_rto_ticks,
                initial_rto_ticks,
                count_from_one: _,
                expires_on_tick: _,
            } => {
                if tick_ps == 0 || tick_ps > 100 * PS_PER_SECOND {
                    return Some(Problem::new("tick", tick_ps, "needs a tick of up to 100 s, in ps"));
                }
                match *phase {
                    PhaseConfig::Fixed { at_ps } if at_ps >= tick_ps => {
                        return Some(Problem::new("phase", at_ps, "needs a time within the first tick"));
                    }
                    _ => {}
                }
                let ordered = 1 <= min_rto_ticks && min_rto_ticks <= max_rto_ticks && max_rto_ticks <= 1_000_000;
                if !ordered || !(1..=max_rto_ticks).contains(&initial_rto_ticks) {
                    return Some(Problem::new(
                        "min_rto, initial_rto, max_rto",
                        format!("{min_rto_ticks}, {initial_rto_ticks}, {max_rto_ticks} ticks"),
                        "needs 1 <= min_rto <= max_rto <= 1 000 000 and 1 <= initial_rto <= max_rto",
                    ));
                }
                (u64::from(max_rto_ticks) > LONGEST_RTO / tick_ps).then(|| {
                    let value = format!("{max_rto_ticks} ticks of {tick_ps} ps");
                    Problem::new("max_rto", value, "needs at most 100 000 s in total")
                })
            }
            TimerConfig::Fine {
                granularity_ps: _,
                min_rto_ps,
                max_rto_ps,
                initial_rto_ps,
                timestamps: _,
            } => {
                let ordered = 1 <= min_rto_ps && min_rto_ps <= max_rto_ps && max_rto_ps <= LONGEST_RTO;
                (!ordered || !(1..=max_rto_ps).contains(&initial_rto_ps)).then(|| {
                    Problem::new(
                        "min_rto, initial_rto, max_rto",
                        format!("{min_rto_ps}, {initial_rto_ps}, {max_rto_ps} ps"),
                        "needs 0 < min_rto <= max_rto <= 100 000 s and 0 < initial_rto <= max_rto",
                    )
                })
            }
        }
    }
}
