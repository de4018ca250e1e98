//! Exact decimal numbers.

use ethnum::U256;
use std::cmp::Ordering;
use std::fmt;

/// Maximum number of digits before, and after, the decimal point. All lengths are bounded, so that products with units
/// and rates are exact.
pub(crate) const MAX_DIGITS: usize = 24;

/// A decimal number: `digits` * 10^`exponent`. The exponent is above 0 only for numbers beyond 10^47.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub(crate) negative: bool,
    pub(crate) digits: U256,
    pub(crate) exponent: i32,
}

impl Decimal {
    pub(crate) fn new(negative: bool, mut digits: U256, mut exponent: i32) -> Decimal {
        if digits == 0 {
            (exponent, digits) = (0, U256::ZERO);
        }
        while exponent < 0 && digits % 10 == 0 {
            (exponent, digits) = (exponent + 1, digits / 10);
        }
        while exponent > 0 && digits < U256::new(10u128.pow(23)) * U256::new(10u128.pow(24)) {
            (exponent, digits) = (exponent - 1, digits * 10);
        }
        Decimal {
            negative: negative && digits != 0,
            digits,
            exponent,
        }
    }

    /// Reads a number, with or without an exponent; None for other texts.
    pub fn read(text: &str) -> Option<Decimal> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + part.len() == 0 || whole.len() + part.len() > 65 || !is_number(whole) || !is_number(part) {
            return None;
        }
        let mut digits = U256::ZERO;
        for chunk in [whole, part].into_iter().flat_map(|text| text.as_bytes().chunks(18)) {
            let value = chunk
                .iter()
                .fold(0u64, |value, digit| 10 * value + u64::from(digit - b'0'));
            digits = digits * U256::from(10u64.pow(chunk.len() as u32)) + U256::from(value);
        }
        let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() < 1000)?;
        Some(Decimal::new(negative, digits, exponent - part.len() as i32))
    }

    /// Returns the number as an integer; None if it is negative, not whole, or does not fit into 64 bits.
    pub fn to_u64(self) -> Option<u64> {
        let is_integer = self.exponent == 0 && !self.negative;
        is_integer.then(|| u64::try_from(self.digits).ok()).flatten()
    }

    /// Returns the number times 10^`decimals` as an integer; None if it is negative, not whole, or too large.
    pub fn in_parts(self, decimals: u32) -> Option<u64> {
        Decimal::new(self.negative, self.digits, self.exponent + decimals as i32).to_u64()
    }

    /// Returns whether the number is an integer.
    pub fn is_whole(self) -> bool {
        self.exponent >= 0
    }

    /// Returns 10^n for a number with n decimals.
    pub(crate) fn tens(self) -> U256 {
        U256::new(10).pow(self.exponent.min(0).unsigned_abs())
    }

    /// Returns the number times an integer divided by a power of ten.
    pub(crate) fn by(self, factor: u64, decimals: u32) -> Decimal {
        Decimal::new(
            self.negative,
            self.digits * U256::from(factor),
            self.exponent - decimals as i32,
        )
    }

    /// Returns a number that is not negative times `factor` divided by `divisor`, rounded down, and whether the quotient
    /// is exact. Products beyond 256 bits have their largest value.
    pub fn times(self, factor: U256, divisor: U256) -> (U256, bool) {
        let divisor = divisor * self.tens();
        let product = if self.exponent > 0 {
            None
        } else {
            self.digits.checked_mul(factor)
        };
        product.map_or((U256::MAX, false), |product| {
            (product / divisor, product % divisor == 0)
        })
    }

    /// Returns an integer divided by a positive number, rounded to the nearest integer, halves to the even one; None if
    /// the quotient does not fit into 64 bits.
    pub fn divides(self, dividend: u64) -> Option<u64> {
        let scaled = U256::from(dividend).checked_mul(self.tens())?;
        let (below, rest) = (scaled.checked_div(self.digits)?, scaled % self.digits);
        let above = 2 * rest > self.digits || (2 * rest == self.digits && below % 2 == 1);
        u64::try_from(below + U256::from(u8::from(above))).ok()
    }

    /// Returns whether numbers of at most `MAX_DIGITS` decimals include this one.
    pub(crate) fn is_short(self) -> bool {
        self.exponent >= -(MAX_DIGITS as i32)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let low = self.exponent.min(other.exponent);
        // A product beyond 256 bits is larger than any number with a lower exponent.
        let aligned = |number: &Decimal| {
            let tens = U256::new(10).checked_pow((number.exponent - low).unsigned_abs());
            tens.and_then(|tens| number.digits.checked_mul(tens))
                .unwrap_or(U256::MAX)
        };
        let order = aligned(self).cmp(&aligned(other));
        if self.negative {
            order.reverse()
        } else {
            order
        }
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Decimal {
        Decimal::new(false, U256::from(number), 0)
    }
}

/// Formats all digits, without an exponent.
impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            out.write_str("-")?;
        }
        if self.exponent >= 0 {
            let zeros = "0".repeat(self.exponent.unsigned_abs() as usize);
            return write!(out, "{}{zeros}", self.digits);
        }
        let decimals = self.exponent.unsigned_abs() as usize;
        let digits = format!("{:0>width$}", self.digits.to_string(), width = decimals + 1);
        let (whole, part) = digits.split_at(digits.len() - decimals);
        write!(out, "{whole}.{part}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::read(text).expect("a number")
    }

    #[test]
    fn numbers_are_written_with_all_digits() {
        for (text, written) in [
            ("1e3", "1000"),
            ("-0.50", "-0.5"),
            (".25", "0.25"),
            ("1e60", &format!("1{}", "0".repeat(60))),
            ("1e-3", "0.001"),
            ("-0", "0"),
        ] {
            assert_eq!(decimal(text).to_string(), written);
        }
        for text in ["", ".", "1.2.3", "e5", "--1", "1 "] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_their_value() {
        let ordered = ["-1e70", "-2", "-1.5", "0", "1e-24", "0.5", "3", "1e47", "1e60", "2e99"];
        for (place, low) in ordered.iter().enumerate() {
            assert_eq!(decimal(low), decimal(low));
            for high in &ordered[place + 1..] {
                assert!(decimal(low) < decimal(high), "{low} {high}");
                assert!(decimal(high) > decimal(low), "{high} {low}");
            }
        }
    }
}
