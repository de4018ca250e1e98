//! Westwood+: after a loss the window is what the path took, by the rate of ACKs (Mascolo et al. 2004; tcp_westwood.c).

use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{reduced, segments, Growth};
use crate::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Nothing to choose.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct WestwoodConfig {}

impl Parameters for WestwoodConfig {}

/// The state of one sender.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    /// Bandwidth once and twice smoothed [byte/s]; none: not a sample yet.
    bandwidth: Option<(f64, f64)>,
    /// Since when, and how many bytes, arrived.
    began: Option<Time>,
    arrived: u64,
    latest: Option<Span>,
    least: Option<Span>,
}

/// Shortest time over which a rate is measured.
const LEAST_INTERVAL: Span = Span::millis(50);

impl Variant for Westwood {
    type Config = WestwoodConfig;

    fn new(_config: &WestwoodConfig) -> Westwood {
        Westwood::default()
    }
}

impl Control for Westwood {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        if let Some(rtt) = ack.rtt {
            self.latest = Some(rtt);
            self.least = self.least.min(ack.rtt).or(ack.rtt);
        }
        self.measure(ack);
        match Growth::of(ack, flight) {
            Some(growth) => growth.per_window(1.0, flight),
            None => Grant::as_it_is(flight),
        }
    }

    /// Half while the recovery lasts; after a timeout at once what the path took.
    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        if cause != Cause::Timeout {
            return reduced(cause, segments(flight) / 2.0, flight);
        }
        let grant = reduced(cause, self.path_bytes() / flight.mss(), flight);
        self.least = None;
        grant
    }

    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> Grant {
        if spurious {
            return Grant::as_it_is(flight);
        }
        reduced(Cause::FastRetransmit, self.path_bytes() / flight.mss(), flight)
    }
}

impl Westwood {
    /// Takes in what arrived; once per round trip that is a rate, smoothed by seven eighths, twice.
    fn measure(&mut self, ack: &Ack) {
        let began = *self.began.get_or_insert(ack.now);
        let over = ack.now.since(began);
        if self.latest.is_some_and(|latest| over > latest.max(LEAST_INTERVAL)) {
            let rate = self.arrived as f64 / over.as_seconds();
            let smooth = |before: f64, sample: f64| (7.0 * before + sample) / 8.0;
            self.bandwidth = Some(match self.bandwidth {
                None => (rate, rate),
                Some((once, twice)) => {
                    let once = smooth(once, rate);
                    (once, smooth(twice, once))
                }
            });
            (self.began, self.arrived) = (Some(ack.now), 0);
        }
        self.arrived += ack.delivered;
    }

    /// What the path holds without queues [byte].
    fn path_bytes(&self) -> f64 {
        match (self.bandwidth, self.least) {
            (Some((_, bandwidth)), Some(least)) => bandwidth * least.as_seconds(),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    /// 100 segments each 100 ms.
    fn settled() -> Trial {
        let mut trial = Trial::new(&CongestionConfig::Westwood(WestwoodConfig {}), 100.0).over(Span::millis(100));
        for _ in 0..20_000 {
            trial.ack_after(Span::millis(1), false);
        }
        trial
    }

    #[test]
    fn a_recovery_ends_with_what_the_path_took_in_a_round_trip() {
        let mut trial = settled();
        assert_eq!(trial.reduce(Cause::FastRetransmit), (50.0, 50.0));
        let (window, threshold) = trial.recover();
        assert!((99.0..=100.0).contains(&window), "{window}");
        assert_eq!(window, threshold);
    }

    #[test]
    fn a_timeout_leaves_the_same_threshold_and_forgets_the_round_trip() {
        let mut trial = settled();
        let (window, threshold) = trial.reduce(Cause::Timeout);
        assert!(
            window == 1.0 && (99.0..=100.0).contains(&threshold),
            "{window} {threshold}"
        );
        assert_eq!(trial.reduce(Cause::Timeout), (1.0, 2.0));
    }
}
