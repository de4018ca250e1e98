//! Bounds on times, chosen so that every time fits in 64 bits as picoseconds (213 days) without overflow checks.
//!
//! A run lasts at most 100 days. Times exceed the end of the run, or `AFTER_ANY_RUN`, by at most one of these: the
//! delays of a path (11.6 days), an RTO (1.2 days), a cycle of a VBR source (23.2 days), a jitter, an ACK delay or a
//! frame (an hour). TCP's bounds are in its own configuration. Packets in a queue that is not served before the end of
//! the run wait until `AFTER_ANY_RUN`, however long the queue is.

use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_tcp::Problem;

/// Maximum duration of a run [ps]: 100 days.
pub const MAX_DURATION: u64 = 100 * 86_400 * PS_PER_SECOND;

/// A time after the end of every run.
pub const AFTER_ANY_RUN: Time = Time(1 << 63);

/// Maximum queueing delay [ps] that cannot cause an overflow, whatever the arrival time of the packet.
pub const MAX_BACKLOG: Span = Span(5 * 86_400 * PS_PER_SECOND);

/// Maximum total delay [ps] of a path, including two cell times per link.
pub const MAX_PATH_DELAY: u64 = 1_000_000 * PS_PER_SECOND;

/// Maximum delay [ps] of a link, or jitter [ps] of a host.
pub const MAX_WAIT: u64 = 1_000 * PS_PER_SECOND;

/// Maximum mean, and maximum of a random duration, of the on or off periods of a VBR source.
pub const LONGEST_VBR_PERIOD: Span = Span(1_000_000 * PS_PER_SECOND);

/// Returns an error for the field unless its value is valid.
pub(crate) fn refuse_unless(fits: bool, field: &str, value: impl ToString, accepted: &str) -> Option<Problem> {
    (!fits).then(|| Problem::new(field, value, accepted))
}
