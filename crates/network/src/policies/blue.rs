//! BLUE: overflow raises the probability by which arrivals go, an idle line lowers it (Feng, Kandlur, Saha and Shin 1999).

use super::{Arrival, Verdict};
use crate::scenario::BlueConfig;
use longpipe_events::Time;

/// One probability.
#[derive(Clone, Debug)]
pub struct Blue {
    config: BlueConfig,
    probability: f64,
    /// When it last moved.
    moved: Option<Time>,
}

impl Blue {
    /// That of an idle line.
    pub fn new(config: &BlueConfig) -> Blue {
        Blue {
            config: config.clone(),
            probability: 0.0,
            moved: None,
        }
    }

    /// Judges an arrival; `draw` gives a number in [0, 1).
    pub fn judge(&mut self, arrival: &Arrival, draw: impl FnOnce() -> f64) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.step(since, -self.config.decrement);
        }
        if draw() < self.probability {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }

    /// An arrival found no room.
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
