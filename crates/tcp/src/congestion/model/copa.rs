//! Copa: keeps about 1/δ packets of each connection in the queue, using only the queueing delay (Arun and Balakrishnan,
//! NSDI 2018, sections 2 and 3).
//!
//! The window is adjusted towards the rate 1/(δ d), where d is the queueing delay; this empties the queue about every
//! five round trips. If the queue does not empty, another connection fills it; Copa then behaves like AIMD by adapting
//! δ (competitive mode).

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::growth::is_limited;
use crate::congestion::sliding_minimum::SlidingMinimum;
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use serde::Serialize;

/// Keeps 1/delta packets in the queue, as estimated from RTTs (Arun and Balakrishnan, NSDI 2018).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Copa")]
#[described(fact(
    "by_model",
    "Copa moves it to 1/(δ·d) segments per second, d being the queueing delay (Arun and Balakrishnan 2018)"
))]
pub struct CopaConfig {
    /// Inverse of the number of packets in the queue at equilibrium, δ; Arun, Balakrishnan 2018.
    #[field(range = "[0.001, 10]", default = 0.5)]
    pub delta: f64,
    /// Competitive mode: reduce delta, by AIMD of its inverse, if the queue was not nearly empty for five RTTs, which
    /// indicates other connections; section 2.2. On short paths Copa's own queue may trigger it.
    #[field(default = false)]
    pub competitive: bool,
}

impl Parameters for CopaConfig {
    const FACTS: Facts = Facts {
        is_model: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// Period over which the minimum RTT is taken.
const MINIMUM_OVER: Span = Span::seconds(10);
/// Number of RTTs over which the maximum RTT is taken, and number of RTTs after which a queue that was never nearly
/// empty shows that other connections compete for the link.
const MAXIMUM_ROUNDS: u64 = 4;
const EMPTY_ROUNDS: u64 = 5;
/// A queueing delay below this share of the range of RTTs counts as a nearly empty queue.
const NEARLY_EMPTY: f64 = 0.1;
/// Number of RTTs in which the window must change in the same direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Ratio of the pacing rate to the window per RTT.
const PACING_GAIN: f64 = 2.0;
/// Minimum window [packet].
const MIN_WINDOW: f64 = 2.0;
/// Maximum velocity; doubling it does not overflow.
const LARGEST_VELOCITY: f64 = 65_536.0;

/// State of one sender.
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    /// Current δ.
    delta: f64,
    /// Minimum RTT of the last 10 s, minimum RTT of the last half RTT (RTTstanding), and maximum RTT of the last four
    /// RTTs, which is negated.
    least: SlidingMinimum,
    standing: SlidingMinimum,
    longest: SlidingMinimum,
    /// Time at which the queue was last nearly empty.
    emptied: Time,
    in_slow_start: bool,
    /// Velocity v: each acknowledged packet changes the window by v / (δ cwnd) packets.
    velocity: f64,
    /// Window at the start of the current round, and end of the round.
    round: (f64, u64),
    /// Whether the window grew in the previous round, and the number of rounds for which it has moved in that
    /// direction.
    grew: bool,
    rounds: u32,
    /// Whether a loss occurred in the current round.
    lost: bool,
}

impl Variant for Copa {
    type Config = CopaConfig;

