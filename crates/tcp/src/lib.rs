//! TCP end points without input or output: no clock, no queue, no network.
//!
//! ```text
//! application ─▶ Sender ── DataSegment ─▶ … ─▶ Receiver ── AckSegment ─▶ … ─▶ Sender
//!                  ├ recovery:   what to resend       (Vanilla, Tahoe, Reno, NewReno, SACK)
//!                  ├ congestion: how much in flight   (AIMD)
//!                  └ timer:      when to give up      (BSD's ticks, RFC 6298)
//! ```
//!
//! The caller brings the time to every call, asks `poll_transmit` for segments until there are none,
//! and comes back at `next_timeout`.

pub mod config;
pub mod congestion;
pub mod flight;
mod ranges;
mod rare;
pub mod receiver;
pub mod recovery;
mod scoreboard;
pub mod segment;
pub mod sender;
mod startup;
pub mod timer;

pub use receiver::Receiver;
pub use segment::{AckSegment, DataSegment, SackBlock};
pub use sender::Sender;
