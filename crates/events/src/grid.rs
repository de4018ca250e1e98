//! The slots of a synchronous link: instants `phase + floor(k · period)` with an exact rational period.

use crate::time::{Span, Time, PS_PER_SECOND};
use crate::units::Rate;

/// Slots of equal length whose rounding never accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGrid {
    /// Start of slot 0 [ps].
    pub(crate) phase: u64,
    /// Period's numerator [ps]; the period is `num / den`, in lowest terms.
    pub(crate) num: u64,
    /// Period's denominator.
    pub(crate) den: u64,
}

impl SlotGrid {
    /// Slots of `bits` at `rate`, slot 0 beginning at `phase`. Both must be positive.
    pub fn new(phase: Time, bits: u64, rate: Rate) -> SlotGrid {
        let num = u128::from(bits) * u128::from(PS_PER_SECOND);
        let den = u128::from(rate.0);
        let divisor = gcd(num, den);
        let num = u64::try_from(num / divisor).expect("a slot is shorter than 213 days");
        let den = (den / divisor) as u64;
        assert!(num >= den, "a slot lasts at least a picosecond");
        SlotGrid {
            phase: phase.0,
            num,
            den,
        }
    }

    /// Start of slot `k`.
    pub fn start(&self, k: u64) -> Time {
        let offset = match k.checked_mul(self.num) {
            Some(product) => product / self.den,
            None => (u128::from(k) * u128::from(self.num) / u128::from(self.den)) as u64,
        };
        Time(self.phase + offset)
    }

    /// First slot that begins at or after `t`.
    pub fn at_or_after(&self, t: Time) -> u64 {
        let x = t.0.saturating_sub(self.phase);
        match x.checked_mul(self.den) {
            Some(product) => product.div_ceil(self.num),
            None => (u128::from(x) * u128::from(self.den)).div_ceil(u128::from(self.num)) as u64,
        }
    }

    /// Number of slots that have ended by `t`.
    pub fn ended_by(&self, t: Time) -> u64 {
        self.at_or_after(Time(t.0 + 1)).saturating_sub(1)
    }

    /// How many slots of `other` begin within one slot of this grid, at the least and at the most.
    pub fn contains(&self, other: &SlotGrid) -> (u64, u64) {
        let (whole, den) = (u128::from(self.num / self.den), u128::from(other.den));
        let num = u128::from(other.num);
        ((whole * den / num) as u64, ((whole + 1) * den).div_ceil(num) as u64)
    }

    /// If exactly one slot of `other` begins in each slot of this grid that `delay` shifts, its number less that of the
    /// slot in which it begins; none too if that is negative.
    pub fn alignment(&self, delay: Span, other: &SlotGrid) -> Option<u64> {
        if (self.num, self.den) != (other.num, other.den) {
            return None;
        }
        let (num, den) = (i128::from(self.num), i128::from(self.den));
        let shift = (i128::from(self.phase) + i128::from(delay.0) - i128::from(other.phase)) * den;
        // Starts are rounded by up to a picosecond, which must not move one over an edge.
        let rest = shift.rem_euclid(num);
        if rest < den || rest + den > num {
            return None;
        }
        u64::try_from(shift.div_euclid(num) + 1).ok()
    }

    /// A cursor on slot `k`.
    pub fn cursor(&self, k: u64) -> SlotCursor {
        let (offset, remainder) = match k.checked_mul(self.num) {
            Some(product) => (product / self.den, product % self.den),
            None => {
                let (product, den) = (u128::from(k) * u128::from(self.num), u128::from(self.den));
                ((product / den) as u64, (product % den) as u64)
            }
        };
        SlotCursor {
            index: k,
            start: self.phase + offset,
            remainder,
            whole: self.num / self.den,
            part: self.num % self.den,
            den: self.den,
        }
    }

    /// Moves a cursor on to the first slot that begins at or after `t`, if it is not there yet.
    #[inline]
    pub fn advance(&self, cursor: &mut SlotCursor, t: Time) {
        // Most gaps are short, and a step is much cheaper than a division.
        for _ in 0..3 {
            if cursor.start() >= t {
                return;
            }
            cursor.step();
        }
        if cursor.start() < t {
            *cursor = self.cursor(self.at_or_after(t));
        }
    }

    /// Length of a slot rounded down [ps].
    pub fn period_floor(&self) -> u64 {
        self.num / self.den
    }
}

/// A place on a grid that moves slot by slot without dividing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotCursor {
    index: u64,
    start: u64,
    remainder: u64,
    whole: u64,
    part: u64,
    den: u64,
}

impl SlotCursor {
    /// Number of the slot.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Start of the slot.
    #[inline]
    pub fn start(&self) -> Time {
        Time(self.start)
    }

    /// Moves to the next slot.
    #[inline]
    pub fn step(&mut self) {
        self.index += 1;
        self.start += self.whole;
        self.remainder += self.part;
        if self.remainder >= self.den {
            self.remainder -= self.den;
            self.start += 1;
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cell_at_149_76_mbit_per_second_lasts_2831196_58_ps() {
        let grid = SlotGrid::new(Time::ZERO, 424, Rate(149_760_000));
        assert_eq!(grid.start(1), Time(2_831_196));
        assert_eq!(grid.start(100), Time(283_119_658));
    }

    proptest! {
        #[test]
        fn a_cursor_agrees_with_the_closed_form(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, k in 0u64..1 << 30) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let mut cursor = grid.cursor(k);
            for step in 0..50 {
                prop_assert_eq!(cursor.start(), grid.start(k + step));
                cursor.step();
            }
        }

        #[test]
        fn slots_that_have_ended(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, t in 0u64..1 << 50) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let ended = grid.ended_by(Time(t));
            prop_assert!(ended == 0 || grid.start(ended) <= Time(t));
            prop_assert!(grid.start(ended + 1) > Time(t));
        }

        #[test]
        fn slots_of_another_grid_that_begin_within_one(rates in [1_000u64..1 << 37, 1_000u64..1 << 37], k in 1u64..1 << 30) {
            let [grid, other] = rates.map(|rate| SlotGrid::new(Time(1 << 20), 424, Rate(rate)));
            let (least, most) = grid.contains(&other);
            let found = other.at_or_after(grid.start(k + 1)) - other.at_or_after(grid.start(k));
            prop_assert!((least..=most).contains(&found), "{found} of {least}..={most}");
        }

        #[test]
        fn aligned_grids_keep_their_distance(phases in [0u64..1 << 40, 0u64..1 << 40], rate in 1_000u64..1 << 37, delay in 0u64..1 << 40, k in 1u64..1 << 30) {
            let [grid, other] = phases.map(|phase| SlotGrid::new(Time(phase), 424, Rate(rate)));
            if let Some(offset) = grid.alignment(Span(delay), &other) {
                for k in k..k + 50 {
                    let start = grid.start(k) + Span(delay);
                    prop_assert_eq!(other.at_or_after(start), k + offset);
                    prop_assert_eq!(other.ended_by(start), k + offset - 1);
                }
            }
        }

        #[test]
        fn at_or_after_finds_the_first_such_slot(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, t in 0u64..1 << 50) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let k = grid.at_or_after(Time(t));
            prop_assert!(grid.start(k) >= Time(t));
            prop_assert!(k == 0 || grid.start(k - 1) < Time(t));
            for behind in [0, 1, 2, 3, 4, 100] {
                let mut cursor = grid.cursor(k.saturating_sub(behind));
                grid.advance(&mut cursor, Time(t));
                prop_assert_eq!(cursor, grid.cursor(k));
            }
        }
    }
}
