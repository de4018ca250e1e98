//! BLUE: overflows increase the drop probability, and idle times decrease it (Feng, Kandlur, Saha and Shin 1999).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Marks, Parameters};
use super::{Arrival, Verdict};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// BLUE: overflow raises the drop probability, and an idle link lowers it (Feng et al. 1999).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "BLUE")]
pub struct BlueConfig {
    /// Increase of the probability at an overflow (Feng et al. 1999 d1).
    #[field(range = "(0, 1]", default = 0.02)]
    pub increment: f64,
    /// Decrease of the probability per `freeze` during which the link is idle (Feng et al. 1999 d2).
    #[field(range = "(0, 1]", default = 0.002)]
    pub decrement: f64,
    /// Minimum time between two changes [time] (Feng et al. 1999).
    #[field(range = "[1 us, 1000 s]", default = "100 ms")]
    pub freeze_ps: u64,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
}

impl Parameters for BlueConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).random().marking(Marks::WithEcn);

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

impl AtEnqueue for Blue {
    fn decide(&mut self, arrival: &Arrival, mut draw: impl FnMut() -> f64) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.idle(since, arrival.now);
        }
        if draw() < self.probability {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }

    /// An idle line lowers the probability, and each arrival draws a random number.
    fn ignores_idle_arrivals(&self) -> bool {
        false
    }

    fn overflow(&mut self, now: Time) {
        if now >= self.thaws() {
            self.probability = (self.probability + self.config.increment).min(1.0);
            self.moved = Some(now);
        }
    }
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

    /// Time from which the probability may change again.
    fn thaws(&self) -> Time {
        self.moved
            .map_or(Time(0), |moved| Time(moved.0 + self.config.freeze_ps))
    }

    /// Lowers the probability as often as the freeze time permits while the line is idle from `since` to `now`. With only one
    /// decrease per idle period, a probability of 1 would drop every packet, so that the line would stay idle for ever.
    fn idle(&mut self, since: Time, now: Time) {
        let first = since.max(self.thaws());
        let Some(remaining) = now.0.checked_sub(first.0) else {
            return;
        };
        let later = remaining / self.config.freeze_ps;
        self.probability = (self.probability - (later + 1) as f64 * self.config.decrement).max(0.0);
        self.moved = Some(Time(first.0 + later * self.config.freeze_ps));
    }
}
