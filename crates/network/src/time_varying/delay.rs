//! Propagation delay as a piecewise linear function of time, and waits for grants.

use crate::scenario::time_varying::{Between, DelayConfig, Instant};

/// The knots of the function, and the position of the latest query.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    knots: Vec<[u64; 2]>,
    between: Between,
    at: Instant,
    grant: Option<u64>,
    passed: usize,
}

impl Delay {
    /// Creates the function from a checked configuration.
    pub fn new(config: &DelayConfig) -> Delay {
        Delay {
            knots: config.knots_ps.clone(),
            between: config.between,
            at: config.at,
            grant: config.grant_ps,
            passed: 0,
        }
    }

    /// Creates a delay function with a constant value [ps].
    pub fn fixed(delay: u64) -> Delay {
        Delay {
            knots: vec![[0, delay]],
            between: Between::Hold,
            at: Instant::End,
            grant: None,
            passed: 0,
        }
    }

    /// Returns the propagation delay [ps] of a packet transmitted from `begins` to `ends`.
    #[inline]
    pub fn of(&mut self, begins: u64, ends: u64) -> u64 {
        // Shortcut for a constant delay.
        if let ([[_, delay]], None) = (&self.knots[..], self.grant) {
            return *delay;
        }
        let instant = match self.at {
            Instant::Start => begins,
            Instant::End => ends,
        };
        let delay = self.read(instant);
        match self.grant {
            None => delay,
            Some(grant) => {
                let since = self.passed.checked_sub(1).map_or(0, |last| self.knots[last][0]);
                delay + (grant - (instant - since) % grant) % grant
            }
        }
    }

    /// Returns the delay [ps] at a given time.
    #[inline(always)]
    fn read(&mut self, instant: u64) -> u64 {
        if self.passed > 0 && self.knots[self.passed - 1][0] > instant {
            self.passed = self.knots.partition_point(|knot| knot[0] <= instant);
        }
        while self.knots.get(self.passed).is_some_and(|knot| knot[0] <= instant) {
            self.passed += 1;
        }
        let Some(&[from, before]) = self.passed.checked_sub(1).map(|last| &self.knots[last]) else {
            return self.knots[0][1];
        };
        match (self.between, self.knots.get(self.passed)) {
            (Between::Linear, Some(&[to, after])) => interpolated([from, before], [to, after], instant),
            _ => before,
        }
    }
}

/// Interpolates linearly between two knots; the result is rounded down.
#[inline(always)]
fn interpolated([from, before]: [u64; 2], [to, after]: [u64; 2], instant: u64) -> u64 {
    let (over, past) = (to - from, instant - from);
    if after >= before {
        before + part(after - before, past, over)
    } else {
        // A falling delay is also rounded down, so the part subtracted from `before` is rounded up.
        after + part(before - after, over - past, over)
    }
}

/// Returns `whole · past / over`, rounded down.
#[inline(always)]
fn part(whole: u64, past: u64, over: u64) -> u64 {
    match whole.checked_mul(past) {
        Some(product) => product / over,
        None => (u128::from(whole) * u128::from(past) / u128::from(over)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_linear_or_constant_between_knots_and_jumps_at_double_knots() {
        let config = |between| DelayConfig {
            knots_ps: vec![[10, 100], [20, 111], [20, 50], [30, 47]],
            between,
            at: Instant::End,
            grant_ps: None,
        };
        let read = |between| [0, 10, 14, 19, 20, 21, 30, 99].map(|at| Delay::new(&config(between)).read(at));
        assert_eq!(read(Between::Linear), [100, 100, 104, 109, 50, 49, 47, 47]);
        assert_eq!(read(Between::Hold), [100, 100, 100, 100, 50, 50, 47, 47]);
    }

    #[test]
    fn the_delay_does_not_depend_on_earlier_queries() {
        let config = DelayConfig {
            knots_ps: (0..50).map(|at| [at * 7, (at * 31) % 17]).collect(),
            between: Between::Linear,
            at: Instant::End,
            grant_ps: None,
        };
        let mut queried = Delay::new(&config);
        for instant in [3, 300, 200, 201, 0, 349, 7, 8, 6, 1000, 5] {
            assert_eq!(queried.read(instant), Delay::new(&config).read(instant));
        }
    }

    #[test]
    fn a_packet_waits_for_the_next_grant_after_the_latest_knot() {
        let mut delay = Delay::new(&DelayConfig {
            knots_ps: vec![[0, 100], [25, 50]],
            between: Between::Hold,
            at: Instant::End,
            grant_ps: Some(10),
        });
        // Grants are at 0, 10 and 20, and from the second knot on at 25, 35 and so on.
        let arrivals = [0, 1, 10, 24, 25, 26, 35, 39].map(|at| at + delay.of(0, at));
        assert_eq!(arrivals, [100, 110, 110, 130, 75, 85, 85, 95]);
    }
}
