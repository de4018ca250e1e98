//! Pacing as in Linux's tcp_output.c: segments are sent at a rate instead of when ACKs arrive. The segments sent at one
//! time form a quantum; the next quantum is sent after the time that it takes to send the current one at the pacing
//! rate.

use crate::congestion::control::Pacing;
use crate::congestion::pacing::PS_TIMES_BITS;
use longpipe_events::{MaybeTime, Span, Time};

/// Delays segments to keep the pacing rate.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Earliest departure of the next quantum.
    next: Time,
    /// Departure time of the latest quantum, and number of its bytes that have not been sent yet.
    began: Time,
    left: u64,
    /// Upper limit of a quantum [byte].
    max_quantum: u64,
    /// Time by which the latest quantum left later than `next` [ps]; the following waits are shortened by it.
    lateness: f64,
    /// Number of segments at the start of the connection that may still be sent unpaced.
    unpaced: u32,
    /// Time at which the waiting segment may leave; None if no segment is waiting.
    resume: MaybeTime,
}

/// Number of segments that are sent unpaced at the start of a connection (Linux).
const UNPACED_SEGMENTS: u32 = 10;
impl Pacer {
    /// Returns a pacer for a new connection whose quantum is at most `max_quantum` bytes.
    pub fn new(max_quantum: u64) -> Pacer {
        Pacer {
            next: Time::ZERO,
            began: Time::ZERO,
            left: 0,
            max_quantum,
            lateness: 0.0,
            unpaced: UNPACED_SEGMENTS,
            resume: MaybeTime::NONE,
        }
    }

    /// Returns whether a segment of `length` bytes has to wait; if so, `resume` contains the end of the wait.
    #[inline]
    pub fn must_wait(&mut self, now: Time, length: u64) -> bool {
        let may_leave = now >= self.next || (now == self.began && length <= self.left);
        if !may_leave {
            self.resume = self.next.into();
        }
        !may_leave
    }

    /// Returns the time from `now` to the departure of the next quantum.
    #[inline]
    pub fn delay(&self, now: Time) -> Span {
        Span(self.next.0.saturating_sub(now.0))
    }

    /// Returns whether a segment is waiting; a shorter segment must not overtake it.
    #[inline]
    pub fn waits(&self, now: Time) -> bool {
        self.resume != MaybeTime::NONE && now < self.next && now != self.began
    }

    /// Records that a segment of `length` bytes leaves.
    #[inline]
    pub fn on_sent(&mut self, now: Time, length: u64, pacing: Option<Pacing>) {
        self.resume = MaybeTime::NONE;
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let Some(pacing) = pacing.filter(|pacing| pacing.rate_bps > 0) else {
            return;
        };
        if now >= self.next {
            self.lateness = (now - self.next).0 as i64 as f64;
            let quantum = u64::from(pacing.quantum_bytes).min(self.max_quantum);
            (self.next, self.began, self.left) = (now, now, quantum);
        }
        // These numbers are below 2^63, and conversions of signed integers take fewer instructions.
        let duration = length as i64 as f64 * PS_TIMES_BITS / pacing.rate_bps as f64;
        let catch_up = self.lateness.min(duration / 2.0);
        self.lateness -= catch_up;
        self.next = Time(self.next.0.saturating_add((duration - catch_up) as i64 as u64));
        self.left = self.left.saturating_sub(length);
    }

    /// Returns the time at which the waiting segment may leave.
    #[inline]
    pub fn resume(&self) -> MaybeTime {
        self.resume
    }

    /// Ends the wait of a segment if its departure time has come.
    pub fn on_timeout(&mut self, now: Time) {
        if self.resume <= now.into() {
            self.resume = MaybeTime::NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const RATE: Pacing = Pacing {
        rate_bps: 8_000_000,
        quantum_bytes: 2000,
    };

    fn warm(max_quantum: u64) -> Pacer {
        let mut pacer = Pacer::new(max_quantum);
        for _ in 0..UNPACED_SEGMENTS {
            pacer.on_sent(Time::ZERO, 1000, Some(RATE));
        }
        pacer
    }

    /// Returns the departure times [ms] of `count` 1000-byte segments that are all ready at time 0.
    fn instants(mut pacer: Pacer, count: usize) -> Vec<u64> {
        let mut now = Time::ZERO;
        let mut left = vec![];
        while left.len() < count {
            if pacer.must_wait(now, 1000) {
                now = pacer.resume().get().expect("it tells when");
                pacer.on_timeout(now);
            } else {
                pacer.on_sent(now, 1000, Some(RATE));
                left.push(now.0 / Span::millis(1).0);
            }
        }
        left
    }

    #[test]
    fn the_segments_of_a_quantum_are_sent_together_and_the_next_quantum_waits() {
        assert_eq!(instants(warm(u64::MAX), 6), [0, 0, 2, 2, 4, 4]);
        assert_eq!(instants(warm(1000), 6), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_late_segment_shortens_later_gaps_by_at_most_half() {
        let mut pacer = warm(u64::MAX);
        pacer.on_sent(Time::ZERO, 1000, Some(RATE));
        assert!(pacer.must_wait(Time(1), 2000));
        assert_eq!(pacer.delay(Time(1)), Span(Span::millis(1).0 - 1));
        let late = Time(Span::micros(1200).0);
        assert_eq!(pacer.delay(late), Span(0));
        assert!(!pacer.must_wait(late, 1000));
        pacer.on_sent(late, 1000, Some(RATE));
        assert_eq!(pacer.next, Time(Span::millis(2).0));
        let later = Time(Span::millis(100).0);
        pacer.on_sent(later, 1000, Some(RATE));
        assert_eq!(pacer.next, later + Span::micros(500));
    }

    #[test]
    fn the_first_ten_segments_and_segments_without_a_rate_are_not_paced() {
        let mut pacer = Pacer::new(u64::MAX);
        for _ in 0..UNPACED_SEGMENTS {
            assert!(!pacer.must_wait(Time::ZERO, 1000));
            pacer.on_sent(Time::ZERO, 1000, Some(RATE));
        }
        for _ in 0..5 {
            assert!(!pacer.must_wait(Time::ZERO, 1000));
            pacer.on_sent(Time::ZERO, 1000, None);
        }
    }
}
