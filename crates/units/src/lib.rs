//! Quantities as texts ("155.52 Mbit/s", "5 ms", "64 KiB") and as integers in base units, as the core uses them.
//!
//! A quantity is a number and a unit. A number without a unit is rejected, because 1000 may be cells or bytes. Arithmetic
//! is exact: a quantity that is not an integer number of base units, apart from the error of a float, is also rejected.
//! Descriptions of fields (`crates/describe`), the resolver (`crates/scenario`), Python and the lab's page read quantities
//! with this crate.

mod bounded;
mod decimal;
mod dimension;
mod shown;

pub use bounded::{buffer, Bounded, MAX_BUFFER_BYTES, MAX_BUFFER_PS, MAX_CELLS};
pub use decimal::Decimal;
pub use dimension::{
    scale, Dimension, Quantity, BUFFER, DIMENSIONS, RATE, SEGMENTS, SHARE, SIZE, SYMBOLS, TICKS, TIME, UNLIMITED,
};
pub use ethnum::U256;
pub use shown::{repr, repr_of_float, shortened};
