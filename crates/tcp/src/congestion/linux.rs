//! What the controls of Linux share (tcp_cong.c): they count segments that arrived, and only where the window holds them back.

use super::control::{Ack, Cause, Grant};
use crate::flight::Flight;

/// Least threshold [segment].
const LEAST: f64 = 2.0;

/// An ACK that lets the window grow; in segments.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// The window after slow start.
    pub cwnd: f64,
    /// What arrived beyond slow start.
    pub arrived: f64,
}

impl Growth {
    /// By an ACK, if the window grows by it at all: slow start adds what arrived, up to the threshold.
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

    /// The grant of a window that grew by so many segments in avoidance.
    pub fn by(self, segments: f64, flight: &Flight) -> Grant {
        Grant::window(((self.cwnd + segments) * flight.mss()).min(flight.rwnd as f64), flight)
    }

    /// That of one that grew by so many segments for each window that arrived.
    pub fn per_window(self, segments: f64, flight: &Flight) -> Grant {
        self.by(self.arrived * segments / self.cwnd, flight)
    }
}

/// Whether the window holds the sender back; in slow start half of it is enough, for then all of it is used in the next round
/// (tcp_is_cwnd_limited).
pub fn is_limited(ack: &Ack, flight: &Flight) -> bool {
    let doubles = || flight.cwnd() < flight.ssthresh() && flight.cwnd() < 2.0 * ack.usage.most as f64;
    ack.usage.full || doubles()
}

/// The whole part of what is not negative: as `floor`, which is a call on machines that need not have an instruction for it.
#[inline(always)]
pub fn whole_part(number: f64) -> f64 {
    number as i64 as f64
}

/// The window in whole segments, within the receiver's.
pub fn segments(flight: &Flight) -> f64 {
    whole_part(flight.cwnd().min(flight.rwnd as f64) / flight.mss())
}

/// What a reduction to `segments` leaves, in whole ones, at least two.
pub fn reduced(cause: Cause, segments: f64, flight: &Flight) -> Grant {
    Grant::reduced(cause, segments.floor().max(LEAST) * flight.mss(), flight)
}
