//! Reads and writes quantities.

use super::spellings::{aliases, ambiguous, multiples};
use crate::decimal::MAX_DIGITS;
use crate::shown::shown;
use crate::{Decimal, Dimension, UNLIMITED};
use ethnum::U256;

/// Maximum number of characters of a unit.
const MAX_UNIT: usize = 24;

/// A quantity: a number of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The number.
    pub number: Decimal,
    /// The unit in canonical form.
    pub unit: &'static str,
    /// Number of base units per unit.
    pub scale: u64,
}

impl Dimension {
    /// Reads a quantity.
    ///
    /// # Errors
    /// Returns a message with the value and the accepted units.
    pub fn split(&self, text: &str) -> Result<Quantity, String> {
        let Some((number, written)) = parts(text) else {
            return Err(format!("{}; {}", shown(text), self.accepts()));
        };
        if written.is_empty() {
            return Err(format!("{} has no unit; {}", shown(text), self.accepts()));
        }
        let (number, unit) = match self.unit(self.plural(written).unwrap_or(written)) {
            Some(unit) => (number, Some(unit)),
            None => self.other_unit(number, written),
        };
        if !number.is_short() {
            return Err(format!(
                "{}; needs a number of at most {MAX_DIGITS} decimals",
                shown(text)
            ));
        }
        let Some((unit, scale)) = unit else {
            let meant = self.meant_by(written);
            return Err(format!(
                "{} is not a {}{meant}; {}",
                shown(text),
                self.name,
                self.accepts()
            ));
        };
        Ok(Quantity {
            number: without_float_error(number, scale),
            unit,
            scale,
        })
    }

    /// Returns a quantity as a number of base units, which is whole.
    ///
    /// # Errors
    /// Returns a message with the value and what is accepted.
    pub fn parse(&self, text: &str) -> Result<Decimal, String> {
        let Quantity { number, scale, .. } = self.split(text)?;
        let value = number.by(scale, 0);
        if value.is_whole() {
            Ok(value)
        } else {
            Err(format!("{}; needs a whole number of {}", shown(text), self.base))
        }
    }

    /// Returns a quantity in its unit, in longpipe's spelling.
    ///
    /// # Errors
    /// Returns a message with the value and the accepted units.
    pub fn canonical(&self, text: &str) -> Result<String, String> {
        let Quantity { number, unit, .. } = self.split(text)?;
        Ok(self.write(number, unit))
    }

    /// Formats a number of base units exactly, in the unit with the shortest result of at most 6 decimals.
    pub fn format(&self, value: i128) -> String {
        let size = U256::from(value.unsigned_abs());
        let texts = self.units.iter().rev().filter_map(|(unit, scale)| {
            let scale = U256::from(*scale);
            let millionths = size * U256::new(1_000_000);
            let is_short = size >= scale && millionths % scale == 0;
            is_short.then(|| self.write(Decimal::new(value < 0, millionths / scale, -6), unit))
        });
        let shortest = texts.min_by_key(|text| text.chars().count());
        shortest.unwrap_or_else(|| self.write(Decimal::new(value < 0, size, 0), self.base))
    }

    /// Returns the clause of a message with the accepted units.
    pub fn accepts(&self) -> String {
        let units: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        let unlimited = if self.unlimited {
            format!(", or '{UNLIMITED}'")
        } else {
            String::new()
        };
        format!("accepts {}, as in '{}'{unlimited}", units.join(", "), self.example)
    }

    /// Returns whether a unit is accepted, other than in the singular.
    pub fn knows(&self, unit: &str) -> bool {
        self.unit(unit).is_some() || self.other_unit(Decimal::from(1), unit).1.is_some()
    }

    /// Returns all names of units that are accepted, other than in the singular.
    pub fn names(&self) -> Vec<String> {
        let units = self.units.iter().map(|(name, _)| (*name).to_owned());
        let aliases = aliases(self).into_iter().map(|(name, _)| name);
        let multiples = multiples(self).iter().map(|(name, ..)| (*name).to_owned());
        units.chain(aliases).chain(multiples).collect()
    }

    /// Returns a clause with the probable meaning of a rejected quantity's unit, or "".
    pub fn meant(&self, text: &str) -> String {
        match parts(text) {
            Some((_, unit)) if !unit.is_empty() => self.meant_by(unit),
            _ => String::new(),
        }
    }

