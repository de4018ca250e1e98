//! The pipe is filled, and the queue drains that this leaves (Startup, Drain: sections 5.3.1 and 5.3.2).

use super::*;

/// Whether more brings nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth to grow from [byte/s].
    pub bw: f64,
    /// Rounds without growth.
    pub count: u32,
    /// Whether the pipe was found full since it was last looked for, and ever.
    pub now: bool,
    pub reached: bool,
    /// The round in which Drain began.
    pub drain_round: u64,
}

/// The pipe is full after so many rounds in which the bandwidth grew by less than a quarter.
const FULL_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;
/// Losses of a round that end Startup come in so many ranges.
const LOSS_RANGES: u32 = 6;
/// Drain lasts so many rounds at most.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn reset_full_pipe(&mut self, bandwidth: f64) {
        (self.full.bw, self.full.count, self.full.now) = (bandwidth, 0, false);
    }

    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        if self.full.now || !self.rounds.began || sample.app_limited {
            return;
        }
        if sample.rate >= self.full.bw * GROWTH {
            self.reset_full_pipe(sample.rate);
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        if self.state == State::Startup {
            self.check_high_loss(sample);
            if self.full.reached {
                self.state = State::Drain;
                self.full.drain_round = self.rounds.count;
            }
        }
        if self.loss.round_began {
            self.loss.ranges = 0;
        }
    }

    /// A whole round of a recovery lost too much, in several places.
    fn check_high_loss(&mut self, sample: &Sample) {
        let many = self.loss.round_began && self.phase == Phase::Recovery && self.loss.ranges >= LOSS_RANGES;
        if many && is_too_high(sample.lost, sample.tx_in_flight) {
            self.undo.state = Some(State::Startup);
            (self.full.now, self.full.reached) = (true, true);
            let product = self.min_rtt.rtt.map_or(0.0, |rtt| self.bw * rtt.as_seconds());
            self.inflight_longterm = product.max(self.loss.inflight_latest);
        }
    }

    pub(super) fn check_drain_done(&mut self, ack: &Ack, flight: &Flight) {
        if self.state != State::Drain {
            return;
        }
        let late = self.rounds.count > self.full.drain_round + DRAIN_ROUNDS;
        if late || ack.in_flight as f64 <= self.inflight(self.bw, 1.0, flight) {
            self.start_down(ack.now);
        }
    }
}

/// Whether so many losses are more than a probe may cost.
pub(super) fn is_too_high(lost: f64, tx_in_flight: f64) -> bool {
    lost > tx_in_flight * LOSS_THRESHOLD
}
