//! SCReAMv2 by the draft's texts of October 2024 and March 2025, from which the published measurements date.
//!
//! The target bitrate has no margin of 20 %, the share of marks rises and falls with the same weight, growth below 25 ms
//! falls with the square of the RTT, and delays count only while no marks arrive. The text of March 2025 also scales growth
//! and reductions near the last maximum while marks arrive.

use super::{
    Feedback, Scream, ScreamRules, BETA_ECN, BETA_LOSS, INFLECTION_SLOPE, MIN_REF_WND, MIN_STEP_SCALE, MUL_INCREASE,
    POST_CONGESTION_RTTS, VIRTUAL_RTT,
};
use longpipe_events::Span;

/// Weight of the share of marks (L4S_AVG_G).
pub(super) const L4S_AVG_G: f64 = 1.0 / 16.0;
/// Factor of the distance from the inflection point, and minimum number of RTTs between its updates (draft of October
/// 2024).
const INFLECTION_SLOPE_2024: f64 = 4.0;
const INFLECTION_RTTS: f64 = 10.0;
/// The reference window is at most this multiple of the data in flight, plus a segment (BYTES_IN_FLIGHT_HEAD_ROOM).
const HEAD_ROOM: f64 = 2.0;
/// Minimum factor of growth and reductions for a window of a few segments.
const MIN_SMALL_WINDOW_SCALE: f64 = 0.5;
/// Share of marks, and reduction, after 100 RTTs without congestion.
const LATE_ALPHA: f64 = 0.25;
/// Data in flight per reference window above which the target falls, and the largest divisor (BYTES_IN_FLIGHT_LIMIT and
/// BYTES_IN_FLIGHT_LIMIT_COMPENSATION, to which the texts give no value; those of the authors' code of October 2024).
const IN_FLIGHT_LIMIT: f64 = 0.9;
const MAX_COMPENSATION: f64 = 1.5;
/// Time [s] after a mark for which L4S is active (the authors' code of October 2024; the texts give no value).
const ACTIVE_S: f64 = 5.0;

/// State that only the earlier texts need; times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Earlier {
    now: f64,
    qdelay: f64,
    /// Data in flight per reference window before the last feedback.
    in_flight_ratio: f64,
    /// Time of the last mark, and of the last update of the inflection point.
    marked_at: Option<f64>,
    inflection_at: f64,
}

impl Earlier {
    pub fn on_feedback(&mut self, feedback: &Feedback, ref_wnd: f64) {
        (self.now, self.qdelay) = (feedback.now, feedback.qdelay);
        self.in_flight_ratio = feedback.in_flight as f64 / ref_wnd;
        if feedback.marked > 0 {
            self.marked_at = Some(feedback.now);
        }
    }
}

impl Scream {
    fn emulates_cubic(&self) -> bool {
        self.config.rules == ScreamRules::March2025
    }

    /// Returns whether marks have arrived recently (l4s_active).
    fn is_l4s_active(&self) -> bool {
        let Earlier { now, marked_at, .. } = self.earlier;
        self.config.scalable && marked_at.is_some_and(|at| now - at < ACTIVE_S)
    }

    /// Reduces and increases the reference window.
    pub(super) fn react_by_earlier_text(&mut self, feedback: &Feedback) {
        if self.emulates_cubic() {
            let scale = self.scale(INFLECTION_SLOPE);
            self.reduce_by_earlier_text(feedback, scale);
            self.increase_by_earlier_text(feedback, scale);
        } else {
            self.reduce_by_earlier_text(feedback, 1.0);
            let scale = self.scale(INFLECTION_SLOPE_2024);
            self.increase_by_earlier_text(feedback, scale);
        }
    }

