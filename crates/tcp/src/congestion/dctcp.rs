//! Data center TCP: the window falls by the share of data that arrived marked (RFC 8257 section 3.3), and grows as Linux's does.

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::problem::Problem;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// How fast it learns.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DctcpConfig {
    /// g: weight of the latest window's share in alpha.
    pub gain: f64,
    /// Alpha before anything is known.
    pub initial_alpha: f64,
}

impl Parameters for DctcpConfig {
    fn problem(&self) -> Option<Problem> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Some(Problem::new("dctcp.gain", self.gain, "needs a number in (0, 1]"));
        }
        let fits = (0.0..=1.0).contains(&self.initial_alpha);
        (!fits).then(|| Problem::new("dctcp.initial_alpha", self.initial_alpha, "needs a number in [0, 1]"))
    }
}

/// The share of marked data, smoothed over windows.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    alpha: f64,
    /// First byte of the next window.
    window_end: u64,
    /// Bytes that arrived in this window, and those of them that were marked.
    delivered: u64,
    marked: u64,
}

impl Variant for Dctcp {
    type Config = DctcpConfig;

    fn new(config: &DctcpConfig) -> Dctcp {
        Dctcp {
            gain: config.gain,
            alpha: config.initial_alpha,
            window_end: 0,
            delivered: 0,
            marked: 0,
        }
    }
}

impl Control for Dctcp {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        self.delivered += ack.delivered;
        self.marked += ack.marked;
        if flight.una > self.window_end {
            if self.delivered > 0 {
                let share = self.marked as f64 / self.delivered as f64;
                self.alpha += self.gain * (share - self.alpha);
            }
            (self.window_end, self.delivered, self.marked) = (flight.nxt, 0, 0);
        }
        match Growth::of(ack, flight) {
            // What arrives marked does not open the window.
            Some(growth) if ack.marked == 0 => growth.per_window(1.0, flight),
            _ => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let window = segments(flight);
        match cause {
            Cause::Mark { .. } => reduced(cause, window * (1.0 - self.alpha / 2.0), flight),
            Cause::FastRetransmit | Cause::Timeout => reduced(cause, window / 2.0, flight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn config(initial_alpha: f64) -> CongestionConfig {
        CongestionConfig::Dctcp(DctcpConfig {
            gain: 1.0 / 16.0,
            initial_alpha,
        })
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half_of_the_window() {
        let mark = Cause::Mark { abe: false };
        assert_eq!(Trial::new(&config(1.0), 100.0).reduce(mark), (50.0, 50.0));
        assert_eq!(Trial::new(&config(0.2), 100.0).reduce(mark), (90.0, 90.0));
        assert_eq!(
            Trial::new(&config(0.2), 100.0).reduce(Cause::FastRetransmit),
            (50.0, 50.0)
        );
    }

    #[test]
    fn alpha_falls_by_a_sixteenth_in_each_window_without_marks() {
        let mut trial = Trial::new(&config(1.0), 100.0);
        for _ in 0..16 {
            trial.round_trip();
        }
        let before = trial.window();
        let (after, _) = trial.reduce(Cause::Mark { abe: false });
        let alpha = 2.0 * (1.0 - after / before);
        assert!((alpha - (15.0f64 / 16.0).powi(16)).abs() < 0.05, "{alpha}");
    }
}
