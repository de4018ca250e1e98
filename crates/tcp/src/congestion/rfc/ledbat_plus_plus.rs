//! LEDBAT++: keeps the queueing delay at a target, and yields to other traffic and to later LEDBAT++ flows
//! (draft-irtf-iccrg-ledbat-plus-plus-06).
//!
//! In contrast to LEDBAT (RFC 6817), LEDBAT++ measures round-trip times, grows more slowly than Reno, reduces its window
//! multiplicatively, and empties the queue periodically, so that flows measure the delay of the empty path.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::growth::is_limited;
use crate::congestion::rfc::ledbat::{DelayHistory, MIN_CWND_SEGMENTS};
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Keeps the queueing delay at a target, yields, and shares with late flows (draft-irtf-iccrg-ledbat-plus-plus).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "LEDBAT++")]
#[described(fact("after_loss", "half of the window (draft-irtf-iccrg-ledbat-plus-plus)"))]
#[described(fact(
    "by_model",
    "LEDBAT++ measured a queueing delay above its target, or emptied the queue in a slowdown (draft-irtf-iccrg-ledbat-plus-plus)"
))]
pub struct LedbatPlusPlusConfig {
    /// Target queueing delay [time]; draft-irtf-iccrg-ledbat-plus-plus, TARGET.
    #[field(range = "[1 us, 100 s]", default = "60 ms")]
    pub target_ps: u64,
    /// Factor of the multiplicative decrease; draft-irtf-iccrg-ledbat-plus-plus, Constant.
    #[field(range = "(0, 100]", default = 1.0)]
    pub decrease: f64,
    /// Time between two slowdowns as a multiple of the duration of the first one; draft-irtf-iccrg-ledbat-plus-plus
    /// section 4.4, so that slowdowns take a tenth of the time.
    #[field(range = "[1, 1e6]", default = 9.0)]
    pub slowdown_interval: f64,
    /// Number of minutes over which the minimum RTT is the base delay; RFC 6817, BASE_HISTORY.
    #[field(range = "[1, 1000]", default = 10)]
    pub base_history: u32,
    /// Number of latest RTTs whose minimum is the current delay; RFC 6817, CURRENT_FILTER (the RFC gives no value).
    #[field(range = "[1, 1000]", default = 4)]
    pub current_filter: u32,
}

impl LedbatPlusPlusConfig {
    /// Returns the draft's constants with another target delay.
    pub fn with_target(target_ps: u64) -> LedbatPlusPlusConfig {
        LedbatPlusPlusConfig {
            target_ps,
            decrease: 1.0,
            slowdown_interval: 9.0,
            base_history: 10,
            current_filter: 4,
        }
    }
}

impl Parameters for LedbatPlusPlusConfig {
    const FACTS: Facts = Facts {
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// State of a LEDBAT++ sender.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    config: LedbatPlusPlusConfig,
    delays: DelayHistory,
    phase: Phase,
    /// The window shrinks for its delay again when this byte is acknowledged: once per round trip.
    shrinks_from: u64,
}

/// Phase of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The initial slow start, which also ends when the queueing delay exceeds three quarters of the target.
    Initial,
    /// Until the next slowdown.
    Steady { slowdown: Time },
    /// A slowdown, in which cwnd is the minimum until the queue has drained; ssthresh is the window before it.
    Frozen { since: Time, until: Time },
    /// The slow start that ends a slowdown.
    RampUp { since: Time },
}

/// Time from the end of the initial slow start to the first slowdown, and time for which a slowdown keeps cwnd at its
/// minimum [RTT].
const SLOWDOWN_RTTS: u64 = 2;
/// Smallest GAIN is 1 / MAX_GAIN_DIVISOR.
const MAX_GAIN_DIVISOR: u64 = 16;

impl Variant for LedbatPlusPlus {
    type Config = LedbatPlusPlusConfig;

