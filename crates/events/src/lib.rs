//! Discrete events: time, units, agenda and random streams. Knows no networking.
//!
//! ```text
//! Rate ─▶ Time ─▶ Agenda (who acts next) ─▶ the simulation's loop
//! Stream (seed, purpose, entity) ─▶ random numbers that no other entity can shift
//! ```

pub mod agenda;
pub mod key;
pub mod memory;
pub mod rng;
pub mod time;
pub mod tournament;
pub mod units;

pub use agenda::Agenda;
pub use key::{Entity, Key, Order};
pub use rng::{mix, Stream};
pub use time::{MaybeTime, Span, Time, PS_PER_SECOND};
pub use tournament::Tournament;
pub use units::{Bytes, Cells, Rate};
