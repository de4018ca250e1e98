//! Tahoe: fast retransmit into slow start (Jacobson 1988, 4.3BSD-Tahoe).

use super::guard::Guard;
use super::recover::{Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::reins::{Regulation, Reins};
use crate::variant::{Parameters, Variant};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Choices that it leaves open.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TahoeConfig {
    /// No second fast retransmit for data sent before the first one or a timeout (RFC 2582 section 5).
    pub guard: bool,
}

impl Parameters for TahoeConfig {}

/// What the guard remembers.
#[derive(Clone, Debug)]
pub struct Tahoe {
    guard: Guard,
}

impl Variant for Tahoe {
    type Config = TahoeConfig;

    /// Nothing sent again so far.
    fn new(config: &TahoeConfig) -> Tahoe {
        Tahoe {
            guard: Guard::new(config.guard),
        }
    }
}

impl Recover for Tahoe {
    /// The triggering duplicate halves the threshold, closes the window to one segment and goes back to SND.UNA.
    fn on_duplicate(&mut self, reins: &mut Reins, trigger: Trigger) -> Resend {
        if !trigger.fires(reins.flight()) || !self.guard.allows(reins.flight()) {
            return Resend::Nothing;
        }
        reins.reduce(Cause::FastRetransmit);
        reins.regulate(Regulation::ToSegment);
        self.guard.set(reins.flight());
        Resend::FromUna
    }

    /// What was sent before a timeout is sent again by slow start.
    fn on_timeout(&mut self, reins: &mut Reins) {
        self.guard.set(reins.flight());
    }
}
