//! Detection of a token-bucket policer, whose rate is then used as the bandwidth for 48 rounds (Linux: lt_bw in
//! `net/ipv4/tcp_bbr.c`).
//!
//! Two consecutive sampling intervals with a loss rate of at least `LOSS`, and with about the same delivery rate, indicate
//! a policer. An interval starts and ends with a loss and lasts for 4 to 16 rounds.

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
    /// Whether an interval is being sampled (lt_is_sampling).
    samples: bool,
    /// Whether the rate is used as the bandwidth (lt_use_bw).
    used: bool,
    /// Rate of the previous interval [byte/s]; 0 if there is none.
    rate: f64,
    /// Number of rounds of the interval, or of the use of the rate (lt_rtt_cnt).
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
    Detected,
    /// The policed rate has expired.
    Expired,
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

    /// Starts an interval (bbr_reset_lt_bw_sampling_interval).
    fn begin(&mut self, point: &Point) {
        (self.since, self.delivered, self.lost, self.rounds) = (point.now, point.delivered, point.lost, 0);
    }

    /// Updates the detection with an ACK (bbr_lt_bw_sampling).
    pub fn update(&mut self, point: &Point) -> Finding {
        if self.used {
            if point.probes && point.round_began {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.forget();
                    return Finding::Expired;
                }
            }
            return Finding::Nothing;
        }
        if !self.samples {
            if !point.loses {
                return Finding::Nothing;
            }
            self.begin(point);
            self.samples = true;
        }
        if point.app_limited {
            self.forget();
            return Finding::Nothing;
        }
        self.rounds += u32::from(point.round_began);
        if self.rounds > MAX_ROUNDS {
            self.forget();
            return Finding::Nothing;
        }
        let delivered = (point.delivered - self.delivered) as f64;
        let lost = (point.lost - self.lost) as f64;
        let duration = point.now.since(self.since);
        let is_over = self.rounds >= MIN_ROUNDS && point.loses && duration >= MIN_INTERVAL;
        if !is_over || delivered == 0.0 || lost < LOSS * delivered {
            return Finding::Nothing;
        }
        self.end(point, delivered / duration.as_seconds())
    }

    /// Ends an interval with a delivery rate [byte/s], and compares it with the previous interval's (bbr_lt_bw_interval_done).
    fn end(&mut self, point: &Point, rate: f64) -> Finding {
        if self.rate > 0.0 {
            let difference = (rate - self.rate).abs();
            if difference <= SAME_SHARE * self.rate || difference <= SAME_BYTES {
                self.rate = (rate + self.rate) / 2.0;
                (self.used, self.rounds) = (true, 0);
                return Finding::Detected;
            }
        }
        self.rate = rate;
        self.begin(point);
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
        let mut changes = vec![];
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
            if finding == Finding::Detected {
                assert_eq!(lt_bw.rate(), Some(1e6));
            }
            if finding != Finding::Nothing {
                changes.push((round, finding));
            }
        }
        changes
    }

    #[test]
    fn equal_loss_intervals_indicate_a_policer_for_48_rounds() {
        assert_eq!(findings(0.25, 60), [(8, Finding::Detected), (56, Finding::Expired)]);
    }

    #[test]
    fn a_lower_loss_rate_is_not_attributed_to_a_policer() {
        assert_eq!(findings(0.1, 60), []);
        assert_eq!(findings(0.0, 60), []);
    }
}
