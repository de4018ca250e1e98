//! Pacing rates and quanta as in Linux's tcp_output.c, for controllers that set a window or a rate.

use super::control::Pacing;
use super::flight::Flight;
use longpipe_events::Span;

/// The pacing rate is cwnd/srtt times SLOW_START_FACTOR while cwnd < ssthresh/2, and times AVOIDANCE_FACTOR otherwise
/// (Linux).
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;
/// A quantum is the data sent in 1/1024 s at the pacing rate (sk_pacing_shift). On paths with a short RTT it also
/// includes a share of the largest burst; this share is halved for each 512 µs of the RTT (tcp_tso_rtt_log).
const QUANTA_PER_SECOND: u64 = 1024;
const BURST_SHARE_HALF_LIFE: Span = Span::micros(512);
/// Largest burst of segments [byte].
const MAX_BURST_BYTES: u64 = 65_536;
/// Conversion factor: number of bits per byte times number of picoseconds per second.
pub const PS_TIMES_BITS: f64 = 8e12;

/// No pacing: segments are sent when ACKs arrive.
pub const UNPACED: Pacing = Pacing {
    rate_bps: 0,
    quantum_bytes: 0,
};

/// Returns the pacing rate for a congestion controller that sets none: cwnd/srtt, multiplied by a factor above 1.
pub fn by_window(flight: &Flight, srtt: Option<Span>, least_rtt: Option<Span>) -> Option<Pacing> {
    let factor = if flight.cwnd() < flight.ssthresh() / 2.0 {
        SLOW_START_FACTOR
    } else {
        AVOIDANCE_FACTOR
    };
    by_factor(factor, flight, srtt, least_rtt)
}

/// Returns the pacing rate cwnd/srtt, multiplied by `factor`.
pub fn by_factor(factor: f64, flight: &Flight, srtt: Option<Span>, least_rtt: Option<Span>) -> Option<Pacing> {
    let window = flight.cwnd().max(flight.outstanding() as f64);
    let rate = factor * window * PS_TIMES_BITS / srtt?.0 as f64;
    Some(at_rate(rate, 2, least_rtt, flight))
}

/// Returns the parameters for pacing at `rate_bps` [bit/s] with a quantum of at least `least_segments` segments.
pub fn at_rate(rate_bps: f64, least_segments: u64, least_rtt: Option<Span>, flight: &Flight) -> Pacing {
    let rate_bps = rate_bps as u64;
    let halved = least_rtt
        .map_or(u64::MAX, |rtt| rtt.0 / BURST_SHARE_HALF_LIFE.0)
        .min(u64::from(u64::BITS) - 1);
    let bytes = (rate_bps / 8 / QUANTA_PER_SECOND).saturating_add(MAX_BURST_BYTES >> halved);
    Pacing {
        rate_bps,
        quantum_bytes: quantum(bytes, least_segments, flight),
    }
}

/// Returns a quantum of `bytes` [byte], rounded to whole segments; at least `least_segments`.
fn quantum(bytes: u64, least_segments: u64, flight: &Flight) -> u32 {
    let mss = u64::from(flight.mss);
    ((bytes.min(MAX_BURST_BYTES) / mss).max(least_segments) * mss) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;

    #[test]
    fn the_rate_is_twice_cwnd_per_srtt_below_half_of_ssthresh_and_six_fifths_above() {
        let rate = |cwnd, ssthresh| {
            let flight = Flight::new(Limits::new(cwnd, ssthresh), 1 << 30, 1000);
            by_window(&flight, Some(Span::millis(100)), None).expect("a round trip is known")
        };
        assert_eq!(rate(10_000.0, f64::INFINITY).rate_bps, 1_600_000);
        assert_eq!(rate(10_000.0, 20_000.0).rate_bps, 960_000);
        assert_eq!(rate(10_000.0, 20_000.0).quantum_bytes, 2000);
        let fast = rate(125e6, 1.0);
        assert_eq!((fast.rate_bps, fast.quantum_bytes), (12_000_000_000, 65_000));
    }

    #[test]
    fn on_a_short_path_the_quantum_is_larger() {
        let flight = Flight::new(Limits::new(1e4, 1e4), 1 << 30, 1000);
        let quantum = |micros| at_rate(1e6, 2, Some(Span::micros(micros)), &flight).quantum_bytes;
        assert_eq!([100, 600, 1100, 10_000].map(quantum), [65_000, 32_000, 16_000, 2_000]);
    }
}
