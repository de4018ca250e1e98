//! TCP end points without input or output: no clock, no queue, no network.
//!
//! ```text
//! application ─▶ Sender ── DataSegment ─▶ … ─▶ Receiver ── AckSegment ─▶ … ─▶ Sender
//!                  ├ recovery:   which segments to retransmit
//!                  ├ congestion: how much data may be in flight; the only writer of cwnd
//!                  ├ retransmission_queue: send time and state of each segment, if one of these two needs them
//!                  └ journal:    events with their causes, for observers
//! ```
//!
//! The caller passes the time with every call, calls `poll_transmit` until it returns no segment, and calls
//! `on_timeout` at `next_timeout`.

extern crate self as longpipe_tcp;

mod accurate_ecn;
pub mod config;
pub mod congestion;
pub mod described;
pub mod journal;
mod problem;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod retransmission_queue;
pub mod segment;
pub mod sender;
mod variant;

pub use problem::Problem;
pub use receiver::Receiver;
pub use segment::{AckSegment, ByteCounts, DataSegment, SackBlock};
pub use sender::Sender;
pub use variant::{Facts, MarkFeedback};
