//! The clock and the random numbers of this object: those of the end that the thread works for.
//!
//! quiche reads the system's clock, and takes its random numbers from BoringSSL's `RAND_bytes`. Within this object, both
//! names are the functions below.

use longpipe_end::adapter::SplitMix64;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Time zero of a run: 9 September 2001, which is within the certificate's period of validity.
const ZERO_S: i64 = 1_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;

thread_local! {
    /// Time of the run [ns].
    static NOW: Cell<u64> = const { Cell::new(0) };
    static RANDOM: Cell<SplitMix64> = const { Cell::new(SplitMix64(0)) };
}

/// Runs `work` at a time of the run [ns], with random numbers from a generator, which advances.
pub fn at<T>(now: u64, random: &mut SplitMix64, work: impl FnOnce() -> T) -> T {
    NOW.set(now);
    RANDOM.set(*random);
    let result = work();
    *random = RANDOM.get();
    result
}

/// Fills a buffer with random bytes.
pub fn fill(bytes: &mut [u8]) {
    let mut random = RANDOM.get();
    random.fill(bytes);
    RANDOM.set(random);
}

#[no_mangle]
unsafe extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    let now = NOW.get();
    // SAFETY: POSIX requires a valid pointer.
    unsafe {
        time.write(Timespec {
            seconds: ZERO_S + (now / NS_PER_S) as i64,
            nanoseconds: (now % NS_PER_S) as i64,
        });
    }
    0
}

/// Returns 1, as BoringSSL's function of this name always does.
#[no_mangle]
unsafe extern "C" fn RAND_bytes(to: *mut u8, bytes: usize) -> c_int {
    // SAFETY: the caller passes a buffer of this length.
    fill(unsafe { std::slice::from_raw_parts_mut(to, bytes) });
    1
}

/// The function with which the standard library seeds its hash maps, once per thread. The bytes are constant, because
/// those of the end's generator would be missing in the first run of a thread alone.
#[no_mangle]
unsafe extern "C" fn getrandom(to: *mut c_void, bytes: usize, _flags: c_uint) -> isize {
    // SAFETY: the caller passes a buffer of this length.
    unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes) }.fill(0);
    bytes as isize
}
