//! Sums of the starts of a grid's slots, without a loop.

use crate::grid::SlotGrid;
use std::ops::{Add, AddAssign, Sub};

/// The sum of the starts of some slots, before the one division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartSum {
    /// How many.
    count: u64,
    /// Sum of their numbers.
    numbers: u128,
    /// Sum of what rounding takes off their starts, in units of the grid's `1 / den`.
    rests: u128,
}

impl Add for StartSum {
    type Output = StartSum;
    #[inline(always)]
    fn add(self, other: StartSum) -> StartSum {
        StartSum {
            count: self.count + other.count,
            numbers: self.numbers + other.numbers,
            rests: self.rests + other.rests,
        }
    }
}

impl AddAssign for StartSum {
    #[inline(always)]
    fn add_assign(&mut self, other: StartSum) {
        *self = *self + other;
    }
}

impl Sub for StartSum {
    type Output = StartSum;
    #[inline(always)]
    fn sub(self, other: StartSum) -> StartSum {
        StartSum {
            count: self.count - other.count,
            numbers: self.numbers - other.numbers,
            rests: self.rests - other.rests,
        }
    }
}

/// Sums the starts of a grid's slots.
#[derive(Clone, Debug)]
pub struct GridSums {
    grid: SlotGrid,
    /// Sums of what rounding takes off the first slots of two cycles of `den`, unless that is long.
    cycle: Vec<u32>,
    /// The same of a whole one.
    whole: u64,
}

/// Longest cycle kept in a table.
const LONGEST_CYCLE: u64 = 1 << 15;

impl GridSums {
    /// Sums for a grid.
    pub fn new(grid: SlotGrid) -> GridSums {
        let (_, num, den) = grid.parts();
        let cycle = if den <= LONGEST_CYCLE {
            let mut sum = 0;
            let sums = (0..2 * den).map(|k| {
                let before = sum;
                sum += (k * (num % den) % den) as u32;
                before
            });
            sums.collect()
        } else {
            Vec::new()
        };
        let whole = if den <= LONGEST_CYCLE { den * (den - 1) / 2 } else { 0 };
        GridSums { grid, cycle, whole }
    }

    /// Of slots `from..to`.
    #[inline(always)]
    pub fn of(&self, from: u64, to: u64) -> StartSum {
        let count = to - from;
        StartSum {
            count,
            numbers: u128::from((from + to).wrapping_sub(1)) * u128::from(count) / 2,
            rests: if self.cycle.is_empty() {
                self.rests_by_steps(to) - self.rests_by_steps(from)
            } else {
                u128::from(self.rests(from, count))
            },
        }
    }

    /// What rounding takes off the starts of `count` slots: over a whole cycle the rests are all numbers below `den`,
    /// each once.
    #[inline(always)]
    fn rests(&self, from: u64, count: u64) -> u64 {
        let place = self.grid.cycle(from).1;
        let before = u64::from(self.cycle[place as usize]);
        if let Some(&sum) = self.cycle.get((place + count) as usize) {
            return u64::from(sum) - before;
        }
        let (cycles, end) = self.grid.cycle(place + count);
        cycles * self.whole + u64::from(self.cycle[end as usize]) - before
    }

    /// The same where a cycle is too long for a table.
    #[inline(never)]
    fn rests_by_steps(&self, k: u64) -> u128 {
        let (_, num, den) = self.grid.parts();
        let (k, den, part) = (u128::from(k), u128::from(den), u128::from(num % den));
        part * (k * k.saturating_sub(1) / 2) - den * floor_sum(k, den, part)
    }

    /// The sum itself [ps].
    pub fn total(&self, sum: StartSum) -> u128 {
        let (phase, num, den) = self.grid.parts();
        u128::from(phase) * u128::from(sum.count) + (sum.numbers * u128::from(num) - sum.rests) / u128::from(den)
    }
}

/// Sum of `part * i / den`, rounded down each, for `i` below `k`; `part < den`.
fn floor_sum(mut k: u128, mut den: u128, mut part: u128) -> u128 {
    let (mut sum, mut offset) = (0u128, 0);
    loop {
        if part >= den {
            sum += k * (k - 1) / 2 * (part / den);
            part %= den;
        }
        if offset >= den {
            sum += k * (offset / den);
            offset %= den;
        }
        let reach = part * k + offset;
        if reach < den {
            return sum;
        }
        (k, offset) = (reach / den, reach % den);
        (den, part) = (part, den);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use crate::units::Rate;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_agree_with_a_loop(phase in 0u64..1 << 40, rate in prop_oneof![1_000u64..1 << 37, Just(155_520_000), Just(1 << 20)], from in 0u64..1 << 30, counts in [0u64..1000, 0u64..1000]) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let sums = GridSums::new(grid);
            let (middle, to) = (from + counts[0], from + counts[0] + counts[1]);
            let expected: u128 = (from..to).map(|k| u128::from(grid.start(k).0)).sum();
            prop_assert_eq!(sums.total(sums.of(from, middle) + sums.of(middle, to)), expected);
            prop_assert_eq!(sums.of(from, to) - sums.of(middle, to), sums.of(from, middle));
        }
    }
}
