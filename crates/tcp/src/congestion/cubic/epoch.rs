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
    counts: Counts,
}

/// What Linux counts in whole segments.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// Segments that arrived since Reno's estimate grew, and since the window did.
    for_reno: f64,
    for_window: f64,
    /// So many make the window grow by one; when that was found, for which window.
    each: f64,
    found: Option<Time>,
    window: f64,
}

/// Most that a round trip multiplies the window with (RFC 9438 section 4.2; a segment for two ACKs in Linux).
const MOST_GROWTH: f64 = 1.5;
/// Linux: so many segments make the window grow by one at most before the first loss, so many at least, and so many windows
/// where it is above the cubic.
const EACH_BEFORE_LOSSES: f64 = 20.0;
const LEAST_EACH: f64 = 2.0;
const IDLE: f64 = 100.0;
/// Linux: that number holds for so long at one window.
const FRESH: Span = Span::micros(31_250);
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
            counts: Counts {
                for_reno: 0.0,
                for_window: 0.0,
                each: 0.0,
                found: None,
                window: 0.0,
            },
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
        // A receiver's window below a segment leaves no whole one.
        let whole = whole_part(cwnd).max(1.0);
        self.counts.for_reno += arrived;
        let fresh = |found: Time| self.counts.window == whole && ack.now.since(found) <= FRESH;
        if !self.counts.found.is_some_and(fresh) {
            (self.counts.found, self.counts.window) = (Some(ack.now), whole);
            self.counts.each = self.each(config, ack, whole, first);
        }
        let (each, counts) = (self.counts.each, &mut self.counts);
        let mut grown = whole;
        if counts.for_window >= each {
            counts.for_window = 0.0;
            grown += 1.0;
        }
        counts.for_window += arrived;
        if counts.for_window >= each {
            let more = whole_part(counts.for_window / each);
            counts.for_window -= more * each;
            grown += more;
        }
        // A fraction is left where the window did not come by whole segments.
        grown.max(cwnd)
    }

    /// So many segments that arrive make the window grow by one.
    fn each(&mut self, config: &CubicConfig, ack: &Ack, whole: f64, first: bool) -> f64 {
        let t = ack.now.since(self.began).as_seconds() + seconds(ack.least_rtt) - self.k;
        let off = whole_part(config.scaling * (t * t * t).abs());
        let target = whole_part(self.plateau) + if t < 0.0 { -off } else { off };
        let mut each = if target > whole {
            whole_part(whole / (target - whole))
        } else {
            IDLE * whole
        };
        if first {
            each = each.min(EACH_BEFORE_LOSSES);
        }
        if config.reno_friendly {
            let window = whole_part(WINDOWS_PER_SEGMENT * whole);
            while self.counts.for_reno > window {
                self.counts.for_reno -= window;
                self.w_est += 1.0;
            }
            let more = whole_part(self.w_est) - whole;
            if more > 0.0 {
                each = each.min(whole_part(whole / more));
            }
        }
        each.max(LEAST_EACH)
    }
}

fn seconds(span: Option<Span>) -> f64 {
    span.map_or(0.0, Span::as_seconds)
}
