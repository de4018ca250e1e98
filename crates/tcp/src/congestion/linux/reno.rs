//! Reno as in Linux: counts delivered segments, not ACKs (tcp_cong.c; RFC 5681, RFC 3465).

use crate::congestion::control::{Ack, Cause};
use crate::congestion::flight::Flight;
use crate::congestion::linux::hystart::HystartConfig;
use crate::congestion::linux::slow_start::SlowStart;
use crate::congestion::linux::{Linux, Module, Socket};
use crate::described::{is_default, Described};
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Slow start and congestion avoidance that count delivered segments, not ACKs, as in Linux.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Reno of Linux")]
#[described(fact("is_reno", true))]
#[described(fact("after_loss", "half of the data in flight (RFC 5681 section 3.1, equation 4)"))]
pub struct LinuxRenoConfig {
    /// How slow start ends before a loss: none, HyStart++ (RFC 9406), or SEARCH (draft-chung-ccwg-search-09).
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(default = "none", values("none", "plus-plus", "search", "search-4"), later)]
    pub hystart: HystartConfig,
}

impl Parameters for LinuxRenoConfig {}

/// Factor by which an ECN mark multiplies cwnd with ABE (RFC 8511 section 3.1).
const MARK_BETA: f64 = 0.8;

/// State of a sender that uses `tcp_reno`.
pub type LinuxReno = Linux<RenoModule>;

/// Reno has no state other than the socket's and slow start's.
#[derive(Clone, Debug)]
pub struct RenoModule {
    slow_start: SlowStart,
}

impl Module for RenoModule {
    type Config = LinuxRenoConfig;

    fn new(config: &LinuxRenoConfig) -> RenoModule {
        RenoModule {
            slow_start: SlowStart::new(config.hystart),
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight, socket: &mut Socket) {
        if socket.in_slow_start() && (ack.grows || self.slow_start.hystart.counts_duplicates()) {
            self.slow_start.on_ack(ack, flight, socket);
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        let starts = socket.in_slow_start() && socket.is_cwnd_limited();
        socket.grow_as_reno(if starts { self.slow_start.credit(acked) } else { acked });
    }

    fn ssthresh(&mut self, cause: Cause, socket: &Socket) -> u32 {
        self.slow_start.hystart.on_reduction();
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
        Trial::new(&CongestionConfig::LinuxReno(LinuxRenoConfig::default()), window)
    }

    #[test]
    fn the_window_grows_by_a_segment_per_rtt_and_a_loss_halves_it() {
        assert_eq!(trial(100.0).round_trip(), 101.0);
        assert_eq!(trial(101.5).reduce(Cause::FastRetransmit), (50.0, 50.0));
        assert_eq!(trial(101.5).reduce(Cause::Timeout), (1.0, 50.0));
    }

    #[test]
    fn slow_start_ends_at_ssthresh_and_an_unused_window_does_not_grow() {
        let config = CongestionConfig::LinuxReno(LinuxRenoConfig::default());
        let mut trial = Trial::with_threshold(&config, 10.0, 12.0);
        assert_eq!([trial.ack(), trial.ack()], [11.0, 12.0]);
        let windows: Vec<f64> = (0..12).map(|_| trial.ack()).collect();
        assert_eq!((windows[10], windows[11]), (12.0, 13.0));
        for _ in 0..20 {
            assert_eq!(trial.ack_after(longpipe_events::Span(0), false), 13.0);
        }
    }
}
