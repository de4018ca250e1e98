//! H-TCP: the longer no loss came, the faster the growth (Leith and Shorten 2004; tcp_htcp.c).

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
pub struct HtcpConfig {}

impl Parameters for HtcpConfig {}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Htcp {
    alpha: f64,
    beta: f64,
    /// Shortest and longest smoothed round trip.
    least: Option<Span>,
    longest: Span,
    /// When the latest reduction was over.
    congested: Time,
    /// Whether round trips set the cut.
    adapts: bool,
    rate: Rate,
}

/// The rate at which segments arrive, each round trip.
#[derive(Clone, Debug, Default)]
struct Rate {
    began: Time,
    arrived: f64,
    /// Of the latest round trip, and the largest since the latest reduction and before it [segment/s].
    latest: f64,
    largest: f64,
    before: f64,
}

const BETA_LEAST: f64 = 0.5;
const BETA_MOST: f64 = 0.8;
/// How much longer than the longest a round trip may be to become it.
const LONGER: Span = Span::millis(20);
/// What stays of the longest round trip above the shortest after a reduction.
const FADED: f64 = 0.95;
/// Shortest round trip that sets the cut.
const LEAST_ADAPTED: Span = Span::millis(10);
/// Round trip for which the growth is meant.
const REFERENCE_S: f64 = 0.1;
/// So many round trips after a reduction rates are not smoothed.
const FRESH: f64 = 3.0;

impl Variant for Htcp {
    type Config = HtcpConfig;

    fn new(_config: &HtcpConfig) -> Htcp {
        Htcp {
            alpha: 1.0,
            beta: BETA_LEAST,
            least: None,
            longest: Span(0),
            congested: Time::ZERO,
            adapts: false,
            rate: Rate::default(),
        }
    }
}

impl Control for Htcp {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        if let (Some(srtt), true) = (ack.srtt, ack.rtt.is_some()) {
            self.take_round_trip(srtt, ack.open);
        }
        self.measure(ack, flight);
        let Some(growth) = Growth::of(ack, flight) else {
            return Grant::as_it_is(flight);
        };
        if growth.arrived > 0.0 {
            self.alpha = self.alpha_at(ack.now);
        }
        growth.per_window(self.alpha, flight)
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> Grant {
        self.beta = self.next_beta();
        self.alpha = self.alpha_at(now);
        if let Some(least) = self.least.filter(|&least| self.longest > least) {
            let above = (self.longest.0 - least.0) as f64 * FADED;
            self.longest = Span(least.0 + above as u64);
        }
        self.congested = now;
        reduced(cause, segments(flight) * self.beta, flight)
    }

    /// Growth counts from the end of the recovery.
    fn on_recovered(&mut self, _spurious: bool, now: Time, flight: &Flight) -> Grant {
        self.congested = now;
        Grant::as_it_is(flight)
    }
}

impl Htcp {
    fn take_round_trip(&mut self, srtt: Span, open: bool) {
        let least = self.least.map_or(srtt, |least| least.min(srtt));
        self.least = Some(least);
        if open {
            self.longest = self.longest.max(least);
            if srtt > self.longest && srtt <= self.longest + LONGER {
                self.longest = srtt;
            }
        }
    }

    fn measure(&mut self, ack: &Ack, flight: &Flight) {
        let now = ack.now;
        let rate = &mut self.rate;
        if !ack.grows {
            (rate.arrived, rate.began) = (0.0, now);
            return;
        }
        rate.arrived += ack.delivered as f64 / flight.mss();
        let over = now.since(rate.began);
        let window = flight.cwnd() / flight.mss() - self.alpha.max(1.0);
        if rate.arrived >= window && self.least.is_some_and(|least| over >= least && least.0 > 0) {
            let current = rate.arrived / over.as_seconds();
            let since = now.since(self.congested).as_seconds();
            if self.least.is_some_and(|least| since <= FRESH * least.as_seconds()) {
                (rate.latest, rate.largest) = (current, current);
            } else {
                rate.latest = (3.0 * rate.latest + current) / 4.0;
                rate.largest = rate.largest.max(rate.latest);
            }
            (rate.arrived, rate.began) = (0.0, now);
        }
    }

    /// Half where the rate changed by more than a fifth from loss to loss, else the ratio of round trips.
    fn next_beta(&mut self) -> f64 {
        let (now, before) = (self.rate.largest, self.rate.before);
        self.rate.before = now;
        if !(4.0 * before..=6.0 * before).contains(&(5.0 * now)) {
            self.adapts = false;
            return BETA_LEAST;
        }
        match self.least {
            Some(least) if self.adapts && least > LEAST_ADAPTED && self.longest.0 > 0 => {
                (least.0 as f64 / self.longest.0 as f64).clamp(BETA_LEAST, BETA_MOST)
            }
            _ => {
                self.adapts = true;
                BETA_LEAST
            }
        }
    }

    /// Segments that a round trip adds: 1 in the first second, then 1 + 10 (Δ - 1) + ((Δ - 1) / 2)², in proportion to the
    /// round trip, times 2 (1 - β).
    fn alpha_at(&self, now: Time) -> f64 {
        let beyond = (now.since(self.congested).as_seconds() - 1.0).max(0.0);
        let factor = 1.0 + 10.0 * beyond + beyond * beyond / 4.0;
        let scale = self.least.map_or(1.0, |least| {
            (REFERENCE_S / least.as_seconds().max(1e-9)).clamp(0.5, 10.0)
        });
        2.0 * (factor / scale) * (1.0 - self.beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn htcp(least: u64, longest: u64) -> Htcp {
        Htcp {
            least: Some(Span::millis(least)),
            longest: Span::millis(longest),
            ..Htcp::new(&HtcpConfig {})
        }
    }

    #[test]
    fn growth_rises_with_the_time_since_the_latest_loss_and_with_the_round_trip() {
        let alpha = |least, seconds| htcp(least, least).alpha_at(Time::ZERO + Span::seconds(seconds));
        assert_eq!([0, 1, 2, 3].map(|seconds| alpha(100, seconds)), [1.0, 1.0, 11.25, 22.0]);
        // Halved at 50 ms, a tenth at the least, doubled at the most.
        assert_eq!([50, 1, 600].map(|least| alpha(least, 2)), [5.625, 1.125, 22.5]);
    }

    #[test]
    fn the_cut_is_the_ratio_of_round_trips_once_rates_are_steady() {
        let mut htcp = htcp(100, 160);
        (htcp.rate.largest, htcp.rate.before) = (800.0, 0.0);
        assert_eq!(htcp.next_beta(), 0.5);
        htcp.rate.largest = 810.0;
        assert_eq!(htcp.next_beta(), 0.5);
        assert_eq!(htcp.next_beta(), 0.625);
        htcp.longest = Span::millis(110);
        assert_eq!(htcp.next_beta(), 0.8);
        htcp.rate.largest = 400.0;
        assert_eq!(htcp.next_beta(), 0.5);
    }
}
