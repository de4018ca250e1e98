//! Sums of the starts of a grid's slots, without a loop.

use crate::grid::SlotGrid;

/// Sums of the starts of a grid's slots.
#[derive(Clone, Debug)]
pub struct GridSums {
    grid: SlotGrid,
    /// Sums of the fractions' whole parts over the first slots of a cycle of `den`, unless that is long.
    cycle: Vec<u64>,
}

/// Longest cycle kept in a table.
const LONGEST_CYCLE: u64 = 1 << 16;

impl GridSums {
    /// Sums for a grid.
    pub fn new(grid: SlotGrid) -> GridSums {
        let (part, den) = (grid.num % grid.den, grid.den);
        let cycle = if den <= LONGEST_CYCLE {
            let mut sum = 0;
            let sums = (0..den).map(|k| {
                let before = sum;
                sum += k * part / den;
                before
            });
            sums.collect()
        } else {
            Vec::new()
        };
        GridSums { grid, cycle }
    }

    /// Sum of the starts of slots `0..k` [ps], modulo 2^128.
    pub fn before(&self, k: u64) -> u128 {
        let SlotGrid { phase, num, den } = self.grid;
        let (whole, part) = (num / den, u128::from(num % den));
        let pairs = u128::from(k) * u128::from(k.saturating_sub(1)) / 2;
        let fractions = if self.cycle.is_empty() {
            floor_sum(u128::from(k), u128::from(den), part)
        } else {
            let (cycles, rest) = (u128::from(k / den), (k % den) as usize);
            let full = part.saturating_sub(1) * u128::from(den - 1) / 2;
            let den = u128::from(den);
            cycles * full
                + part * den * (cycles * cycles.saturating_sub(1) / 2)
                + cycles * part * rest as u128
                + u128::from(self.cycle[rest])
        };
        u128::from(k) * u128::from(phase) + u128::from(whole) * pairs + fractions
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
        fn sums_agree_with_a_loop(phase in 0u64..1 << 40, rate in prop_oneof![1_000u64..1 << 37, Just(155_520_000), Just(1 << 20)], from in 0u64..1 << 30, count in 0u64..1000) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let sums = GridSums::new(grid);
            let expected: u128 = (from..from + count).map(|k| u128::from(grid.start(k).0)).sum();
            prop_assert_eq!(sums.before(from + count) - sums.before(from), expected);
        }
    }
}
