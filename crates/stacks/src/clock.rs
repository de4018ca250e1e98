//! The clock of this object, which always shows the same time: all times come from the run.
//!
//! str0m converts instants to NTP times with the system's clocks, and rustls stores the date in tickets. With real
//! clocks, rounding would differ between runs. `build.rs` makes the standard library's calls within this object use
//! this function; other calls of the process are not affected.
#![allow(unsafe_code)]

use std::ffi::c_int;

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// 9 September 2001, which is within the certificates' period of validity.
const STANDSTILL_S: i64 = 1_000_000_000;

/// Returns the same time for each clock.
#[no_mangle]
unsafe extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    // SAFETY: POSIX requires a valid pointer.
    unsafe {
        time.write(Timespec {
            seconds: STANDSTILL_S,
            nanoseconds: 0,
        });
    }
    0
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    #[test]
    fn clocks_advance_only_with_virtual_time() {
        let (instant, date) = (Instant::now(), SystemTime::now());
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((Instant::now(), SystemTime::now()), (instant, date));
    }
}
