//! Congestion signals of C4: thresholds that depend on the rate, and smoothed shares of lost and marked packets.

use super::{C4Config, C4Rules};

/// Rates [byte/s] below which the sensitivity is 0, at which the slope of the curve changes, and above which it is 1.
const INSENSITIVE_RATE: f64 = 50e3;
const KNEE_RATE: f64 = 1e6;
const SENSITIVE_RATE: f64 = 10e6;
/// Sensitivity at the knee, in the text and in picoquic.
const KNEE: f64 = 0.92;
const PICOQUIC_KNEE: f64 = 963.0 / 1024.0;
/// Maximum delay threshold [s].
const MAX_DELAY_THRESHOLD: f64 = 0.025;
/// Weight of a packet in the smoothed loss rate, and of an ACK in the smoothed share of marks.
const GAIN: f64 = 1.0 / 16.0;
/// Share of marks in an ACK from which on it is adopted without smoothing.
const SHARP_MARKS: f64 = 0.5;

/// Kind of a congestion signal, with the reduction that it demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    Delay { beta: f64 },
    Loss,
    Marks { beta: f64 },
}

/// Maximum factor beta by which a signal reduces the rate.
pub const MAX_BETA: f64 = 0.25;

/// Returns how sensitive a flow is to congestion signals, from 0 to 1, at a rate [byte/s] (section "Variable
/// Sensitivity").
pub fn sensitivity(rate: f64, rules: C4Rules) -> f64 {
    let knee = match rules {
        C4Rules::Specification => KNEE,
        C4Rules::Picoquic => PICOQUIC_KNEE,
    };
    if rate < KNEE_RATE {
        knee * (rate - INSENSITIVE_RATE).max(0.0) / (KNEE_RATE - INSENSITIVE_RATE)
    } else {
        knee + (1.0 - knee) * ((rate - KNEE_RATE) / (SENSITIVE_RATE - KNEE_RATE)).min(1.0)
    }
}

/// Returns the delay [s] above the nominal maximum RTT `max_rtt` [s] that signals congestion.
pub fn delay_threshold(sensitivity: f64, max_rtt: f64) -> f64 {
    (max_rtt * (1.0 / 16.0 + (1.0 - sensitivity) * 3.0 / 16.0)).min(MAX_DELAY_THRESHOLD)
}

/// Returns the smoothed loss rate that signals congestion.
pub fn loss_threshold(sensitivity: f64) -> f64 {
    0.02 + 0.5 * (1.0 - sensitivity)
}

/// Returns the smoothed share of marks that signals congestion.
pub fn mark_threshold(sensitivity: f64) -> f64 {
    (2.0 - sensitivity) * 3.0 / 32.0
}

/// Smoothed shares of lost and of marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// Smoothed loss rate.
    pub lost: f64,
    /// Smoothed share of marks (ecn_alpha).
    pub marked: f64,
    /// Whether any packet was marked.
    pub saw_marks: bool,
    /// Delivered and marked bytes since the latest update of the share of marks.
    bytes: (u64, u64),
}

impl Shares {
    /// Records delivered packets.
    pub fn on_delivered(&mut self, packets: u64) {
        if self.lost > 0.0 {
            self.lost *= (1.0 - GAIN).powi(packets.min(1000) as i32);
        }
    }

    /// Records a lost packet, and returns whether the loss rate signals congestion at a sensitivity.
    pub fn on_lost(&mut self, sensitivity: f64) -> bool {
        self.lost += (1.0 - self.lost) * GAIN;
        self.lost > loss_threshold(sensitivity)
    }

    /// Records delivered bytes, some of which are `marked`. The share of marks since its latest update is smoothed when
    /// bytes are marked and at the end of an era, because ACKs of TCP cover too few packets for a share.
    pub fn on_ack(&mut self, delivered: u64, marked: u64, ends_era: bool, sensitivity: f64) -> Option<Signal> {
        self.saw_marks |= marked > 0;
        self.bytes.0 += delivered;
        self.bytes.1 += marked;
        let updates = self.saw_marks && self.bytes.0 > 0 && (marked > 0 || ends_era);
        if !updates {
            return None;
        }
        let (delivered, marked) = std::mem::take(&mut self.bytes);
        self.smooth(marked as f64 / delivered as f64);
        self.signal(sensitivity)
    }

