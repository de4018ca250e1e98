//! The slots of a synchronous link: instants `phase + floor(k · period)` with an exact rational period.

use crate::time::{Time, PS_PER_SECOND};
use crate::units::Rate;

/// Slots of equal length whose rounding never accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGrid {
    /// Start of slot 0 [ps].
    phase: u64,
    /// Period's numerator [ps]; the period is `num / den`.
    num: u64,
    /// Period's denominator.
    den: u64,
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
    start: u64,
    remainder: u64,
    whole: u64,
    part: u64,
    den: u64,
}

impl SlotCursor {
    /// Start of the slot.
    pub fn start(&self) -> Time {
        Time(self.start)
    }

    /// Moves to the next slot.
    #[inline]
    pub fn step(&mut self) {
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
