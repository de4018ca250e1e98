//! Lateness caused by the machine alone, measured by a thread that only reads the clock, and naps as a thread that
//! forwards packets does.

use crate::clock::{sleep, Clock};
use crate::lateness::Histogram;
use crate::sleep_history::SleepHistory;
use longpipe_events::{Span, Time};
use std::io;

/// Interval of the simulated deadlines: 10 µs.
const DEADLINE_INTERVAL: Span = Span(10_000_000);

/// Lateness at all deadlines so far.
#[derive(Debug)]
struct DeadlineLateness {
    next_deadline: Time,
    /// In nanoseconds.
    lateness: Histogram,
}

impl DeadlineLateness {
    fn new() -> DeadlineLateness {
        DeadlineLateness {
            next_deadline: Time::ZERO + DEADLINE_INTERVAL,
            lateness: Histogram::default(),
        }
    }

    /// Records the lateness of all deadlines up to `now`, the time that the thread read from the clock.
    fn record_reading(&mut self, now: Time) {
        while self.next_deadline <= now {
            self.lateness.add((now - self.next_deadline).0 / 1_000);
            self.next_deadline += DEADLINE_INTERVAL;
        }
    }
}

/// Measures for the duration `duration` how late a thread detects deadlines, which occur every 10 µs. If `naps` is true,
/// the thread naps as a thread with real-time priority does.
///
/// # Errors
/// Returns an error if the thread cannot sleep.
pub fn measure(duration: Span, naps: bool) -> io::Result<Histogram> {
    let clock = Clock::default();
    let mut deadlines = DeadlineLateness::new();
    let mut sleep_history = SleepHistory::new(0, naps, Time::ZERO);
    loop {
        let now = clock.now();
        deadlines.record_reading(now);
        if now >= Time::ZERO + duration {
            return Ok(deadlines.lateness);
        }
        if let Some(nap) = sleep_history.nap_ns(now) {
            sleep(&mut [], nap)?;
            sleep_history.record(now, clock.now(), Some(nap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deadline_is_late_by_the_time_until_the_next_reading() {
        let mut deadlines = DeadlineLateness::new();
        let us = |number: u64| Time(number * 1_000_000);
        deadlines.record_reading(us(5));
        assert_eq!(deadlines.lateness.total(), 0);
        // Deadlines at 10, 20, 30 and 40 µs are detected 30, 20, 10 and 0 µs late.
        deadlines.record_reading(us(40));
        assert_eq!((deadlines.lateness.total(), deadlines.lateness.worst()), (4, 30_000));
        assert!((10_000..=10_200).contains(&deadlines.lateness.quantile(0.5).expect("four")));
        deadlines.record_reading(us(49));
        assert_eq!(deadlines.lateness.total(), 4);
    }

    #[test]
    fn a_deadline_occurs_every_10_us() {
        let lateness = measure(Span(20_000_000_000), true).expect("a clock");
        assert!(lateness.total() >= 2_000);
    }
}
