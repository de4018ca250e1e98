//! A counter of calls to loaded code, with which a watchdog in another thread detects a call that never returns.
//!
//! A watched process runs one simulation at a time; otherwise the counter is meaningless.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);
static LOADING: AtomicBool = AtomicBool::new(false);

/// Returns whether code is being loaded, which precedes every call of a simulation.
pub fn is_loading() -> bool {
    LOADING.load(Ordering::Relaxed)
}

/// Loads code, whose initialization may call [`during`].
pub fn while_loading<T>(load: impl FnOnce() -> T) -> T {
    LOADING.store(true, Ordering::Relaxed);
    let result = load();
    LOADING.store(false, Ordering::Relaxed);
    result
}

/// Returns the counter. While a call to loaded code is in progress, it is odd and does not change.
pub fn read() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Calls loaded code.
#[inline(always)]
pub fn during<T>(call: impl FnOnce() -> T) -> T {
    // Plain stores are sufficient, because only the simulation's thread writes; an atomic addition would cost ten times
    // as much.
    let before = CALLS.load(Ordering::Relaxed);
    CALLS.store(before | 1, Ordering::Relaxed);
    let result = call();
    CALLS.store((before | 1).wrapping_add(1), Ordering::Relaxed);
    result
}
