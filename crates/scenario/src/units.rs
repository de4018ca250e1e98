//! Quantities in canonical form, such as "12.5 ms": a decimal number without exponent, a space, and a unit.

use longpipe_units::Dimension;
pub use longpipe_units::{scale, Decimal, RATE, SIZE, TIME};

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
pub fn parse(dimension: &Dimension, text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = scale(dimension, unit)?;
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(scale),
        Err(_) => dimension.parse(text).ok()?.to_u64(),
    }
}
