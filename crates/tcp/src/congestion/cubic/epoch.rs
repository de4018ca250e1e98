//! Congestion avoidance since a reduction, by the RFC and by Linux; windows are in segments.

use super::CubicConfig;
use crate::congestion::control::Ack;
use crate::congestion::cube_root::cube_root;
use crate::congestion::linux::whole_part;
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
/// Linux: least growth before the first loss, and where the window is above the cubic, a segment.
const LEAST_GROWTH: f64 = 1.0 / 20.0;
const IDLE_GROWTH: f64 = 1.0 / 100.0;
/// Linux: a segment of Reno's estimate for so many windows acknowledged, at a β of 717/1024.
const WINDOWS_PER_SEGMENT: f64 = 15.0 / 8.0;

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

    /// Likewise in Linux's whole segments (tcp_cubic.c); `first`: no loss has told a maximum.
    pub fn grow_as_linux(&mut self, config: &CubicConfig, ack: &Ack, cwnd: f64, arrived: f64, first: bool) -> f64 {
        let t = ack.now.since(self.began).as_seconds() + seconds(ack.least_rtt) - self.k;
        let off = whole_part(config.scaling * (t * t * t).abs());
        let target = whole_part(self.plateau) + if t < 0.0 { -off } else { off };
        let whole = whole_part(cwnd);
        let mut growth = ((target - whole) / whole).max(IDLE_GROWTH / whole);
        if first {
            growth = growth.max(LEAST_GROWTH);
        }
        if config.reno_friendly {
            self.w_est += arrived / (WINDOWS_PER_SEGMENT * whole);
            growth = growth.max((whole_part(self.w_est) - whole) / whole);
        }
        cwnd + arrived * growth.min(MOST_GROWTH - 1.0)
    }
}

fn seconds(span: Option<Span>) -> f64 {
    span.map_or(0.0, Span::as_seconds)
}
