//! TCP end points without input or output: no clock, no queue, no network.
//!
//! ```text
//! application ─▶ Sender ── DataSegment ─▶ … ─▶ Receiver ── AckSegment ─▶ … ─▶ Sender
//!                  ├ recovery:   what to resend
//!                  ├ congestion: how much in flight, the only writer of the window
//!                  ├ ledger:     when what was sent, where one of the two asks for it
//!                  ├ pacer:      when the next segments may leave, where one of the two has a rate
//!                  └ timer:      when to give up
//! ```
//!
//! The caller brings the time to every call, asks `poll_transmit` for segments until there are none,
//! and comes back at `next_timeout`.

mod accurate;
pub mod config;
pub mod congestion;
pub mod flight;
mod growing_window;
pub mod journal;
pub mod ledger;
mod marks;
mod opener;
pub mod pacer;
mod problem;
pub mod ranges;
mod rare;
pub mod receiver;
pub mod recovery;
pub mod reductions;
mod scoreboard;
pub mod segment;
pub mod sender;
mod startup;
pub mod timer;
mod told;
mod variant;

pub use problem::Problem;
pub use receiver::Receiver;
pub use segment::{AckSegment, ByteCounts, DataSegment, SackBlock};
pub use sender::Sender;
