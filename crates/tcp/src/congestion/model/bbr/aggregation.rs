//! ACK aggregation (Linux: extra_acked): bytes acknowledged in a burst in addition to those that the estimated
//! bandwidth explains. cwnd is increased to allow for them.

use longpipe_events::{Span, Time};

/// Half of the length of the max filter [round] (bbr_extra_acked_win_rtts).
const ROUNDS: u32 = 5;
/// Maximum allowance: the data that the estimated bandwidth delivers in this time (bbr_extra_acked_max_us).
const LONGEST: Span = Span::millis(100);
/// Maximum number of segments in an epoch (Linux uses a 20-bit counter).
const MAX_SEGMENTS: f64 = 1_048_576.0;

/// Estimator of ACK aggregation. An epoch lasts while more data are acknowledged than the bandwidth explains.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    began: Time,
    acked: f64,
    /// Maxima [byte] in the current and in the previous half of the filter.
    most: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Starts a new epoch after the application was idle.
    pub fn restart(&mut self, now: Time) {
        (self.began, self.acked) = (now, 0.0);
    }

    /// Records `delivered` bytes; `bandwidth` is the expected delivery rate [byte/s].
    pub fn on_ack(&mut self, now: Time, delivered: f64, bandwidth: f64, round_began: bool, (cwnd, mss): (f64, f64)) {
        if round_began {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = bandwidth * now.since(self.began).as_seconds();
        if self.acked <= expected || self.acked + delivered >= MAX_SEGMENTS * mss {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += delivered;
        let extra = (self.acked - expected).min(cwnd);
        self.most[0] = self.most[0].max(extra);
    }

    /// Returns the allowance for aggregated ACKs [byte].
    pub fn room(&self, bandwidth: f64) -> f64 {
        self.most[0].max(self.most[1]).min(bandwidth * LONGEST.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_allows_for_bursts_beyond_the_bandwidth() {
        let mut aggregation = Aggregation::default();
        // Data arrive at 1 MB/s, in bursts every 10 ms.
        for step in 1..200 {
            let now = Time(Span::millis(10 * step).0);
            aggregation.on_ack(now, 10_000.0, 1e6, step % 10 == 0, (50_000.0, 1000.0));
        }
        assert_eq!(aggregation.room(1e6), 10_000.0);
        assert_eq!(aggregation.room(1e4), 1_000.0);
    }
}
