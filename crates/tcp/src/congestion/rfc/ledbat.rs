//! LEDBAT: keeps the one-way queueing delay at a target, so that it yields to other traffic (RFC 6817).
//!
//! The one-way delay is the difference of the two timestamps of an ACK (RFC 7323). The queueing delay is the one-way
//! delay minus its minimum over the last BASE_HISTORY minutes, so the offset between the clocks cancels.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;
use std::collections::VecDeque;

/// Keeps the one-way queueing delay at a target, and so yields to other traffic (RFC 6817).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "LEDBAT")]
#[described(fact("after_loss", "half of the window (RFC 6817 section 2.4.2)"))]
#[described(fact(
    "by_model",
    "LEDBAT measured a queueing delay above its target (RFC 6817 section 2.4.2)"
))]
pub struct LedbatConfig {
    /// Target queueing delay [time]; RFC 6817, TARGET.
    #[field(range = "[1 us, 100 s]", default = "100 ms")]
    pub target_ps: u64,
    /// Growth per RTT without queueing [segments]; RFC 6817, GAIN.
    #[field(range = "(0, 1]", default = 1.0)]
    pub gain: f64,
    /// Maximum amount by which cwnd may exceed the data in flight [segments]; RFC 6817, ALLOWED_INCREASE.
    #[field(range = "(0, 1e6]", default = 1.0)]
    pub allowed_increase: f64,
    /// Number of minutes over which the minimum delay is the base delay; RFC 6817, BASE_HISTORY.
    #[field(range = "[1, 1000]", default = 10)]
    pub base_history: u32,
    /// Number of latest delays whose minimum is the current delay; RFC 6817, CURRENT_FILTER (the RFC gives no value).
    #[field(range = "[1, 1000]", default = 4)]
    pub current_filter: u32,
}

impl Parameters for LedbatConfig {
    const FACTS: Facts = Facts {
        measures_delay: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// State of a LEDBAT sender.
#[derive(Clone, Debug)]
pub struct Ledbat {
    config: LedbatConfig,
    delays: DelayHistory,
}

/// Delay samples from which LEDBAT computes the queueing delay: one-way delays, or round-trip times in LEDBAT++.
#[derive(Clone, Debug)]
pub struct DelayHistory {
    /// Maximum lengths of `base` and `current` (BASE_HISTORY and CURRENT_FILTER).
    base_history: u32,
    current_filter: u32,
    /// Minimum delay of each of the last minutes with a sample.
    base: VecDeque<Span>,
    /// Number of the minute of the last entry of `base`.
    minute: Option<u64>,
    /// The latest delays.
    current: VecDeque<Span>,
}

/// Minimum cwnd (MIN_CWND) [segment].
pub const MIN_CWND_SEGMENTS: f64 = 2.0;
const MINUTE: Span = Span::seconds(60);

impl Variant for Ledbat {
    type Config = LedbatConfig;

    fn new(config: &LedbatConfig) -> Ledbat {
        Ledbat {
            config: *config,
            delays: DelayHistory::new(config.base_history, config.current_filter),
        }
    }
}

impl Control for Ledbat {
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if let Some(delay) = ack.delay {
            self.delays.measure(delay, ack.now);
        }
        match self.delays.queueing() {
            // During recovery, `grows` is false, and cwnd neither grows nor shrinks.
            Some(queueing) if ack.grows => self.updated_window(queueing, ack, flight),
            _ => CwndUpdate::unchanged(flight),
        }
    }

    /// Halves the window, but not to less than two segments (section 2.4.2, on data loss). After a timeout, this value is
    /// ssthresh, and cwnd is one segment.
    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        let mss = flight.mss();
        let window = flight.cwnd().min((flight.cwnd() / 2.0).max(MIN_CWND_SEGMENTS * mss));
        CwndUpdate::reduced(cause, window, flight)
    }
}

impl DelayHistory {
    /// Returns a history without samples.
    pub fn new(base_history: u32, current_filter: u32) -> DelayHistory {
        DelayHistory {
            base_history,
            current_filter,
            base: VecDeque::new(),
            minute: None,
            current: VecDeque::new(),
        }
    }

    /// Records a delay.
    pub fn measure(&mut self, delay: Span, now: Time) {
        let minute = now.0 / MINUTE.0;
        match self.base.back_mut() {
            Some(least) if self.minute == Some(minute) => *least = delay.min(*least),
            _ => {
                self.minute = Some(minute);
                push_bounded(&mut self.base, delay, self.base_history);
            }
        }
        push_bounded(&mut self.current, delay, self.current_filter);
    }

    /// Returns the base delay: the minimum over the last BASE_HISTORY minutes with a sample.
    pub fn base(&self) -> Option<Span> {
        self.base.iter().min().copied()
    }

    /// Returns the queueing delay, or None before the first sample.
    pub fn queueing(&self) -> Option<Span> {
        let current = self.current.iter().min()?;
        Some(Span(current.0.saturating_sub(self.base()?.0)))
    }
}

