//! Illinois: the longer the queueing delay, the slower the growth and the deeper the cut (Liu, Başar and Srikant 2008;
//! tcp_illinois.c).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Linux's constants.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct IllinoisConfig {}

impl Parameters for IllinoisConfig {}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Illinois {
    /// Segments that a round trip adds, and share that a loss takes.
    alpha: f64,
    beta: f64,
    /// First byte after the round trip, and what it measured: sum [ps] and number.
    end: u64,
    sum: u128,
    count: u64,
    longest: Span,
    base: Option<Span>,
    /// Whether delays were long, and round trips since in which they were not.
    long: bool,
    short_for: u32,
}

const ALPHA_MOST: f64 = 10.0;
const ALPHA_LEAST: f64 = 0.3;
const BETA_LEAST: f64 = 0.125;
const BETA_MOST: f64 = 0.5;
/// Smallest window that adapts [segment].
const LEAST_WINDOW: f64 = 15.0;
/// So many round trips of short delays lead back to the fastest growth.
const THETA: u32 = 5;

impl Variant for Illinois {
    type Config = IllinoisConfig;

    fn new(_config: &IllinoisConfig) -> Illinois {
        Illinois {
            alpha: ALPHA_MOST,
            beta: BETA_MOST,
            end: 0,
            sum: 0,
            count: 0,
            longest: Span(0),
            base: None,
            long: false,
            short_for: 0,
        }
    }
}

impl Control for Illinois {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        if let Some(rtt) = ack.rtt {
            self.base = ack.least_rtt;
            self.longest = self.longest.max(rtt);
            self.sum += u128::from(rtt.0);
            self.count += 1;
        }
        if flight.una > self.end && ack.acked > 0 {
            self.adapt(flight);
        }
        match Growth::of(ack, flight) {
            Some(growth) => growth.per_window(self.alpha, flight),
            None => Grant::as_it_is(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        let cwnd = segments(flight);
        let grant = reduced(cause, (cwnd * (1.0 - self.beta)).ceil(), flight);
        if cause == Cause::Timeout {
            (self.alpha, self.beta) = (1.0, BETA_MOST);
            (self.long, self.short_for) = (false, 0);
            self.begin(flight);
        }
        grant
    }
}

impl Illinois {
    /// Growth and cut for the next round trip.
    fn adapt(&mut self, flight: &Flight) {
        if flight.cwnd() < LEAST_WINDOW * flight.mss() {
            (self.alpha, self.beta) = (1.0, BETA_MOST);
        } else if let (Some(base), true) = (self.base, self.count > 0) {
            let average = (self.sum / u128::from(self.count)) as u64;
            let (delay, most) = (average.saturating_sub(base.0), self.longest.0.saturating_sub(base.0));
            self.alpha = self.alpha_at(delay as f64, most as f64);
            self.beta = beta_at(delay as f64, most as f64);
        }
        self.begin(flight);
    }

    fn begin(&mut self, flight: &Flight) {
        (self.end, self.sum, self.count) = (flight.nxt, 0, 0);
    }

    /// From 10 at a hundredth of the longest delay to .3 at the longest.
    fn alpha_at(&mut self, delay: f64, most: f64) -> f64 {
        let short = most / 100.0;
        if delay <= short {
            if !self.long {
                return ALPHA_MOST;
            }
            self.short_for += 1;
            if self.short_for < THETA {
                return self.alpha;
            }
            (self.long, self.short_for) = (false, 0);
            return ALPHA_MOST;
        }
        self.long = true;
        let (delay, most) = (delay - short, most - short);
        most * ALPHA_MOST / (most + delay * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST)
    }
}

/// From an eighth at a tenth of the longest delay to half at four fifths.
fn beta_at(delay: f64, most: f64) -> f64 {
    let (low, high) = (most / 10.0, most * 8.0 / 10.0);
    if delay <= low {
        BETA_LEAST
    } else if delay >= high {
        BETA_MOST
    } else {
        (BETA_LEAST * high - BETA_MOST * low + (BETA_MOST - BETA_LEAST) * delay) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_falls_from_ten_to_three_tenths_and_the_cut_rises_from_an_eighth_to_half() {
        let mut illinois = Illinois::new(&IllinoisConfig {});
        let alphas = [0.5, 100.0].map(|delay| illinois.alpha_at(delay, 100.0));
        assert_eq!(alphas[0], 10.0);
        assert!((alphas[1] - 0.3).abs() < 1e-12);
        assert_eq!(
            [10.0, 45.0, 80.0].map(|delay| beta_at(delay, 100.0)),
            [0.125, 0.3125, 0.5]
        );
    }

    #[test]
    fn after_long_delays_growth_is_fast_again_in_the_fifth_short_round_trip() {
        let mut illinois = Illinois::new(&IllinoisConfig {});
        illinois.alpha = illinois.alpha_at(100.0, 100.0);
        let alphas: Vec<f64> = (0..5)
            .map(|_| {
                illinois.alpha = illinois.alpha_at(0.0, 100.0);
                illinois.alpha
            })
            .collect();
        assert!(alphas[..4].iter().all(|&alpha| alpha < 0.31), "{alphas:?}");
        assert_eq!(alphas[4], 10.0);
    }
}
