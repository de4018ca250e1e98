//! Controllers with two sets of rules: those of a paper or RFC, and those of Linux's code.

use crate::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, Wants};
use crate::congestion::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};

/// Parameters that select the rules of a controller.
pub trait Rules: Parameters {
    /// Returns whether the controller follows Linux's code.
    fn is_linux(&self) -> bool;
}

/// A controller that follows either the rules of its specification or those of Linux.
#[derive(Clone, Debug)]
pub enum Ruled<P, L> {
    /// Rules of the paper or the RFC.
    Paper(P),
    /// Rules of Linux's code.
    Linux(L),
}

impl<C: Rules, P: Variant<Config = C>, L: Variant<Config = C>> Variant for Ruled<P, L> {
    type Config = C;

    fn new(config: &C) -> Ruled<P, L> {
        if config.is_linux() {
            Ruled::Linux(L::new(config))
        } else {
            Ruled::Paper(P::new(config))
        }
    }
}

macro_rules! either {
    ($self:expr, $controller:ident => $does:expr) => {
        match $self {
            Ruled::Paper($controller) => $does,
            Ruled::Linux($controller) => $does,
        }
    };
}

impl<P: Control, L: Control> Control for Ruled<P, L> {
    fn wants(&self) -> Wants {
        either!(self, controller => controller.wants())
    }

    fn set_hz(&mut self, hz: u32) {
        either!(self, controller => controller.set_hz(hz));
    }

    fn set_preconnect(&mut self, idle: Span) {
        either!(self, controller => controller.set_preconnect(idle));
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        either!(self, controller => controller.on_start(rtt, flight))
    }

    #[inline(always)]
    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        either!(self, controller => controller.on_sample(sample, flight))
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        either!(self, controller => controller.on_ack(ack, flight))
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        either!(self, controller => controller.on_reduction(cause, now, flight))
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        either!(self, controller => controller.on_recovered(spurious, now, flight))
    }
}
