//! Intervals of accepted values, such as `[1 us, 1000 s]` and `(0, 1]`.

use longpipe_units::{scale, DIMENSIONS};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Returns the name of a field as users write it, the suffix of its unit, and its dimension; both are empty for plain
/// values.
pub fn quantity(name: &str) -> (&str, &'static str, &'static str) {
    let quantity = DIMENSIONS.iter().find_map(|dimension| {
        let written = name.strip_suffix(dimension.suffix)?.strip_suffix('_')?;
        Some((written, dimension.suffix, dimension.key))
    });
    quantity.unwrap_or((name, "", ""))
}

/// Returns the suffix and the dimension of a unit.
pub fn dimension_of(unit: &str) -> Option<(&'static str, &'static str)> {
    let dimension = DIMENSIONS.iter().find(|dimension| dimension.suffix == unit);
    dimension.map(|dimension| (dimension.suffix, dimension.key))
}

/// An interval: its ends as text, and whether each end is excluded.
pub struct Interval {
    low: String,
    high: String,
    open: [bool; 2],
    source: LitStr,
}

impl Interval {
    pub fn parse(source: &LitStr) -> Result<Interval> {
        let text = source.value();
        let wrong = || Error::new_spanned(source, "needs an interval, as in [1 us, 1000 s] or (0, 1]");
        let within = text.get(1..text.len().saturating_sub(1)).ok_or_else(wrong)?;
        let (low, high) = within.split_once(", ").ok_or_else(wrong)?;
        let open = match (&text[..1], &text[text.len() - 1..]) {
            ("[", "]") => [false, false],
            ("(", "]") => [true, false],
            ("[", ")") => [false, true],
            ("(", ")") => [true, true],
            _ => return Err(wrong()),
        };
        Ok(Interval {
            low: low.to_owned(),
            high: high.to_owned(),
            open,
            source: source.clone(),
        })
    }

    /// Returns the constant `Bounds` in the base units of a suffix, for integers or for floats.
    pub fn bounds(&self, suffix: &'static str, is_float: bool) -> Result<TokenStream> {
        let (low, high, [above, below]) = (&self.low, &self.high, self.open);
        let least = number(low, suffix, is_float).ok_or_else(|| self.wrong(low))?;
        let most = number(high, suffix, is_float).ok_or_else(|| self.wrong(high))?;
        Ok(quote! {
            ::longpipe_tcp::described::Bounds {
                low: #low, high: #high, open: [#above, #below], unit: #suffix, least: #least, most: #most,
            }
        })
    }

    fn wrong(&self, end: &str) -> Error {
        Error::new_spanned(&self.source, format!("{end}: needs a number with a unit of the field"))
    }
}

/// Returns a number as written, in base units of a suffix, as a literal.
pub fn number(written: &str, suffix: &str, is_float: bool) -> Option<TokenStream> {
    if is_float {
        let value: f64 = written.parse().ok()?;
        return Some(quote! { #value });
    }
    let value: i128 = if suffix.is_empty() {
        written.replace('_', "").parse().ok()?
    } else {
        let (number, unit) = written.split_once(' ').unwrap_or((written, ""));
        let dimension = DIMENSIONS.iter().find(|dimension| dimension.suffix == suffix)?;
        number.parse::<i128>().ok()? * i128::from(scale(dimension, unit)?)
    };
    Some(quote! { #value })
}
