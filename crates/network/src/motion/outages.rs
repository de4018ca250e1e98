//! When a line sends nothing.

use crate::scenario::motion::OutagesConfig;

/// Intervals in order, the begin of each included.
#[derive(Clone, Debug)]
pub(crate) struct Outages {
    pub config: OutagesConfig,
    /// The first interval that ends after the last instant asked for.
    at: usize,
}

impl Outages {
    /// Outages that the checks accept.
    pub fn new(config: OutagesConfig) -> Outages {
        Outages { config, at: 0 }
    }

    /// The first interval that ends after an instant.
    fn ending_after(&mut self, instant: u64) -> Option<[u64; 2]> {
        let all = &self.config.intervals_ps;
        if self.at > 0 && all[self.at - 1][1] > instant {
            self.at = all.partition_point(|one| one[1] <= instant);
        }
        while all.get(self.at).is_some_and(|one| one[1] <= instant) {
            self.at += 1;
        }
        all.get(self.at).copied()
    }

    /// The end of the outage at an instant, if there is one.
    pub fn end(&mut self, instant: u64) -> Option<u64> {
        self.ending_after(instant)
            .filter(|one| one[0] <= instant)
            .map(|one| one[1])
    }

    /// When the next outage after an instant begins.
    pub fn next_begin(&mut self, instant: u64) -> Option<u64> {
        let first = self.ending_after(instant)?;
        if first[0] > instant {
            return Some(first[0]);
        }
        self.config.intervals_ps.get(self.at + 1).map(|one| one[0])
    }
}
