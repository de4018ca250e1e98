//! Checks of bounded quantities.

use crate::{Decimal, Dimension, Quantity, BUFFER, SIZE, TIME, UNLIMITED};

/// Text of a quantity that longpipe computes.
const AUTO: &str = "auto";
/// Largest buffer in cells or packets.
pub const MAX_CELLS: u64 = 1_000_000_000;
/// Largest buffer in bytes.
pub const MAX_BUFFER_BYTES: u64 = 1_000_000_000_000;
/// Largest buffer in time [ps].
pub const MAX_BUFFER_PS: u64 = 1_000_000_000_000_000;

/// A check of a quantity with bounds.
#[derive(Clone, Debug)]
pub struct Bounded {
    dimension: Dimension,
    low: String,
    high: String,
    least: Decimal,
    most: Decimal,
    auto: bool,
}

impl Bounded {
    /// Creates a check of a quantity from `low` to `high`, or 'unlimited' if the dimension has it, or 'auto'.
    ///
    /// # Errors
    /// Returns a message about a bound that is no quantity.
    pub fn new(dimension: Dimension, low: &str, high: &str, auto: bool) -> Result<Bounded, String> {
        Ok(Bounded {
            dimension,
            low: low.to_owned(),
            high: high.to_owned(),
            least: dimension.parse(low)?,
            most: dimension.parse(high)?,
            auto,
        })
    }

    /// Returns the kind of quantity.
    pub fn dimension(&self) -> &Dimension {
        &self.dimension
    }

    /// Returns the upper bound as text.
    pub fn high(&self) -> &str {
        &self.high
    }

    /// Returns a quantity in canonical form.
    ///
    /// # Errors
    /// Returns a message with the value and what is accepted.
    pub fn check(&self, written: &str) -> Result<String, String> {
        let text = words(written);
        if self.auto && text == AUTO {
            return Ok(text);
        }
        if self.dimension.unlimited && (text == UNLIMITED || text == "inf") {
            return Ok(UNLIMITED.to_owned());
        }
        self.canonical(&text).map_err(|problem| self.or_auto(problem))
    }

    /// Adds 'auto' to a message, if it is accepted.
    fn or_auto(&self, problem: String) -> String {
        if self.auto {
            format!("{problem}, or '{AUTO}'")
        } else {
            problem
        }
    }

    fn canonical(&self, text: &str) -> Result<String, String> {
        let value = self.dimension.parse(text)?;
        if value < self.least || value > self.most {
            return Err(format!("{text}; needs {} to {}", self.low, self.high));
        }
        self.dimension.canonical(text)
    }
}

/// Returns the size of a buffer in canonical form.
///
/// # Errors
/// Returns a message with the value and what is accepted.
pub fn buffer(written: &str) -> Result<String, String> {
    let text = words(written);
    if text == UNLIMITED || text == "inf" {
        return Ok(UNLIMITED.to_owned());
    }
    let Quantity { number, unit, scale } = BUFFER.split(&text)?;
    let has = |dimension: &Dimension| dimension.units.iter().any(|(name, _)| *name == unit);
    let limit = if has(SIZE) {
        MAX_BUFFER_BYTES
    } else if has(TIME) {
        MAX_BUFFER_PS
    } else {
        MAX_CELLS
    };
    let value = number.by(scale, 0);
    if value < Decimal::from(0) || value > Decimal::from(limit) {
        let max_amount = limit / scale;
        return Err(format!(
            "{text}; needs at least one full packet and at most {max_amount} {unit}, or '{UNLIMITED}'"
        ));
    }
    let counted = if has(SIZE) { "bytes" } else { unit };
    if ["cells", "bytes"].contains(&counted) && !value.is_whole() {
        return Err(format!("{text}; needs a whole number of {counted}"));
    }
    BUFFER.canonical(&text)
}

/// Returns the words of a text with one space between them.
fn words(text: &str) -> String {
    let is_space = |letter: char| letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter);
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
