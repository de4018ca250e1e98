//! Vegas: the window that keeps between α and β segments in the path's queues (Brakmo and Peterson 1995).
//!
//! Once per round trip it compares what went through with what would, were no queue there:
//! diff = window · (1 − base round trip / this round trip).

use super::aimd::halved;
use super::control::{Ack, Cause, Control, Grant, Wants};
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
}

impl Parameters for VegasConfig {
    fn problem(&self) -> Option<Problem> {
        let VegasConfig { alpha, beta, gamma } = *self;
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

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Vegas {
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

impl Variant for Vegas {
    type Config = VegasConfig;

    fn new(config: &VegasConfig) -> Vegas {
        Vegas {
            config: *config,
            sum: 0,
            count: 0,
            tagged: 0,
            growth: Growth::Double,
        }
    }
}

impl Control for Vegas {
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

impl Vegas {
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
        let VegasConfig { alpha, beta, gamma } = self.config;
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
