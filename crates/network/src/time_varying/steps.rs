//! A rate as a step function of time, integrated exactly in rational numbers.

use crate::bounds::AFTER_ANY_RUN;
use longpipe_events::PS_PER_SECOND;

/// A time that includes a fraction of a picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    /// Integer part [ps].
    pub whole: u64,
    /// Fractional part, in units of 1 / rate picoseconds.
    pub part: u64,
}

/// A right-continuous step function of the rate, cyclic or not.
#[derive(Clone, Debug)]
pub(crate) struct RateSteps {
    /// Time [ps] and rate [bit/s] of each step; the first time is 0.
    steps: Vec<[u64; 2]>,
    cycle: Option<u64>,
    /// Work [bit/s · ps] per cycle.
    per_cycle: u128,
    /// Index of the step that was in force at the latest query.
    at: usize,
    /// Start, end and rate of this step, cached for later queries within the step.
    current: (u64, u64, u64),
}

impl RateSteps {
    /// Creates the step function from a checked configuration.
    pub fn new(steps: Vec<[u64; 2]>, cycle: Option<u64>) -> RateSteps {
        let mut rate_steps = RateSteps {
            steps,
            cycle,
            per_cycle: 0,
            at: 0,
            current: (0, 0, 0),
        };
        rate_steps.per_cycle = cycle.map_or(0, |cycle| rate_steps.sent_within(cycle));
        rate_steps
    }

    /// Returns the rate at a given time, and the time until which this rate is valid.
    #[inline]
    pub fn rate(&mut self, instant: u64) -> (u64, u64) {
        let (from, until, rate) = self.current;
        if (from..until).contains(&instant) {
            return (rate, until);
        }
        self.find_rate(instant)
    }

    /// Like `rate`, but without the cache.
    fn find_rate(&mut self, instant: u64) -> (u64, u64) {
        let (base, within) = match self.cycle {
            Some(cycle) => (instant - instant % cycle, instant % cycle),
            None => (0, instant),
        };
        if self.steps[self.at][0] > within {
            self.at = 0;
        }
        if self.steps.get(self.at + 2).is_some_and(|step| step[0] <= within) {
            self.at = self.steps.partition_point(|step| step[0] <= within) - 1;
        } else if self.steps.get(self.at + 1).is_some_and(|step| step[0] <= within) {
            self.at += 1;
        }
        let next = self.steps.get(self.at + 1).map(|step| step[0]).or(self.cycle);
        let [from, rate] = self.steps[self.at];
        let until = next.map_or(u64::MAX, |next| base + next);
        self.current = (base + from, until, rate);
        (rate, until)
    }

    /// Returns the time at which `work` [bit/s · ps] that starts at `from` is done, or the remaining work if this time
    /// is after `limit`. If the work would end exactly at the limit, it counts as not done.
    #[inline]
    pub fn finish(&mut self, from: Exact, mut work: u128, limit: u64) -> Result<Exact, u128> {
        let Exact { mut whole, mut part } = from;
        loop {
            let (rate, until) = self.rate(whole);
            let until = until.min(limit);
            let capacity = (u128::from(rate) * u128::from(until - whole)).saturating_sub(u128::from(part));
            if rate > 0 && capacity >= work {
                let (lasts, part) = divided(work + u128::from(part), rate);
                return Ok(Exact {
                    whole: whole + lasts,
                    part,
                });
            }
            work -= capacity;
            if until >= limit {
                return Err(work);
            }
            (whole, part) = (until, 0);
            work = self.skip_cycles(&mut whole, work, limit);
        }
    }

    /// Shortcut of `finish` for work [bit/s · ps] that is done within the step of the latest query and before
    /// `AFTER_ANY_RUN`. Returns None for other work.
    #[inline(always)]
    pub fn finish_within_step(&self, Exact { whole, part }: Exact, work: u64) -> Option<Exact> {
        let (from, until, rate) = self.current;
        let (total, until) = (work.checked_add(part)?, until.min(AFTER_ANY_RUN.0));
        if rate == 0 || !(from..until).contains(&whole) {
            return None;
        }
        let (lasts, part) = (total / rate, total % rate);
        let is_within = lasts + u64::from(part > 0) <= until - whole;
        is_within.then_some(Exact {
            whole: whole + lasts,
            part,
        })
    }

    /// Advances over whole cycles in one step, and returns the remaining work.
    fn skip_cycles(&self, whole: &mut u64, work: u128, limit: u64) -> u128 {
        let Some(cycle) = self.cycle else { return work };
        if !whole.is_multiple_of(cycle) || self.per_cycle == 0 {
            return work;
        }
        // Advances one cycle less, so that the end is then found step by step.
        let times = ((work - 1) / self.per_cycle).min(u128::from((limit - *whole) / cycle)) as u64;
        *whole += times * cycle;
        work - self.per_cycle * u128::from(times)
    }

    /// Returns whether more than one cycle lies between two times.
    pub fn is_cycles_away(&self, from: u64, to: u64) -> bool {
        self.cycle.is_some_and(|cycle| (to - from) / 4 > cycle)
    }

