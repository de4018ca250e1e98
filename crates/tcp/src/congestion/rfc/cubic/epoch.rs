//! Congestion avoidance since a reduction, as in RFC 9438; windows are in segments.

use super::config::CubicConfig;
use crate::congestion::control::Ack;
use crate::congestion::cube_root::cube_root;
use longpipe_events::{Span, Time};

/// State of the cubic and of Reno's estimate since a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Start of the epoch, shifted by all excluded periods.
    pub began: Time,
    /// Time from the start to the plateau (K) [s].
    k: f64,
    /// Window W_max at the plateau.
    plateau: f64,
    /// Window W_est that Reno would have.
    w_est: f64,
}

/// Maximum factor by which the window grows per RTT (RFC 9438 section 4.2; in Linux: one segment per two ACKs).
const MAX_GROWTH: f64 = 1.5;

impl Epoch {
    /// Starts an epoch at a window of `cwnd`, with the plateau at `w_max` or, if that is lower, at `cwnd`.
    pub fn begin(now: Time, cwnd: f64, w_max: Option<f64>, scaling: f64) -> Epoch {
        let below = w_max.filter(|&w_max| w_max > cwnd);
        Epoch {
            began: now,
            k: below.map_or(0.0, |w_max| cube_root((w_max - cwnd) / scaling)),
            plateau: below.unwrap_or(cwnd),
            w_est: cwnd,
        }
    }

    /// Returns the window after the delivery of `arrived` segments (RFC 9438 sections 4.2 to 4.5); `cwnd_prior` is the
    /// window before the reduction.
    pub fn grow(&mut self, config: &CubicConfig, ack: &Ack, cwnd: f64, arrived: f64, cwnd_prior: f64) -> f64 {
        let t = ack.now.since(self.began).as_seconds() - self.k;
        let window = |t: f64| config.scaling * t * t * t + self.plateau;
        let ahead = seconds(ack.srtt.or(ack.least_rtt));
        let target = window(t + ahead).clamp(cwnd, MAX_GROWTH * cwnd);
        let mut grown = cwnd + arrived * (target - cwnd) / cwnd;
        if config.reno_friendly {
            let alpha = if self.w_est >= cwnd_prior {
                1.0
            } else {
                3.0 * (1.0 - config.beta) / (1.0 + config.beta)
            };
            let w_est = self.w_est + alpha * arrived / cwnd;
            if window(t) < w_est {
                grown = cwnd.max(w_est);
            }
            self.w_est = w_est;
        }
        grown.min(cwnd + (MAX_GROWTH - 1.0) * arrived)
    }
}

fn seconds(span: Option<Span>) -> f64 {
    span.map_or(0.0, Span::as_seconds)
}
