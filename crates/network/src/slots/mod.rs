//! Slots of synchronous links, and sums over them.

mod divisor;
mod grid;
mod sums;

pub use grid::{SlotCursor, SlotGrid};
pub use sums::{GridSums, StartSum};
