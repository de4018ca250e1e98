//! Window growth as a function of delivered segments, in floating point, for controllers that follow a paper or an RFC.

use crate::congestion::control::{Ack, CwndUpdate};
use crate::congestion::flight::Flight;

/// An ACK that increases cwnd; all values are in segments.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// cwnd after the slow-start part of the growth.
    pub cwnd: f64,
    /// Delivered segments that count towards congestion avoidance.
    pub arrived: f64,
}

impl Growth {
    /// Returns `None` if this ACK may not increase cwnd. Slow start adds the delivered segments, up to ssthresh.
    pub fn of(ack: &Ack, flight: &Flight) -> Option<Growth> {
        if !ack.grows || !is_limited(ack, flight) {
            return None;
        }
        let (cwnd, ssthresh) = (flight.cwnd() / flight.mss(), flight.ssthresh() / flight.mss());
        let arrived = ack.delivered as f64 / flight.mss();
        let started = arrived.min((ssthresh - cwnd).max(0.0));
        Some(Growth {
            cwnd: cwnd + started,
            arrived: arrived - started,
        })
    }

    /// Returns the update for growth by `segments` in congestion avoidance.
    pub fn by(self, segments: f64, flight: &Flight) -> CwndUpdate {
        CwndUpdate::window(((self.cwnd + segments) * flight.mss()).min(flight.rwnd as f64), flight)
    }

    /// Returns the update for growth by `segments` per window of delivered segments.
    pub fn per_window(self, segments: f64, flight: &Flight) -> CwndUpdate {
        self.by(self.arrived * segments / self.cwnd, flight)
    }
}

/// Returns whether the congestion window limits the sender. In slow start half of the window is enough, because all of
/// it is used in the next round trip (Linux: `tcp_is_cwnd_limited`).
pub fn is_limited(ack: &Ack, flight: &Flight) -> bool {
    let doubles = || flight.cwnd() < flight.ssthresh() && flight.cwnd() < 2.0 * ack.usage.most as f64;
    ack.usage.full || doubles()
}

/// Returns the integer part of a nonnegative number. A conversion avoids the call to `floor` that some targets need.
#[inline(always)]
pub fn whole_part(number: f64) -> f64 {
    number as i64 as f64
}
