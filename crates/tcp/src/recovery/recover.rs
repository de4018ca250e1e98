//! What a loss recovery hears, and what it answers.

use super::trigger::Trigger;
use crate::congestion::control::Wants;
use crate::congestion::reins::Reins;
use crate::flight::Flight;
use crate::segment::AckSegment;

/// A loss recovery: it says what to resend. It calls for reductions, and meanwhile moves the window, by its reins alone.
pub trait Recover {
    /// What it needs besides ACKs.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Whether `next` may say something else than `Next::Window`.
    fn is_on(&self) -> bool {
        false
    }

    /// Whether a loss is repaired for which the window has fallen.
    fn repairs(&self) -> bool {
        self.is_on()
    }

    /// Whether an ACK of new data without SACK blocks does nothing but let the window grow.
    fn is_idle(&self) -> bool {
        !self.is_on()
    }

    /// Any ACK came; true if, should it be a duplicate, it counts as one (RFC 6675 section 2).
    fn on_ack(&mut self, _ack: &AckSegment) -> bool {
        true
    }

    /// A duplicate ACK came; `flight.duplicates` counts it already.
    fn on_duplicate(&mut self, _reins: &mut Reins, _trigger: Trigger) -> Resend {
        Resend::Nothing
    }

    /// An ACK of `acked` new bytes advanced SND.UNA, which `flight` shows already.
    fn on_advance(&mut self, _reins: &mut Reins, _acked: u64, _trigger: Trigger) -> Advance {
        Advance::default()
    }

    /// What may be sent next, apart from a `Resend`.
    fn next(&mut self, _flight: &Flight) -> Next {
        Next::Window
    }

    /// A segment of so many bytes left by `Next`, other than `Next::Window`; of what was sent again also its end.
    fn on_sent(&mut self, _flight: &Flight, _length: u32, _hole_end: Option<u64>) {}

    /// The retransmission timer expired; the reduction follows.
    fn on_timeout(&mut self, _reins: &mut Reins) {}
}

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
    /// Whether the window may grow by it.
    pub grows: bool,
    /// Whether a recovery ends with it.
    pub ends: bool,
    /// Whether `resend` begins one.
    pub begins: bool,
}

impl Default for Advance {
    fn default() -> Advance {
        Advance {
            resend: Resend::Nothing,
            restart_timer: true,
            grows: true,
            ends: false,
            begins: false,
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
    /// The same, and no round trip is measured by what it holds.
    Lost {
        /// First byte.
        sequence: u64,
        /// Bytes of payload.
        length: u32,
    },
    /// One segment that was never sent, if there is one and the receiver's window allows it.
    Unsent {
        /// Else this, as `Lost`: first byte and bytes of payload.
        otherwise: Option<(u64, u32)>,
    },
    /// Nothing before the next ACK.
    Nothing,
}
