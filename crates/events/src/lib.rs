//! Discrete-event simulation: time, units, event queue, ring buffers, memory limit and random streams. The crate is
//! independent of networking.
//!
//! ```text
//! Rate ─▶ Time ─▶ EventQueue (next event of any entity) ─▶ the simulation's loop
//! Stream (seed, purpose, entity) ─▶ random numbers that do not depend on other entities
//! ```

pub mod event_queue;
pub mod key;
pub mod memory;
pub mod ring;
pub mod rng;
pub mod time;
pub mod tournament;
pub mod units;

pub use event_queue::EventQueue;
pub use key::{Entity, Key, Order};
pub use ring::Ring;
pub use rng::{mix, Stream};
pub use time::{MaybeTime, Span, Time, PS_PER_NS, PS_PER_SECOND};
pub use tournament::Tournament;
pub use units::{Bytes, Cells, Rate};
