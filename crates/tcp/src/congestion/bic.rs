//! BIC: the window searches for the old maximum by halves, then beyond it (Xu, Harfoush and Rhee 2004; tcp_bic.c).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Linux's constants.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BicConfig {}

impl Parameters for BicConfig {}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Bic {
    /// Window at the latest loss [segment]; 0: none yet.
    last_max: f64,
    /// Segments that an ACK tells of, on average, in sixteenths: whole ones, so that it stays at 31 where each tells of one.
    per_ack: u32,
}

/// Largest window that moves as Reno's does [segment].
const LOW_WINDOW: f64 = 14.0;
/// Most that a round trip adds [segment], S_max.
const MOST: f64 = 16.0;
/// A quarter of what is left to the maximum is added in a round trip.
const SHARE: f64 = 4.0;
/// Round trips that the last segments before the maximum take, each quarter of them.
const SMOOTH: f64 = 20.0;
/// Share of the window that a loss leaves.
const BETA: f64 = 819.0 / 1024.0;
/// As which Linux counts `per_ack`.
const SIXTEENTHS: u32 = 16;
/// Most ACKs for a segment before the first loss: the window grows by 5 % in a round trip.
const START: f64 = 20.0;

impl Variant for Bic {
    type Config = BicConfig;

    fn new(_config: &BicConfig) -> Bic {
        Bic {
            last_max: 0.0,
            per_ack: 2 * SIXTEENTHS,
        }
    }
}

impl Control for Bic {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        if ack.open && ack.acked > 0 {
            let told = (ack.delivered as f64 / flight.mss()).round() as u32;
            self.per_ack = self.per_ack - self.per_ack / SIXTEENTHS + told;
        }
        match Growth::of(ack, flight) {
            Some(growth) => growth.by(growth.arrived * self.share(growth.cwnd), flight),
            None => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let cwnd = segments(flight);
        self.last_max = if cwnd < self.last_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        if cause == Cause::Timeout {
            self.last_max = 0.0;
        }
        reduced(cause, cwnd * if cwnd <= LOW_WINDOW { 0.5 } else { BETA }, flight)
    }
}

impl Bic {
    /// What a segment that arrives adds to a window of `cwnd` segments, by Linux's whole numbers, which cut off much of small ones.
    fn share(&self, cwnd: f64) -> f64 {
        let cwnd = cwnd.floor();
        let smooth = SHARE / SMOOTH;
        let per_window = if cwnd <= LOW_WINDOW {
            return 1.0 / cwnd;
        } else if cwnd < self.last_max {
            let distance = ((self.last_max - cwnd) / SHARE).floor();
            if distance <= 1.0 {
                smooth
            } else {
                distance.min(MOST)
            }
        } else if cwnd < self.last_max + SHARE {
            smooth
        } else if cwnd < self.last_max + MOST * (SHARE - 1.0) {
            (cwnd - self.last_max) / (SHARE - 1.0)
        } else {
            MOST
        };
        let most = if self.last_max == 0.0 { START } else { f64::INFINITY };
        let acks = (cwnd / per_window).floor().min(most);
        1.0 / (acks * f64::from(SIXTEENTHS) / f64::from(self.per_ack))
            .floor()
            .max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn after_loss(window: f64) -> (Bic, Trial) {
        let mut trial = Trial::new(&CongestionConfig::Bic(BicConfig {}), window);
        trial.reduce(Cause::FastRetransmit);
        let bic = Bic {
            last_max: window,
            per_ack: SIXTEENTHS,
        };
        (bic, trial)
    }

    #[test]
    fn a_round_trip_adds_a_quarter_of_the_distance_sixteen_at_most_and_little_around_the_maximum() {
        let (bic, _) = after_loss(1000.0);
        let acks = |cwnd: f64| (1.0 / bic.share(cwnd)).round();
        assert_eq!([800.0, 960.0, 990.0, 997.0].map(acks), [50.0, 96.0, 495.0, 4985.0]);
        assert_eq!([1003.0, 1012.0, 2000.0, 10.0].map(acks), [5015.0, 253.0, 125.0, 10.0]);
    }

    #[test]
    fn a_loss_leaves_four_fifths_or_half_of_a_small_window() {
        let reduce =
            |window: f64| Trial::new(&CongestionConfig::Bic(BicConfig {}), window).reduce(Cause::FastRetransmit);
        assert_eq!([1000.0, 14.0].map(|window| reduce(window).0), [799.0, 7.0]);
    }

    #[test]
    fn as_if_each_ack_told_of_two_segments_the_window_grows_twice_as_fast() {
        let mut trial = Trial::new(&CongestionConfig::Bic(BicConfig {}), 1000.0);
        trial.reduce(Cause::FastRetransmit);
        let grown = trial.round_trip() - 799.0;
        assert!((31.0..32.0).contains(&grown), "{grown}");
    }

    #[test]
    fn before_the_first_loss_a_round_trip_adds_five_percent() {
        let bic = Bic {
            last_max: 0.0,
            per_ack: SIXTEENTHS,
        };
        assert_eq!(bic.share(1000.0), 0.05);
    }
}
