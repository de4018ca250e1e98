//! The transmitter of a link: one packet after the other, each for as long as its bits last.

use longpipe_events::{Rate, Span, Time, PS_PER_SECOND};

/// When packets leave: `max(free, ready) + 8·L/rate`, exactly, so that rounding never accumulates.
#[derive(Clone, Debug)]
pub struct Line {
    /// When the last packet has left, rounded down [ps].
    free: u64,
    /// What the rounding took off [1/rate ps].
    part: u64,
    /// Length of the last packet [byte].
    bytes: u32,
    /// How long it lasted: whole picoseconds and the rest [1/rate ps].
    duration: (u64, u64),
    delay: Span,
    /// [bit/s]
    rate: u64,
}

impl Line {
    /// An idle line.
    pub fn new(rate: Rate, delay: Span) -> Line {
        Line {
            free: 0,
            part: 0,
            bytes: 0,
            duration: (0, 0),
            delay,
            rate: rate.0,
        }
    }

    /// Sends a packet of `bytes` that is ready at `ready`; when its last bit has left.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u32) -> Time {
        if self.bytes != bytes {
            self.measure(bytes);
        }
        let (whole, rest) = self.duration;
        if ready.0 > self.free {
            (self.free, self.part) = (ready.0, 0);
        }
        self.free += whole;
        self.part += rest;
        // Without a branch, which no processor could predict.
        let carry = u64::from(self.part >= self.rate);
        self.part -= self.rate * carry;
        self.free += carry;
        Time(self.free)
    }

    /// Whether a packet that is ready at `ready` finds the line idle for some time, and is as long as the last one.
    #[inline(always)]
    pub fn is_like_the_last(&self, ready: Time, bytes: u32) -> bool {
        (self.free < ready.0) & (self.bytes == bytes)
    }

    /// Sends a packet that `is_like_the_last`.
    #[inline(always)]
    pub fn repeat(&mut self, ready: Time) -> Time {
        self.free = ready.0 + self.duration.0;
        self.part = self.duration.1;
        Time(self.free)
    }

    /// Remembers how long packets of `bytes` last.
    #[cold]
    fn measure(&mut self, bytes: u32) {
        let per_byte = 8 * PS_PER_SECOND;
        let rest = u64::from(bytes) * (per_byte % self.rate);
        self.duration = (
            u64::from(bytes) * (per_byte / self.rate) + rest / self.rate,
            rest % self.rate,
        );
        self.bytes = bytes;
    }

    /// When the last packet has left.
    #[inline(always)]
    pub fn free(&self) -> Time {
        Time(self.free)
    }

    /// Length of the last packet [byte], and how long it lasted, rounded down.
    pub fn latest(&self) -> (u32, Span) {
        (self.bytes, Span(self.duration.0))
    }

    /// Propagation delay.
    #[inline(always)]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Fraction of what the line could have sent by `now` that `bytes` are.
    pub fn share_used(&self, bytes: u64, now: Time) -> f64 {
        8.0 * bytes as f64 / (self.rate as f64 * now.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gap_starts_afresh_and_a_backlog_adds_up() {
        let mut line = Line::new(Rate(3_000_000), Span(0));
        // 1000 bytes at 3 Mbit/s last 2 666 666 666 2/3 ps.
        let third = |n: u64| n * 8_000_000_000 / 3;
        assert_eq!(line.send(Time(0), 1000), Time(third(1)));
        assert_eq!(line.send(Time(5), 1000), Time(third(2)));
        assert_eq!(line.send(Time(third(2)), 1000), Time(third(3)));
        assert_eq!(line.send(Time(third(3) + 9), 1000), Time(third(4) + 9));
    }

    proptest! {
        #[test]
        fn rounding_never_accumulates(rate in 1_000u64..10_000_000_000_000, lengths in prop::collection::vec(1u32..65_536, 1..100)) {
            let mut line = Line::new(Rate(rate), Span(0));
            let mut bits = 0u128;
            for bytes in lengths {
                bits += 8 * u128::from(bytes);
                let exact = bits * u128::from(PS_PER_SECOND) / u128::from(rate);
                prop_assert_eq!(u128::from(line.send(Time(0), bytes).0), exact);
            }
        }
    }
}
