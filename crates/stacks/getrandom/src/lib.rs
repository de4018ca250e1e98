//! Replacement for the crate `getrandom`, with which `rand` seeds each thread's generator.
//!
//! Within [`seeded`] and [`within`] all randomness is determined by a seed. Elsewhere, random numbers come from the
//! operating system, as with the original crate.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;

#[cfg(feature = "sys_rng")]
pub use rand_core;

/// Error: no random bytes are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the system returned no random bytes")
    }
}

impl std::error::Error for Error {}

thread_local! {
    /// State of the thread's SplitMix64, if it is seeded.
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` in a new thread whose randomness, including that of libraries' thread-local generators, is determined by
/// `seed` alone.
///
/// # Panics
/// Propagates a panic of `work`.
pub fn seeded<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        STATE.set(Some(seed));
        work()
    };
    match std::thread::scope(|scope| scope.spawn(run).join()) {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Restores the thread's state when it is dropped, even after a panic.
struct Restore(Option<u64>);

impl Drop for Restore {
    fn drop(&mut self) {
        STATE.set(self.0);
    }
}

/// Runs `work` in this thread with random numbers from `state`, which advances. Thread-local generators of libraries
/// are not seeded.
pub fn within<T>(state: &mut u64, work: impl FnOnce() -> T) -> T {
    let restore = Restore(STATE.replace(Some(*state)));
    let result = work();
    *state = STATE.get().unwrap_or(*state);
    drop(restore);
    result
}

/// Returns the next state and the next number of SplitMix64 (Steele, Lea and Flood 2014).
fn next(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, mixed ^ (mixed >> 31))
}

/// Fills a buffer with random bytes.
///
/// # Errors
/// Returns an error if the thread is not seeded and the system provides no random numbers.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    let Some(mut state) = STATE.get() else {
        let mut source = File::open("/dev/urandom").map_err(|_| Error)?;
        return source.read_exact(bytes).map_err(|_| Error);
    };
    for chunk in bytes.chunks_mut(8) {
        let number;
        (state, number) = next(state);
        chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
    }
    STATE.set(Some(state));
    Ok(())
}

/// Returns a random number.
///
/// # Errors
/// Returns an error if [`fill`] does.
pub fn u32() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    fill(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Returns a random number.
///
/// # Errors
/// Returns an error if [`fill`] does.
pub fn u64() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The system's generator, with the interface that `rand` expects.
#[cfg(feature = "sys_rng")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SysRng;

#[cfg(feature = "sys_rng")]
impl rand_core::TryRng for SysRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        fill(bytes)
    }
}

#[cfg(feature = "sys_rng")]
impl rand_core::TryCryptoRng for SysRng {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_those_of_splitmix64() {
        // The first outputs for seed 0 (Vigna's splitmix64.c).
        let found = seeded(0, || [u64(), u64()]);
        assert_eq!(found, [Ok(0xe220_a839_7b1d_cdaf), Ok(0x6e78_9e6a_a1b9_65f4)]);
    }

    #[test]
    fn a_state_continues_from_call_to_call() {
        let mut state = 0;
        let found = [within(&mut state, u64), within(&mut state, u64)];
        assert_eq!(found, seeded(0, || [u64(), u64()]));
        assert_ne!(u64(), within(&mut 0, u64));
    }

    #[test]
    fn a_thread_without_a_seed_uses_the_system_generator() {
        seeded(1, || ());
        assert_ne!(u64(), u64());
    }
}
