//! TCP end points without input or output: no clock, no queue, no network.
//!
//! ```text
//! application ─▶ Sender ── DataSegment ─▶ … ─▶ Receiver ── AckSegment ─▶ … ─▶ Sender
//!                  ├ recovery:   which segments to retransmit
//!                  ├ congestion: how much data may be in flight; the only writer of cwnd
//!                  ├ retransmission_queue: send time and state of each segment, if one of these two needs them
//!                  ├ pacer:      departure time of the next segments, if pacing is on
//!                  └ timer:      RTT estimate and retransmission timeout
//! ```
//!
//! The caller passes the time with every call, calls `poll_transmit` until it returns no segment, and calls
//! `on_timeout` at `next_timeout`.

mod accurate;
mod cc_state;
pub mod config;
pub mod congestion;
pub mod flight;
mod growing_window;
mod handshake;
mod hoe;
pub mod journal;
mod marks;
mod optional_features;
pub mod pacer;
mod problem;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod reductions;
pub mod retransmission_queue;
mod scoreboard;
pub mod segment;
pub mod sender;
pub mod timer;
mod variant;

pub use problem::Problem;
pub use receiver::Receiver;
pub use segment::{AckSegment, ByteCounts, DataSegment, SackBlock};
pub use sender::Sender;