    /// Adds a share of marks to the smoothed share.
    fn smooth(&mut self, share: f64) {
        if share >= SHARP_MARKS {
            self.marked = share;
        } else {
            self.marked += (share - self.marked) * GAIN;
        }
    }

    /// Returns the signal of the smoothed share of marks at a sensitivity, if any.
    fn signal(&self, sensitivity: f64) -> Option<Signal> {
        let threshold = mark_threshold(sensitivity);
        (self.marked > threshold).then(|| Signal::Marks {
            beta: ((self.marked - threshold) / threshold).min(MAX_BETA),
        })
    }
}

/// Returns the signal of an RTT sample [s], if it exceeds the nominal maximum RTT by more than the threshold.
pub fn of_delay(rtt: f64, max_rtt: f64, sensitivity: f64) -> Option<Signal> {
    let threshold = delay_threshold(sensitivity, max_rtt);
    let excess = rtt - max_rtt - threshold;
    (excess > 0.0).then(|| Signal::Delay {
        beta: (excess / threshold).min(MAX_BETA),
    })
}

/// Returns the factor by which a signal reduces the rate at a sensitivity.
pub fn beta(signal: Signal, sensitivity: f64, config: &C4Config) -> f64 {
    match (signal, config.rules) {
        (Signal::Delay { beta } | Signal::Marks { beta }, _) => beta,
        (Signal::Loss, C4Rules::Specification) => MAX_BETA,
        (Signal::Loss, C4Rules::Picoquic) => MAX_BETA * (1.0 + sensitivity) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values derived from the formulas of the specification.
    #[test]
    fn thresholds_equal_those_of_the_specification() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 5e-4, "{value} {expected}");
        let text = |rate| sensitivity(rate, C4Rules::Specification);
        for (rate, expected) in [
            (0.0, 0.0),
            (50e3, 0.0),
            (500e3, 0.4358),
            (1e6, 0.92),
            (2.5e6, 0.9333),
            (10e6, 1.0),
            (1e9, 1.0),
        ] {
            near(text(rate), expected);
        }
        near(sensitivity(1e6, C4Rules::Picoquic), 0.9404);
        near(delay_threshold(text(2.5e6), 0.08), 0.006);
        near(delay_threshold(0.0, 0.6), 0.025);
        near(loss_threshold(text(2.5e6)), 0.0533);
        near(mark_threshold(text(2.5e6)), 0.1);
        near(mark_threshold(0.0), 0.1875);
    }

    #[test]
    fn a_signal_demands_a_reduction_in_proportion_to_its_excess() {
        let at = |rtt| of_delay(rtt, 0.08, 0.9333);
        assert_eq!(at(0.086), None);
        let Some(Signal::Delay { beta }) = at(0.087) else {
            panic!("no signal");
        };
        assert!((beta - 1.0 / 6.0).abs() < 0.01, "{beta}");
        assert_eq!(at(0.1), Some(Signal::Delay { beta: MAX_BETA }));
        let mut shares = Shares::default();
        assert_eq!(shares.on_ack(9000, 0, false, 0.9333), None);
        assert_eq!(shares.on_ack(1000, 1000, false, 0.9333), None);
        assert!((shares.marked - 0.1 / 16.0).abs() < 1e-12, "{}", shares.marked);
        let signal = Some(Signal::Marks { beta: MAX_BETA });
        assert_eq!(shares.on_ack(1000, 1000, false, 0.9333), signal);
        let lost = |shares: &mut Shares| shares.on_lost(0.9333);
        assert_eq!([(); 2].map(|()| lost(&mut shares)), [true, true]);
        shares.on_delivered(100);
        assert!(shares.lost < 1e-3);
    }
}
