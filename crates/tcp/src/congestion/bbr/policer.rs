//! Whether something on the path lets only a fixed rate through and drops the rest: then that rate is the bandwidth for a while.

use longpipe_events::{Span, Time};

/// An interval lasts so many rounds at least, and at most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// A share so large of what is delivered has to be lost in each.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates are one if they differ by so much of it, or by so many bytes a second.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// So many rounds it is taken for the bandwidth.
const USED_ROUNDS: u32 = 48;
/// Shortest interval of which a rate is told.
const LEAST_INTERVAL: Span = Span::millis(1);

/// Intervals from loss to loss.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    samples: bool,
    used: bool,
    /// Rate of the interval before [byte/s]; 0: none.
    rate: f64,
    rounds: u32,
    /// When the interval began, and what had arrived and was lost then [byte].
    since: Time,
    delivered: u64,
    lost: u64,
}

/// Where a connection is.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// When.
    pub now: Time,
    /// Bytes that arrived in all.
    pub delivered: u64,
    /// Bytes lost in all.
    pub lost: u64,
    /// Whether any were lost since the point before.
    pub loses: bool,
    /// Whether a round begins.
    pub round_began: bool,
    /// Whether the application said how much was under way.
    pub app_limited: bool,
    /// Whether the bandwidth is being probed.
    pub probes: bool,
}

/// What changes at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing.
    Nothing,
    /// Its rate holds from now on.
    Found,
    /// It does no longer.
    Over,
}

impl Policer {
    /// Its rate [byte/s], while that holds.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        self.used.then_some(self.rate)
    }

    /// Nothing is known of one.
    pub fn forget(&mut self) {
        *self = Policer::default();
    }

    fn begin(&mut self, at: &Point) {
        (self.since, self.delivered, self.lost, self.rounds) = (at.now, at.delivered, at.lost, 0);
    }

    /// Looks at what arrived and what was lost.
    pub fn look(&mut self, at: &Point) -> Finding {
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
        if self.rounds > MOST_ROUNDS {
            self.forget();
            return Finding::Nothing;
        }
        let (delivered, lost) = ((at.delivered - self.delivered) as f64, (at.lost - self.lost) as f64);
        let lasts = at.now.since(self.since);
        let ends = self.rounds >= LEAST_ROUNDS && at.loses && lasts >= LEAST_INTERVAL;
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

    /// Rounds of 100 ms at 1 MB/s, of which a share is lost; the findings, with their rounds.
    fn findings(loss: f64, rounds: u64) -> Vec<(u64, Finding)> {
        let mut policer = Policer::default();
        let mut found = vec![];
        for round in 1..rounds {
            let delivered = 100_000 * round;
            let finding = policer.look(&Point {
                now: Time(Span::millis(100 * round).0),
                delivered,
                lost: (delivered as f64 * loss) as u64,
                loses: loss > 0.0,
                round_began: true,
                app_limited: false,
                probes: true,
            });
            if finding == Finding::Found {
                assert_eq!(policer.rate(), Some(1e6));
            }
            if finding != Finding::Nothing {
                found.push((round, finding));
            }
        }
        found
    }

    #[test]
    fn two_intervals_of_one_rate_and_a_fifth_lost_are_a_policer_s_for_48_rounds() {
        let found = findings(0.25, 60);
        assert_eq!(found, [(8, Finding::Found), (56, Finding::Over)]);
    }

    #[test]
    fn fewer_losses_are_none() {
        assert_eq!(findings(0.1, 60), []);
        assert_eq!(findings(0.0, 60), []);
    }
}