    fn new(config: &LedbatPlusPlusConfig) -> LedbatPlusPlus {
        LedbatPlusPlus {
            config: *config,
            delays: DelayHistory::new(config.base_history, config.current_filter),
            phase: Phase::Initial,
            shrinks_from: 0,
        }
    }
}

impl Control for LedbatPlusPlus {
    /// Requests an RTT sample of every segment.
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt, ack.now);
        }
        match (self.delays.queueing(), self.delays.base(), ack.srtt) {
            // During recovery, `grows` is false, and cwnd neither grows nor shrinks.
            (Some(queueing), Some(base), Some(srtt)) if ack.grows => {
                let path = Path { queueing, base, srtt };
                self.updated_window(path, ack, flight)
            }
            _ => CwndUpdate::unchanged(flight),
        }
    }

    /// Halves the window, but not to less than two segments. During a slowdown, halves the window to which slow start
    /// returns. After a timeout, cwnd is one segment.
    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        let least = MIN_CWND_SEGMENTS * flight.mss();
        if let (Phase::Frozen { .. }, false) = (self.phase, cause == Cause::Timeout) {
            return CwndUpdate {
                threshold: (flight.ssthresh() / 2.0).max(least),
                ..CwndUpdate::unchanged(flight)
            };
        }
        let window = flight.cwnd().min((flight.cwnd() / 2.0).max(least));
        CwndUpdate::reduced(cause, window, flight)
    }
}

/// Measurements of the path: queueing delay, base delay and smoothed RTT.
#[derive(Clone, Copy)]
struct Path {
    queueing: Span,
    base: Span,
    srtt: Span,
}

impl LedbatPlusPlus {
    /// Records an RTT.
    pub fn measure(&mut self, rtt: Span, now: Time) {
        self.delays.measure(rtt, now);
    }

    /// Returns the window after an ACK outside of recovery.
    fn updated_window(&mut self, path: Path, ack: &Ack, flight: &Flight) -> CwndUpdate {
        match self.phase {
            Phase::Initial => {
                let is_delayed = 4 * u128::from(path.queueing.0) > 3 * u128::from(self.config.target_ps);
                if is_delayed || flight.cwnd() >= flight.ssthresh() {
                    self.phase = Phase::Steady {
                        slowdown: ack.now + Span(SLOWDOWN_RTTS * path.srtt.0),
                    };
                    let mut flight = flight.clone();
                    flight.limits.set(flight.cwnd(), flight.ssthresh().min(flight.cwnd()));
                    self.avoid_congestion(path, ack, &flight)
                } else {
                    self.slow_start(path, ack, flight)
                }
            }
            Phase::Steady { slowdown } if ack.now >= slowdown => {
                self.phase = Phase::Frozen {
                    since: ack.now,
                    until: ack.now + Span(SLOWDOWN_RTTS * path.srtt.0),
                };
                CwndUpdate {
                    window: flight.cwnd().min(MIN_CWND_SEGMENTS * flight.mss()),
                    threshold: flight.cwnd(),
                    pacing: None,
                }
            }
            Phase::Steady { .. } => self.avoid_congestion(path, ack, flight),
            Phase::Frozen { until, .. } if ack.now < until => CwndUpdate::unchanged(flight),
            Phase::Frozen { since, .. } | Phase::RampUp { since } => {
                self.phase = Phase::RampUp { since };
                let update = self.slow_start(path, ack, flight);
                if update.window >= flight.ssthresh().min(flight.rwnd as f64) {
                    let interval = self.config.slowdown_interval * (ack.now - since).0 as f64;
                    self.phase = Phase::Steady {
                        slowdown: ack.now + Span(interval as u64),
                    };
                }
                update
            }
        }
    }

    /// Returns GAIN, the growth per RTT in segments: 1 / min(16, ceil(2 TARGET / base)).
    fn gain(&self, path: Path) -> f64 {
        let divisor = (2 * self.config.target_ps).div_ceil(path.base.0.max(1));
        1.0 / divisor.min(MAX_GAIN_DIVISOR) as f64
    }

