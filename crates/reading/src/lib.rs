//! Reads resolved scenarios in as few bytes of code as it takes, for a browser page: a text becomes a tree of values once, and
//! each part is read from that by one small function. What serde derives is many times as large, for it is compiled for each
//! way in which a format may have a part.
//!
//! A crate of its own, as a profile says of a crate, and of nothing smaller, whether it is to be small or fast.

mod parts;
mod value;

pub use longpipe_reading_derive::Read;
pub use value::{kind, one_of, Refused, Table, Value};

/// What is read from a value, as its own `serde::Deserialize` would read it.
pub trait Read: Sized {
    /// Itself from a value.
    ///
    /// # Errors
    /// What is wrong with the value, in one line.
    fn read(value: Value) -> Result<Self, Refused>;

    /// Itself where a table has no such field, if that may be.
    fn absent() -> Option<Self> {
        None
    }
}

/// What a JSON text holds.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn from_json<T: Read>(text: &str) -> Result<T, Refused> {
    let value = serde_json::from_str(text).map_err(|error| Refused::new(error.to_string()))?;
    T::read(value)
}
