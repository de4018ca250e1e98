//! Additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 3.1).

use crate::flight::Flight;

/// RFC 5681 (2) below the threshold, (3) from it on; never above the receiver's window.
pub fn grown(flight: &Flight) -> f64 {
    let mss = flight.mss();
    let increase = if flight.cwnd < flight.ssthresh {
        mss
    } else {
        mss * mss / flight.cwnd
    };
    (flight.cwnd + increase).min(flight.rwnd as f64)
}

/// Half of the window in whole segments, at least two (4.4BSD's form of RFC 5681 (4)).
pub fn threshold(flight: &Flight) -> f64 {
    let segments = (flight.window() / 2 / u64::from(flight.mss)).max(2);
    (segments * u64::from(flight.mss)) as f64
}