    /// Returns the probable meaning of a unit with wrong capitalization, or of a unit of another quantity.
    fn meant_by(&self, written: &str) -> String {
        if let Some(explained) = ambiguous(self, written) {
            return explained;
        }
        let units = self
            .units
            .iter()
            .map(|(name, _)| ((*name).to_owned(), (*name).to_owned()));
        let multiples = multiples(self)
            .iter()
            .map(|(name, ..)| ((*name).to_owned(), (*name).to_owned()));
        let lower = written.to_lowercase();
        let mut meant: Vec<String> = vec![];
        for (name, unit) in units.chain(multiples).chain(aliases(self)) {
            let unit = format!("'{unit}'");
            let place = meant
                .iter()
                .position(|candidate| *candidate >= unit)
                .unwrap_or(meant.len());
            if name.to_lowercase() == lower && meant.get(place) != Some(&unit) {
                meant.insert(place, unit);
            }
        }
        match meant.as_slice() {
            [] => String::new(),
            [unit] => format!(", it is {unit} here"),
            units => format!(", it may be {}", units.join(" or ")),
        }
    }

    fn unit(&self, name: &str) -> Option<(&'static str, u64)> {
        self.units.iter().find(|(unit, _)| *unit == name).copied()
    }

    /// Returns a number in the unit of which another name is a spelling or a multiple; no unit for unknown names.
    fn other_unit(&self, number: Decimal, written: &str) -> (Decimal, Option<(&'static str, u64)>) {
        let alias = aliases(self).into_iter().find(|(name, _)| name == written);
        let name = alias.map_or(written.to_owned(), |(_, unit)| unit);
        match multiples(self).iter().find(|(multiple, ..)| *multiple == name) {
            Some((_, factor, decimals, unit)) => (number.by(*factor, *decimals), self.unit(unit)),
            None => (number, self.unit(&name)),
        }
    }

    pub(crate) fn write(&self, number: Decimal, unit: &str) -> String {
        let singular = self.singular.iter().find(|(plural, _)| *plural == unit);
        let name = match singular {
            Some((_, singular)) if number == Decimal::from(1) => singular,
            _ => unit,
        };
        format!("{number} {name}")
    }
}

/// Returns a number whose value in base units is an integer, if only the last digits of a float differ from it.
///
/// For example, the sum of 12.36 ms and -0.00112 ms in floats is 12.358880000000001 ms, which is 12.35888 ms.
fn without_float_error(number: Decimal, scale: u64) -> Decimal {
    if number.is_whole() {
        return number;
    }
    let (value, unit) = (number.digits * U256::from(scale), number.tens());
    let (below, rest) = (value / unit, value % unit);
    let is_above = 2 * rest > unit || (2 * rest == unit && below % 2 == 1);
    let (nearest, error) = if is_above {
        (below + 1, unit - rest)
    } else {
        (below, rest)
    };
    // The relative error of a float that is the result of an operation with rounding is at most 2^-51.
    if error == 0 || error << 51u32 > value {
        return number;
    }
    let scaled = nearest * U256::new(10).pow(MAX_DIGITS as u32);
    // A third of a minute has no decimal form.
    if scaled % U256::from(scale) != 0 {
        return number;
    }
    Decimal::new(number.negative, scaled / U256::from(scale), -(MAX_DIGITS as i32))
}

/// Returns the number and the unit, which may be empty; None for other texts.
fn parts(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim_matches(is_space);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = digits(unsigned);
    let part = unsigned[whole..].strip_prefix('.').map_or(0, digits);
    let is_number = whole <= MAX_DIGITS && part <= MAX_DIGITS && whole + part > 0;
    if !is_number {
        return None;
    }
    let end = text.len() - unsigned.len() + whole + if part > 0 { 1 + part } else { 0 };
    let (number, rest) = text.split_at(end);
    // The exponent has at most two digits; what is left otherwise is the unit.
    let with_exponent = rest.strip_prefix(['e', 'E']).and_then(|after| {
        let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
        let sign = after.len() - unsigned.len();
        let max_digits = digits(unsigned).min(2);
        (1..=max_digits).rev().find_map(|count| {
            let (exponent, unit) = rest.split_at(1 + sign + count);
            is_unit(unit.trim_start_matches(is_space)).then(|| (format!("{number}{exponent}"), unit))
        })
    });
    let (number, unit) = with_exponent.unwrap_or_else(|| (number.to_owned(), rest));
    let unit = unit.trim_start_matches(is_space);
    is_unit(unit)
        .then(|| Decimal::read(&number))
        .flatten()
        .map(|number| (number, unit))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Returns whether a text can be the name of a unit, or is empty.
fn is_unit(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return true;
    };
    !first.is_ascii_digit() && !".+-".contains(first) && text.chars().count() <= MAX_UNIT && !text.contains('\n')
}

/// Returns whether Python's `str.isspace` holds for a character.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter)
}
