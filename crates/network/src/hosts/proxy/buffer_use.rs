//! Occupancy of a proxy's buffer over time.

use longpipe_events::Time;

/// Occupancy, its integral over time, and its maximum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferUse {
    held: u64,
    peak: u64,
    since: Time,
    /// Integral [byte × ps] up to the last change.
    byte_time: u128,
}

impl BufferUse {
    /// Sets the occupancy that is valid from now on.
    pub(super) fn set(&mut self, now: Time, held: u64) {
        self.byte_time = self.byte_time_at(now);
        (self.held, self.since) = (held, now);
        self.peak = self.peak.max(held);
    }

    fn byte_time_at(&self, now: Time) -> u128 {
        self.byte_time + u128::from(self.held) * u128::from((now - self.since).0)
    }

    /// Returns the mean occupancy [byte] from time zero to `now`.
    pub(super) fn mean(&self, now: Time) -> f64 {
        self.byte_time_at(now) as f64 / now.0 as f64
    }

    /// Returns the occupancy [byte].
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Returns the maximum occupancy [byte].
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_integral_over_the_steps() {
        let mut buffer_use = BufferUse::default();
        for (now, held) in [(10, 4), (20, 1), (20, 3)] {
            buffer_use.set(Time(now), held);
        }
        // 10 × 0 + 10 × 4 + 20 × 3.
        assert_eq!(buffer_use.mean(Time(40)).to_bits(), 2.5f64.to_bits());
        assert_eq!((buffer_use.held(), buffer_use.peak()), (3, 4));
    }
}
