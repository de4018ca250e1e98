//! SACK: retransmits holes while PIPE, an estimate of the data in flight, is below cwnd (Fall and Floyd 1996; ATM
//! Forum/98-0876 section 3.2).

use super::guard::{Guard, TimerRestart};
use super::recover::{Advance, Next, Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::flight::Flight;
use crate::described::Described;
use crate::recovery::scoreboard::Scoreboard;
use crate::recovery::window_handle::WindowHandle;
use crate::segment::AckSegment;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_json::FromJson;
use serde::Serialize;

/// Sends holes first, then new data, while PIPE < cwnd (RFC 2018, ATM Forum/98-0876 section 3.2).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "SACK")]
#[described(fact("is_flat", true))]
#[described(fact("detection", "SACK blocks reported a loss (RFC 6675 section 5)"))]
pub struct SackConfig {
    /// Maximum number of SACK blocks per ACK; 3 fit with a timestamp, RFC 2018 section 3.
    #[field(range = "[1, 3]", default = 3)]
    pub blocks: u32,
    /// Initial PIPE at a fast retransmit: the window or the outstanding data, less one segment per duplicate ACK; ATM
    /// Forum/98-0876 section 3.2.
    #[field(default = "window")]
    pub pipe: PipeStart,
    /// Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5.
    #[field(default = true)]
    pub guard: bool,
    /// Which partial ACKs restart the retransmission timer: first or every; RFC 2582.
    #[field(default = "every")]
    pub timer_restart: TimerRestart,
}

impl Parameters for SackConfig {
    fn facts(&self) -> Facts {
        Facts {
            sack_blocks: self.blocks,
            ..Self::FACTS
        }
    }
}

/// Initial value of PIPE at a fast retransmit, before duplicate ACKs are subtracted.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum PipeStart {
    /// cwnd in whole segments (Fall and Floyd 1996; ATM Forum/98-0876 section 3.2).
    Window,
    /// Data sent and not acknowledged.
    Outstanding,
}

/// Scoreboard and state of a fast recovery.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sack {
    /// SND.MAX at the fast retransmit (RECOVER); valid during recovery.
    recover: Option<u64>,
    board: Scoreboard,
    /// Estimate of the data in flight [byte], in whole segments.
    pipe: i64,
    /// Whether a partial ACK has arrived.
    partial: bool,
    guard: Guard,
    config: SackConfig,
}

impl Variant for Sack {
    type Config = SackConfig;

    /// Creates the state outside of recovery, with an empty scoreboard.
    fn new(config: &SackConfig) -> Sack {
        Sack {
            config: *config,
            guard: Guard::new(config.guard),
            board: Scoreboard::default(),
            recover: None,
            pipe: 0,
            partial: false,
        }
    }
}

impl Recover for Sack {
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.recover.is_some()
    }

    /// Returns true outside of recovery if no data beyond SND.UNA are known to have arrived.
    fn is_idle(&self) -> bool {
        self.recover.is_none() && self.board.is_empty()
    }

    /// Processes an ACK's blocks. Returns whether they report new data. During recovery the result is always true,
    /// because every ACK means that a segment has left the network.
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckSegment) -> bool {
        self.board.update(ack.acknowledgement, ack.blocks_beyond()) || self.recover.is_some()
    }

    /// Retransmits one segment and initializes PIPE at the duplicate ACK that triggers the recovery; each later
    /// duplicate ACK subtracts one segment from PIPE.
    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        let mss = i64::from(handle.flight().mss);
        if self.recover.is_some() {
            self.pipe -= mss;
            return Resend::Nothing;
        }
        if !trigger.fires(handle.flight()) || !self.guard.allows(handle.flight()) {
            return Resend::Nothing;
        }
        let in_flight = match self.config.pipe {
            PipeStart::Window => handle.flight().window() as i64 / mss * mss,
            PipeStart::Outstanding => handle.flight().outstanding() as i64,
        };
        self.pipe = in_flight - i64::from(trigger.threshold) * mss;
        handle.reduce(Cause::FastRetransmit);
        let flight = handle.flight();
        self.recover = Some(flight.max);
        self.partial = false;
        self.board.begin(flight.una + u64::from(flight.mss));
        Resend::First
    }

    /// Subtracts two segments from PIPE at a partial ACK, one for the retransmission and one for the lost original.
    #[inline(always)]
    fn on_advance(&mut self, handle: &mut WindowHandle, _acked: u64, _trigger: Trigger) -> Advance {
        let Some(recover) = self.recover else {
            return Advance::default();
        };
        if handle.flight().una >= recover {
            self.recover = None;
            return Advance {
                grows: false,
                ends: true,
                ..Advance::default()
            };
        }
        self.pipe -= 2 * i64::from(handle.flight().mss);
        let restart_timer = self.config.timer_restart == TimerRestart::Every || !self.partial;
        self.partial = true;
        Advance {
            restart_timer,
            grows: false,
            ..Advance::default()
        }
    }

    /// Returns what to send: during recovery, holes first, as long as PIPE is below cwnd.
    fn next(&mut self, flight: &Flight) -> Next {
        if self.recover.is_none() {
            return Next::Window;
        }
        if self.pipe as f64 >= flight.cwnd() {
            return Next::Nothing;
        }
        match self.board.next_hole(flight.una, flight.mss) {
            Some((sequence, length)) => Next::Hole { sequence, length },
            None => Next::Beyond,
        }
    }

    fn on_sent(&mut self, flight: &Flight, _length: u32, hole_end: Option<u64>) {
        self.pipe += i64::from(flight.mss);
        if let Some(end) = hole_end {
            self.board.on_retransmitted(end);
        }
    }

    /// At a timeout, ends the recovery and clears the scoreboard.
    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        self.recover = None;
        self.board.clear();
        self.guard.set(handle.flight());
    }
}
