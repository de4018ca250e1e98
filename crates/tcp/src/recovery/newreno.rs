//! NewReno: fast recovery through partial ACKs (Hoe 1996; ATM Forum/98-0876 section 3.1; RFC 2582).

use super::{Advance, Guard, Next, Resend, Trigger};
use crate::config::{NewRenoConfig, TimerRestart};
use crate::congestion::Congestion;
use crate::flight::Flight;

/// The state of a fast recovery.
#[derive(Clone, Debug)]
pub struct NewReno {
    config: NewRenoConfig,
    guard: Guard,
    /// SND.MAX at the fast retransmit (RECOVER), while the recovery lasts.
    recover: Option<u64>,
    /// Duplicate ACKs since the fast retransmit.
    duplicates: u32,
    /// New segments that the latest ACK may still let out.
    due: u32,
    /// Whether a partial ACK came.
    partial: bool,
}

impl NewReno {
    /// Not in recovery.
    pub fn new(config: NewRenoConfig) -> NewReno {
        NewReno {
            config,
            guard: Guard::new(config.guard),
            recover: None,
            duplicates: 0,
            due: 0,
            partial: false,
        }
    }

    /// Whether the recovery lasts.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.recover.is_some()
    }

    /// The triggering duplicate resends one segment; later ones let new segments out.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, trigger: Trigger) -> Resend {
        if self.recover.is_some() {
            self.duplicates += 1;
            if self.config.flywheel {
                self.due = u32::from(self.duplicates.is_multiple_of(2));
            } else {
                self.due = self.burst();
                flight.cwnd += flight.mss();
            }
            return Resend::Nothing;
        }
        if !trigger.fires(flight) || !self.guard.allows(flight) {
            return Resend::Nothing;
        }
        flight.ssthresh = congestion.threshold(flight);
        let inflation = if self.config.flywheel { 0 } else { trigger.threshold };
        flight.cwnd = flight.ssthresh + f64::from(inflation) * flight.mss();
        self.guard.set(flight);
        self.recover = Some(flight.max);
        self.due = self.burst();
        (self.duplicates, self.partial) = (0, false);
        Resend::First
    }

    /// A partial ACK resends the next hole; the ACK of RECOVER ends the recovery. `None` outside of one.
    #[inline(always)]
    pub fn on_advance(&mut self, flight: &mut Flight, acked: u64) -> Option<Advance> {
        let recover = self.recover?;
        self.on_partial(flight, acked, recover)
    }

    fn on_partial(&mut self, flight: &mut Flight, acked: u64, recover: u64) -> Option<Advance> {
        if flight.una >= recover {
            self.recover = None;
            flight.cwnd = flight.ssthresh;
            return None;
        }
        self.due = self.burst();
        flight.cwnd = if self.config.partial_deflation && !self.config.flywheel {
            (flight.cwnd - acked as f64 + flight.mss()).max(flight.mss())
        } else {
            flight.ssthresh
        };
        let restart_timer = self.config.timer_restart == TimerRestart::Every || !self.partial;
        self.partial = true;
        Some(Advance {
            resend: Resend::First,
            restart_timer,
        })
    }

    /// With the flywheel, new segments follow from duplicate ACKs alone.
    pub fn next(&mut self) -> Next {
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

    /// Segments that an ACK may let out as far as the window allows.
    fn burst(&self) -> u32 {
        match self.config {
            NewRenoConfig { flywheel: true, .. } => 0,
            NewRenoConfig { max_burst, .. } => max_burst.unwrap_or(u32::MAX),
        }
    }

    /// A timeout ends the recovery; the window loses its inflation first.
    pub fn on_timeout(&mut self, flight: &mut Flight) {
        if self.recover.take().is_some() {
            flight.cwnd = flight.cwnd.min(flight.ssthresh);
        }
        self.guard.set(flight);
    }
}
