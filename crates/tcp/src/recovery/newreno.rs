//! NewReno: fast recovery through partial ACKs (Hoe 1996; ATM Forum/98-0876 section 3.1; RFC 2582).

use super::guard::{Guard, TimerRestart};
use super::recover::{Advance, Next, Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::flight::Flight;
use crate::congestion::WindowAdjustment;
use crate::recovery::window_handle::WindowHandle;
use crate::variant::{Parameters, Variant};
use serde::{Deserialize, Serialize};

/// Options of NewReno.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct NewRenoConfig {
    /// Whether to send one new segment per two duplicate ACKs (Hoe 1996) instead of as many as the inflated window
    /// allows.
    pub flywheel: bool,
    /// Maximum number of segments that one ACK releases during recovery, in addition to a retransmission; unlimited if
    /// None.
    pub max_burst: Option<u32>,
    /// Whether a partial ACK deflates the window by the acknowledged data minus one segment (RFC 2582) instead of to
    /// ssthresh.
    pub partial_deflation: bool,
    /// Whether to suppress a fast retransmit of data sent before the previous fast retransmit or a timeout (RFC 2582
    /// section 5).
    pub guard: bool,
    /// Which partial ACKs restart the retransmission timer.
    pub timer_restart: TimerRestart,
}

impl Parameters for NewRenoConfig {}

/// State of a fast recovery.
#[derive(Clone, Debug)]
pub struct NewReno {
    config: NewRenoConfig,
    guard: Guard,
    /// SND.MAX at the fast retransmit (RECOVER); valid during recovery.
    recover: Option<u64>,
    /// Duplicate ACKs since the fast retransmit.
    duplicates: u32,
    /// Number of new segments that the latest ACK may still release.
    due: u32,
    /// Whether a partial ACK has arrived.
    partial: bool,
}

impl Variant for NewReno {
    type Config = NewRenoConfig;

    /// Creates the state outside of recovery.
    fn new(config: &NewRenoConfig) -> NewReno {
        NewReno {
            config: *config,
            guard: Guard::new(config.guard),
            recover: None,
            duplicates: 0,
            due: 0,
            partial: false,
        }
    }
}

impl Recover for NewReno {
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.recover.is_some()
    }

    /// Retransmits one segment at the duplicate ACK that triggers the recovery; later duplicate ACKs release new
    /// segments.
    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        if self.recover.is_some() {
            self.duplicates += 1;
            if self.config.flywheel {
                self.due = u32::from(self.duplicates.is_multiple_of(2));
            } else {
                self.due = self.burst();
                handle.adjust(WindowAdjustment::Inflate(1));
            }
            return Resend::Nothing;
        }
        if !trigger.fires(handle.flight()) || !self.guard.allows(handle.flight()) {
            return Resend::Nothing;
        }
        handle.reduce(Cause::FastRetransmit);
        if !self.config.flywheel {
            handle.adjust(WindowAdjustment::Inflate(trigger.threshold));
        }
        self.guard.set(handle.flight());
        self.recover = Some(handle.flight().max);
        self.due = self.burst();
        (self.duplicates, self.partial) = (0, false);
        Resend::First
    }

    /// Retransmits the next hole when a partial ACK arrives; an ACK of RECOVER ends the recovery.
    #[inline(always)]
    fn on_advance(&mut self, handle: &mut WindowHandle, acked: u64, _trigger: Trigger) -> Advance {
        let Some(recover) = self.recover else {
            return Advance::default();
        };
        if handle.flight().una >= recover {
            self.recover = None;
            handle.adjust(WindowAdjustment::ToThreshold);
            return Advance {
                ends: true,
                ..Advance::default()
            };
        }
        self.due = self.burst();
        handle.adjust(if self.config.partial_deflation && !self.config.flywheel {
            WindowAdjustment::Deflate { acked }
        } else {
            WindowAdjustment::ToThreshold
        });
        let restart_timer = self.config.timer_restart == TimerRestart::Every || !self.partial;
        self.partial = true;
        Advance {
            resend: Resend::First,
            restart_timer,
            grows: false,
            ends: false,
            begins: false,
        }
    }

    /// Returns what to send; if the flywheel is on, only duplicate ACKs release new segments.
    fn next(&mut self, _flight: &Flight) -> Next {
        if self.recover.is_none() {
            return Next::Window;
        }
        if self.due == 0 {
            return Next::Nothing;
        }
        self.due -= 1;
        if self.config.flywheel {
            Next::Beyond
        } else {
            Next::Window
        }
    }

    /// At a timeout, deflates the window and ends the recovery.
    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        if self.recover.take().is_some() {
            handle.adjust(WindowAdjustment::ToThresholdAtMost);
        }
        self.guard.set(handle.flight());
    }
}

impl NewReno {
    /// Returns the maximum number of segments that one ACK may release.
    fn burst(&self) -> u32 {
        match self.config {
            NewRenoConfig { flywheel: true, .. } => 0,
            NewRenoConfig { max_burst, .. } => max_burst.unwrap_or(u32::MAX),
        }
    }
}