    /// Slow start, in which each acknowledged byte adds GAIN bytes.
    fn slow_start(&self, path: Path, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if !is_limited(ack, flight) {
            return CwndUpdate::unchanged(flight);
        }
        let window = flight.cwnd() + self.gain(path) * ack.acked as f64;
        CwndUpdate::window(window.min(flight.ssthresh()).min(flight.rwnd as f64), flight)
    }

    /// Below the target, the window grows by GAIN segments per RTT. Otherwise it changes once per RTT, by GAIN segments
    /// minus a share that is proportional to the excess of the delay, and by at least minus one half.
    fn avoid_congestion(&mut self, path: Path, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let (mss, cwnd) = (flight.mss(), flight.cwnd());
        if path.queueing.0 < self.config.target_ps {
            return if flight.cwnd() < flight.ssthresh() {
                self.slow_start(path, ack, flight)
            } else if is_limited(ack, flight) {
                let window = cwnd + self.gain(path) * ack.acked as f64 * mss / cwnd;
                CwndUpdate::window(window.min(flight.rwnd as f64), flight)
            } else {
                CwndUpdate::unchanged(flight)
            };
        }
        if flight.una < self.shrinks_from {
            return CwndUpdate::unchanged(flight);
        }
        self.shrinks_from = flight.max;
        let excess = path.queueing.0 as f64 / self.config.target_ps as f64 - 1.0;
        let change = (self.gain(path) * mss - self.config.decrease * cwnd * excess).max(-cwnd / 2.0);
        let window = (cwnd + change).max(MIN_CWND_SEGMENTS * mss);
        CwndUpdate {
            window,
            threshold: window,
            pacing: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Usage;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::ack_of;

    fn config() -> LedbatPlusPlusConfig {
        LedbatPlusPlusConfig::with_target(Span::millis(60).0)
    }

    /// Windows that an independent program (tests/ledbat_witness.py) computes by the rules of the draft, for base delays
    /// of 7, 10, 60 and 600 ms. Each row is an ACK or a loss.
    const WITNESS: &str = include_str!("ledbat_plus_plus_witness.csv");

    #[test]
    fn windows_equal_those_of_the_independent_program() {
        let mss = 1000;
        let begun = || Flight::new(Limits::new(10.0 * f64::from(mss), f64::INFINITY), 1 << 30, mss);
        let (mut case, mut ledbat, mut flight) = ("", LedbatPlusPlus::new(&config()), begun());
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<u64>().expect(row);
            if fields[0] != case {
                (case, ledbat, flight) = (fields[0], LedbatPlusPlus::new(&config()), begun());
            }
            let now = Time(Span::micros(number(2)).0);
            let update = if fields[1] == "ack" {
                (flight.una, flight.max) = (number(5), number(6));
                let is_full = number(7) == 1;
                let ack = Ack {
                    usage: Usage::of(is_full, 0),
                    ..ack_of(number(3), now, Some(Span::micros(number(4))), &flight)
                };
                ledbat.on_ack(&ack, &flight)
            } else {
                ledbat.on_reduction(Cause::FastRetransmit, now, &flight)
            };
            flight.limits.set(update.window, update.threshold);
            for (value, column) in [(update.window, 9), (update.threshold, 10)] {
                let expected = fields[column].parse::<f64>().expect(row);
                let is_equal = value == expected || (value - expected).abs() < 1e-6;
                assert!(is_equal, "{row}: {value}");
            }
        }
    }

    #[test]
    fn gain_is_the_reciprocal_of_twice_the_target_over_the_base_delay() {
        let gain = |base| {
            let (queueing, base) = (Span(0), Span::millis(base));
            LedbatPlusPlus::new(&config()).gain(Path {
                queueing,
                base,
                srtt: base,
            })
        };
        let expected = [1.0 / 16.0, 1.0 / 15.0, 1.0 / 12.0, 0.5, 1.0];
        assert_eq!([7, 8, 10, 60, 600].map(gain), expected);
    }
}
