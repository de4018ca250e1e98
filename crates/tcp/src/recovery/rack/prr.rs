//! Proportional rate reduction: a recovery sends in proportion to what arrives (RFC 9937, as Linux counts).

use crate::congestion::reins::{Regulation, Reins};
use crate::flight::Flight;

/// One recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Window when it began [segment].
    prior: f64,
    /// Bytes that arrived and that were sent since.
    delivered: u64,
    out: u64,
}

impl Prr {
    /// A recovery begins, before the window falls.
    pub fn new(flight: &Flight) -> Prr {
        Prr {
            prior: (flight.cwnd().min(flight.rwnd as f64) / flight.mss()).floor().max(1.0),
            delivered: 0,
            out: 0,
        }
    }

    /// A segment left.
    pub fn on_sent(&mut self, length: u64) {
        self.out += length;
    }

    /// Sets the window after `delivered` bytes arrived, with so many under way; `safe`: in order, and nothing more was lost.
    pub fn regulate(&mut self, delivered: u64, safe: bool, in_flight: u64, reins: &mut Reins) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let flight = reins.flight();
        let bytes = self.count(delivered, safe, in_flight as f64, flight.ssthresh(), flight.mss());
        reins.regulate(Regulation::To(in_flight as f64 + bytes));
    }

    /// How much may leave [byte] (RFC 9937 section 6).
    fn count(&self, delivered: u64, safe: bool, in_flight: f64, ssthresh: f64, mss: f64) -> f64 {
        let (total, out) = (self.delivered as f64, self.out as f64);
        let bytes = if in_flight > ssthresh {
            let due = (ssthresh / mss * (total / mss) / self.prior).ceil() * mss;
            due - out
        } else {
            let more = if safe { mss } else { 0.0 };
            ((total - out).max(delivered as f64) + more).min(ssthresh - in_flight)
        };
        // The first of what is lost leaves at once.
        bytes.max(if self.out == 0 { mss } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prr(prior: f64, delivered: u64, out: u64) -> Prr {
        Prr { prior, delivered, out }
    }

    /// ns-3's vectors: a threshold of 100 000 bytes, half of what was under way.
    #[test]
    fn rfc_9937_what_leaves_is_in_proportion_to_what_arrived_until_the_threshold_is_reached() {
        let reduction = prr(200.0, 51_000, 0);
        assert_eq!(reduction.count(1_000, false, 200_000.0, 100_000.0, 1_000.0), 26_000.0);
        let slow_start = prr(200.0, 52_000, 50_000);
        assert_eq!(slow_start.count(1_000, true, 50_000.0, 100_000.0, 1_000.0), 3_000.0);
        let bound = prr(200.0, 50_000, 50_000);
        assert_eq!(bound.count(1_000, false, 50_000.0, 100_000.0, 1_000.0), 1_000.0);
        assert_eq!(bound.count(1_000, true, 50_000.0, 100_000.0, 1_000.0), 2_000.0);
        assert_eq!(bound.count(9_000, true, 99_500.0, 100_000.0, 1_000.0), 500.0);
    }

    #[test]
    fn rfc_9937_the_first_segment_lost_leaves_at_once() {
        assert_eq!(
            prr(10.0, 1_000, 0).count(1_000, false, 6_000.0, 6_000.0, 1_000.0),
            1_000.0
        );
        assert_eq!(
            prr(10.0, 1_000, 1_000).count(1_000, false, 6_000.0, 6_000.0, 1_000.0),
            0.0
        );
    }
}