    fn new(config: &CopaConfig) -> Copa {
        Copa {
            config: *config,
            delta: config.delta,
            least: SlidingMinimum::default(),
            standing: SlidingMinimum::default(),
            longest: SlidingMinimum::default(),
            emptied: Time::ZERO,
            in_slow_start: true,
            velocity: 1.0,
            round: (0.0, 0),
            grew: true,
            rounds: 0,
            lost: false,
        }
    }
}

impl Control for Copa {
    fn wants(&self) -> Wants {
        Wants {
            pacing: true,
            ..Wants::RECORDS
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let (Some(rtt), Some(srtt)) = (ack.rtt, ack.srtt) else {
            return CwndUpdate::unchanged(flight);
        };
        let sample = rtt.0 as i64;
        let least = self.least.put(ack.now, sample, MINIMUM_OVER);
        let standing = self.standing.put(ack.now, sample, Span(srtt.0 / 2));
        let longest = -self.longest.put(ack.now, -sample, Span(MAXIMUM_ROUNDS * srtt.0));
        let delay = seconds(standing - least);
        if delay <= NEARLY_EMPTY * seconds(longest - least) {
            self.emptied = ack.now;
        }
        let mut cwnd = flight.cwnd() / flight.mss();
        if flight.una >= self.round.1 {
            self.end_round(cwnd, ack.now, srtt);
            self.round = (cwnd, flight.nxt);
        }
        // The rate cwnd / RTTstanding is at most the target 1 / (δ d).
        let below = cwnd * self.delta * delay <= seconds(standing);
        let packets = ack.delivered as f64 / flight.mss();
        let may_grow = ack.grows && is_limited(ack, flight);
        self.in_slow_start &= below;
        if self.in_slow_start {
            cwnd += if may_grow { packets } else { 0.0 };
        } else {
            let step = self.velocity * packets / (self.delta * cwnd);
            if !below {
                cwnd -= step;
            } else if may_grow {
                cwnd += step;
            }
        }
        let window = cwnd.max(MIN_WINDOW) * flight.mss();
        let rate = PACING_GAIN * 8.0 * window / seconds(standing);
        CwndUpdate {
            window: window.min(flight.rwnd as f64),
            threshold: flight.ssthresh(),
            pacing: Some(Pacing {
                rate_bps: rate as u64,
                quantum_bytes: flight.mss,
            }),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        self.lost = true;
        if cause == Cause::Timeout {
            (self.in_slow_start, self.velocity, self.rounds) = (true, 1.0, 0);
            return CwndUpdate::window(MIN_WINDOW * flight.mss(), flight);
        }
        CwndUpdate::unchanged(flight)
    }
}

impl Copa {
    /// Updates velocity and mode, once per RTT.
    fn end_round(&mut self, cwnd: f64, now: Time, srtt: Span) {
        let grew = cwnd > self.round.0;
        if grew == self.grew {
            self.rounds += 1;
            if self.rounds >= STEADY_ROUNDS {
                self.velocity = (2.0 * self.velocity).min(LARGEST_VELOCITY);
            }
        } else {
            (self.grew, self.rounds, self.velocity) = (grew, 0, 1.0);
        }
        let competes = self.config.competitive && now.since(self.emptied) > Span(EMPTY_ROUNDS * srtt.0);
        self.delta = match (competes, self.lost) {
            (false, _) => self.config.delta,
            (true, false) => 1.0 / (1.0 / self.delta + 1.0),
            (true, true) => (2.0 * self.delta).min(self.config.delta),
        };
        self.lost = false;
    }
}

fn seconds(ps: i64) -> f64 {
    ps as f64 / PS_PER_SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn trial(delta: f64, window: f64, least: Span) -> Trial {
        let config = CopaConfig {
            delta,
            competitive: false,
        };
        Trial::new(&CongestionConfig::Copa(config), window).over(least)
    }

    /// With a queueing delay d, the rate approaches 1 / (δ d) (section 2.1). With a base RTT of 100 ms, d = 10 ms and δ
    /// = 0.5, that is 200 packets/s, or 22 packets per RTT of 110 ms.
    #[test]
    fn the_window_approaches_the_target_rate() {
        for (window, grows) in [(15.0, true), (30.0, false)] {
            let mut trial = trial(0.5, window, Span::millis(100));
            // In slow start the first ACK shows no queue.
            trial.ack();
            let mut trial = trial.over(Span::millis(110));
            let before = trial.window();
            let after = trial.ack_after(Span::millis(200), true);
            let step = if grows { 1.0 } else { -2.0 / before };
            assert!((after - before - step).abs() < 1e-9, "{before} {after}");
        }
    }

    /// The velocity doubles once the window has changed in one direction for three RTTs, and is reset to 1 when the
    /// direction changes (section 2.1).
    #[test]
    fn the_velocity_doubles_after_three_rtts_in_one_direction() {
        let mut copa = Copa::new(&CopaConfig {
            delta: 0.5,
            competitive: false,
        });
        let mut velocities = vec![];
        for cwnd in [10.0, 11.0, 12.0, 13.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0] {
            copa.end_round(cwnd, Time::ZERO, Span::millis(100));
            copa.round.0 = cwnd;
            velocities.push(copa.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0, 2.0, 4.0]);
    }

    /// In competitive mode (section 2.2) 1/δ grows by one per RTT and is halved at a loss; it returns to the default
    /// when the queue is empty.
    #[test]
    fn delta_is_adapted_by_aimd_while_the_queue_never_empties() {
        let mut copa = Copa::new(&CopaConfig {
            delta: 0.5,
            competitive: true,
        });
        let rtt = Span::millis(100);
        let round = |copa: &mut Copa, tenths: u64, lost| {
            copa.lost = lost;
            copa.end_round(10.0, Time(rtt.0 * tenths), rtt);
            1.0 / copa.delta
        };
        assert_eq!(round(&mut copa, 5, false), 2.0);
        assert_eq!([6, 7, 8].map(|at| round(&mut copa, at, false).round()), [3.0, 4.0, 5.0]);
        assert_eq!(round(&mut copa, 9, true), 2.5);
        copa.emptied = Time(rtt.0 * 10);
        assert_eq!(round(&mut copa, 10, false), 2.0);
    }
}
