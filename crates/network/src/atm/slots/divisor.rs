//! Division by a number that stays the same, several times as fast as the machine's.

/// The bits of a shift.
const SHIFT: u64 = 63;

/// A divisor with its reciprocal (Granlund and Montgomery, 1994, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u64,
    /// 2^(64 + shift) / value, rounded up, where 2^shift is less than the number, and twice that is not.
    reciprocal: u64,
    /// The largest factor that `times` takes, but for its last six bits, which are the shift.
    most: u64,
}

impl Divisor {
    /// The largest dividend.
    pub const LARGEST: u64 = u64::MAX >> 1;
    /// The largest divisor.
    pub const MOST: u64 = 1 << 50;

    /// From 2 to `MOST`.
    pub fn new(value: u64) -> Divisor {
        assert!((2..=Self::MOST).contains(&value), "what divides is neither 1 nor huge");
        let shift = (value - 1).ilog2();
        let reciprocal = (1u128 << (64 + shift)).div_ceil(u128::from(value));
        Divisor {
            value,
            reciprocal: reciprocal as u64,
            most: (Self::LARGEST / 2 / value - SHIFT) & !SHIFT | u64::from(shift),
        }
    }

    /// The number.
    #[inline]
    pub fn value(self) -> u64 {
        self.value
    }

    /// The number times a factor, if half of the largest dividend is no less; none too where it nearly is.
    #[inline(always)]
    pub fn times(self, factor: u64) -> Option<u64> {
        (factor <= self.most).then(|| factor * self.value)
    }

    /// Quotient, of a dividend up to `LARGEST`.
    #[inline(always)]
    pub fn quotient(self, dividend: u64) -> u64 {
        debug_assert!(dividend <= Self::LARGEST);
        // Rounding adds less than 1 to the reciprocal, so less than 2^-(1 + shift) to the quotient: less than the 1 / value that it
        // may be short of the next whole number.
        let product = u128::from(dividend) * u128::from(self.reciprocal);
        ((product >> 64) as u64) >> (self.most & SHIFT)
    }

    /// Quotient and remainder, likewise.
    #[inline(always)]
    pub fn divide(self, dividend: u64) -> (u64, u64) {
        let quotient = self.quotient(dividend);
        (quotient, dividend - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_exact(dividend in any::<u64>(), divisor in 2..=Divisor::MOST, shifts in [0u32..64, 0u32..49]) {
            let (dividend, value) = ((dividend >> shifts[0]).min(Divisor::LARGEST), (divisor >> shifts[1]).max(2));
            for value in [value, 1 << value.ilog2(), ((1 << value.ilog2()) + 1).min(Divisor::MOST)] {
                let multiple = dividend / value * value;
                let product = dividend.checked_mul(value).filter(|&product| product <= Divisor::LARGEST / 2);
                match Divisor::new(value).times(dividend) {
                    None => prop_assert!(dividend + 128 > Divisor::LARGEST / 2 / value),
                    taken => prop_assert_eq!(taken, product),
                }
                for dividend in [dividend, multiple, multiple.saturating_sub(1), Divisor::LARGEST] {
                    prop_assert_eq!(Divisor::new(value).divide(dividend), (dividend / value, dividend % value));
                }
            }
        }
    }
}
