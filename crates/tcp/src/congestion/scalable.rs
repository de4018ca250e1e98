//! Scalable TCP: growth and cut in proportion to the window, so that a recovery takes as many round trips at any rate
//! (Kelly 2003, "Scalable TCP: improving performance in highspeed wide area networks", CCR 33(2)).

use super::aimd::{cut, halved};
use super::control::{Ack, Cause, Control, Grant};
use super::linux::Growth;
use crate::flight::Flight;
use crate::problem::Problem;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Growth, cut, and from where on they hold.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ScalableConfig {
    /// What each ACK adds to the window past slow start [segment], Kelly's a.
    pub increase: f64,
    /// Share of the window that a loss takes, Kelly's b.
    pub decrease: f64,
    /// Largest window that moves as AIMD's does [segment], Kelly's legacy window.
    pub low_window_segments: u32,
}

impl Parameters for ScalableConfig {
    fn problem(&self) -> Option<Problem> {
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let fine = share(self.increase) && share(self.decrease) && (1..=65_535).contains(&self.low_window_segments);
        (!fine).then(|| {
            Problem::new(
                "congestion",
                format!(
                    "increase {}, decrease {}, low_window {} segments",
                    self.increase, self.decrease, self.low_window_segments
                ),
                "needs 0 < increase <= 1, 0 < decrease <= 1 and a low_window of 1 to 65 535 segments",
            )
        })
    }
}

/// No memory besides the window.
#[derive(Clone, Debug)]
pub struct Scalable {
    config: ScalableConfig,
}

impl Variant for Scalable {
    type Config = ScalableConfig;

    fn new(config: &ScalableConfig) -> Scalable {
        Scalable { config: *config }
    }
}

impl Control for Scalable {
    /// By the segments that arrive, whatever the number of their ACKs.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        match Growth::of(ack, flight) {
            Some(growth) if self.is_low(flight.cwnd(), flight) => growth.per_window(1.0, flight),
            Some(growth) => growth.by(growth.arrived * self.config.increase, flight),
            None => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let threshold = if self.is_low(flight.window() as f64, flight) {
            halved(flight)
        } else {
            cut(flight, self.config.decrease)
        };
        Grant::reduced(cause, threshold, flight)
    }
}

impl Scalable {
    /// Whether a window of `bytes` moves as AIMD's does.
    fn is_low(&self, bytes: f64, flight: &Flight) -> bool {
        bytes <= f64::from(self.config.low_window_segments) * flight.mss()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    const KELLY: ScalableConfig = ScalableConfig {
        increase: 0.01,
        decrease: 0.125,
        low_window_segments: 16,
    };

    fn trial(window: f64) -> Trial {
        Trial::new(&CongestionConfig::Scalable(KELLY), window)
    }

    #[test]
    fn an_ack_adds_a_hundredth_of_a_segment_to_any_window_above_the_legacy_window() {
        let after = |window| trial(window).ack();
        assert_eq!([17.0, 100.0, 10_000.0].map(after), [17.01, 100.01, 10_000.01]);
        assert_eq!([10.0, 16.0].map(after), [10.1, 16.0625]);
        let mut slow_start = Trial::with_threshold(&CongestionConfig::Scalable(KELLY), 100.0, 200.0);
        assert_eq!(slow_start.ack(), 101.0);
    }

    #[test]
    fn a_loss_takes_an_eighth_of_a_window_above_the_legacy_window_else_half() {
        let after = |window| trial(window).reduce(Cause::FastRetransmit).0;
        assert_eq!([1000.0, 17.0, 16.0, 3.0].map(after), [875.0, 14.0, 8.0, 2.0]);
        assert_eq!(trial(1000.0).reduce(Cause::Timeout), (1.0, 875.0));
    }

    /// Kelly's log(1 - b) / log(1 + a), 13.4.
    #[test]
    fn a_recovery_takes_fourteen_round_trips_at_any_window() {
        for window in [800.0, 8_000.0, 80_000.0] {
            let mut trial = trial(window);
            trial.reduce(Cause::FastRetransmit);
            let round_trips = (1..).find(|_| trial.round_trip() >= window);
            assert_eq!(round_trips, Some(14), "{window}");
        }
    }

    /// a / log(1 / (1 - b)) over the share lost, Kelly's a / b for a small b; AIMD's is in proportion to the root of it.
    #[test]
    fn the_mean_window_is_in_proportion_to_the_segments_from_loss_to_loss() {
        for period in [1_000, 10_000, 100_000] {
            let expected = KELLY.increase / -(1.0 - KELLY.decrease).ln() * period as f64;
            let ratio = trial(100.0).mean_window(period) / expected;
            assert!((0.98..1.02).contains(&ratio), "{period}: {ratio}");
        }
    }

    #[test]
    fn growth_and_cut_are_shares_of_a_window() {
        assert_eq!(KELLY.problem(), None);
        for config in [
            ScalableConfig { increase: 0.0, ..KELLY },
            ScalableConfig {
                increase: f64::NAN,
                ..KELLY
            },
            ScalableConfig { decrease: 1.5, ..KELLY },
            ScalableConfig {
                low_window_segments: 0,
                ..KELLY
            },
        ] {
            assert!(config.problem().is_some(), "{config:?}");
        }
    }
}
