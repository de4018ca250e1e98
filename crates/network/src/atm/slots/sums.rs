//! Sums of the starts of a grid's slots, without a loop.

use super::grid::SlotGrid;
use longpipe_events::memory;
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
            let mut cycle = memory::space(2 * den as usize);
            cycle.extend(sums);
            cycle
        } else {
            Vec::new()
        };
        let whole = if den <= LONGEST_CYCLE { den * (den - 1) / 2 } else { 0 };
        GridSums { grid, cycle, whole }
    }

    /// The grid.
    pub fn grid(&self) -> SlotGrid {
        self.grid
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
                self.rests(from, count)
            },
        }
    }

    /// What rounding takes off the starts of `count` slots: over a whole cycle the rests are all numbers below `den`,
    /// each once.
    #[inline(always)]
    fn rests(&self, from: u64, count: u64) -> u128 {
        let place = self.grid.cycle(from).1;
        let before = u64::from(self.cycle[place as usize]);
        if let Some(&sum) = self.cycle.get((place + count) as usize) {
            return u128::from(u64::from(sum) - before);
        }
        let (cycles, end) = self.grid.cycle(place + count);
        u128::from(cycles) * u128::from(self.whole) + u128::from(self.cycle[end as usize]) - u128::from(before)
    }

    /// The same where a cycle is too long for a table.
    #[inline(never)]
    fn rests_by_steps(&self, k: u64) -> u128 {
        let (_, num, den) = self.grid.parts();
        let (k, den, part) = (u128::from(k), u128::from(den), u128::from(num % den));
        // The rests add up to less than k * den, 128 bits; what they are the difference of may wrap around.
        let starts = part.wrapping_mul(k * k.saturating_sub(1) / 2);
        starts.wrapping_sub(den.wrapping_mul(floor_sum(k, den, part)))
    }

    /// The sum itself [ps].
    pub fn total(&self, sum: StartSum) -> u128 {
        let (phase, num, den) = self.grid.parts();
        let (num, den) = (u128::from(num), u128::from(den));
        // The sum of k * num, less the rests, is a multiple of den: what is below it in the sum of k is set apart, for
        // that times num is within 128 bits, while the sum of k times num may not be.
        let (cycles, numbers) = (sum.numbers / den, sum.numbers % den);
        let rest = (numbers * num) as i128 - sum.rests as i128;
        (u128::from(phase) * u128::from(sum.count) + cycles * num).wrapping_add_signed(rest / den as i128)
    }
}

/// Sum of `part * i / den`, rounded down each, for `i` below `k`; `part < den`. Modulo 2^128.
fn floor_sum(mut k: u128, mut den: u128, mut part: u128) -> u128 {
    let (mut sum, mut offset) = (0u128, 0);
    loop {
        if part >= den {
            sum = sum.wrapping_add((k * (k - 1) / 2).wrapping_mul(part / den));
            part %= den;
        }
        if offset >= den {
            sum = sum.wrapping_add(k.wrapping_mul(offset / den));
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
    use longpipe_events::{Rate, Time};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_exact_up_to_the_end_of_time(rate in 9_999_999_999_000u64..=10_000_000_000_000, from in 0u64..1 << 57, counts in [0u64..1000, 0u64..1000]) {
            let grid = SlotGrid::new(Time(1 << 59), 424, Rate(rate));
            let sums = GridSums::new(grid);
            let (middle, to) = (from + counts[0], from + counts[0] + counts[1]);
            let expected: u128 = (from..to).map(|k| u128::from(grid.start(k).0)).sum();
            prop_assert_eq!(sums.total(sums.of(from, middle) + sums.of(middle, to)), expected);
            // Of all slots of a hundred days, however many there are.
            let all = sums.total(sums.of(0, to));
            let (first, last) = (u128::from(grid.start(0).0), u128::from(grid.start(to).0));
            prop_assert!(all.abs_diff((first + last) * u128::from(to) / 2) <= u128::from(to) * 60);
        }

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
