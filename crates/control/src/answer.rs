//! Answers of user-defined controllers, and their conversion to window updates. Invalid values are replaced and reported.

use crate::complaints::{Complaints, Kind};
use longpipe_events::{Span, Time};
use longpipe_tcp::congestion::control::{CwndUpdate, Pacing};
use longpipe_tcp::congestion::flight::Flight;
use longpipe_tcp::congestion::pacing;

/// Largest window [byte]: RFC 7323 allows window scaling up to 1 GiB.
pub(crate) const LARGEST_WINDOW: f64 = (1u64 << 30) as f64;
/// Highest pacing rate [bit/s], which exceeds the rate of every link.
const HIGHEST_RATE: f64 = 1e15;

/// An answer of a controller that has not been validated yet.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Congestion window [byte].
    pub window: f64,
    /// Slow-start threshold [byte].
    pub ssthresh: f64,
    /// New pacing rate [bit/s]; None leaves it unchanged.
    pub rate_bps: Option<f64>,
    /// Minimum burst [segment]; 0 means two segments.
    pub burst_segments: u32,
}

impl Answer {
    /// Returns an answer that changes nothing.
    #[inline(always)]
    pub fn unchanged(flight: &Flight) -> Answer {
        Answer {
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            rate_bps: None,
            burst_segments: 0,
        }
    }
}

/// A pacing, and the inputs from which it was computed.
#[derive(Clone, Copy, Debug)]
struct Paced {
    rate_bps: f64,
    burst_segments: u32,
    min_rtt: Option<Span>,
    pacing: Pacing,
}

/// Converts the answers of one connection to window updates.
#[derive(Debug, Default)]
pub struct Answers {
    /// Minimum RTT of the connection, which determines the burst at a given pacing rate.
    pub least_rtt: Option<Span>,
    /// Latest pacing, which is reused until one of its inputs changes.
    paced: Option<Paced>,
}

impl Answers {
    /// Returns the window update for an answer; invalid values are replaced, and added to `complaints`.
    #[inline]
    pub fn take(&mut self, answer: &Answer, flight: &Flight, now: Time, complaints: &Complaints) -> CwndUpdate {
        let complain = |kind, value, replacement: f64| {
            complaints.add(kind, value, replacement, now);
            replacement
        };
        let mss = flight.mss();
        let window = match answer.window {
            window if window.is_nan() => complain(Kind::Window, window, flight.cwnd()),
            // Loss recovery itself may set a window that is smaller than a segment.
            window if window < mss && window != flight.cwnd() => complain(Kind::Window, window, mss),
            window if window > LARGEST_WINDOW && window != flight.cwnd() => {
                complain(Kind::Window, window, LARGEST_WINDOW)
            }
            window => window,
        };
        let threshold = match answer.ssthresh {
            threshold if threshold.is_nan() || threshold < 0.0 => {
                complain(Kind::Threshold, threshold, flight.ssthresh())
            }
            threshold => threshold,
        };
        CwndUpdate {
            window,
            threshold,
            pacing: self.pacing(answer, flight, now, complaints),
        }
    }

    /// Returns the pacing of an answer; None if it does not change.
    pub fn pacing(&mut self, answer: &Answer, flight: &Flight, now: Time, complaints: &Complaints) -> Option<Pacing> {
        let (rate, burst) = (answer.rate_bps?, answer.burst_segments);
        // The minimum rate is one segment per second, which is slow but does not stop the connection.
        let slowest = 8.0 * flight.mss();
        let valid_rate = if rate.is_nan() {
            slowest
        } else {
            rate.clamp(slowest, HIGHEST_RATE)
        };
        if !rate.is_finite() || rate <= 0.0 {
            complaints.add(Kind::Rate, rate, valid_rate, now);
        }
        match self.paced {
            Some(paced)
                if (paced.rate_bps, paced.burst_segments, paced.min_rtt) == (valid_rate, burst, self.least_rtt) =>
            {
                Some(paced.pacing)
            }
            _ => {
                let min_burst = if burst == 0 { 2 } else { u64::from(burst) };
                let pacing = pacing::at_rate(valid_rate, min_burst, self.least_rtt, flight);
                self.paced = Some(Paced {
                    rate_bps: valid_rate,
                    burst_segments: burst,
                    min_rtt: self.least_rtt,
                    pacing,
                });
                Some(pacing)
            }
        }
    }
}
