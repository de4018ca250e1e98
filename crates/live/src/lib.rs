//! Real programs through a simulated path.
//!
//! ```text
//! program ─▶ kernel ─▶ device ─▶ Live (the clock) ─▶ Path (virtual time) ─▶ Live, when it is due ─▶ device ─▶ kernel ─▶ program
//!                                  └─ record ─▶ Path again: the same decisions
//! ```
//!
//! `Path` makes all decisions and reads no clock; `Live` reads the clock and makes no decisions.

pub mod capture;
pub mod clock;
pub mod connections;
pub mod device;
mod due_queue;
pub mod headers;
mod intake;
mod joined;
pub mod lateness;
mod lead;
pub mod live;
pub mod machine_lateness;
pub mod record;
pub mod routes;
mod segments;
mod sleep_history;
pub mod status;

pub use live::Live;
pub use longpipe_path::{path, store};
pub use path::{Arrival, Path};
pub use status::LiveStatus;
