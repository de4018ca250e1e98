//! Congestion avoidance since a reduction, by the RFC; windows are in segments.

use super::config::CubicConfig;
use crate::congestion::control::Ack;
use crate::congestion::cube_root::cube_root;
use longpipe_events::{Span, Time};

/// The cubic since a reduction, and what Reno would have.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// When it began, later by all the time that does not count.
    pub began: Time,
    /// Time from its beginning to the plateau [s].
    k: f64,
    /// Window at the plateau.
    plateau: f64,
    /// What Reno would have by now.
    w_est: f64,
}

/// Most that a round trip multiplies the window with (RFC 9438 section 4.2; a segment for two ACKs in Linux).
const MOST_GROWTH: f64 = 1.5;

impl Epoch {
    /// At a window of `cwnd`, with the plateau at `w_max` if that is above.
    pub fn begin(now: Time, cwnd: f64, w_max: Option<f64>, scaling: f64) -> Epoch {
        let below = w_max.filter(|&w_max| w_max > cwnd);
        Epoch {
            began: now,
            k: below.map_or(0.0, |w_max| cube_root((w_max - cwnd) / scaling)),
            plateau: below.unwrap_or(cwnd),
            w_est: cwnd,
        }
    }

    /// The window after `arrived` segments (RFC 9438 sections 4.2 to 4.5); before the reduction it was `cwnd_prior`.
    pub fn grow(&mut self, config: &CubicConfig, ack: &Ack, cwnd: f64, arrived: f64, cwnd_prior: f64) -> f64 {
        let t = ack.now.since(self.began).as_seconds() - self.k;
        let window = |t: f64| config.scaling * t * t * t + self.plateau;
        let ahead = seconds(ack.srtt.or(ack.least_rtt));
        let target = window(t + ahead).clamp(cwnd, MOST_GROWTH * cwnd);
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
        grown.min(cwnd + (MOST_GROWTH - 1.0) * arrived)
    }
}

fn seconds(span: Option<Span>) -> f64 {
    span.map_or(0.0, Span::as_seconds)
}
