//! Reno: fast retransmit and fast recovery (frr-96 section 2; 4.3BSD-Reno; RFC 2001).

use super::Resend;
use crate::congestion::Congestion;
use crate::flight::Flight;

/// Whether the window is inflated by duplicate ACKs.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    inflated: bool,
}

impl Reno {
    /// The `threshold`th duplicate resends one segment; each later one lets another segment out.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, threshold: u32) -> Resend {
        if flight.duplicates < threshold {
            return Resend::Nothing;
        }
        if flight.duplicates == threshold {
            flight.ssthresh = congestion.threshold(flight);
            flight.cwnd = flight.ssthresh + f64::from(threshold) * flight.mss();
            self.inflated = true;
            return Resend::First;
        }
        if self.inflated {
            flight.cwnd += flight.mss();
        }
        Resend::Nothing
    }

    /// The first new ACK deflates the window to the threshold.
    pub fn on_advance(&mut self, flight: &mut Flight) {
        if self.inflated {
            flight.cwnd = flight.ssthresh;
            self.inflated = false;
        }
    }

    /// A timeout ends the recovery.
    pub fn on_timeout(&mut self) {
        self.inflated = false;
    }
}
