//! Detection of a token-bucket policer, whose rate is then used as the bandwidth for 48 rounds (Linux: lt_bw).

use longpipe_events::{Span, Time};

/// Minimum and maximum length of a sampling interval [rounds].
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Minimum loss rate of an interval, relative to delivered data (bbr_lt_loss_thresh).
const LOSS: f64 = 50.0 / 256.0;
/// Maximum difference between two rates that count as equal, as a fraction and in bytes per second.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// Number of rounds for which the policed rate is used (bbr_lt_bw_max_rtts).
const USED_ROUNDS: u32 = 48;
/// Minimum duration of an interval that yields a rate.
const MIN_INTERVAL: Span = Span::millis(1);

/// Sampling of intervals that start and end with losses.
#[derive(Clone, Debug, Default)]
pub struct LongTermBandwidth {
    samples: bool,
    used: bool,
    /// Rate of the previous interval [byte/s]; 0 if there is none.
    rate: f64,
    rounds: u32,
    /// Start of the interval, and total delivered and lost bytes at that time.
    since: Time,
    delivered: u64,
    lost: u64,
}

/// State of a connection at an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Time of the ACK.
    pub now: Time,
    /// Total delivered bytes.
    pub delivered: u64,
    /// Total lost bytes.
    pub lost: u64,
    /// Whether bytes were lost since the previous ACK.
    pub loses: bool,
    /// Whether the ACK starts a round.
    pub round_began: bool,
    /// Whether the sender is application-limited.
    pub app_limited: bool,
    /// Whether BBR is in ProbeBW.
    pub probes: bool,
}

/// Change in the policer state caused by an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// No change.
    Nothing,
    /// A policer was detected; its rate is used from now on.
    Found,
    /// The policed rate has expired.
    Over,
}

impl LongTermBandwidth {
    /// Returns the policed rate [byte/s] while it is in use.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        self.used.then_some(self.rate)
    }

    /// Resets the detection.
    pub fn forget(&mut self) {
        *self = LongTermBandwidth::default();
    }

    fn begin(&mut self, at: &Point) {
        (self.since, self.delivered, self.lost, self.rounds) = (at.now, at.delivered, at.lost, 0);
    }

    /// Updates the detection with an ACK.
    pub fn update(&mut self, at: &Point) -> Finding {
        if self.used {
            if at.probes && at.round_began {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.forget();
                    return Finding::Over;
                }
            }
            return Finding::Nothing;
        }
        if !self.samples {
            if !at.loses {
                return Finding::Nothing;
            }
            self.begin(at);
            self.samples = true;
        }
        if at.app_limited {
            self.forget();
            return Finding::Nothing;
        }
        self.rounds += u32::from(at.round_began);
        if self.rounds > MAX_ROUNDS {
            self.forget();
            return Finding::Nothing;
        }
        let (delivered, lost) = ((at.delivered - self.delivered) as f64, (at.lost - self.lost) as f64);
        let lasts = at.now.since(self.since);
        let ends = self.rounds >= MIN_ROUNDS && at.loses && lasts >= MIN_INTERVAL;
        if !ends || delivered == 0.0 || lost < LOSS * delivered {
            return Finding::Nothing;
        }
        self.end(at, delivered / lasts.as_seconds())
    }

    fn end(&mut self, at: &Point, rate: f64) -> Finding {
        if self.rate > 0.0 {
            let apart = (rate - self.rate).abs();
            if apart <= SAME_SHARE * self.rate || apart <= SAME_BYTES {
                self.rate = (rate + self.rate) / 2.0;
                (self.used, self.rounds) = (true, 0);
                return Finding::Found;
            }
        }
        self.rate = rate;
        self.begin(at);
        Finding::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changes in the policer state, each with its round, for a given loss rate, with rounds of 100 ms and
    /// a delivery rate of 1 MB/s.
    fn findings(loss: f64, rounds: u64) -> Vec<(u64, Finding)> {
        let mut lt_bw = LongTermBandwidth::default();
        let mut found = vec![];
        for round in 1..rounds {
            let delivered = 100_000 * round;
            let finding = lt_bw.update(&Point {
                now: Time(Span::millis(100 * round).0),
                delivered,
                lost: (delivered as f64 * loss) as u64,
                loses: loss > 0.0,
                round_began: true,
                app_limited: false,
                probes: true,
            });
            if finding == Finding::Found {
                assert_eq!(lt_bw.rate(), Some(1e6));
            }
            if finding != Finding::Nothing {
                found.push((round, finding));
            }
        }
        found
    }

    #[test]
    fn two_equal_intervals_with_a_fifth_lost_indicate_a_policer_for_48_rounds() {
        let found = findings(0.25, 60);
        assert_eq!(found, [(8, Finding::Found), (56, Finding::Over)]);
    }

    #[test]
    fn a_lower_loss_rate_is_not_attributed_to_a_policer() {
        assert_eq!(findings(0.1, 60), []);
        assert_eq!(findings(0.0, 60), []);
    }
}
