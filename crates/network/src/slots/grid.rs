//! Slots of a synchronous link, which start at `phase + floor(k · period)` with an exact rational period.

use super::divisor::Divisor;
use longpipe_events::{Rate, Span, Time, PS_PER_SECOND};

/// Slots of equal length without accumulated rounding errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGrid {
    /// Start of slot 0 [ps].
    phase: u64,
    /// Numerator of the period [ps]; the period is `num / den` in lowest terms.
    num: Divisor,
    /// Denominator of the period.
    den: Divisor,
}

impl SlotGrid {
    /// Creates the slots of a link that sends `bits` per slot at `rate`, both positive; slot 0 starts at `phase`.
    pub fn new(phase: Time, bits: u64, rate: Rate) -> SlotGrid {
        let num = u128::from(bits) * u128::from(PS_PER_SECOND);
        let den = u128::from(rate.0);
        let divisor = gcd(num, den);
        let num = u64::try_from(num / divisor).expect("a slot is shorter than 213 days");
        let den = (den / divisor) as u64;
        assert!(num >= den, "a slot lasts at least a picosecond");
        assert!(num <= u64::MAX >> 14, "thousands of slots are added up");
        SlotGrid {
            phase: phase.0,
            num: Divisor::new(num),
            den: Divisor::new(den),
        }
    }

    /// Returns the offset [ps] of slot `k` from slot 0, and its rounding error in units of `1 / den`.
    #[inline(always)]
    fn offset(&self, k: u64) -> (u64, u64) {
        // The length of a slot can be added to such a product before the division.
        match self.num.times(k) {
            Some(product) => self.den.divide(product),
            None => divide_wide(k, self.num.value(), self.den.value()),
        }
    }

    /// Returns the start of slot `k`.
    #[inline(always)]
    pub fn start(&self, k: u64) -> Time {
        Time(self.phase + self.offset(k).0)
    }

    /// Returns the first slot that starts at or after `t`, and the time from `t` to it in units of `1 / den`.
    #[inline(always)]
    fn first_from(&self, t: Time) -> (u64, u64) {
        let since = t.0.saturating_sub(self.phase);
        let num = self.num.value();
        match self.den.times(since) {
            Some(product) => {
                let first = self.num.quotient(product + num - 1);
                (first, first * num - product)
            }
            None => match divide_wide(since, self.den.value(), num) {
                (first, 0) => (first, 0),
                (before, rest) => (before + 1, num - rest),
            },
        }
    }

    /// Returns the first slot that starts at or after `t`.
    #[inline]
    pub fn at_or_after(&self, t: Time) -> u64 {
        self.first_from(t).0
    }

    /// Returns the end of the first slot that starts at or after `t`.
    #[inline(always)]
    pub fn end_after(&self, t: Time) -> Time {
        let (_, after) = self.first_from(t);
        Time(t.0.max(self.phase) + self.den.divide(after + self.num.value()).0)
    }

    /// Returns the first slot that starts at or after `t`, and the number of slots that have ended; `t` must not
    /// precede slot 0.
    #[inline]
    pub fn around(&self, t: Time) -> (u64, u64) {
        let (first, after) = self.first_from(t);
        // If the rounded start of a slot is `t`, the slot counts as starting at `t`.
        let begins_now = after < self.den.value();
        (first, first - u64::from(!begins_now && first > 0))
    }

    /// Returns the number of slots that have ended by `t`.
    pub fn ended_by(&self, t: Time) -> u64 {
        self.at_or_after(Time(t.0 + 1)).saturating_sub(1)
    }

    /// Returns the minimum and maximum number of slots of `other` that start within a slot of this grid.
    pub fn contains(&self, other: &SlotGrid) -> (u64, u64) {
        let (whole, den) = (u128::from(self.period_floor()), u128::from(other.den.value()));
        let num = u128::from(other.num.value());
        ((whole * den / num) as u64, ((whole + 1) * den).div_ceil(num) as u64)
    }

    /// Returns the number of slots of `other` per slot of this grid, in units of 2^-32, rounded down, and limited to
    /// 2^40.
    pub fn ratio(&self, other: &SlotGrid) -> u64 {
        let wide = |divisor: Divisor| u128::from(divisor.value());
        let (num, den) = (wide(self.num) * wide(other.den), wide(self.den) * wide(other.num));
        u64::try_from((num << 32) / den).map_or(1 << 40, |ratio| ratio.min(1 << 40))
    }

    /// If exactly one slot of `other` starts in each slot of this grid shifted by `delay`, returns the constant
    /// difference of the slot numbers. Returns None otherwise, or if the difference is negative.
    pub fn alignment(&self, delay: Span, other: &SlotGrid) -> Option<u64> {
        if (self.num, self.den) != (other.num, other.den) {
            return None;
        }
        let (num, den) = (i128::from(self.num.value()), i128::from(self.den.value()));
        let shift = (i128::from(self.phase) + i128::from(delay.0) - i128::from(other.phase)) * den;
        // Starts are rounded by up to a picosecond, which must not move a start across the boundary of a slot.
        let remainder = shift.rem_euclid(num);
        if remainder < den || remainder + den > num {
            return None;
        }
        u64::try_from(shift.div_euclid(num) + 1).ok()
    }

    /// Returns a cursor on slot `k`.
    pub fn cursor(&self, k: u64) -> SlotCursor {
        let (offset, remainder) = self.offset(k);
        SlotCursor {
            index: k,
            start: self.phase + offset,
            remainder,
            whole: self.period_floor(),
            part: self.num.value() % self.den.value(),
            den: self.den.value(),
        }
    }

