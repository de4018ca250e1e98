//! Outages: intervals in which a link does not transmit.

use crate::scenario::time_varying::OutagesConfig;

/// Outages in order, each as a half-open interval.
#[derive(Clone, Debug)]
pub(crate) struct Outages {
    pub config: OutagesConfig,
    /// Index of the first outage that ends after the time of the latest query.
    at: usize,
}

impl Outages {
    /// Creates outages from a checked configuration.
    pub fn new(config: OutagesConfig) -> Outages {
        Outages { config, at: 0 }
    }

    /// Returns the first outage that ends after a given time.
    fn ending_after(&mut self, instant: u64) -> Option<[u64; 2]> {
        let all = &self.config.intervals_ps;
        if self.at > 0 && all[self.at - 1][1] > instant {
            self.at = all.partition_point(|outage| outage[1] <= instant);
        }
        while all.get(self.at).is_some_and(|outage| outage[1] <= instant) {
            self.at += 1;
        }
        all.get(self.at).copied()
    }

    /// Returns the end of the outage in progress at a given time, if any.
    pub fn end(&mut self, instant: u64) -> Option<u64> {
        self.ending_after(instant)
            .filter(|outage| outage[0] <= instant)
            .map(|outage| outage[1])
    }

    /// Returns the start of the next outage after a given time, if any.
    pub fn next_begin(&mut self, instant: u64) -> Option<u64> {
        let first = self.ending_after(instant)?;
        if first[0] > instant {
            return Some(first[0]);
        }
        self.config.intervals_ps.get(self.at + 1).map(|outage| outage[0])
    }
}
