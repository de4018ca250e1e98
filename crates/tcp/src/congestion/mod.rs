//! Congestion control: how much may be in flight. It alone writes the window; it never reaches into the sender.

mod aimd;
pub mod control;
mod highspeed;
pub mod limits;
pub mod reins;
mod scalable;
#[cfg(test)]
mod trial;
mod vegas;

use crate::flight::Flight;
use crate::variant::variants;
pub use aimd::AimdConfig;
use control::{Ack, Cause, Control, Grant, Pacing, Sent, Wants};
pub use highspeed::HighspeedConfig;
use longpipe_events::Time;
pub use scalable::ScalableConfig;
pub use vegas::VegasConfig;

variants! {
    /// The congestion control of one sender.
    Congestion, CongestionConfig, CongestionKind, each($);
    Aimd(aimd::Aimd): "Slow start and congestion avoidance (RFC 5681 section 3.1).";
    Highspeed(highspeed::Highspeed): "Growth and cut by a table of windows (RFC 3649).";
    Scalable(Box<scalable::Scalable>): "Growth and cut in proportion to the window (Kelly 2003).";
    Vegas(Box<vegas::Vegas>): "By the queueing that round trips show (Brakmo and Peterson 1995).";
}

impl Congestion {
    /// What it needs besides ACKs and reductions.
    pub fn wants(&self) -> Wants {
        each!(self, one => one.wants())
    }

    /// A segment leaves.
    pub fn on_sent(&mut self, sent: &Sent, flight: &Flight) {
        each!(self, one => one.on_sent(sent, flight));
    }

    /// Whether it asks nothing of an ACK but how much it acknowledged, as what most senders have does; for that one is
    /// faster.
    #[inline(always)]
    pub fn asks_little(&self) -> bool {
        matches!(self, Congestion::Aimd(_))
    }

    /// One that asks little lets the window grow by an ACK of `acked` bytes.
    #[inline(always)]
    pub fn on_plain_ack(&mut self, acked: u64, flight: &mut Flight) {
        if let Congestion::Aimd(aimd) = self {
            take(aimd.grown(acked, flight), flight);
        }
    }

    /// One ACK moves the window.
    pub fn on_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_ack(ack, flight)), flight)
    }

    /// The window has to fall.
    pub fn on_reduction(&mut self, cause: Cause, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_reduction(cause, now, flight)), flight)
    }

    /// A recovery ended.
    pub fn on_recovered(&mut self, spurious: bool, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_recovered(spurious, now, flight)), flight)
    }
}

/// Makes a grant hold; returns the rate that it may bring.
#[inline(always)]
fn take(grant: Grant, flight: &mut Flight) -> Option<Pacing> {
    flight.limits.set(grant.window, grant.threshold);
    grant.pacing
}
