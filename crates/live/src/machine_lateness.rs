//! Lateness caused by the machine alone: a thread only reads the clock, and naps as a thread that forwards packets
//! does.

use crate::clock::{sleep, Clock};
use crate::lateness::Histogram;
use crate::sleep_history::SleepHistory;
use longpipe_events::{Span, Time};
use std::io;

/// Interval of the simulated deadlines.
const EVERY: Span = Span(10_000_000);

/// Lateness at all deadlines so far.
#[derive(Debug)]
struct Seen {
    due: Time,
    lateness: Histogram,
}

impl Seen {
    /// Records a reading of the clock.
    fn look(&mut self, now: Time) {
        while self.due <= now {
            self.lateness.add((now - self.due).0 / 1_000);
            self.due += EVERY;
        }
    }
}

/// Measures for the duration `lasts` how late a thread detects deadlines, which occur every 10 µs. If `naps` is true,
/// the thread naps as a thread with real-time priority does.
///
/// # Errors
/// Returns an error if the thread cannot sleep.
pub fn measure(lasts: Span, naps: bool) -> io::Result<Histogram> {
    let clock = Clock::default();
    let mut seen = Seen {
        due: Time::ZERO + EVERY,
        lateness: Histogram::default(),
    };
    let mut sleep_history = SleepHistory::new(0, naps, Time::ZERO);
    loop {
        let now = clock.now();
        seen.look(now);
        if now >= Time::ZERO + lasts {
            return Ok(seen.lateness);
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
        let mut seen = Seen {
            due: Time::ZERO + EVERY,
            lateness: Histogram::default(),
        };
        let us = |number: u64| Time(number * 1_000_000);
        seen.look(us(5));
        assert_eq!(seen.lateness.total(), 0);
        // Deadlines at 10, 20, 30 and 40 µs are detected 30, 20, 10 and 0 µs late.
        seen.look(us(40));
        assert_eq!((seen.lateness.total(), seen.lateness.worst()), (4, 30_000));
        assert!((10_000..=10_200).contains(&seen.lateness.quantile(0.5).expect("four")));
        seen.look(us(49));
        assert_eq!(seen.lateness.total(), 4);
    }

    #[test]
    fn a_deadline_occurs_every_10_us() {
        let found = measure(Span(20_000_000_000), true).expect("a clock");
        assert!(found.total() >= 2_000);
    }
}
