//! Pacing as in Linux's tcp_output.c: segments are sent at a rate instead of when ACKs arrive. The segments sent at one
//! time form a quantum; the next quantum is sent after the time that it takes to send the current one at the pacing
//! rate.

use crate::congestion::control::Pacing;
use crate::flight::Flight;
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
/// The pacing rate is cwnd/srtt times SLOW_START_FACTOR while cwnd < ssthresh/2, and times AVOIDANCE_FACTOR otherwise
/// (Linux).
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;
/// A quantum is the data sent in 1/1024 s at the pacing rate (sk_pacing_shift). On paths with a short RTT it also
/// includes a share of the largest burst; this share is halved for each 512 µs of the RTT (tcp_tso_rtt_log).
const QUANTA_PER_SECOND: u64 = 1024;
const BURST_SHARE_HALF_LIFE: Span = Span::micros(512);
/// Largest burst of segments [byte].
const MAX_BURST_BYTES: u64 = 65_536;
/// Conversion factor: number of bits per byte times number of picoseconds per second.
const PS_TIMES_BITS: f64 = 8e12;

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
            self.lateness = (now - self.next).0 as f64;
            let quantum = u64::from(pacing.quantum_bytes).min(self.max_quantum);
            (self.next, self.began, self.left) = (now, now, quantum);
        }
        let duration = length as f64 * PS_TIMES_BITS / pacing.rate_bps as f64;
        let catch_up = self.lateness.min(duration / 2.0);
        self.lateness -= catch_up;
        self.next = Time(self.next.0.saturating_add((duration - catch_up) as u64));
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

/// Returns the pacing rate for a congestion controller that sets none: cwnd/srtt, multiplied by a factor above 1.
pub fn by_window(flight: &Flight, srtt: Option<Span>, least_rtt: Option<Span>) -> Option<Pacing> {
    let ratio = if flight.cwnd() < flight.ssthresh() / 2.0 {
        SLOW_START_FACTOR
    } else {
        AVOIDANCE_FACTOR
    };
    let window = flight.cwnd().max(flight.outstanding() as f64);
    let rate = ratio * window * PS_TIMES_BITS / srtt?.0 as f64;
    Some(at_rate(rate, 2, least_rtt, flight))
}

/// Returns the parameters for pacing at `rate_bps` [bit/s] with a quantum of at least `least_segments` segments.
pub fn at_rate(rate_bps: f64, least_segments: u64, least_rtt: Option<Span>, flight: &Flight) -> Pacing {
    let rate_bps = rate_bps as u64;
    let halved = least_rtt
        .map_or(u64::MAX, |rtt| rtt.0 / BURST_SHARE_HALF_LIFE.0)
        .min(u64::from(u64::BITS) - 1);
    let bytes = (rate_bps / 8 / QUANTA_PER_SECOND).saturating_add(MAX_BURST_BYTES >> halved);
    Pacing {
        rate_bps,
        quantum_bytes: quantum(bytes, least_segments, flight),
    }
}

/// Returns a quantum of `bytes` [byte], rounded to whole segments; at least `least_segments`.
fn quantum(bytes: u64, least_segments: u64, flight: &Flight) -> u32 {
    let mss = u64::from(flight.mss);
    ((bytes.min(MAX_BURST_BYTES) / mss).max(least_segments) * mss) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::limits::Limits;

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

    #[test]
    fn the_rate_is_twice_cwnd_per_srtt_below_half_of_ssthresh_and_six_fifths_above() {
        let rate = |cwnd, ssthresh| {
            let flight = Flight::new(Limits::new(cwnd, ssthresh), 1 << 30, 1000);
            by_window(&flight, Some(Span::millis(100)), None).expect("a round trip is known")
        };
        assert_eq!(rate(10_000.0, f64::INFINITY).rate_bps, 1_600_000);
        assert_eq!(rate(10_000.0, 20_000.0).rate_bps, 960_000);
        assert_eq!(rate(10_000.0, 20_000.0).quantum_bytes, 2000);
        let fast = rate(125e6, 1.0);
        assert_eq!((fast.rate_bps, fast.quantum_bytes), (12_000_000_000, 65_000));
    }

    #[test]
    fn on_a_short_path_the_quantum_is_larger() {
        let flight = Flight::new(Limits::new(1e4, 1e4), 1 << 30, 1000);
        let quantum = |micros| at_rate(1e6, 2, Some(Span::micros(micros)), &flight).quantum_bytes;
        assert_eq!([100, 600, 1100, 10_000].map(quantum), [65_000, 32_000, 16_000, 2_000]);
    }
}
