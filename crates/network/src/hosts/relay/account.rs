//! What a buffer between two connections holds over time.

use longpipe_events::Time;

/// Bytes held, their integral over time, and the most there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    held: u64,
    peak: u64,
    since: Time,
    /// Up to then [byte × ps].
    byte_time: u128,
}

impl Account {
    /// So many are held from now on.
    pub(super) fn set(&mut self, now: Time, held: u64) {
        self.byte_time = self.byte_time_at(now);
        (self.held, self.since) = (held, now);
        self.peak = self.peak.max(held);
    }

    fn byte_time_at(&self, now: Time) -> u128 {
        self.byte_time + u128::from(self.held) * u128::from((now - self.since).0)
    }

    /// Bytes held on average from time zero to `now`.
    pub(super) fn mean(&self, now: Time) -> f64 {
        self.byte_time_at(now) as f64 / now.0 as f64
    }

    /// Bytes held.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Most bytes ever held.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_steps() {
        let mut account = Account::default();
        for (now, held) in [(10, 4), (20, 1), (20, 3)] {
            account.set(Time(now), held);
        }
        // 10 × 0 + 10 × 4 + 20 × 3.
        assert_eq!(account.mean(Time(40)).to_bits(), 2.5f64.to_bits());
        assert_eq!((account.held(), account.peak()), (3, 4));
    }
}
