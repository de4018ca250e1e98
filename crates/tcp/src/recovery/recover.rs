//! Interface between the sender and its loss recovery.

use super::trigger::Trigger;
use crate::congestion::control::Wants;
use crate::congestion::flight::Flight;
use crate::recovery::window_handle::WindowHandle;
use crate::segment::AckSegment;

/// A recovery algorithm, which decides which segments to retransmit. It accesses the window only through its
/// `WindowHandle`.
pub trait Recover {
    /// Returns the inputs that the recovery needs in addition to ACKs.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Returns whether `next` may return something other than `Next::Window`.
    fn is_on(&self) -> bool {
        false
    }

    /// Returns whether the sender is in fast recovery.
    fn repairs(&self) -> bool {
        self.is_on()
    }

    /// Returns whether the recovery ignores an ACK of new data that carries no SACK blocks.
    fn is_idle(&self) -> bool {
        !self.is_on()
    }

    /// Invoked for every ACK. Returns whether the ACK counts as a duplicate ACK (RFC 6675 section 2) if it acknowledges
    /// no new data.
    fn on_ack(&mut self, _ack: &AckSegment) -> bool {
        true
    }

    /// Invoked for a duplicate ACK, which `flight.duplicates` already counts.
    fn on_duplicate(&mut self, _handle: &mut WindowHandle, _trigger: Trigger) -> Resend {
        Resend::Nothing
    }

    /// Invoked for an ACK of `acked` new bytes; `flight` already reflects the new SND.UNA.
    fn on_advance(&mut self, _handle: &mut WindowHandle, _acked: u64, _trigger: Trigger) -> Advance {
        Advance::default()
    }

    /// Returns the data that may be sent next, other than a `Resend`.
    fn next(&mut self, _flight: &Flight) -> Next {
        Next::Window
    }

    /// Invoked after a segment of `length` bytes was sent that `next` selected, other than `Next::Window`. If it was a
    /// retransmission, `hole_end` is its end.
    fn on_sent(&mut self, _flight: &Flight, _length: u32, _hole_end: Option<u64>) {}

    /// Invoked when the retransmission timer expires, before the reduction.
    fn on_timeout(&mut self, _handle: &mut WindowHandle) {}
}

/// Retransmission that the sender must perform now, in addition to the data that `Next` allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// No retransmission.
    Nothing,
    /// Fast retransmit: retransmit the segment at SND.UNA regardless of the window, then continue from SND.NXT.
    First,
    /// Fast retransmit into slow start: continue from SND.UNA (go-back-N).
    FromUna,
}

/// Consequences of an ACK that advanced SND.UNA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Retransmission to perform.
    pub resend: Resend,
    /// Whether to restart the retransmission timer.
    pub restart_timer: bool,
    /// Whether the window may grow.
    pub grows: bool,
    /// Whether a recovery ends.
    pub ends: bool,
    /// Whether `resend` starts a recovery.
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

/// Data that may be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The data that the window allows.
    Window,
    /// One segment at SND.NXT, if the receiver's window allows it.
    Beyond,
    /// A hole.
    Hole {
        /// First byte of the hole.
        sequence: u64,
        /// Payload bytes.
        length: u32,
    },
    /// A hole to be retransmitted; its RTT must not be measured.
    Lost {
        /// First byte of the hole.
        sequence: u64,
        /// Payload bytes.
        length: u32,
    },
    /// One segment that has never been sent before, if there is one and the receiver's window allows it.
    Unsent {
        /// First byte and payload length of the retransmission (as in `Lost`) to be sent if there is no such segment.
        otherwise: Option<(u64, u32)>,
    },
    /// Nothing may be sent before the next ACK.
    Nothing,
}
