//! Tahoe: fast retransmit into slow start (Jacobson 1988, 4.3BSD-Tahoe).

use super::{Resend, Trigger};
use crate::congestion::Congestion;
use crate::flight::Flight;

/// The triggering duplicate halves the threshold, closes the window to one segment and goes back to SND.UNA.
pub fn on_duplicate(flight: &mut Flight, congestion: &Congestion, trigger: Trigger) -> Resend {
    if !trigger.fires(flight) {
        return Resend::Nothing;
    }
    flight.ssthresh = congestion.threshold(flight);
    flight.cwnd = flight.mss();
    Resend::FromUna
}
