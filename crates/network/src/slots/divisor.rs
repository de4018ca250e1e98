//! Division by an invariant divisor. It is several times faster than the division instruction.

/// A divisor and its reciprocal (Granlund and Montgomery 1994, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u64,
    /// 2^(63 + shift) / value, rounded up.
    reciprocal: u64,
    /// 2^shift is the smallest power of two that is at least the divisor.
    shift: u32,
    /// Maximum factor of `times`.
    max: u64,
}

impl Divisor {
    /// Maximum dividend.
    pub const MAX_DIVIDEND: u64 = u64::MAX >> 1;

    /// Creates a divisor from a positive number that is at most 2^63.
    pub fn new(value: u64) -> Divisor {
        let shift = value.next_power_of_two().ilog2();
        let reciprocal = (1u128 << (63 + shift)).div_ceil(u128::from(value));
        Divisor {
            value,
            reciprocal: reciprocal as u64,
            shift,
            max: Self::MAX_DIVIDEND / 2 / value,
        }
    }

    /// Returns the divisor.
    #[inline]
    pub fn value(self) -> u64 {
        self.value
    }

    /// Returns the divisor times a factor, if the product is at most half of the maximum dividend.
    #[inline(always)]
    pub fn times(self, factor: u64) -> Option<u64> {
        (factor <= self.max).then(|| factor * self.value)
    }

    /// Returns the quotient of a dividend that is at most `MAX_DIVIDEND`.
    #[inline(always)]
    pub fn quotient(self, dividend: u64) -> u64 {
        debug_assert!(dividend <= Self::MAX_DIVIDEND);
        // Rounding adds less than 1 to the reciprocal, and therefore less than 2^-shift to the quotient. This is less
        // than the quotient's distance of at least 1 / value from the next integer.
        let product = u128::from(dividend << 1) * u128::from(self.reciprocal);
        ((product >> 64) as u64) >> self.shift
    }

    /// Returns the quotient and remainder of a dividend that is at most `MAX_DIVIDEND`.
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
        fn division_is_exact(dividend in any::<u64>(), divisor in 1..=u64::MAX, shifts in [0u32..64, 0u32..64]) {
            let (dividend, value) = ((dividend >> shifts[0]).min(Divisor::MAX_DIVIDEND), (divisor >> shifts[1] >> 1).max(1));
            for value in [value, 1 << value.ilog2(), (1 << value.ilog2()) + 1] {
                let multiple = dividend / value * value;
                let product = dividend.checked_mul(value).filter(|&product| product <= Divisor::MAX_DIVIDEND / 2);
                prop_assert_eq!(Divisor::new(value).times(dividend), product);
                for dividend in [dividend, multiple, multiple.saturating_sub(1), Divisor::MAX_DIVIDEND] {
                    prop_assert_eq!(Divisor::new(value).divide(dividend), (dividend / value, dividend % value));
                }
            }
        }
    }
}
