//! Additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 3.1).

use crate::flight::Flight;

/// RFC 5681 (2) below the threshold, (3) from it on, for an ACK that counts as one of `counted` bytes, at most a segment;
/// never above the receiver's window.
#[inline(always)]
pub fn grown(flight: &Flight, counted: u64) -> f64 {
    let mss = flight.mss();
    // Signed conversions are one instruction each.
    let counted = (counted as i64 as f64).min(mss);
    let increase = if flight.cwnd < flight.ssthresh {
        counted
    } else {
        mss * counted / flight.cwnd
    };
    (flight.cwnd + increase).min(flight.rwnd as i64 as f64)
}

/// Half of the window in whole segments, at least two (4.4BSD's form of RFC 5681 (4)).
pub fn threshold(flight: &Flight) -> f64 {
    let segments = (flight.window() / 2 / u64::from(flight.mss)).max(2);
    (segments * u64::from(flight.mss)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_counts_by_its_bytes_and_as_one_segment_at_most() {
        let below = Flight {
            una: 0,
            nxt: 0,
            max: 0,
            cwnd: 4000.0,
            ssthresh: 8000.0,
            rwnd: 9000,
            mss: 1000,
            duplicates: 0,
        };
        let above = Flight {
            cwnd: 8000.0,
            ..below.clone()
        };
        assert_eq!(
            [100, 1000, 5000].map(|counted| grown(&below, counted)),
            [4100.0, 5000.0, 5000.0]
        );
        assert_eq!(
            [80, 1000, 5000].map(|counted| grown(&above, counted)),
            [8010.0, 8125.0, 8125.0]
        );
    }
}
