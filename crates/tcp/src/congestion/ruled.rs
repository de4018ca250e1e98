//! Controllers that follow a paper or an RFC, or Linux's code where that differs.

use super::control::{Ack, AckSample, Cause, Control, Grant, Wants};
use crate::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};

/// Parameters that say which rules a controller follows.
pub trait Rules: Parameters {
    /// Whether it follows Linux's code.
    fn is_linux(&self) -> bool;
}

/// A controller by either set of rules.
#[derive(Clone, Debug)]
pub enum Ruled<P, L> {
    /// By the paper or the RFC.
    Paper(P),
    /// By Linux's code.
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
    ($self:expr, $one:ident => $does:expr) => {
        match $self {
            Ruled::Paper($one) => $does,
            Ruled::Linux($one) => $does,
        }
    };
}

impl<P: Control, L: Control> Control for Ruled<P, L> {
    fn wants(&self) -> Wants {
        either!(self, one => one.wants())
    }

    fn set_hz(&mut self, hz: u32) {
        either!(self, one => one.set_hz(hz));
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> Grant {
        either!(self, one => one.on_start(rtt, flight))
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) {
        either!(self, one => one.on_sample(sample, flight));
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        either!(self, one => one.on_ack(ack, flight))
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> Grant {
        either!(self, one => one.on_reduction(cause, now, flight))
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> Grant {
        either!(self, one => one.on_recovered(spurious, now, flight))
    }
}
