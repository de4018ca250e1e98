//! A count of calls of loaded code, by which a watchdog in another thread sees one that never returns.
//!
//! A process that is watched runs one simulation at a time; the count means nothing otherwise.

use std::sync::atomic::{AtomicU64, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Returns a number that is odd, and stays as it is, while one call of loaded code is in progress.
pub fn read() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Calls loaded code.
#[inline(always)]
pub(crate) fn during<T>(call: impl FnOnce() -> T) -> T {
    // Plain stores, because only the thread of the simulation writes: an atomic addition would cost ten times as much.
    let before = CALLS.load(Ordering::Relaxed);
    CALLS.store(before | 1, Ordering::Relaxed);
    let result = call();
    CALLS.store((before | 1).wrapping_add(1), Ordering::Relaxed);
    result
}
