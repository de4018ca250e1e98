//! Hybla: a connection of a long round trip grows as one of 25 ms would (Caini and Firrincieli 2004; tcp_hybla.c).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{is_limited, reduced, segments, Growth};
use crate::flight::Flight;
use crate::problem::Problem;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// As whose it grows.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct HyblaConfig {
    /// Round trip of the connection that it equals [ps], RTT0.
    pub reference_ps: u64,
}

impl Parameters for HyblaConfig {
    fn problem(&self) -> Option<Problem> {
        let fine = (1..=100 * PS_PER_SECOND).contains(&self.reference_ps);
        (!fine).then(|| Problem::new("congestion.reference", self.reference_ps, "needs 1 ps to 100 s"))
    }
}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Hybla {
    reference: Span,
    /// Shortest smoothed round trip.
    least: Option<Span>,
}

/// Linux counts ρ in eighths, and 2^ρ with an exponent of at most 16.
const EIGHTHS: u64 = 8;
const MOST_EXPONENT: u64 = 16;
/// Largest window [segment].
const CLAMP: f64 = 65_535.0;

impl Variant for Hybla {
    type Config = HyblaConfig;

    fn new(config: &HyblaConfig) -> Hybla {
        Hybla {
            reference: Span(config.reference_ps),
            least: None,
        }
    }
}

impl Control for Hybla {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    /// The window begins with ρ segments (tcp_hybla.c).
    fn on_start(&mut self, rtt: Span, flight: &Flight) -> Grant {
        self.least = Some(rtt);
        let segments = (self.rho_eighths() / EIGHTHS) as f64;
        Grant::window((segments * flight.mss()).min(flight.rwnd as f64), flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        self.least = [self.least, ack.srtt].into_iter().flatten().min();
        if !ack.grows || !is_limited(ack, flight) {
            return Grant::as_it_is(flight);
        }
        if !ack.open {
            // While anything is lost it is Reno.
            return Growth::of(ack, flight).map_or(Grant::as_it_is(flight), |growth| growth.per_window(1.0, flight));
        }
        let (cwnd, ssthresh) = (flight.cwnd() / flight.mss(), flight.ssthresh() / flight.mss());
        let grown = if cwnd < ssthresh {
            (cwnd + self.in_slow_start()).min(ssthresh)
        } else {
            let rho = self.rho_eighths() as f64 / EIGHTHS as f64;
            cwnd + rho * rho / cwnd
        };
        Grant::window((grown.min(CLAMP) * flight.mss()).min(flight.rwnd as f64), flight)
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        reduced(cause, segments(flight) / 2.0, flight)
    }
}

impl Hybla {
    /// The shortest smoothed round trip over the reference, at least one, in eighths.
    fn rho_eighths(&self) -> u64 {
        let least = self.least.map_or(0, |least| least.0);
        (u128::from(least) * u128::from(EIGHTHS) / u128::from(self.reference.0)).max(u128::from(EIGHTHS)) as u64
    }

    /// What an ACK adds in slow start [segment]: 2^ρ - 1.
    fn in_slow_start(&self) -> f64 {
        let (whole, eighths) = (self.rho_eighths() / EIGHTHS, self.rho_eighths() % EIGHTHS);
        f64::from(1u32 << whole.min(MOST_EXPONENT)) * POWERS[eighths as usize] - 1.0
    }
}

/// 2^(n/8): roots of roots are exact to the bit on every machine, powers are not, so that they stand here.
const POWERS: [f64; 8] = [
    1.0,
    1.090_507_732_665_257_7,
    1.189_207_115_002_721,
    1.296_839_554_651_009_6,
    std::f64::consts::SQRT_2,
    1.542_210_825_407_940_7,
    1.681_792_830_507_429,
    1.834_008_086_409_342_4,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn config() -> CongestionConfig {
        CongestionConfig::Hybla(HyblaConfig {
            reference_ps: Span::millis(25).0,
        })
    }

    /// ns-3's vectors have 2^ρ - 1 and ρ²: at 100 ms 15 segments an ACK, and 16 a round trip.
    #[test]
    fn a_round_trip_of_four_references_grows_by_sixteen_segments() {
        let mut trial = Trial::new(&config(), 1000.0).over(Span::millis(100));
        let grown = trial.round_trip() - 1000.0;
        assert!((15.8..16.0).contains(&grown), "{grown}");
        let mut trial = Trial::with_threshold(&config(), 10.0, 1e6).over(Span::millis(100));
        assert_eq!(trial.ack(), 25.0);
    }

    #[test]
    fn shorter_than_the_reference_it_is_reno_and_in_geostationary_orbit_one_ack_opens_the_window() {
        let mut near = Trial::new(&config(), 100.0).over(Span::millis(10));
        let window = near.round_trip();
        assert!((100.9..101.0).contains(&window), "{window}");
        let mut geo = Trial::with_threshold(&config(), 10.0, 1e9).over(Span::millis(600));
        assert_eq!(geo.ack(), 65_535.0);
        assert_eq!(geo.reduce(Cause::FastRetransmit).0, 32_767.0);
    }

    #[test]
    fn an_eighth_of_the_reference_counts() {
        let mut trial = Trial::with_threshold(&config(), 10.0, 1e6).over(Span::micros(28_125));
        let expected = 10.0 + 2f64.powf(1.125) - 1.0;
        assert!((trial.ack() / expected - 1.0).abs() < 1e-12);
    }
}
