//! BLUE: overflows increase the drop probability, and idle times decrease it (Feng, Kandlur, Saha and Shin 1999).

use super::aqm::Algorithm;
use super::parameters::{Decides, Facts, Marks, Parameters};
use super::{Arrival, Verdict};
use crate::bounds::{share_problem, time_problem};
use longpipe_events::Time;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// BLUE (Feng, Kandlur, Saha and Shin 1999).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BlueConfig {
    /// Increase in the probability at an overflow.
    pub increment: f64,
    /// Decrease in the probability when the link is idle.
    pub decrement: f64,
    /// Minimum time [ps] between changes of the probability.
    pub freeze_ps: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Parameters for BlueConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).random().marking(Marks::WithEcn);

    fn problem(&self) -> Option<Problem> {
        share_problem("increment", self.increment)
            .or_else(|| share_problem("decrement", self.decrement))
            .or_else(|| time_problem("freeze", self.freeze_ps))
    }

    /// The probability rises from zero only at an overflow.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn algorithm(&self, _rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::Blue(Blue::new(self)), self.ecn))
    }
}

/// State of BLUE: a drop probability.
#[derive(Clone, Debug)]
pub struct Blue {
    config: BlueConfig,
    probability: f64,
    /// Time of the last change of the probability.
    moved: Option<Time>,
}

impl Blue {
    /// Creates the state of an idle line.
    pub fn new(config: &BlueConfig) -> Blue {
        Blue {
            config: config.clone(),
            probability: 0.0,
            moved: None,
        }
    }

    /// Decides whether to admit, mark or drop an arriving packet; `draw` returns a random number in [0, 1).
    pub fn decide(&mut self, arrival: &Arrival, draw: impl FnOnce() -> f64) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.step(since, -self.config.decrement);
        }
        if draw() < self.probability {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }

    /// Invoked when an arrival finds the buffer full.
    pub fn overflow(&mut self, now: Time) {
        self.step(now, self.config.increment);
    }

    fn step(&mut self, now: Time, by: f64) {
        let frozen = |moved: Time| now.0 < moved.0 + self.config.freeze_ps;
        if self.moved.is_some_and(frozen) {
            return;
        }
        self.probability = (self.probability + by).clamp(0.0, 1.0);
        self.moved = Some(now);
    }
}