    /// Reduces the reference window at most once per min(VIRTUAL_RTT, srtt), by every signal of this feedback. Signals of
    /// feedback before this interval has passed are ignored: the texts only say "data units marked", and the authors' code
    /// of October 2024 ignores them.
    fn reduce_by_earlier_text(&mut self, feedback: &Feedback, scale: f64) {
        let &Feedback {
            now, srtt, qdelay, mss, ..
        } = feedback;
        let since = now - self.congestion_at;
        let (is_lost, is_marked) = (self.is_lost, self.is_marked);
        (self.is_lost, self.is_marked) = (false, false);
        if since < VIRTUAL_RTT.min(srtt) {
            return;
        }
        let target = Span(self.config.target_ps).as_seconds();
        // With two marks per RTT, the share of marks is at least this.
        let alpha_limit = 2.0 / self.target_bps * mss * 8.0 / srtt;
        let is_queued = qdelay > target / 2.0 && (self.l4s_alpha < alpha_limit || !self.is_l4s_active());
        if !(is_lost || is_marked || is_queued) {
            return;
        }
        if now - self.earlier.inflection_at > INFLECTION_RTTS * srtt {
            (self.earlier.inflection_at, self.ref_wnd_i) = (now, self.ref_wnd);
        }
        if is_lost {
            self.ref_wnd *= BETA_LOSS;
        }
        if is_marked && self.config.scalable {
            let mut backoff = self.l4s_alpha / 2.0 * (1.0 - mss / self.ref_wnd).max(MIN_SMALL_WINDOW_SCALE);
            if qdelay < target / 4.0 {
                backoff *= scale.max(MIN_STEP_SCALE);
            }
            if since >= POST_CONGESTION_RTTS * VIRTUAL_RTT.max(srtt) {
                self.ref_wnd = self.ref_wnd.min(self.in_flight.1 as f64);
                (backoff, self.l4s_alpha) = (backoff.max(LATE_ALPHA), LATE_ALPHA);
            }
            self.ref_wnd *= 1.0 - backoff;
        } else if is_marked {
            self.ref_wnd *= BETA_ECN;
        }
        if is_queued {
            self.ref_wnd *= 1.0 - ((self.qdelay_avg - target / 2.0) / (target / 2.0)).clamp(0.0, 1.0) / 2.0;
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.congestion_at = now;
    }

    fn increase_by_earlier_text(&mut self, feedback: &Feedback, scale: f64) {
        let &Feedback { now, srtt, mss, .. } = feedback;
        let post = ((now - self.congestion_at) / (POST_CONGESTION_RTTS * VIRTUAL_RTT.max(srtt))).clamp(0.0, 1.0);
        let unmarked = feedback.delivered.saturating_sub(feedback.marked) as f64;
        let ratio = (mss / self.ref_wnd).min(1.0);
        let short_rtt = (srtt / VIRTUAL_RTT).min(1.0);
        let near_maximum = match (self.is_l4s_active(), self.emulates_cubic()) {
            (false, _) => scale,
            (true, true) => scale.max(MIN_STEP_SCALE),
            (true, false) => 1.0,
        };
        let additive =
            unmarked * ratio * short_rtt * short_rtt * near_maximum * (1.0 - ratio).max(MIN_SMALL_WINDOW_SCALE);
        let increment = additive * (1.0 + MUL_INCREASE * self.ref_wnd / mss * post * scale);
        self.grow(increment, HEAD_ROOM, feedback);
    }

    /// Returns the divisor of the target bitrate, which exceeds 1 if much is in flight and no marks arrive, or, in March
    /// 2025, if the queueing delay is above half of its target.
    pub(super) fn earlier_margin(&self) -> f64 {
        let Earlier {
            qdelay,
            in_flight_ratio,
            ..
        } = self.earlier;
        let is_limited = if self.emulates_cubic() {
            qdelay > Span(self.config.target_ps).as_seconds() / 2.0
        } else {
            !self.is_l4s_active()
        };
        if is_limited {
            (in_flight_ratio / IN_FLIGHT_LIMIT).clamp(1.0, MAX_COMPENSATION)
        } else {
            1.0
        }
    }
}
