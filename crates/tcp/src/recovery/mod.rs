//! Loss recovery: what to resend, and how the window moves meanwhile.

mod reno;
mod tahoe;
mod vanilla;

use crate::config::RecoveryKind;
use crate::congestion::Congestion;
use crate::flight::Flight;

/// What the sender must do now, besides sending what the window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Nothing special.
    Nothing,
    /// Resend the segment at SND.UNA whatever the window says, then go on from SND.NXT (a fast retransmit).
    First,
    /// Go back: send again from SND.UNA (a fast retransmit into slow start).
    FromUna,
}

/// The loss recovery of one sender.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// Timeout only.
    Vanilla,
    /// Fast retransmit into slow start.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno(reno::Reno),
}

impl Recovery {
    /// The recovery named by the configuration, with its threshold of duplicate ACKs.
    pub fn new(kind: RecoveryKind) -> Recovery {
        match kind {
            RecoveryKind::Vanilla => Recovery::Vanilla,
            RecoveryKind::Tahoe => Recovery::Tahoe,
            RecoveryKind::Reno => Recovery::Reno(reno::Reno::default()),
        }
    }

    /// A duplicate ACK came; `flight.duplicates` counts it already. `threshold` of them mean a loss.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, threshold: u32) -> Resend {
        match self {
            Recovery::Vanilla => vanilla::on_duplicate(),
            Recovery::Tahoe => tahoe::on_duplicate(flight, congestion, threshold),
            Recovery::Reno(reno) => reno.on_duplicate(flight, congestion, threshold),
        }
    }

    /// An ACK advanced SND.UNA, which `flight` shows already.
    pub fn on_advance(&mut self, flight: &mut Flight, congestion: &Congestion) -> Resend {
        match self {
            Recovery::Vanilla | Recovery::Tahoe => {}
            Recovery::Reno(reno) => reno.on_advance(flight),
        }
        flight.cwnd = congestion.grown(flight);
        Resend::Nothing
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, flight: &mut Flight, congestion: &Congestion) {
        if let Recovery::Reno(reno) = self {
            reno.on_timeout();
        }
        flight.ssthresh = congestion.threshold(flight);
        flight.cwnd = flight.mss();
        flight.nxt = flight.una;
        flight.duplicates = 0;
    }
}
