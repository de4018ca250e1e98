//! Slow start of a Linux controller, with a criterion for an early exit.

use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::hystart::{Hystart, HystartConfig, Start};
use crate::congestion::linux::Socket;

/// Slow start of a Linux controller, in whole segments.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Criterion for leaving slow start early.
    pub hystart: Hystart,
    /// Fraction of the delivered data by which the window grows; less than 1 only with HyStart++.
    share: f64,
    /// Fraction of a segment that remains from earlier growth.
    remainder: f64,
}

impl SlowStart {
    /// Creates the state for the first slow start.
    pub fn new(config: HystartConfig) -> SlowStart {
        SlowStart {
            hystart: Hystart::new(config),
            share: 1.0,
            remainder: 0.0,
        }
    }

    /// Processes an ACK in slow start.
    pub fn on_ack(&mut self, ack: &Ack, flight: &Flight, socket: &mut Socket) {
        match self.hystart.on_ack(ack, flight) {
            Start::Leave => socket.snd_ssthresh = socket.snd_cwnd,
            Start::Grow(share) => self.share = share,
            Start::Drain { window, leaves } => {
                self.share = 0.0;
                socket.snd_cwnd = (window / flight.mss()) as u32;
                if leaves {
                    socket.snd_ssthresh = socket.snd_cwnd;
                }
            }
        }
    }

    /// Returns the number of segments by which the window grows in slow start when `acked` segments are acknowledged.
    pub fn credit(&mut self, acked: u32) -> u32 {
        let credit = self.remainder + self.share * f64::from(acked).min(self.hystart.most_per_ack());
        let whole = credit as u32;
        self.remainder = credit - f64::from(whole);
        whole
    }
}
