//! Reno as Linux counts: by the segments that arrived, whatever the number of their ACKs (tcp_cong.c; RFC 5681, RFC 3465).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Nothing to choose.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LinuxRenoConfig {}

impl Parameters for LinuxRenoConfig {}

/// What a mark leaves of the window where it costs less than a loss (RFC 8511 section 3.1).
const MARK_BETA: f64 = 0.8;

/// No memory besides the window.
#[derive(Clone, Debug)]
pub struct LinuxReno;

impl Variant for LinuxReno {
    type Config = LinuxRenoConfig;

    fn new(_config: &LinuxRenoConfig) -> LinuxReno {
        LinuxReno
    }
}

impl Control for LinuxReno {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        match Growth::of(ack, flight) {
            Some(growth) => growth.per_window(1.0, flight),
            None => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let left = match cause {
            Cause::Mark { abe: true } => MARK_BETA,
            _ => 0.5,
        };
        reduced(cause, segments(flight) * left, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn trial(window: f64) -> Trial {
        Trial::new(&CongestionConfig::LinuxReno(LinuxRenoConfig {}), window)
    }

    #[test]
    fn the_window_grows_by_a_segment_in_a_round_trip_and_a_loss_halves_it() {
        let window = trial(100.0).round_trip();
        assert!((100.9..101.0).contains(&window), "{window}");
        assert_eq!(trial(101.5).reduce(Cause::FastRetransmit), (50.0, 50.0));
        assert_eq!(trial(101.5).reduce(Cause::Timeout), (1.0, 50.0));
    }

    #[test]
    fn slow_start_ends_at_the_threshold_and_a_window_that_is_not_used_stays() {
        let config = CongestionConfig::LinuxReno(LinuxRenoConfig {});
        let mut trial = Trial::with_threshold(&config, 10.0, 12.0);
        assert_eq!([trial.ack(), trial.ack()], [11.0, 12.0]);
        assert_eq!(trial.ack(), 12.0 + 1.0 / 12.0);
        let before = trial.window();
        assert_eq!(trial.ack_after(longpipe_events::Span(0), false), before);
    }
}
