//! Times and sizes of an application's datagrams, or of its writes into a TCP socket.
//!
//! Random numbers come from the flow's own stream, so two networks with the same seed have equal applications. All
//! operations give bit-identical results, so times are equal on all machines.

use crate::packets::contents::DATAGRAM_HEADER_BYTES;
use longpipe_events::{Span, Stream, Time, PS_PER_SECOND};
use std::fmt::Debug;

/// Maximum payload [byte] of an IP packet; it also limits a TCP segment.
pub(super) const MAX_PAYLOAD: u32 = 65_000;
/// Number of bits of the exponent that `power` uses; this is more than an f64 has.
const POWER_BITS: u32 = 60;

/// Pattern of an application's datagrams or writes.
pub trait Pattern: Debug + Send {
    /// Returns the next datagram or write: its time [ps] after the start, and its length [byte]; None after the last one.
    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)>;
}

/// Schedule of an application's datagrams or writes.
#[derive(Debug)]
pub struct Schedule {
    pattern: Box<dyn Pattern>,
    stream: Stream,
    next: Option<(u64, u32)>,
}

impl Schedule {
    /// Creates the schedule of a pattern that draws its random numbers from a stream.
    pub fn new(mut pattern: impl Pattern + 'static, mut stream: Stream) -> Schedule {
        Schedule {
            next: pattern.next(&mut stream),
            pattern: Box::new(pattern),
            stream,
        }
    }

    /// Returns the time and length [byte] of the next datagram or write of an application that started at `start`;
    /// None after the last datagram or write.
    pub fn due(&self, start: Time) -> Option<(Time, u32)> {
        let (after, length) = self.next?;
        Some((Time(start.0.checked_add(after)?), length))
    }

    /// Advances to the next datagram or write.
    pub fn step(&mut self) {
        self.next = self.pattern.next(&mut self.stream);
    }
}

/// Fixed-length datagrams or writes at a constant rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Even {
    rate_bps: u64,
    /// Length of each datagram or write [byte].
    pub length: u32,
    /// Bytes of each datagram or write that count towards the rate; for datagrams, they include the headers.
    counted: u32,
}

impl Even {
    pub fn of_datagrams(rate_bps: u64, payload: u32) -> Even {
        Even {
            rate_bps,
            length: payload,
            counted: payload.saturating_add(DATAGRAM_HEADER_BYTES),
        }
    }

    pub fn of_writes(rate_bps: u64, length: u32) -> Even {
        Even {
            rate_bps,
            length,
            counted: length,
        }
    }

    /// Returns the time [ps] from the first datagram or write to that with number `count`.
    pub fn at(self, count: u64) -> u64 {
        let bits = 8 * u128::from(self.counted) * u128::from(count);
        (bits * u128::from(PS_PER_SECOND) / u128::from(self.rate_bps)).min(u128::from(u64::MAX)) as u64
    }

    /// Returns the time between datagrams or writes.
    pub fn interval(self) -> Span {
        Span(self.at(1))
    }
}

/// Draws from a Pareto distribution, and rounds down.
pub(super) fn pareto(mean: f64, shape: f64, stream: &mut Stream) -> u64 {
    // The value drawn is the minimum times u^(-1/shape), with u in (0, 1].
    let min = mean * ((shape - 1.0) / shape);
    (min / power(1.0 - stream.fraction(), 1.0 / shape)) as u64
}

/// Raises `base` to an exponent in [0, 1) by square roots alone, because IEEE 754 requires their rounding to be the
/// same on all machines.
fn power(base: f64, exponent: f64) -> f64 {
    let mut bits = (exponent * (1u64 << POWER_BITS) as f64) as u64;
    let (mut root, mut product) = (base, 1.0);
    for _ in 0..POWER_BITS {
        root = root.sqrt();
        bits <<= 1;
        if bits >> POWER_BITS & 1 == 1 {
            product *= root;
        }
    }
    product
}

/// Returns the times [ps] and lengths [byte] of the first datagrams or writes.
#[cfg(test)]
pub(super) fn first(schedule: impl Fn(Stream) -> Schedule, count: usize) -> Vec<(u64, u32)> {
    let mut schedule = schedule(Stream::new(1, "test", 0));
    let mut next = || {
        let due = schedule.due(Time(0)).map(|(at, bytes)| (at.0, bytes));
        schedule.step();
        due
    };
    (0..count).map_while(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_computed_from_roots() {
        for (base, exponent) in [(0.5, 0.5), (0.001, 2.0 / 3.0), (0.9, 0.01), (1e-9, 0.95), (1.0, 0.3)] {
            let (found, expected) = (power(base, exponent), f64::powf(base, exponent));
            assert!(
                (found / expected - 1.0).abs() < 1e-13,
                "{base}^{exponent}: {found} {expected}"
            );
        }
    }
}
