//! Loss recovery: which segments to retransmit, and when.

mod guard;
mod newreno;
pub mod rack;
pub mod recover;
mod reno;
mod rfc6675;
mod sack;
mod scoreboard;
mod tahoe;
pub mod trigger;
mod vanilla;
pub mod window_handle;

use crate::congestion::control::Wants;
use crate::congestion::flight::Flight;
use crate::journal::CongestionState;
use crate::recovery::window_handle::WindowHandle;
use crate::segment::AckSegment;
use crate::variant::variants;
pub use guard::TimerRestart;
pub use newreno::NewRenoConfig;
use rack::Rack;
pub use rack::RackConfig;
use recover::{Advance, Next, Recover, Resend};
pub use reno::RenoConfig;
pub use rfc6675::Rfc6675Config;
pub use sack::{PipeStart, SackConfig};
pub use tahoe::TahoeConfig;
use trigger::Trigger;
pub use vanilla::VanillaConfig;

variants! {
    /// The loss recovery of one sender.
    #[repr(u8)]
    Recovery, RecoveryConfig, RecoveryKind, each($);
    Vanilla(vanilla::Vanilla);
    Tahoe(tahoe::Tahoe);
    Reno(reno::Reno);
    Newreno(newreno::NewReno);
    Sack(sack::Sack);
    Rfc6675(Box<rfc6675::Rfc6675>);
    Rack(Box<rack::Rack>);
}

impl Recover for Recovery {
    fn wants(&self) -> Wants {
        each!(self, recovery => recovery.wants())
    }

    #[inline(always)]
    fn is_on(&self) -> bool {
        each!(self, recovery => recovery.is_on())
    }

    fn repairs(&self) -> bool {
        each!(self, recovery => recovery.repairs())
    }

    #[inline(always)]
    fn is_idle(&self) -> bool {
        each!(self, recovery => recovery.is_idle())
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSegment) -> bool {
        each!(self, recovery => recovery.on_ack(ack))
    }

    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        each!(self, recovery => recovery.on_duplicate(handle, trigger))
    }

    #[inline(always)]
    fn on_advance(&mut self, handle: &mut WindowHandle, acked: u64, trigger: Trigger) -> Advance {
        each!(self, recovery => recovery.on_advance(handle, acked, trigger))
    }

    #[inline]
    fn next(&mut self, flight: &Flight) -> Next {
        each!(self, recovery => recovery.next(flight))
    }

    fn on_sent(&mut self, flight: &Flight, length: u32, hole_end: Option<u64>) {
        each!(self, recovery => recovery.on_sent(flight, length, hole_end));
    }

    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        each!(self, recovery => recovery.on_timeout(handle));
    }
}

impl Recovery {
    /// Returns the congestion state for observers. Recovery algorithms other than RACK distinguish only whether a loss
    /// is being repaired.
    pub fn state(&self) -> CongestionState {
        match self {
            Recovery::Rack(rack) => rack.state(),
            Recovery::Reno(reno) if !reno.is_idle() => CongestionState::Recovery,
            other if other.repairs() => CongestionState::Recovery,
            _ => CongestionState::Open,
        }
    }

    /// Returns RACK, if it is the recovery algorithm in use.
    #[inline]
    pub fn rack_mut(&mut self) -> Option<&mut Rack> {
        match self {
            Recovery::Rack(rack) => Some(rack),
            _ => None,
        }
    }
}
