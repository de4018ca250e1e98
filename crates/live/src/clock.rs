//! The machine's monotonic clock, and waiting for it.

use longpipe_events::Time;
use rustix::event::{poll, PollFd, Timespec};
use rustix::time::{clock_gettime, ClockId};
use std::io;

/// Picoseconds of one nanosecond.
pub const PS_PER_NS: u64 = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero_ns: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock {
            zero_ns: monotonic_ns(),
        }
    }
}

impl Clock {
    /// What time it is on the path.
    pub fn now(&self) -> Time {
        Time((monotonic_ns() - self.zero_ns) * PS_PER_NS)
    }
}

/// The monotonic clock [ns].
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// A span of the path, rounded down [ns].
pub fn nanoseconds(from: Time, to: Time) -> u64 {
    to.0.saturating_sub(from.0) / PS_PER_NS
}

/// Sleeps until something can be read, or for so long; the kernel's timers have the thread's slack, 50 µs unless it is of real-time
/// priority or has asked for less.
///
/// # Errors
/// The descriptors are no longer good.
pub fn sleep(descriptors: &mut [PollFd<'_>], longest_ns: u64) -> io::Result<usize> {
    let timeout = Timespec {
        tv_sec: (longest_ns / NS_PER_S) as i64,
        tv_nsec: (longest_ns % NS_PER_S) as _,
    };
    match poll(descriptors, Some(&timeout)) {
        Ok(ready) => Ok(ready),
        Err(rustix::io::Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