impl Ledbat {
    /// Changes cwnd in proportion to the distance of the queueing delay from the target.
    fn updated_window(&self, queueing: Span, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let (mss, cwnd, target) = (flight.mss(), flight.cwnd(), self.config.target_ps as f64);
        let off_target = (target - queueing.0 as f64) / target;
        let proposed = cwnd + self.config.gain * off_target * ack.acked as f64 * mss / cwnd;
        let max_cwnd = (flight.outstanding() + ack.acked) as f64 + self.config.allowed_increase * mss;
        CwndUpdate::window(
            proposed
                .min(max_cwnd)
                .max(MIN_CWND_SEGMENTS * mss)
                .min(flight.rwnd as f64),
            flight,
        )
    }
}

/// Appends a delay, and keeps only the last `most` delays.
fn push_bounded(delays: &mut VecDeque<Span>, delay: Span, max_length: u32) {
    if delays.len() == max_length as usize {
        delays.pop_front();
    }
    delays.push_back(delay);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    const BASE: Span = Span::millis(30);

    fn config() -> LedbatConfig {
        LedbatConfig {
            target_ps: Span::millis(100).0,
            gain: 1.0,
            allowed_increase: 1.0,
            base_history: 10,
            current_filter: 4,
        }
    }

    /// Returns a trial that has already recorded the delay of an empty path.
    fn settled(config: LedbatConfig, window: f64) -> Trial {
        let mut trial = Trial::new(&CongestionConfig::Ledbat(config), window);
        trial.delay = Some(BASE);
        trial.ack_after(Span(0), true);
        trial
    }

    /// Returns the window after `acks` ACKs that report the given queueing delay.
    fn moved(trial: &mut Trial, queueing: Span, acks: usize) -> f64 {
        trial.delay = Some(Span(BASE.0 + queueing.0));
        (0..acks).fold(trial.window(), |_, _| trial.ack_after(Span::millis(1), true))
    }

    #[test]
    fn rfc_6817_section_2_4_2_the_window_changes_in_proportion_to_off_target() {
        // cwnd += GAIN · off_target · bytes_newly_acked · MSS / cwnd: the window changes by 1, 0.5, 0, -0.5 and -1
        // segments per window.
        for (queueing, off) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0)] {
            let mut trial = settled(config(), 100.0);
            // The current delay is the minimum of the last four samples.
            let before = moved(&mut trial, Span::millis(queueing), 3);
            let after = moved(&mut trial, Span::millis(queueing), 1);
            assert!(
                (after - before - off / before).abs() < 1e-12,
                "{queueing} ms: {before} {after}"
            );
        }
        let mut half = settled(LedbatConfig { gain: 0.5, ..config() }, 100.0);
        let before = half.window();
        assert!((moved(&mut half, Span(0), 1) - before - 0.5 / before).abs() < 1e-12);
    }

    #[test]
    fn rfc_6817_the_window_is_at_most_a_segment_above_flightsize_and_at_least_two() {
        // One segment was in flight.
        let mut eager = settled(
            LedbatConfig {
                allowed_increase: 4.0,
                ..config()
            },
            100.0,
        );
        assert_eq!(eager.ack_after(Span(0), false), 5.0);
        let mut queue = settled(config(), 4.0);
        assert_eq!(moved(&mut queue, Span::seconds(3), 50), MIN_CWND_SEGMENTS);
    }

    #[test]
    fn rfc_6817_a_loss_halves_the_window_and_a_timeout_sets_it_to_a_segment() {
        assert_eq!(settled(config(), 100.0).reduce(Cause::FastRetransmit).0.floor(), 50.0);
        assert_eq!(settled(config(), 3.0).reduce(Cause::FastRetransmit).0, 2.0);
        assert_eq!(settled(config(), 100.0).reduce(Cause::Timeout).0, 1.0);
    }

    #[test]
    fn rfc_6817_section_2_4_2_the_base_delay_expires_after_base_history_minutes() {
        let mut ledbat = Ledbat::new(&LedbatConfig {
            base_history: 2,
            ..config()
        });
        let mut queueing = |delay: u64, seconds: u64| {
            for _ in 0..4 {
                ledbat
                    .delays
                    .measure(Span::millis(delay), Time::ZERO + Span::seconds(seconds));
            }
            ledbat.delays.queueing()
        };
        assert_eq!(queueing(30, 0), Some(Span(0)));
        assert_eq!(queueing(80, 59), Some(Span::millis(50)));
        assert_eq!(queueing(80, 61), Some(Span::millis(50)));
        assert_eq!(queueing(80, 121), Some(Span(0)));
        assert_eq!(queueing(20, 122), Some(Span(0)));
    }

    #[test]
    fn without_a_delay_sample_the_window_is_unchanged() {
        let mut trial = Trial::new(&CongestionConfig::Ledbat(config()), 10.0);
        assert_eq!(trial.ack(), 10.0);
    }
}
