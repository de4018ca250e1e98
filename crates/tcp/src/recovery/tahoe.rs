//! Tahoe: fast retransmit into slow start (Jacobson 1988, 4.3BSD-Tahoe).

use super::guard::Guard;
use super::recover::{Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::WindowAdjustment;
use crate::described::Described;
use crate::recovery::window_handle::WindowHandle;
use crate::variant::{Parameters, Variant};
use longpipe_json::FromJson;
use serde::Serialize;

/// Fast retransmit, then slow start from the first unacknowledged byte (Jacobson 1988).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Tahoe")]
#[described(fact("is_flat", true))]
#[described(fact(
    "detection",
    "Three duplicate ACKs reported a loss (fast retransmit, RFC 2001 section 3)"
))]
pub struct TahoeConfig {
    /// Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5.
    #[field(default = false)]
    pub guard: bool,
}

impl Parameters for TahoeConfig {}

/// State of Tahoe: the guard against repeated fast retransmits.
#[derive(Clone, Debug)]
pub struct Tahoe {
    guard: Guard,
}

impl Variant for Tahoe {
    type Config = TahoeConfig;

    /// Creates the state before any retransmission.
    fn new(config: &TahoeConfig) -> Tahoe {
        Tahoe {
            guard: Guard::new(config.guard),
        }
    }
}

impl Recover for Tahoe {
    /// At the duplicate ACK that triggers a fast retransmit, halves ssthresh, sets cwnd to one segment and returns to
    /// SND.UNA (go-back-N).
    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        if !trigger.fires(handle.flight()) || !self.guard.allows(handle.flight()) {
            return Resend::Nothing;
        }
        handle.reduce(Cause::FastRetransmit);
        handle.adjust(WindowAdjustment::ToSegment);
        self.guard.set(handle.flight());
        Resend::FromUna
    }

    /// At a timeout, extends the guard to all data sent so far; slow start then retransmits them.
    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        self.guard.set(handle.flight());
    }
}
