//! Additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 3.1).

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::described::Described;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_json::FromJson;
use serde::Serialize;

/// Slow start and congestion avoidance (RFC 5681 section 3.1).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "AIMD (Reno)")]
#[described(fact("is_flat", true))]
#[described(fact("is_reno", true))]
#[described(fact("after_loss", "half of the data in flight (RFC 5681 section 3.1, equation 4)"))]
pub struct AimdConfig {
    /// An ACK increases cwnd by the bytes that it acknowledges, at most one segment (RFC 5681 section 3.1); if false,
    /// by one segment, as in 4.4BSD.
    #[field(default = false)]
    pub byte_counting: bool,
}

impl Parameters for AimdConfig {}

/// Fraction by which ABE reduces cwnd after an ECN mark (RFC 8511 section 3.1).
const MARK_CUT: f64 = 0.2;

/// AIMD, which has no state other than cwnd and ssthresh.
#[derive(Clone, Debug)]
pub struct Aimd {
    byte_counting: bool,
}

impl Variant for Aimd {
    type Config = AimdConfig;

    fn new(config: &AimdConfig) -> Aimd {
        Aimd {
            byte_counting: config.byte_counting,
        }
    }
}

impl Control for Aimd {
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if ack.grows {
            self.grown(ack.acked, flight)
        } else {
            CwndUpdate::unchanged(flight)
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        let share = match cause {
            Cause::Mark { abe: true } => MARK_CUT,
            _ => 0.5,
        };
        CwndUpdate::reduced(cause, cut(flight, share), flight)
    }
}

impl Aimd {
    /// Returns cwnd after an ACK of `acked` bytes.
    #[inline(always)]
    pub fn grown(&self, acked: u64, flight: &Flight) -> CwndUpdate {
        let counted = if self.byte_counting {
            acked
        } else {
            u64::from(flight.mss)
        };
        CwndUpdate::window(grown(flight, counted), flight)
    }
}

/// Returns the increased cwnd [byte] after an ACK that counts as `counted` bytes, at most one segment: according to RFC
/// 5681 equation 2 below ssthresh, and to equation 3 otherwise. Never exceeds the receiver window.
#[inline(always)]
pub fn grown(flight: &Flight, counted: u64) -> f64 {
    let mss = flight.mss();
    // The conversion to a signed integer compiles to one instruction.
    let counted = (counted as i64 as f64).min(mss);
    let increase = if flight.cwnd() < flight.ssthresh() {
        counted
    } else {
        mss * counted / flight.cwnd()
    };
    (flight.cwnd() + increase).min(flight.rwnd as i64 as f64)
}

/// Returns half of the window in whole segments, at least two (4.4BSD's form of RFC 5681 equation 4).
pub fn halved(flight: &Flight) -> f64 {
    cut(flight, 0.5)
}

/// Returns the window multiplied by 1 - `share` [byte], rounded down to whole segments; at least two segments.
pub fn cut(flight: &Flight, share: f64) -> f64 {
    // The value is never negative, so it can be converted to a signed integer, which compiles to one instruction.
    let segments = (flight.window() as i64 as f64 * (1.0 - share) / flight.mss()) as i64;
    segments.max(2) as f64 * flight.mss()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    #[test]
    fn an_ack_counts_its_bytes_but_at_most_one_segment() {
        let flight = |cwnd| Flight::new(Limits::new(cwnd, 8000.0), 9000, 1000);
        let (below, above) = (flight(4000.0), flight(8000.0));
        assert_eq!(
            [100, 1000, 5000].map(|counted| grown(&below, counted)),
            [4100.0, 5000.0, 5000.0]
        );
        assert_eq!(
            [80, 1000, 5000].map(|counted| grown(&above, counted)),
            [8010.0, 8125.0, 8125.0]
        );
    }

    #[test]
    fn half_of_a_window_is_computed_in_integers_as_in_4_4_bsd() {
        for mss in [1, 333, 1000, 65_000] {
            for bytes in (0..1 << 30).step_by(1_234_567).chain(0..10_000) {
                let flight = Flight::new(Limits::new(f64::from(bytes), 0.0), 1 << 30, mss);
                let segments = (bytes as u64 / 2 / u64::from(mss)).max(2);
                assert_eq!(halved(&flight), (segments * u64::from(mss)) as f64, "{bytes} {mss}");
            }
        }
    }

    /// Mathis, Semke, Mahdavi and Ott 1997: the mean window is √(3/2) divided by the square root of the loss rate.
    #[test]
    fn the_mean_window_is_proportional_to_the_square_root_of_the_loss_interval() {
        for period in [1_000, 10_000, 100_000] {
            let config = CongestionConfig::Aimd(AimdConfig { byte_counting: false });
            let ratio = Trial::new(&config, 100.0).mean_window(period) / (1.5 * period as f64).sqrt();
            assert!((0.97..1.03).contains(&ratio), "{period}: {ratio}");
        }
    }

    #[test]
    fn the_window_doubles_per_rtt_in_slow_start_and_then_grows_by_a_segment_per_rtt() {
        let config = CongestionConfig::Aimd(AimdConfig { byte_counting: true });
        assert_eq!(Trial::with_threshold(&config, 8.0, 100.0).round_trip(), 16.0);
        let past = Trial::new(&config, 100.0).round_trip();
        assert!((100.9..101.0).contains(&past), "{past}");
    }
}
