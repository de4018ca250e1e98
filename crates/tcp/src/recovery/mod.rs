//! Loss recovery: what to resend, and how the window moves meanwhile.

mod newreno;
mod reno;
mod sack;
mod tahoe;
mod trigger;
mod vanilla;

use crate::config::{RecoveryKind, TcpConfig};
use crate::congestion::Congestion;
use crate::flight::Flight;
use crate::segment::AckSegment;
pub use trigger::{Trigger, Triggers};

/// What the sender must do now, besides sending what `Next` allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Nothing special.
    Nothing,
    /// Resend the segment at SND.UNA whatever the window says, then go on from SND.NXT (a fast retransmit).
    First,
    /// Go back: send again from SND.UNA (a fast retransmit into slow start).
    FromUna,
}

/// What follows from an ACK that advanced SND.UNA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// What to resend.
    pub resend: Resend,
    /// Whether the retransmission timer starts again.
    pub restart_timer: bool,
}

impl Default for Advance {
    fn default() -> Advance {
        Advance {
            resend: Resend::Nothing,
            restart_timer: true,
        }
    }
}

/// What may be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// What the window allows.
    Window,
    /// One segment at SND.NXT, if the receiver's window allows it.
    Beyond,
    /// A hole.
    Hole {
        /// First byte.
        sequence: u64,
        /// Bytes of payload.
        length: u32,
    },
    /// Nothing before the next ACK.
    Nothing,
}

/// Forbids a fast retransmit of data sent before the latest recovery (RFC 2582 section 5, "careful").
#[derive(Clone, Debug)]
struct Guard {
    on: bool,
    recover: Option<u64>,
}

impl Guard {
    fn new(on: bool) -> Guard {
        Guard { on, recover: None }
    }

    fn set(&mut self, flight: &Flight) {
        self.recover = Some(flight.max);
    }

    fn allows(&self, flight: &Flight) -> bool {
        !self.on || self.recover.is_none_or(|recover| flight.una > recover)
    }
}

/// The loss recovery of one sender.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Recovery {
    /// Timeout only.
    Vanilla,
    /// Fast retransmit into slow start.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno(reno::Reno),
    /// Fast recovery through partial ACKs.
    NewReno(newreno::NewReno),
    /// Selective acknowledgements.
    Sack(sack::Sack),
}

impl Recovery {
    /// The recovery named by the configuration.
    pub fn new(config: &TcpConfig) -> Recovery {
        match config.recovery {
            RecoveryKind::Vanilla => Recovery::Vanilla,
            RecoveryKind::Tahoe => Recovery::Tahoe,
            RecoveryKind::Reno => Recovery::Reno(reno::Reno::new(config.reno)),
            RecoveryKind::Newreno => Recovery::NewReno(newreno::NewReno::new(config.newreno)),
            RecoveryKind::Sack => Recovery::Sack(sack::Sack::new(config.sack)),
        }
    }

    /// Whether `next` may say something else than `Next::Window`.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        match self {
            Recovery::Vanilla | Recovery::Tahoe | Recovery::Reno(_) => false,
            Recovery::NewReno(newreno) => newreno.is_on(),
            Recovery::Sack(sack) => sack.is_on(),
        }
    }

    /// Whether an ACK of new data without SACK blocks does nothing but let the window grow.
    pub fn is_idle(&self) -> bool {
        match self {
            Recovery::Vanilla | Recovery::Tahoe => true,
            Recovery::Reno(reno) => !reno.is_on(),
            Recovery::NewReno(newreno) => !newreno.is_on(),
            Recovery::Sack(sack) => !sack.is_on() && sack.knows_nothing(),
        }
    }

    /// Any ACK came; true if, should it be a duplicate, it counts as one (RFC 6675 section 2).
    #[inline]
    pub fn on_ack(&mut self, ack: &AckSegment) -> bool {
        match self {
            Recovery::Sack(sack) => sack.on_ack(ack),
            _ => true,
        }
    }

    /// A duplicate ACK came; `flight.duplicates` counts it already.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, trigger: Trigger) -> Resend {
        match self {
            Recovery::Vanilla => vanilla::on_duplicate(),
            Recovery::Tahoe => tahoe::on_duplicate(flight, congestion, trigger),
            Recovery::Reno(reno) => reno.on_duplicate(flight, congestion, trigger),
            Recovery::NewReno(newreno) => newreno.on_duplicate(flight, congestion, trigger),
            Recovery::Sack(sack) => sack.on_duplicate(flight, congestion, trigger),
        }
    }

    /// An ACK of `acked` new bytes advanced SND.UNA, which `flight` shows already.
    #[inline(always)]
    pub fn on_advance(&mut self, flight: &mut Flight, congestion: &Congestion, acked: u64) -> Advance {
        let within = match self {
            Recovery::Vanilla | Recovery::Tahoe => None,
            Recovery::Reno(reno) => {
                reno.on_advance(flight);
                None
            }
            Recovery::NewReno(newreno) => newreno.on_advance(flight, acked),
            Recovery::Sack(sack) => sack.on_advance(flight),
        };
        within.unwrap_or_else(|| {
            (flight.cwnd, flight.ssthresh) = congestion.grown(flight, acked);
            Advance::default()
        })
    }

    /// What may be sent next, apart from a `Resend`.
    #[inline]
    pub fn next(&mut self, flight: &Flight) -> Next {
        match self {
            Recovery::Vanilla | Recovery::Tahoe | Recovery::Reno(_) => Next::Window,
            Recovery::NewReno(newreno) => newreno.next(),
            Recovery::Sack(sack) => sack.next(flight),
        }
    }

    /// A segment left by `Next::Beyond`, or by `Next::Hole` with the end of what was resent.
    pub fn on_sent(&mut self, flight: &Flight, hole_end: Option<u64>) {
        if let Recovery::Sack(sack) = self {
            sack.on_sent(flight, hole_end);
        }
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, flight: &mut Flight, congestion: &Congestion) {
        match self {
            Recovery::Vanilla | Recovery::Tahoe => {}
            Recovery::Reno(reno) => reno.on_timeout(flight),
            Recovery::NewReno(newreno) => newreno.on_timeout(flight),
            Recovery::Sack(sack) => sack.on_timeout(flight),
        }
        flight.ssthresh = congestion.threshold(flight);
        flight.cwnd = flight.mss();
        flight.nxt = flight.una;
        flight.duplicates = 0;
    }
}
