//! Bounds on times, chosen so that every time fits in 64 bits as picoseconds (213 days) without overflow checks.
//!
//! A run lasts at most 100 days. Times exceed the end of the run, or `AFTER_ANY_RUN`, by at most one of these: the
//! delays of a path (11.6 days), an RTO (1.2 days), a cycle of a VBR source (23.2 days), a jitter, an ACK delay or a
//! frame (an hour). TCP's bounds are in its own configuration. Packets in a queue that is not served before the end of
//! the run wait until `AFTER_ANY_RUN`, however long the queue is.

use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_tcp::Problem;

/// A time after the end of every run.
pub const AFTER_ANY_RUN: Time = Time(1 << 63);

/// Maximum queueing delay [ps] that cannot cause an overflow, whatever the arrival time of the packet.
pub const MAX_BACKLOG: Span = Span(5 * 86_400 * PS_PER_SECOND);

/// Maximum total delay [ps] of a path, including two cell times per link.
pub const MAX_PATH_DELAY: u64 = 1_000_000 * PS_PER_SECOND;

/// Maximum delay [ps] of a link, or jitter [ps] of a host.
pub const MAX_WAIT: u64 = 1_000 * PS_PER_SECOND;

/// Minimum interval [ps] between updates of a policy: 10 us, because shorter intervals would dominate the run time.
pub(crate) const MIN_UPDATE: u64 = PS_PER_SECOND / 100_000;

/// Maximum [ps] of a policy's time parameters: 1000 s.
pub(crate) const MAX_TIME_PS: u64 = 1_000 * PS_PER_SECOND;

/// Returns an error for the field unless its value is valid.
pub(crate) fn refuse_unless(fits: bool, field: &str, value: impl ToString, accepted: &str) -> Option<Problem> {
    (!fits).then(|| Problem::new(field, value, accepted))
}

/// Returns an error for the field unless its value is in (0, 1].
pub(crate) fn share_problem(field: &str, share: f64) -> Option<Problem> {
    refuse_unless(share > 0.0 && share <= 1.0, field, share, "needs a number in (0, 1]")
}

/// Returns an error for the field unless its value is positive and at most 1e9.
pub(crate) fn gain_problem(field: &str, gain: f64) -> Option<Problem> {
    let fits = gain > 0.0 && gain <= 1e9;
    refuse_unless(fits, field, gain, "needs a positive number of up to 1e9")
}

/// Returns an error for the field unless its value is from 1 ps to 1000 s.
pub(crate) fn time_problem(field: &str, ps: u64) -> Option<Problem> {
    refuse_unless((1..=MAX_TIME_PS).contains(&ps), field, ps, "needs up to 1000 s, in ps")
}

/// Returns an error for the field unless its value is from 0 to 1000 s.
pub(crate) fn time_or_zero_problem(field: &str, ps: u64) -> Option<Problem> {
    refuse_unless(ps <= MAX_TIME_PS, field, ps, "needs up to 1000 s, in ps")
}

/// Returns an error for `update` unless it is from `MIN_UPDATE` to 1000 s.
pub(crate) fn update_problem(ps: u64) -> Option<Problem> {
    let fits = (MIN_UPDATE..=MAX_TIME_PS).contains(&ps);
    refuse_unless(fits, "update", ps, "needs 10 us to 1000 s, in ps")
}

/// Returns an error for `quantum` unless it is at least 64 bytes.
pub(crate) fn quantum_problem(bytes: u32) -> Option<Problem> {
    refuse_unless(bytes >= 64, "quantum", bytes, "needs at least 64 bytes")
}

/// Returns an error for `queues` unless it is from 1 to 65 536.
pub(crate) fn queues_problem(queues: u32) -> Option<Problem> {
    let fits = (1..=65_536).contains(&queues);
    refuse_unless(fits, "queues", queues, "needs 1 to 65 536 queues")
}

/// Returns an error for `threshold` unless it is a fraction of the buffer.
pub(crate) fn threshold_problem(threshold: f64) -> Option<Problem> {
    let fits = threshold > 0.0 && threshold <= 1.0;
    refuse_unless(fits, "threshold", threshold, "needs a fraction of the buffer in (0, 1]")
}

/// Returns an error for `z` unless it is positive.
pub(crate) fn z_problem(z: f64) -> Option<Problem> {
    refuse_unless(z > 0.0 && z.is_finite(), "z", z, "needs a positive number")
}

/// Returns an error for the field unless its value is a probability.
pub(crate) fn probability_problem(name: &str, value: f64) -> Option<Problem> {
    refuse_unless((0.0..=1.0).contains(&value), name, value, "needs 0 to 1")
}
