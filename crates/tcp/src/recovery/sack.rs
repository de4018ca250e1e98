//! SACK: holes are resent as PIPE, the estimate of the data under way, allows (Fall and Floyd 1996; ATM Forum/98-0876
//! section 3.2).

use super::{Advance, Guard, Next, Resend, Trigger};
use crate::config::{PipeStart, SackConfig, TimerRestart};
use crate::congestion::Congestion;
use crate::flight::Flight;
use crate::scoreboard::Scoreboard;
use crate::segment::AckSegment;

/// The scoreboard, and the state of a fast recovery.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sack {
    /// SND.MAX at the fast retransmit (RECOVER), while the recovery lasts.
    recover: Option<u64>,
    board: Scoreboard,
    /// Data under way [byte], by whole segments.
    pipe: i64,
    /// Whether a partial ACK came.
    partial: bool,
    guard: Guard,
    config: SackConfig,
}

impl Sack {
    /// Not in recovery, knowing nothing.
    pub fn new(config: SackConfig) -> Sack {
        Sack {
            config,
            guard: Guard::new(config.guard),
            board: Scoreboard::default(),
            recover: None,
            pipe: 0,
            partial: false,
        }
    }

    /// Whether the recovery lasts.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.recover.is_some()
    }

    /// Whether no data beyond SND.UNA are known to have arrived.
    pub fn knows_nothing(&self) -> bool {
        self.board.is_empty()
    }

    /// Reads an ACK's blocks; true if they tell anything new, or in recovery, where any ACK means that a segment left.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &AckSegment) -> bool {
        self.board.update(ack.acknowledgement, ack.sack_blocks()) || self.recover.is_some()
    }

    /// The triggering duplicate resends one segment and starts PIPE; each later one takes a segment off it.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, trigger: Trigger) -> Resend {
        let mss = i64::from(flight.mss);
        if self.recover.is_some() {
            self.pipe -= mss;
            return Resend::Nothing;
        }
        if !trigger.fires(flight) || !self.guard.allows(flight) {
            return Resend::Nothing;
        }
        let under_way = match self.config.pipe {
            PipeStart::Window => flight.window() as i64 / mss * mss,
            PipeStart::Outstanding => flight.outstanding() as i64,
        };
        self.pipe = under_way - i64::from(trigger.threshold) * mss;
        flight.ssthresh = congestion.threshold(flight);
        flight.cwnd = flight.ssthresh;
        self.recover = Some(flight.max);
        self.partial = false;
        self.board.begin(flight.una + u64::from(flight.mss));
        Resend::First
    }

    /// A partial ACK takes two segments off PIPE: the one resent and the one lost. `None` outside of a recovery.
    #[inline(always)]
    pub fn on_advance(&mut self, flight: &Flight) -> Option<Advance> {
        let recover = self.recover?;
        if flight.una >= recover {
            self.recover = None;
            return Some(Advance::default());
        }
        self.pipe -= 2 * i64::from(flight.mss);
        let restart_timer = self.config.timer_restart == TimerRestart::Every || !self.partial;
        self.partial = true;
        Some(Advance {
            restart_timer,
            ..Advance::default()
        })
    }

    /// In recovery, holes first, while PIPE is below the window.
    pub fn next(&self, flight: &Flight) -> Next {
        if self.recover.is_none() {
            return Next::Window;
        }
        if self.pipe as f64 >= flight.cwnd {
            return Next::Nothing;
        }
        match self.board.next_hole(flight.una, flight.mss) {
            Some((sequence, length)) => Next::Hole { sequence, length },
            None => Next::Beyond,
        }
    }

    /// A segment left in recovery, other than by `Resend`.
    pub fn on_sent(&mut self, flight: &Flight, hole_end: Option<u64>) {
        self.pipe += i64::from(flight.mss);
        if let Some(end) = hole_end {
            self.board.on_resent(end);
        }
    }

    /// A timeout ends the recovery and clears the board.
    pub fn on_timeout(&mut self, flight: &Flight) {
        self.recover = None;
        self.board.clear();
        self.guard.set(flight);
    }
}
