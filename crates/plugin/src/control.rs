//! The trait of a controller.

use crate::table::{Ack, Flight, Grant, Lost, Sample, Sent};
use std::ffi::{c_int, c_void, CStr};

/// Cause of a window reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs, SACK or RACK reported a loss.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The receiver reported ECN marks.
    Mark,
    /// An ECN mark that should reduce the window less than a loss (RFC 8511).
    MarkAbe,
}

impl Cause {
    /// Returns the cause that a value of `enum longpipe_cause` stands for.
    pub(crate) fn of(value: c_int) -> Cause {
        match value {
            0 => Cause::FastRetransmit,
            1 => Cause::Timeout,
            2 => Cause::Mark,
            _ => Cause::MarkAbe,
        }
    }
}

/// Random numbers of a connection, derived from the seed of the run; a controller must use no other source of
/// randomness.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    pub(crate) draw: extern "C" fn(*mut c_void, u32) -> u32,
    pub(crate) source: *mut c_void,
}

impl Random {
    /// Returns a random number below `bound`, or a random 32-bit number if `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.draw)(self.source, bound)
    }
}

/// Settings of a new connection.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Whether the connection's packets are ECN-capable.
    pub ecn: bool,
    /// Idle time [ps] between the establishment of the connection and its first segment.
    pub preconnect_ps: u64,
    /// Source of random numbers, valid as long as the connection exists.
    pub random: Random,
}

/// A congestion controller of one connection.
///
/// The fields of `grant` initially contain the current values; a hook changes those that should change. Sizes are in
/// bytes, times in picoseconds since the start of the run, and rates in bits of payload per second.
pub trait Control: Sized {
    /// Optional inputs, as bits of [`wants`](crate::table::wants). Each input takes computing time per packet.
    const WANTS: u32 = 0;

    /// Invoked once per simulation after the settings are set, with the ticks per second of the kernel's clock.
    ///
    /// # Errors
    /// Returns one line with the reason if the controller cannot run.
    fn open(_hz: u32) -> Result<(), &'static CStr> {
        Ok(())
    }

    /// Creates the controller of a connection.
    fn new(setup: &Setup) -> Self;

    /// Invoked if the RTT is known before the first segment is sent.
    fn on_start(&mut self, _rtt_ps: u64, _flight: &Flight, _grant: &mut Grant) {}

    /// Invoked for every ACK, before loss recovery processes it; `flight.una` has already advanced.
    fn on_sample(&mut self, _sample: &Sample, _flight: &Flight) {}

    /// Invoked for every ACK, before loss recovery processes it. Loss recovery then uses the window and the threshold
    /// of the grant. Controllers that set neither of them here implement `on_sample` instead.
    fn on_acked(&mut self, sample: &Sample, flight: &Flight, _grant: &mut Grant) {
        self.on_sample(sample, flight);
    }

    /// Invoked for every ACK, after loss recovery has processed it.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant);

    /// Invoked for every transmission if `wants::SENDING` is set; only the pacing rate of the grant is used.
    fn on_sent(&mut self, _sent: &Sent, _flight: &Flight, _grant: &mut Grant) {}

    /// Invoked for every transmission that is declared lost, if `wants::LOSSES` is set.
    fn on_lost(&mut self, _lost: &Lost, _flight: &Flight) {}

    /// Invoked once per recovery, timeout, or round with ECN marks, to reduce the window.
    fn on_reduction(&mut self, cause: Cause, flight: &Flight, grant: &mut Grant);

    /// Invoked at the end of a recovery. If `spurious` is true, no data had been lost, and the window has been
    /// restored.
    fn on_recovered(&mut self, _spurious: bool, _flight: &Flight, _grant: &mut Grant) {}
}
