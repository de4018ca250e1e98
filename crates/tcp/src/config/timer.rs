//! Parameters of the retransmission timer.

use crate::described::Described;
use crate::problem::Problem;
use longpipe_events::PS_PER_SECOND;
use longpipe_json::FromJson;
use serde::Serialize;

/// Maximum RTO that a scenario may set [ps].
pub const LONGEST_RTO: u64 = 100_000 * PS_PER_SECOND;

/// Retransmission timers.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[described(rule("max_rto", "max_rto < min_rto", "{max_rto}; needs at least min_rto, {min_rto}"))]
#[described(rule(
    "initial_rto",
    "max_rto >= min_rto and initial_rto < min_rto",
    "{initial_rto}; needs {min_rto} to {max_rto}"
))]
#[described(rule(
    "initial_rto",
    "max_rto >= min_rto and initial_rto > max_rto",
    "{initial_rto}; needs {min_rto} to {max_rto}"
))]
pub enum TimerConfig {
    /// BSD's slow timer: measures one segment at a time in ticks, with srtt and rttvar as scaled integers.
    #[described(rule(
        "max_rto",
        "max_rto * tick > '10000 s'",
        "{max_rto} of {tick}; needs at most 10000 s in total"
    ))]
    #[described(rule("phase.at", "phase.at >= tick", "{phase.at}; needs less than one tick ({tick})"))]
    Coarse {
        /// Length of a tick [time]; ATM Forum/96-1761 section 3.1.
        #[field(range = "[1 us, 100 s]", default = "100 ms")]
        tick_ps: u64,
        /// Phase of the ticks: fixed, common or per-flow.
        #[field(default = "fixed")]
        phase: PhaseConfig,
        /// Minimum RTO [ticks]; BSD's slow timer.
        #[field(range = "[1 tick, 1000000 ticks]", default = "2 ticks")]
        min_rto_ticks: u32,
        /// Maximum RTO [ticks], 64 s with ticks of 100 ms; BSD's TCPTV_REXMTMAX, 64 s (128 ticks of 500 ms).
        #[field(range = "[1 tick, 1000000 ticks]", default = "640 ticks")]
        max_rto_ticks: u32,
        /// RTO before the first RTT sample [ticks], 3 s with ticks of 100 ms; RFC 1122 section 4.2.3.1.
        #[field(range = "[1 tick, 1000000 ticks]", default = "30 ticks")]
        initial_rto_ticks: u32,
        /// Count the first RTT sample as one tick more, as in BSD; if false, samples are at least one tick.
        #[field(default = true)]
        count_from_one: bool,
        /// Expire on a tick, as in BSD; if false, exactly one RTO after the timer was set, as in ns-2.
        #[field(default = true)]
        expires_on_tick: bool,
    },
    /// Retransmission timer of RFC 6298 with a fine-grained clock.
    Fine {
        /// Clock granularity G [time]; RFC 6298 section 4.
        #[field(range = "[1 us, 1000 s]", default = "1 ms")]
        granularity_ps: u64,
        /// Minimum RTO [time]; RFC 6298 (2.4).
        #[field(range = "[1 us, 100000 s]", default = "1 s")]
        min_rto_ps: u64,
        /// Maximum RTO [time]; RFC 6298 (2.5).
        #[field(range = "[1 us, 100000 s]", default = "60 s")]
        max_rto_ps: u64,
        /// RTO before the first RTT sample [time]; RFC 6298 (2.1).
        #[field(range = "[1 us, 100000 s]", default = "1 s")]
        initial_rto_ps: u64,
        /// Use the timestamp option of RFC 7323, which gives an RTT sample per ACK.
        #[field(default = false)]
        timestamps: bool,
    },
}

/// Phase of the ticks of a coarse clock.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PhaseConfig {
    /// All hosts' ticks start at a given time.
    #[described(name = "FixedPhase")]
    Fixed {
        /// First tick; less than one tick [time].
        #[field(range = "[0 s, 100000 s]", default = "0 s")]
        at_ps: u64,
    },
    /// The phase of the ticks is drawn uniformly, once per run, for all hosts.
    #[described(name = "CommonPhase")]
    Common {},
    /// The phase of the ticks is drawn uniformly for each flow.
    #[described(name = "PerFlowPhase")]
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
