//! Reno: fast retransmit and fast recovery (frr-96 section 2; 4.3BSD-Reno; RFC 2001).

use super::guard::Guard;
use super::recover::{Advance, Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::WindowAdjustment;
use crate::described::Described;
use crate::recovery::window_handle::WindowHandle;
use crate::variant::{Parameters, Variant};
use longpipe_json::FromJson;
use serde::Serialize;

/// Fast retransmit and fast recovery: duplicate ACKs inflate the halved window (RFC 2001).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Reno")]
#[described(fact("is_flat", true))]
#[described(fact(
    "detection",
    "Three duplicate ACKs reported a loss (fast retransmit, RFC 5681 section 3.2)"
))]
pub struct RenoConfig {
    /// Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5.
    #[field(default = false)]
    pub guard: bool,
    /// After a timeout, set ssthresh to half of the window without its inflation; 4.4BSD includes the inflation.
    #[field(default = false)]
    pub deflate_on_timeout: bool,
    /// Apply 'guard' only after a timeout, so that several fast retransmits may occur in a row; ns-2 of 2000.
    #[field(default = false)]
    pub guard_timeouts_only: bool,
    /// Duplicate ACKs beyond the threshold inflate the window even without a fast retransmit, until the next ACK of new
    /// data deflates it; 4.4BSD.
    #[field(default = false)]
    pub inflate_always: bool,
}

impl Parameters for RenoConfig {}

/// State of Reno: whether duplicate ACKs have inflated the window.
#[derive(Clone, Debug)]
pub struct Reno {
    config: RenoConfig,
    guard: Guard,
    inflated: bool,
}

impl Variant for Reno {
    type Config = RenoConfig;

    /// Creates the state outside of recovery.
    fn new(config: &RenoConfig) -> Reno {
        Reno {
            config: *config,
            guard: Guard::new(config.guard),
            inflated: false,
        }
    }
}

impl Recover for Reno {
    /// Returns false while the window is inflated, because the next ACK of new data deflates it.
    fn is_idle(&self) -> bool {
        !self.inflated
    }

    /// Retransmits one segment at the duplicate ACK that triggers the recovery; each later duplicate ACK inflates the
    /// window by one segment.
    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        let duplicates = handle.flight().duplicates;
        if duplicates < trigger.threshold {
            return Resend::Nothing;
        }
        if trigger.fires(handle.flight()) && self.guard.allows(handle.flight()) {
            handle.reduce(Cause::FastRetransmit);
            handle.adjust(WindowAdjustment::Inflate(trigger.threshold));
            self.inflated = true;
            if !self.config.guard_timeouts_only {
                self.guard.set(handle.flight());
            }
            return Resend::First;
        }
        self.inflated |= self.config.inflate_always && duplicates > trigger.threshold;
        if self.inflated {
            handle.adjust(WindowAdjustment::Inflate(1));
        }
        Resend::Nothing
    }

    /// Deflates the window to ssthresh at the first ACK of new data.
    fn on_advance(&mut self, handle: &mut WindowHandle, _acked: u64, _trigger: Trigger) -> Advance {
        let ends = self.inflated;
        if ends {
            handle.adjust(WindowAdjustment::ToThresholdAtMost);
            self.inflated = false;
        }
        Advance {
            ends,
            ..Advance::default()
        }
    }

    /// At a timeout, ends the recovery.
    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        if self.inflated && self.config.deflate_on_timeout {
            handle.adjust(WindowAdjustment::ToThresholdAtMost);
        }
        self.inflated = false;
        self.guard.set(handle.flight());
    }
}
