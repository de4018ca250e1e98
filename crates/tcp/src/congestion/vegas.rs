//! Vegas: the window that keeps between α and β segments in the path's queues (Brakmo and Peterson 1995).
//!
//! Once per round trip it compares what went through with what would, were no queue there:
//! diff = window · (1 − base round trip / this round trip).

use super::aimd::halved;
use super::control::{Ack, Cause, Control, Grant, Wants};
use super::linux::{AckedSegments, CaState, Event, Linux, Module, Socket};
use super::ruled::{Ruled, Rules};
use crate::flight::Flight;
use crate::problem::Problem;
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Thresholds: data in queues, in the estimate of the sender [segment].
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VegasConfig {
    /// The window grows below.
    pub alpha: f64,
    /// The window shrinks above.
    pub beta: f64,
    /// Slow start ends above.
    pub gamma: f64,
    /// The rules of 1995 or Linux's; only where they are not those of 1995.
    #[serde(default, skip_serializing_if = "is_brakmo")]
    pub rules: VegasRules,
}

/// Whose rules a sender follows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRules {
    /// The paper's, as ns-2 has them.
    #[default]
    #[serde(rename = "brakmo-1995")]
    Brakmo1995,
    /// tcp_vegas.c: the shortest RTT of a round trip counts, slow start doubles in every round trip and ends at the window that
    /// the path takes without queues.
    Linux,
}

fn is_brakmo(rules: &VegasRules) -> bool {
    *rules == VegasRules::Brakmo1995
}

impl Rules for VegasConfig {
    fn is_linux(&self) -> bool {
        self.rules == VegasRules::Linux
    }
}

/// A sender by either set of rules.
pub type Vegas = Ruled<Brakmo, Linux<LinuxVegas>>;

impl Parameters for VegasConfig {
    fn problem(&self) -> Option<Problem> {
        let VegasConfig { alpha, beta, gamma, .. } = *self;
        let fine = alpha > 0.0 && beta >= alpha && beta.is_finite() && gamma > 0.0 && gamma.is_finite();
        (!fine).then(|| {
            Problem::new(
                "vegas",
                format!("alpha {alpha}, beta {beta}, gamma {gamma}"),
                "needs 0 < alpha <= beta and gamma > 0, in segments",
            )
        })
    }
}

/// What the window does with each ACK of new data until the round trip is over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    /// A segment for each ACK.
    Double,
    /// A segment in all.
    Linear,
    /// Nothing.
    None,
}

/// The state of a sender by the rules of 1995.
#[derive(Clone, Debug)]
pub struct Brakmo {
    config: VegasConfig,
    /// Sum [ps] and number of the round trips measured since the tagged segment left.
    sum: u64,
    count: u64,
    /// First byte of the segment whose acknowledgement ends this round trip.
    tagged: u64,
    growth: Growth,
}

/// What one ACK brings besides growth.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// What it takes off the window [byte].
    cut: f64,
    /// Whether slow start ends with it.
    leaves_slow_start: bool,
}

/// Least window [segment], and ssthresh once slow start is left (ns-2).
const LEAST_SEGMENTS: f64 = 2.0;

impl Variant for Brakmo {
    type Config = VegasConfig;

    fn new(config: &VegasConfig) -> Brakmo {
        Brakmo {
            config: *config,
            sum: 0,
            count: 0,
            tagged: 0,
            growth: Growth::Double,
        }
    }
}

impl Control for Brakmo {
    /// The round trip of every segment.
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
        let turn = self.measure(ack, flight);
        if ack.grows {
            self.grown(flight, turn)
        } else {
            Grant::as_it_is(flight)
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> Grant {
        Grant::reduced(cause, halved(flight), flight)
    }
}

impl Brakmo {
    /// Takes in what an ACK measured; where a round trip is over, decides on the next one.
    fn measure(&mut self, ack: &Ack, flight: &Flight) -> Turn {
        if let Some(round_trip) = ack.rtt {
            self.sum += round_trip.0;
            self.count += 1;
        }
        if flight.una <= self.tagged {
            return Turn::default();
        }
        let turn = match ack.least_rtt {
            Some(base) if self.count > 0 => {
                let window = (flight.outstanding() + ack.acked) as f64 / flight.mss();
                let round_trip = self.sum as f64 / self.count as f64;
                self.adjust(ack.cwnd, flight, window * (1.0 - base.0 as f64 / round_trip))
            }
            _ => Turn::default(),
        };
        (self.sum, self.count) = (0, 0);
        self.tagged = flight.nxt;
        turn
    }

    /// Decides on the next round trip of a window that was `cwnd`; `diff` is what stands in queues [segment].
    fn adjust(&mut self, cwnd: f64, flight: &Flight, diff: f64) -> Turn {
        let VegasConfig { alpha, beta, gamma, .. } = self.config;
        let mut turn = Turn::default();
        if cwnd < flight.ssthresh() {
            // Only a round in which the window stood still tells what it did to the queue.
            if self.growth == Growth::Double {
                self.growth = Growth::None;
            } else if diff > gamma {
                // The window is an eighth too large by now (Brakmo's code, and ns-2's).
                self.growth = Growth::None;
                turn = Turn {
                    cut: cwnd / 8.0,
                    leaves_slow_start: true,
                };
            } else {
                self.growth = Growth::Double;
            }
        } else if diff > beta {
            (turn.cut, self.growth) = (flight.mss(), Growth::None);
        } else if diff < alpha {
            self.growth = Growth::Linear;
        } else {
            self.growth = Growth::None;
        }
        turn
    }

