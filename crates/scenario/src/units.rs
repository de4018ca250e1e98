//! Quantities in canonical form, such as "12.5 ms": a decimal number without exponent, a space, and a unit.

use ethnum::U256;
use longpipe_units::Units;
pub use longpipe_units::{scale, RATE, SIZE, TIME};

/// A decimal number without sign: `digits` / 10^`decimals`. Products with a rate and a time are exact, because numbers
/// have at most 24 digits before, and after, the point.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    digits: U256,
    decimals: u32,
}

impl Decimal {
    /// Reads a number without exponent; None for other texts.
    pub fn read(text: &str) -> Option<Decimal> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = U256::from_str_radix(&format!("{whole}{part}"), 10).ok()?;
        let decimals = u32::try_from(part.len())
            .ok()
            .filter(|decimals| *decimals <= MAX_DECIMALS)?;
        Some(Decimal { digits, decimals })
    }

    /// Returns the number times `factor` divided by `divisor`, rounded down, and whether the quotient is exact.
    pub(crate) fn times(self, factor: U256, divisor: U256) -> (U256, bool) {
        let divisor = divisor * U256::new(10).pow(self.decimals);
        let product = self.digits * factor;
        (product / divisor, product % divisor == 0)
    }

    /// Returns an integer divided by the number, rounded to the nearest integer, halves to the even one; None if the
    /// quotient does not fit into 64 bits.
    pub(crate) fn divides(self, dividend: u64) -> Option<u64> {
        let scaled = U256::from(dividend) * U256::new(10).pow(self.decimals);
        let (below, rest) = (scaled.checked_div(self.digits)?, scaled % self.digits);
        let above = 2 * rest > self.digits || (2 * rest == self.digits && below % 2 == 1);
        u64::try_from(below + U256::from(u8::from(above))).ok()
    }
}

/// Maximum number of decimals of a number.
const MAX_DECIMALS: u32 = 48;

/// Returns the number and the unit of a quantity in canonical form; the unit is in the plural.
pub fn split(text: &str) -> Option<(Decimal, &str)> {
    let (number, unit) = text.split_once(' ')?;
    let unit = match unit {
        "cell" => "cells",
        "packet" => "packets",
        _ => unit,
    };
    Some((Decimal::read(number)?, unit))
}

/// Returns a quantity in base units, which must be a whole number.
pub fn parse(units: Units, text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = scale(units, unit)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let (value, exact) = Decimal::read(number)?.times(U256::from(scale), U256::ONE);
    u64::try_from(value).ok().filter(|_| exact)
}
