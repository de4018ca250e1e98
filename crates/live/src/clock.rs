//! The machine's monotonic clock, and waiting for it.

use longpipe_events::Time;
use rustix::event::{poll, PollFd, Timespec};
use rustix::time::{clock_gettime, ClockId};
use std::io;

/// Picoseconds per nanosecond.
pub const PS_PER_NS: u64 = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Time since the creation of the clock.
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
    /// Returns the current time of the simulated path.
    pub fn now(&self) -> Time {
        Time((monotonic_ns() - self.zero_ns) * PS_PER_NS)
    }
}

/// Returns the monotonic clock [ns].
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Returns the time between two times of the path [ns], rounded down.
pub fn nanoseconds(from: Time, to: Time) -> u64 {
    to.0.saturating_sub(from.0) / PS_PER_NS
}

/// Sleeps until a descriptor is readable, but for at most `longest_ns`. The kernel may wake the thread late by the
/// thread's timer slack, which is 50 µs unless the thread has real-time priority or a smaller slack.
///
/// # Errors
/// Returns an error if a descriptor is invalid.
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