    /// Returns the work [bit/s · ps] that could have been done up to a given time.
    pub fn sent_by(&self, instant: u64) -> u128 {
        match self.cycle {
            Some(cycle) => self.per_cycle * u128::from(instant / cycle) + self.sent_within(instant % cycle),
            None => self.sent_within(instant),
        }
    }

    fn sent_within(&self, instant: u64) -> u128 {
        let ends = self.steps[1..].iter().map(|step| step[0]).chain([u64::MAX]);
        let each = self
            .steps
            .iter()
            .zip(ends)
            .map(|(&[from, rate], until)| u128::from(rate) * u128::from(until.min(instant).saturating_sub(from)));
        each.sum()
    }
}

/// Returns the quotient and remainder of work divided by a rate. The work of a packet usually fits in 64 bits, for
/// which division is faster.
#[inline]
fn divided(work: u128, rate: u64) -> (u64, u64) {
    match u64::try_from(work) {
        Ok(work) => (work / rate, work % rate),
        Err(_) => ((work / u128::from(rate)) as u64, (work % u128::from(rate)) as u64),
    }
}

/// Returns the work [bit/s · ps] of transmitting `bytes`.
#[inline]
pub(crate) fn work(bytes: u64) -> u128 {
    8 * u128::from(bytes) * u128::from(PS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bits_sent_before_a_rate_change_count_for_the_packet_in_service() {
        // 1000 bytes take 4 ms at 1 Mbit/s for the first half and 2 ms at a rate of 0; the other half is then sent at 2
        // Mbit/s.
        let ms = PS_PER_SECOND / 1000;
        let mut steps = RateSteps::new(vec![[0, 1_000_000], [4 * ms, 0], [6 * ms, 2_000_000]], None);
        let end = steps.finish(Exact::default(), work(1000), u64::MAX);
        assert_eq!(end, Ok(Exact { whole: 8 * ms, part: 0 }));
    }

    #[test]
    fn the_shortcut_applies_to_work_within_the_step_of_the_latest_query() {
        let ms = PS_PER_SECOND / 1000;
        let mut steps = RateSteps::new(vec![[0, 1_000_000], [4 * ms, 2_000_000]], None);
        let first = steps.finish(Exact::default(), work(100), u64::MAX).expect("a rate");
        let within = steps.finish_within_step(first, work(100) as u64);
        assert_eq!(
            within,
            Some(Exact {
                whole: 1_600_000_000,
                part: 0
            })
        );
        assert_eq!(steps.finish_within_step(first, work(1000) as u64), None);
    }

    #[test]
    fn nothing_is_sent_at_a_constant_rate_of_zero() {
        let mut steps = RateSteps::new(vec![[0, 8], [PS_PER_SECOND, 0]], None);
        assert_eq!(steps.finish(Exact::default(), work(2), 1 << 62), Err(work(1)));
        let mut cyclic = RateSteps::new(vec![[0, 0]], Some(10));
        assert_eq!(cyclic.finish(Exact::default(), work(1), 1000), Err(work(1)));
    }

    /// Reference implementation: integrates the rate [bit/s] up to a given time, step by step; the result is in bit/s ·
    /// ps.
    fn integral(steps: &[[u64; 2]], cycle: Option<u64>, instant: u64) -> u128 {
        let mut sum = 0;
        let cycles = cycle.map_or(1, |cycle| instant / cycle + 1);
        for number in 0..cycles {
            let base = number * cycle.unwrap_or(0);
            for (at, step) in steps.iter().enumerate() {
                let end = steps
                    .get(at + 1)
                    .map(|next| next[0])
                    .or(cycle)
                    .unwrap_or(u64::MAX - base)
                    + base;
                let (from, to) = ((step[0] + base).min(instant), end.min(instant));
                sum += u128::from(step[1]) * u128::from(to - from);
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn departures_occur_when_the_integral_of_the_rate_reaches_the_bits(
            gaps in prop::collection::vec((1u64..2_000_000_000, prop_oneof![Just(0), 1u64..10_000_000_000]), 1..8),
            tail in 1u64..1_000_000_000, cyclic: bool,
            lengths in prop::collection::vec(1u64..9000, 1..30),
        ) {
            let mut instant = 0;
            let mut steps = vec![];
            for (gap, rate) in gaps {
                steps.push([instant, rate]);
                instant += gap;
            }
            // At least one step must have a positive rate.
            steps[0][1] += 1_000_000;
            let cycle = cyclic.then_some(instant + tail);
            if !cyclic {
                steps.push([instant, 7_777_777]);
            }
            let (mut line, mut free, mut bits) = (RateSteps::new(steps.clone(), cycle), Exact::default(), 0);
            for bytes in lengths {
                let within_step = line.finish_within_step(free, work(bytes) as u64);
                free = line.finish(free, work(bytes), u64::MAX).expect("a rate");
                prop_assert!(within_step.is_none_or(|end| end == free));
                bits += work(bytes);
                let rate_there = integral(&steps, cycle, free.whole + 1) - integral(&steps, cycle, free.whole);
                prop_assert_eq!(integral(&steps, cycle, free.whole) + u128::from(free.part), bits);
                prop_assert!(u128::from(free.part) < rate_there.max(1));
                prop_assert_eq!(line.sent_by(free.whole), integral(&steps, cycle, free.whole));
            }
        }
    }
}
