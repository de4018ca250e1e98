//! Reads resolved scenarios with little code, for the browser page. A text is parsed once into a tree of values, from which
//! each part is read by one small function. Code derived by serde is many times larger, because it is compiled for each way
//! in which a format may represent a part.
//!
//! A separate crate, because a Cargo profile sets the optimisation for size or speed per crate.

mod parts;
mod value;

pub use longpipe_reading_derive::Read;
pub use value::{kind, one_of, Refused, Table, Value};

/// A type that can be read from a value, with the same result as its `serde::Deserialize`.
pub trait Read: Sized {
    /// Reads itself from a value.
    ///
    /// # Errors
    /// Returns the problem of the value, in one line.
    fn read(value: Value) -> Result<Self, Refused>;

    /// Returns the value of a missing field, if the field is optional.
    fn absent() -> Option<Self> {
        None
    }
}

/// Parses a JSON text.
///
/// # Errors
/// Returns the problem of the text, in one line.
pub fn from_json<T: Read>(text: &str) -> Result<T, Refused> {
    let value = serde_json::from_str(text).map_err(|error| Refused::new(error.to_string()))?;
    T::read(value)
}
