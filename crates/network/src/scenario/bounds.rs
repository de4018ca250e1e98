//! How far times may go, so that every instant fits 64 bits of picoseconds, 213 days, without a look at each sum.
//!
//! A run ends after 100 days at the latest. What is set for later than its end lies, beyond that or beyond
//! `AFTER_ANY_RUN`, by one of these at most: a path's delays (11.6 days), an RTO (1.2 days), a cycle of a VBR source
//! (23.2 days), a jitter, a delay of ACKs or a frame (an hour at most); those of TCP are in its own configuration. Who waits in a queue that will not be served by
//! the end of the run waits until `AFTER_ANY_RUN`, however long the queue.

use longpipe_events::{Span, Time, PS_PER_SECOND};

/// Later than any run lasts.
pub const AFTER_ANY_RUN: Time = Time(1 << 63);

/// A packet that waits for no longer than this to leave a line does so before then, whenever it came [ps].
pub const LONGEST_BACKLOG: Span = Span(5 * 86_400 * PS_PER_SECOND);

/// Most that the delays of a path may add up to, with two cells a link [ps].
pub const LONGEST_PATH: u64 = 1_000_000 * PS_PER_SECOND;

/// Longest delay of a link or jitter of a host [ps].
pub const LONGEST_WAIT: u64 = 1_000 * PS_PER_SECOND;
