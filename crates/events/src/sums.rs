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
    fn add(self, other: StartSum) -> StartSum {
        StartSum {
            count: self.count + other.count,
            numbers: self.numbers + other.numbers,
            rests: self.rests + other.rests,
        }
    }
}

impl AddAssign for StartSum {
    fn add_assign(&mut self, other: StartSum) {
        *self = *self + other;
    }
}

impl Sub for StartSum {
    type Output = StartSum;
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
    /// Sums of what rounding takes off the first slots of a cycle of `den`, unless that is long.
    cycle: Vec<u64>,
}

/// Longest cycle kept in a table.
const LONGEST_CYCLE: u64 = 1 << 16;

impl GridSums {
    /// Sums for a grid.
    pub fn new(grid: SlotGrid) -> GridSums {
        let (_, num, den) = grid.parts();
        let cycle = if den <= LONGEST_CYCLE {
            let mut sum = 0;
            let sums = (0..den).map(|k| {
                let before = sum;
                sum += k * (num % den) % den;
                before
            });
            sums.collect()
        } else {
            Vec::new()
        };
        GridSums { grid, cycle }
    }

    /// Of slots `from..to`.
    #[inline]
    pub fn of(&self, from: u64, to: u64) -> StartSum {
        let count = to - from;
        StartSum {
            count,
            numbers: u128::from((from + to).wrapping_sub(1)) * u128::from(count) / 2,
            rests: self.rests(from, to),
        }
    }

    /// What rounding takes off the starts of slots `from..to`.
    #[inline]
    fn rests(&self, from: u64, to: u64) -> u128 {
        let (_, num, den) = self.grid.parts();
        if self.cycle.is_empty() {
            let (den, part) = (u128::from(den), u128::from(num % den));
            let before = |k: u128| part * (k * k.saturating_sub(1) / 2) - den * floor_sum(k, den, part);
            return before(to.into()) - before(from.into());
        }
        // Over a whole cycle the rests are all numbers below `den`, each once.
        let ((first, start), (last, end)) = (self.grid.cycle(from), self.grid.cycle(to));
        let whole = (last - first) * (den * (den - 1) / 2);
        u128::from(whole + self.cycle[end as usize] - self.cycle[start as usize])
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
