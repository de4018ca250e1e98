//! Real programs through a simulated path.
//!
//! ```text
//! program ─▶ kernel ─▶ device ─▶ Live (the clock) ─▶ Path (virtual time) ─▶ Live, when it is due ─▶ device ─▶ kernel ─▶ program
//!                                  └─ record ─▶ Path again: the same decisions
//! ```
//!
//! `Path` makes all decisions and reads no clock; `Live` reads the clock and makes no decisions.

pub mod alone;
pub mod capture;
pub mod clock;
pub mod device;
pub mod headers;
mod intake;
mod joined;
pub mod lateness;
mod lead;
mod leaving;
pub mod live;
pub mod path;
pub mod record;
mod rest;
pub mod routes;
mod segments;
pub mod store;

pub use live::{Live, Said};
pub use path::{Arrival, Path};
