//! Proportional rate reduction: during recovery, the sender transmits in proportion to delivered data (RFC 9937, as in
//! Linux).

use crate::congestion::flight::Flight;
use crate::congestion::WindowAdjustment;
use crate::recovery::window_handle::WindowHandle;

/// State of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Window at the start of the recovery [segment] (prior_cwnd).
    prior: f64,
    /// Bytes delivered and bytes sent since the start of the recovery (prr_delivered, prr_out).
    delivered: u64,
    out: u64,
}

impl Prr {
    /// Starts a recovery, before the window is reduced.
    pub fn new(flight: &Flight) -> Prr {
        Prr {
            prior: (flight.cwnd().min(flight.most_rwnd as f64) / flight.mss())
                .floor()
                .max(1.0),
            delivered: 0,
            out: 0,
        }
    }

    /// Records a transmission of `length` bytes.
    pub fn on_sent(&mut self, length: u64) {
        self.out += length;
    }

    /// Sets cwnd after the delivery of `delivered` bytes, while `in_flight` bytes are in flight; `safe` is true if the
    /// ACK advanced SND.UNA and revealed no new loss.
    pub fn adjust(&mut self, delivered: u64, safe: bool, in_flight: u64, handle: &mut WindowHandle) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let flight = handle.flight();
        let bytes = self.count(delivered, safe, in_flight as f64, flight.ssthresh(), flight.mss());
        handle.adjust(WindowAdjustment::To(in_flight as f64 + bytes));
    }

    /// Returns the number of bytes that may be sent (RFC 9937 section 6).
    fn count(&self, delivered: u64, safe: bool, in_flight: f64, ssthresh: f64, mss: f64) -> f64 {
        let (total, out) = (self.delivered as f64, self.out as f64);
        let bytes = if in_flight > ssthresh {
            let due = (ssthresh / mss * (total / mss) / self.prior).ceil() * mss;
            due - out
        } else {
            let more = if safe { mss } else { 0.0 };
            ((total - out).max(delivered as f64) + more).min(ssthresh - in_flight)
        };
        // The first retransmission is sent at once.
        bytes.max(if self.out == 0 { mss } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prr(prior: f64, delivered: u64, out: u64) -> Prr {
        Prr { prior, delivered, out }
    }

    /// Test vectors of ns-3, with an ssthresh of 100 000 bytes, which is half of the data in flight.
    #[test]
    fn rfc_9937_transmission_is_proportional_to_delivery_until_ssthresh_is_reached() {
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
    fn rfc_9937_the_first_retransmission_is_immediate() {
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
