//! How many more bytes than the bandwidth explains come acknowledged at once: the window has room for as many.

use longpipe_events::{Span, Time};

/// A half of the window in which the most is looked for [rounds].
const ROUNDS: u32 = 5;
/// The most room is what the bandwidth delivers meanwhile.
const LONGEST: Span = Span::millis(100);
/// An epoch ends after so many segments at the latest (Linux counts in 20 bits).
const MOST_SEGMENTS: f64 = 1_048_576.0;

/// Epochs in which more arrived than was expected.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    began: Time,
    acked: f64,
    /// The most in this half of the window, and in the one before [byte].
    most: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// The application begins again.
    pub fn restart(&mut self, now: Time) {
        (self.began, self.acked) = (now, 0.0);
    }

    /// So many bytes arrived, `bandwidth` [byte/s] being expected.
    pub fn on_ack(&mut self, now: Time, delivered: f64, bandwidth: f64, round_began: bool, (cwnd, mss): (f64, f64)) {
        if round_began {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = bandwidth * now.since(self.began).as_seconds();
        if self.acked <= expected || self.acked + delivered >= MOST_SEGMENTS * mss {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += delivered;
        let extra = (self.acked - expected).min(cwnd);
        self.most[0] = self.most[0].max(extra);
    }

    /// Room for them [byte].
    pub fn room(&self, bandwidth: f64) -> f64 {
        self.most[0].max(self.most[1]).min(bandwidth * LONGEST.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_has_room_for_what_comes_at_once_beyond_the_bandwidth() {
        let mut aggregation = Aggregation::default();
        // 1 MB/s, of which 10 ms come at once, each 10 ms.
        for step in 1..200 {
            let now = Time(Span::millis(10 * step).0);
            aggregation.on_ack(now, 10_000.0, 1e6, step % 10 == 0, (50_000.0, 1000.0));
        }
        assert_eq!(aggregation.room(1e6), 10_000.0);
        assert_eq!(aggregation.room(1e4), 1_000.0);
    }
}
