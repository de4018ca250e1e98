//! NewReno: fast recovery through partial ACKs (Hoe 1996; ATM Forum/98-0876 section 3.1; RFC 2582).

use super::guard::{Guard, TimerRestart};
use super::recover::{Advance, Next, Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::flight::Flight;
use crate::congestion::WindowAdjustment;
use crate::described::Described;
use crate::problem::Problem;
use crate::recovery::window_handle::WindowHandle;
use crate::variant::{Parameters, Variant};
use longpipe_json::FromJson;
use serde::Serialize;

/// Each partial ACK retransmits the next hole, until recovery ends (ATM Forum/98-0876 section 3.1).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "NewReno")]
#[described(fact("is_flat", true))]
#[described(fact(
    "detection",
    "Three duplicate ACKs reported a loss (fast retransmit, RFC 6582 section 3.2)"
))]
pub struct NewRenoConfig {
    /// In recovery, send one new segment per two duplicate ACKs; if false, send what the inflated window allows; ATM
    /// Forum/98-0876 section 3.1.
    #[field(default = true)]
    pub flywheel: bool,
    /// Maximum number of new segments per ACK during recovery [segments]; RFC 2582.
    #[field(
        range = "[1 segment, 65535 segments]",
        unit = "segments",
        word = "unlimited",
        default = "unlimited"
    )]
    pub max_burst: Option<u32>,
    /// A partial ACK deflates the window by the acknowledged data minus one segment (RFC 2582); if false, it sets the
    /// window to ssthresh; ATM Forum/98-0876 section 3.1.
    #[field(default = false)]
    pub partial_deflation: bool,
    /// Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5.
    #[field(default = false)]
    pub guard: bool,
    /// Which partial ACKs restart the retransmission timer: first or every; ATM Forum/98-0876 section 3.1.
    #[field(default = "every")]
    pub timer_restart: TimerRestart,
}

impl Parameters for NewRenoConfig {
    /// Accepts a burst of 0 segments, with which tests simulate recoveries without new data.
    fn problem(&self) -> Option<Problem> {
        None
    }
}

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
