//! BLUE: overflows increase the drop probability, and idle times decrease it (Feng, Kandlur, Saha and Shin 1999).

use super::{Arrival, Verdict};
use crate::scenario::BlueConfig;
use longpipe_events::Time;

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
