//! Closed-form sums of the starts of a grid's slots.

use super::grid::SlotGrid;
use longpipe_events::memory;
use std::ops::{Add, AddAssign, Sub};

/// Sum of the starts of several slots, before the final division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartSum {
    /// Number of slots.
    count: u64,
    /// Sum of the slot numbers.
    numbers: u128,
    /// Sum of the rounding errors of the starts, in units of `1 / den`.
    rounding_errors: u128,
}

impl Add for StartSum {
    type Output = StartSum;
    #[inline(always)]
    fn add(self, other: StartSum) -> StartSum {
        StartSum {
            count: self.count + other.count,
            numbers: self.numbers + other.numbers,
            rounding_errors: self.rounding_errors + other.rounding_errors,
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
            rounding_errors: self.rounding_errors - other.rounding_errors,
        }
    }
}

/// Computes sums of the starts of a grid's slots.
#[derive(Clone, Debug)]
pub struct GridSums {
    grid: SlotGrid,
    /// Prefix sums of rounding errors over two cycles of `den` slots; absent if a cycle is too long for a table.
    cycle: Vec<u32>,
    /// Sum of the rounding errors over a whole cycle.
    whole: u64,
}

/// Maximum length of a cycle for which a table is used.
const MAX_CYCLE: u64 = 1 << 15;

impl GridSums {
    /// Creates the sums for a grid.
    pub fn new(grid: SlotGrid) -> GridSums {
        let (_, num, den) = grid.parts();
        let cycle = if den <= MAX_CYCLE {
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
        let whole = if den <= MAX_CYCLE { den * (den - 1) / 2 } else { 0 };
        GridSums { grid, cycle, whole }
    }

    /// Returns the sum over slots `from..to`.
    #[inline(always)]
    pub fn of(&self, from: u64, to: u64) -> StartSum {
        let count = to - from;
        StartSum {
            count,
            numbers: u128::from((from + to).wrapping_sub(1)) * u128::from(count) / 2,
            rounding_errors: if self.cycle.is_empty() {
                self.rounding_errors_by_steps(to) - self.rounding_errors_by_steps(from)
            } else {
                self.rounding_errors(from, count)
            },
        }
    }

    /// Returns the sum of the rounding errors of `count` slots. Over a whole cycle, the errors are the numbers below
    /// `den`, each of which occurs once.
    #[inline(always)]
    fn rounding_errors(&self, from: u64, count: u64) -> u128 {
        let place = self.grid.cycle(from).1;
        let before = u64::from(self.cycle[place as usize]);
        if let Some(&sum) = self.cycle.get((place + count) as usize) {
            return u128::from(u64::from(sum) - before);
        }
        let (cycles, end) = self.grid.cycle(place + count);
        u128::from(cycles) * u128::from(self.whole) + u128::from(self.cycle[end as usize]) - u128::from(before)
    }

    /// Returns the sum of the rounding errors of `k` slots, for cycles that are too long for a table.
    #[inline(never)]
    fn rounding_errors_by_steps(&self, k: u64) -> u128 {
        let (_, num, den) = self.grid.parts();
        let (k, den, part) = (u128::from(k), u128::from(den), u128::from(num % den));
        // The result is less than k * den and fits in 128 bits; its intermediate terms may wrap around.
        let starts = part.wrapping_mul(k * k.saturating_sub(1) / 2);
        starts.wrapping_sub(den.wrapping_mul(floor_sum(k, den, part)))
    }

    /// Returns the sum [ps] of the starts.
    pub fn total(&self, sum: StartSum) -> u128 {
        let (phase, num, den) = self.grid.parts();
        let (num, den) = (u128::from(num), u128::from(den));
        // The sum of k * num minus the errors is a multiple of den. The remainder of the sum of k modulo den is handled
        // separately, because its product with num fits in 128 bits, while the sum of k times num may not.
        let (cycles, numbers) = (sum.numbers / den, sum.numbers % den);
        let remainder = (numbers * num) as i128 - sum.rounding_errors as i128;
        (u128::from(phase) * u128::from(sum.count) + cycles * num).wrapping_add_signed(remainder / den as i128)
    }
}

/// Returns the sum of floor(`part` · i / `den`) for i below `k`, modulo 2^128; `part < den`.
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
        fn sums_are_exact_up_to_the_largest_time(rate in 9_999_999_999_000u64..=10_000_000_000_000, from in 0u64..1 << 57, counts in [0u64..1000, 0u64..1000]) {
            let grid = SlotGrid::new(Time(1 << 59), 424, Rate(rate));
            let sums = GridSums::new(grid);
            let (middle, to) = (from + counts[0], from + counts[0] + counts[1]);
            let expected: u128 = (from..to).map(|k| u128::from(grid.start(k).0)).sum();
            prop_assert_eq!(sums.total(sums.of(from, middle) + sums.of(middle, to)), expected);
            // Sums over all slots of a hundred days.
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
