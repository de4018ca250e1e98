//! Reno: fast retransmit and fast recovery (frr-96 section 2; 4.3BSD-Reno; RFC 2001).

use super::{Guard, Resend, Trigger};
use crate::config::RenoConfig;
use crate::congestion::Congestion;
use crate::flight::Flight;

/// Whether the window is inflated by duplicate ACKs.
#[derive(Clone, Debug)]
pub struct Reno {
    config: RenoConfig,
    guard: Guard,
    inflated: bool,
}

impl Reno {
    /// Not in recovery.
    pub fn new(config: RenoConfig) -> Reno {
        Reno {
            config,
            guard: Guard::new(config.guard),
            inflated: false,
        }
    }

    /// Whether the next ACK of new data deflates the window.
    pub fn is_on(&self) -> bool {
        self.inflated
    }

    /// The triggering duplicate resends one segment; each later one lets another segment out.
    pub fn on_duplicate(&mut self, flight: &mut Flight, congestion: &Congestion, trigger: Trigger) -> Resend {
        if flight.duplicates < trigger.threshold {
            return Resend::Nothing;
        }
        if trigger.fires(flight) && self.guard.allows(flight) {
            flight.ssthresh = congestion.threshold(flight);
            flight.cwnd = flight.ssthresh + f64::from(trigger.threshold) * flight.mss();
            self.inflated = true;
            if !self.config.guard_timeouts_only {
                self.guard.set(flight);
            }
            return Resend::First;
        }
        self.inflated |= self.config.inflate_always && flight.duplicates > trigger.threshold;
        if self.inflated {
            flight.cwnd += flight.mss();
        }
        Resend::Nothing
    }

    /// The first new ACK deflates the window to the threshold.
    pub fn on_advance(&mut self, flight: &mut Flight) {
        if self.inflated {
            flight.cwnd = flight.ssthresh.min(flight.cwnd);
            self.inflated = false;
        }
    }

    /// A timeout ends the recovery.
    pub fn on_timeout(&mut self, flight: &mut Flight) {
        if self.inflated && self.config.deflate_on_timeout {
            flight.cwnd = flight.ssthresh.min(flight.cwnd);
        }
        self.inflated = false;
        self.guard.set(flight);
    }
}