    fn grown(&self, flight: &Flight, turn: Turn) -> Grant {
        let (cwnd, mss) = (flight.cwnd(), flight.mss());
        let growth = match self.growth {
            Growth::Double if cwnd < flight.ssthresh() => mss,
            Growth::Double | Growth::Linear => mss * mss / cwnd,
            Growth::None => 0.0,
        };
        let least = LEAST_SEGMENTS * mss;
        let window = if turn.cut > 0.0 {
            (cwnd - turn.cut).max(least)
        } else {
            cwnd + growth
        };
        let grant = Grant::window(window.min(flight.rwnd as f64), flight);
        if turn.leaves_slow_start {
            Grant {
                threshold: least,
                ..grant
            }
        } else {
            grant
        }
    }
}

/// The state of a sender by Linux's rules; RTTs are in microseconds.
#[derive(Clone, Debug)]
pub struct LinuxVegas {
    config: VegasConfig,
    /// Whether nothing is lost or out of order, so that the estimate counts.
    enabled: bool,
    /// First byte after the round trip in progress, its number of RTT samples and the shortest of them.
    end: u64,
    count: u32,
    min_rtt: u32,
    /// Shortest RTT sample since the connection was idle.
    base_rtt: u32,
}

/// RTT samples of a round trip that may all come from delayed ACKs.
const FEW: u32 = 2;
/// No RTT sample.
const UNKNOWN: u32 = 0x7fff_ffff;

impl Module for LinuxVegas {
    type Config = VegasConfig;

    fn new(config: &VegasConfig) -> LinuxVegas {
        LinuxVegas {
            config: *config,
            enabled: true,
            end: 0,
            count: 0,
            min_rtt: UNKNOWN,
            base_rtt: UNKNOWN,
        }
    }

    fn on_acked(&mut self, acked: &AckedSegments, _socket: &Socket) {
        if let Some(rtt) = acked.rtt_us {
            let rtt = rtt + 1;
            (self.base_rtt, self.min_rtt) = (self.base_rtt.min(rtt), self.min_rtt.min(rtt));
            self.count += 1;
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !self.enabled {
            socket.grow_as_reno(acked);
        } else if socket.snd_una > self.end {
            self.end = socket.snd_nxt;
            if self.count <= FEW {
                socket.grow_as_reno(acked);
            } else {
                self.adjust(acked, socket);
            }
            (self.count, self.min_rtt) = (0, UNKNOWN);
        } else if socket.in_slow_start() {
            socket.slow_start(acked);
        }
    }

    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        if state == CaState::Open {
            self.enable(socket);
        } else {
            self.enabled = false;
        }
    }

    fn on_event(&mut self, event: Event, socket: &mut Socket) {
        if event == Event::TransmitStart {
            self.base_rtt = UNKNOWN;
            self.enable(socket);
        }
    }
}

impl LinuxVegas {
    /// Begins a round trip.
    fn enable(&mut self, socket: &Socket) {
        self.enabled = true;
        (self.end, self.count, self.min_rtt) = (socket.snd_nxt, 0, UNKNOWN);
    }

    /// Sets the window for the next round trip.
    fn adjust(&mut self, acked: u32, socket: &mut Socket) {
        let VegasConfig { alpha, beta, gamma, .. } = self.config;
        let cwnd = socket.snd_cwnd;
        let without_queue = u64::from(cwnd) * u64::from(self.base_rtt) / u64::from(self.min_rtt);
        let queued = f64::from(cwnd.wrapping_mul(self.min_rtt - self.base_rtt) / self.base_rtt);
        if socket.in_slow_start() {
            if queued > gamma {
                socket.snd_cwnd = cwnd.min(without_queue as u32 + 1);
                socket.snd_ssthresh = socket.snd_ssthresh.min(socket.snd_cwnd);
            } else {
                socket.slow_start(acked);
            }
        } else if queued > beta {
            socket.snd_cwnd -= 1;
            socket.snd_ssthresh = socket.snd_ssthresh.min(socket.snd_cwnd);
        } else if queued < alpha {
            socket.snd_cwnd += 1;
        }
        socket.snd_cwnd = socket.snd_cwnd.max(2).min(socket.snd_cwnd_clamp);
        // The threshold is three quarters of the window at least.
        let quarters = socket.snd_cwnd / 2 + socket.snd_cwnd / 4;
        socket.snd_ssthresh = socket.snd_ssthresh.max(quarters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use longpipe_events::Span;

    fn linux() -> CongestionConfig {
        CongestionConfig::Vegas(VegasConfig {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            rules: VegasRules::Linux,
        })
    }

    /// tcp_vegas.c, at a window of 100 segments: .1 ms of 10 ms are 1 segment in queues, .3 ms 2 and .6 ms 5 (whole numbers).
    #[test]
    fn linux_moves_a_segment_per_round_trip_below_alpha_and_above_beta() {
        for (longer, moved) in [(100, 1.0), (300, 0.0), (600, -1.0)] {
            let mut trial = Trial::new(&linux(), 100.0).over(Span::millis(10));
            trial.ack();
            let mut trial = trial.over(Span(Span::millis(10).0 + Span::micros(longer).0));
            let windows: Vec<f64> = (0..100).map(|_| trial.ack()).collect();
            let before = windows[0];
            assert_eq!(windows[99] - before, moved, "{longer} us: {windows:?}");
        }
    }
}