    /// Advances a cursor to the first slot that starts at or after `t`.
    #[inline(always)]
    pub fn advance(&self, cursor: &mut SlotCursor, t: Time) {
        // Stepping over a short gap is cheaper than a division.
        if cursor.start() + cursor.period_floor(4) > t {
            while cursor.start() < t {
                cursor.step();
            }
            return;
        }
        self.leap(cursor, t);
    }

    /// Takes the first `slots` slots (at most 4096), from the cursor on, that start at or after `t`, and moves the
    /// cursor past them. Returns the number and the end of the first of these slots, and the end of the last.
    #[inline(always)]
    pub fn take(&self, cursor: &mut SlotCursor, t: Time, slots: u64) -> (u64, Time, Time) {
        let (mut start, mut after) = (cursor.start, cursor.remainder);
        if start < t.0 {
            (cursor.index, after) = self.first_from(t);
            start = t.0.max(self.phase);
        }
        let first = cursor.index;
        let first_ends = start + self.den.divide(after + self.num.value()).0;
        let (whole, remainder) = self.den.divide(after + slots * self.num.value());
        cursor.index += slots;
        (cursor.start, cursor.remainder) = (start + whole, remainder);
        (first, Time(first_ends), Time(cursor.start))
    }

    #[inline(never)]
    fn leap(&self, cursor: &mut SlotCursor, t: Time) {
        let (index, after) = self.first_from(t);
        let (whole, remainder) = self.den.divide(after);
        cursor.index = index;
        cursor.start = t.0.max(self.phase) + whole;
        cursor.remainder = remainder;
    }

    /// Returns how many slots, from the cursor on, start before `t`, which must be after the cursor's start.
    #[inline]
    pub fn ahead(&self, cursor: &SlotCursor, t: Time) -> u64 {
        if cursor.start() + cursor.period_floor(1) >= t {
            return 1;
        }
        self.at_or_after(t) - cursor.index
    }

    /// Returns the cycle of `den` slots that contains slot `k`, and the slot's index within the cycle.
    #[inline]
    pub(crate) fn cycle(&self, k: u64) -> (u64, u64) {
        self.den.divide(k)
    }

    /// Returns the start [ps] of slot 0, and the numerator and denominator of the period.
    pub(crate) fn parts(&self) -> (u64, u64, u64) {
        (self.phase, self.num.value(), self.den.value())
    }

    /// Returns the length [ps] of a slot, rounded down.
    pub fn period_floor(&self) -> u64 {
        self.num.value() / self.den.value()
    }
}

/// A position on a grid that advances slot by slot without division.
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
    /// Returns the number of the slot.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the start of the slot.
    #[inline]
    pub fn start(&self) -> Time {
        Time(self.start)
    }

    /// Returns the length [ps] of `slots` slots, rounded down.
    #[inline]
    fn period_floor(&self, slots: u64) -> Span {
        Span(slots * self.whole)
    }

    /// Advances to the next slot.
    #[inline]
    pub fn step(&mut self) {
        self.index += 1;
        self.start += self.whole;
        self.remainder += self.part;
        // Branch-free, because the branch would be unpredictable.
        let carry = u64::from(self.remainder >= self.den);
        self.remainder -= self.den & carry.wrapping_neg();
        self.start += carry;
    }
}

/// Returns the quotient and remainder of a product of more than 64 bits; the quotient must fit in 64 bits. This
/// function is out of line, because inlining would force callers to save registers on their fast paths.
#[cold]
#[inline(never)]
fn divide_wide(factor: u64, other: u64, divisor: u64) -> (u64, u64) {
    let (product, divisor) = (u128::from(factor) * u128::from(other), u128::from(divisor));
    ((product / divisor) as u64, (product % divisor) as u64)
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
        fn slot_around_a_time_agrees_with_next_and_ended_slot(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, k in 0u64..1 << 30, late in 0u64..3) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            for t in [grid.start(k) + Span(late), Time(grid.start(k).0.saturating_sub(late))] {
                prop_assert_eq!(grid.around(t), (grid.at_or_after(t), grid.ended_by(t)));
            }
        }

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
        fn cursor_counts_slots_ahead(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, k in 0u64..1 << 30, slots in 1u64..9, early in 0u64..2) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let cursor = grid.cursor(k);
            prop_assert_eq!(grid.ahead(&cursor, Time(grid.start(k + slots).0 - early)), slots);
        }

        #[test]
        fn cursor_takes_slots_in_order(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, k in 0u64..1 << 30, t in 0u64..1 << 50, slots in 1u64..4097) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let mut cursor = grid.cursor(k);
            let first = grid.at_or_after(Time(t)).max(k);
            prop_assert_eq!(grid.take(&mut cursor, Time(t), slots), (first, grid.start(first + 1), grid.start(first + slots)));
            prop_assert_eq!(cursor, grid.cursor(first + slots));
        }

        #[test]
        fn ended_slots_are_counted(phase in 0u64..1 << 40, rate in 1_000u64..1 << 37, t in 0u64..1 << 50) {
            let grid = SlotGrid::new(Time(phase), 424, Rate(rate));
            let ended = grid.ended_by(Time(t));
            prop_assert!(ended == 0 || grid.start(ended) <= Time(t));
            prop_assert!(grid.start(ended + 1) > Time(t));
        }

        #[test]
        fn slots_of_another_grid_in_a_slot_are_bounded(rates in [1_000u64..1 << 37, 1_000u64..1 << 37], k in 1u64..1 << 30) {
            let [grid, other] = rates.map(|rate| SlotGrid::new(Time(1 << 20), 424, Rate(rate)));
            let (min, max) = grid.contains(&other);
            let found = other.at_or_after(grid.start(k + 1)) - other.at_or_after(grid.start(k));
            prop_assert!((min..=max).contains(&found), "{found} of {min}..={max}");
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
            prop_assert_eq!(grid.end_after(Time(t)), grid.start(k + 1));
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
