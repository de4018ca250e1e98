//! Division by a number that stays the same, several times as fast as the machine's.

/// A divisor with its reciprocal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u64,
    /// 2^64 / value, rounded down, or a little less.
    reciprocal: u64,
}

impl Divisor {
    /// A positive number.
    pub fn new(value: u64) -> Divisor {
        let reciprocal = (1u128 << 64) / u128::from(value);
        Divisor {
            value,
            reciprocal: u64::try_from(reciprocal).unwrap_or(u64::MAX),
        }
    }

    /// The number.
    #[inline]
    pub fn value(self) -> u64 {
        self.value
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub fn divide(self, dividend: u64) -> (u64, u64) {
        let product = u128::from(dividend) * u128::from(self.reciprocal);
        // The reciprocal is too small by no more than one, which takes no more than one off the quotient.
        let quotient = (product >> 64) as u64;
        let rest = dividend - quotient * self.value;
        if rest >= self.value {
            (quotient + 1, rest - self.value)
        } else {
            (quotient, rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_exact(dividend in any::<u64>(), divisor in 1..=u64::MAX, shifts in [0u32..64, 0u32..64]) {
            let (dividend, value) = (dividend >> shifts[0], (divisor >> shifts[1]).max(1));
            for value in [value, 1 << value.ilog2(), (1 << value.ilog2()) + 1] {
                let multiple = dividend / value * value;
                for dividend in [dividend, multiple, multiple.saturating_sub(1), u64::MAX] {
                    prop_assert_eq!(Divisor::new(value).divide(dividend), (dividend / value, dividend % value));
                }
            }
        }
    }
}
