//! A simulated path for packets that come from elsewhere, such as a test of a distributed system (docs/embed.md), real
//! stacks, or the devices of `longpipe live`. The path reads no clock: its user passes the time.
//!
//! ```text
//! enter(packet at a time) ─▶ Path (links, queues, losses, moving paths) ─▶ advance_to(time): deliveries and losses
//! ```
//!
//! A path knows the lengths of packets, not their contents; [`store::Store`] keeps these by number.

pub mod c;
pub mod path;
pub mod store;

pub use longpipe_events::Time;
pub use longpipe_network::{Fate, Outcome, Scenario, ScenarioError};
pub use path::{Arrival, Counts, Path};
