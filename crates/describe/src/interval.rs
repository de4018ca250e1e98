//! Intervals of accepted values, such as `[1 us, 1000 s]` and `(0, 1]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Suffixes of fields, the dimensions of their quantities, and units in base units. They are those of
/// `python/longpipe/units.py`.
type Units = &'static [(&'static str, u64)];
const DIMENSIONS: [(&str, &str, Units); 6] = [
    (
        "ps",
        "time",
        &[
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", 1_000_000_000_000),
            ("min", 60_000_000_000_000),
            ("h", 3_600_000_000_000_000),
        ],
    ),
    (
        "bps",
        "rate",
        &[
            ("bit/s", 1),
            ("kbit/s", 1_000),
            ("Mbit/s", 1_000_000),
            ("Gbit/s", 1_000_000_000),
            ("Tbit/s", 1_000_000_000_000),
        ],
    ),
    (
        "bytes",
        "size",
        &[
            ("B", 1),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ],
    ),
    // Users write shares without a unit.
    ("ppb", "share", &[("", 1_000_000_000)]),
    ("segments", "segments", &[("segment", 1), ("segments", 1)]),
    ("ticks", "ticks", &[("tick", 1), ("ticks", 1)]),
];

/// Returns the name of a field as users write it, the suffix of its unit, and its dimension; both are empty for plain
/// values.
pub fn quantity(name: &str) -> (&str, &'static str, &'static str) {
    let found = DIMENSIONS.iter().find_map(|&(suffix, dimension, _)| {
        let written = name.strip_suffix(suffix)?.strip_suffix('_')?;
        Some((written, suffix, dimension))
    });
    found.unwrap_or((name, "", ""))
}

/// Returns the suffix and the dimension of a unit.
pub fn dimension_of(unit: &str) -> Option<(&'static str, &'static str)> {
    let found = DIMENSIONS.iter().find(|(suffix, ..)| *suffix == unit);
    found.map(|&(suffix, dimension, _)| (suffix, dimension))
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
        let (_, _, units) = DIMENSIONS.iter().find(|dimension| dimension.0 == suffix)?;
        let &(_, scale) = units.iter().find(|(name, _)| *name == unit)?;
        number.parse::<i128>().ok()? * i128::from(scale)
    };
    Some(quote! { #value })
}
