//! Reno as in Linux: counts delivered segments, not ACKs (tcp_cong.c; RFC 5681, RFC 3465).

use super::control::Cause;
use super::linux::{Linux, Module, Socket};
use crate::variant::Parameters;
use serde::{Deserialize, Serialize};

/// Linux's Reno has no options.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LinuxRenoConfig {}

impl Parameters for LinuxRenoConfig {}

/// Factor of cwnd at an ECN mark with ABE (RFC 8511 section 3.1).
const MARK_BETA: f64 = 0.8;

/// A sender by `tcp_reno`.
pub type LinuxReno = Linux<RenoModule>;

/// Keeps no state besides the socket's.
#[derive(Clone, Debug)]
pub struct RenoModule;

impl Module for RenoModule {
    type Config = LinuxRenoConfig;

    fn new(_config: &LinuxRenoConfig) -> RenoModule {
        RenoModule
    }

    fn ssthresh(&mut self, cause: Cause, socket: &Socket) -> u32 {
        match cause {
            Cause::Mark { abe: true } => ((f64::from(socket.snd_cwnd) * MARK_BETA) as u32).max(2),
            _ => socket.halved(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn trial(window: f64) -> Trial {
        Trial::new(&CongestionConfig::LinuxReno(LinuxRenoConfig {}), window)
    }

    #[test]
    fn the_window_grows_by_a_segment_in_a_round_trip_and_a_loss_halves_it() {
        assert_eq!(trial(100.0).round_trip(), 101.0);
        assert_eq!(trial(101.5).reduce(Cause::FastRetransmit), (50.0, 50.0));
        assert_eq!(trial(101.5).reduce(Cause::Timeout), (1.0, 50.0));
    }

    #[test]
    fn slow_start_ends_at_the_threshold_and_a_window_that_is_not_used_stays() {
        let config = CongestionConfig::LinuxReno(LinuxRenoConfig {});
        let mut trial = Trial::with_threshold(&config, 10.0, 12.0);
        assert_eq!([trial.ack(), trial.ack()], [11.0, 12.0]);
        let windows: Vec<f64> = (0..12).map(|_| trial.ack()).collect();
        assert_eq!((windows[10], windows[11]), (12.0, 13.0));
        for _ in 0..20 {
            assert_eq!(trial.ack_after(longpipe_events::Span(0), false), 13.0);
        }
    }
}
