//! Veno: losses while few segments stand in queues are the link's, and cost less (Fu and Liew 2003; tcp_veno.c).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::problem::Problem;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// How many segments in queues tell of congestion.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VenoConfig {
    /// So many [segment], β.
    pub backlog: f64,
}

impl Parameters for VenoConfig {
    fn problem(&self) -> Option<Problem> {
        let fine = self.backlog > 0.0 && self.backlog <= 1e6;
        (!fine).then(|| {
            Problem::new(
                "congestion.backlog",
                self.backlog,
                "needs 0 < backlog <= 1 000 000 segments",
            )
        })
    }
}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Veno {
    backlog: f64,
    /// Round trips measured.
    samples: u32,
    base: Option<Span>,
    latest: Option<Span>,
}

/// What a loss leaves that is the link's.
const RANDOM: f64 = 0.8;
/// So few round trips tell nothing.
const FEW: u32 = 2;

impl Variant for Veno {
    type Config = VenoConfig;

    fn new(config: &VenoConfig) -> Veno {
        Veno {
            backlog: config.backlog,
            samples: 0,
            base: None,
            latest: None,
        }
    }
}

impl Control for Veno {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        if let Some(rtt) = ack.rtt {
            self.samples = self.samples.saturating_add(1);
            (self.base, self.latest) = (ack.least_rtt, Some(rtt));
        }
        match Growth::of(ack, flight) {
            // A segment every other round trip.
            Some(growth) if self.is_congested(growth.cwnd) => growth.per_window(0.5, flight),
            Some(growth) => growth.per_window(1.0, flight),
            None => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let cwnd = segments(flight);
        let left = if self.is_congested(cwnd) { 0.5 } else { RANDOM };
        reduced(cause, cwnd * left, flight)
    }
}

impl Veno {
    /// Whether so much of a window stands in queues, by the latest round trip, that a loss is theirs.
    fn is_congested(&self, cwnd: f64) -> bool {
        match (self.base, self.latest) {
            (Some(base), Some(latest)) if self.samples > FEW => {
                cwnd * (1.0 - base.0 as f64 / latest.0.max(1) as f64) >= self.backlog
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    /// Past slow start, over a path whose queue makes a round trip of 100 ms longer.
    fn queued(longer: u64) -> Trial {
        let config = CongestionConfig::Veno(VenoConfig { backlog: 3.0 });
        let mut trial = Trial::new(&config, 100.0).over(Span::millis(100));
        trial.round_trip();
        trial.over(Span::millis(100 + longer))
    }

    #[test]
    fn three_segments_in_queues_halve_growth_and_make_a_loss_cost_half() {
        // 101 segments · 4/104 are 3.9, · 2/102 are 2.
        for (longer, growth, left) in [(4, 0.5, 50.0), (2, 1.0, 80.0)] {
            let mut trial = queued(longer);
            let before = trial.window();
            let grown = trial.round_trip() - before;
            assert!((grown / growth - 1.0).abs() < 0.02, "{longer} ms: {grown}");
            assert_eq!(trial.reduce(Cause::FastRetransmit).0, left, "{longer} ms");
        }
    }
}
