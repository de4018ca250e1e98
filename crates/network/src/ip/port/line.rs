//! The transmitter of a link: one packet after the other, each for as long as its bits last.

use crate::scenario::bounds::{AFTER_ANY_RUN, LONGEST_BACKLOG};
use longpipe_events::{Rate, Span, Time, PS_PER_SECOND};

/// What happens to a packet at the end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It may meet the packets of other wires, at a port of a router.
    Shared,
    /// The same, and packets of its own wire may overtake it.
    Unordered,
    /// It goes on through a router without meeting others.
    Through,
    /// It is at its host.
    Host,
    /// One of these, if it arrives whole, which is known then.
    Uncertain,
}

/// Whether an idle line may send a packet as it sent the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Somebody has to be asked each time.
    Never,
    /// Nothing but the line decides about its packets.
    Always,
    /// While whoever decides lets it.
    WhenLet,
}

/// When packets leave: `max(free, ready) + 8·L/rate`, exactly, so that rounding never accumulates. One line of cache
/// holds all that a packet touches where it need not wait.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Line {
    /// When the last packet has left, rounded down [ps].
    free: u64,
    /// What the rounding took off [1/rate ps].
    part: u64,
    /// How long the last packet lasted: whole picoseconds and the rest [1/rate ps].
    duration: (u64, u64),
    delay: Span,
    /// Packets sent by `repeat` since this was last asked.
    repeated: u64,
    /// What is at its end gets packets at once up to this instant; a host never while others wait for the event of their arrival.
    pub quiet_until: Time,
    /// Length of the last packet [byte].
    bytes: u16,
    /// The same where such a packet may be sent by `repeat`, else 0.
    repeatable: u16,
    /// Whether any may.
    repeats: Repeats,
    /// Whether each packet's departure is kept from passing `AFTER_ANY_RUN`.
    bounded: bool,
    /// What happens at its end.
    pub end: End,
}

impl Line {
    /// An idle line.
    pub fn new(delay: Span, end: End, repeats: Repeats) -> Line {
        Line {
            free: 0,
            part: 0,
            duration: (0, 0),
            delay,
            repeated: 0,
            quiet_until: Time::ZERO,
            bytes: 0,
            repeatable: 0,
            repeats,
            bounded: false,
            end,
        }
    }

    /// Sends a packet of `bytes` that is ready at `ready`; when its last bit has left.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u16, rate: Rate) -> Time {
        if self.bytes != bytes {
            self.measure(ready, bytes, rate);
        }
        let (whole, rest) = self.duration;
        if ready.0 > self.free {
            (self.free, self.part) = (ready.0, 0);
        }
        self.free += whole;
        self.part += rest;
        // Without a branch, which no processor could predict.
        let carry = u64::from(self.part >= rate.0);
        self.part -= rate.0 * carry;
        self.free += carry;
        Time(self.free)
    }

    /// More may wait for the line at `ready` than ever before; if for so long that times might not fit their bits, each packet is
    /// looked at from now on that they do.
    #[inline(always)]
    pub fn check_backlog(&mut self, ready: Time) {
        if self.free.saturating_sub(ready.0) > LONGEST_BACKLOG.0 {
            self.bound_departures();
        }
    }

    #[cold]
    fn bound_departures(&mut self) {
        debug_assert_eq!(self.repeated, 0);
        // No packet is as long as that, so that each is measured.
        (self.bounded, self.bytes, self.repeatable) = (true, 0, 0);
    }

    /// Whether `repeat` may send a packet: it finds the line idle for some time, and is as long as the last one.
    #[inline(always)]
    pub fn may_repeat(&self, ready: Time, bytes: u16) -> bool {
        (self.free < ready.0) & (self.repeatable == bytes)
    }

    /// Sends such a packet.
    #[inline(always)]
    pub fn repeat(&mut self, ready: Time) -> Time {
        self.repeated += 1;
        self.free = ready.0 + self.duration.0;
        self.part = self.duration.1;
        Time(self.free)
    }

    /// Packets sent by `repeat` since this was last asked; length [byte] and time [ps] of each.
    pub fn take_repeated(&mut self) -> (u64, u64, u64) {
        (
            std::mem::take(&mut self.repeated),
            u64::from(self.bytes),
            self.duration.0,
        )
    }

    /// Whether there are any.
    #[inline(always)]
    pub fn has_repeated(&self) -> bool {
        self.repeated > 0
    }

    /// Remembers how long packets of `bytes` last.
    #[cold]
    fn measure(&mut self, ready: Time, bytes: u16, rate: Rate) {
        debug_assert_eq!(self.repeated, 0);
        let per_byte = 8 * PS_PER_SECOND;
        let rest = u64::from(bytes) * (per_byte % rate.0);
        self.duration = (u64::from(bytes) * (per_byte / rate.0) + rest / rate.0, rest % rate.0);
        if self.bounded {
            // What has not left by then never does: how long after the run makes no difference.
            let left = AFTER_ANY_RUN.0.saturating_sub(self.free.max(ready.0));
            self.duration.0 = self.duration.0.min(left);
            return;
        }
        self.bytes = bytes;
        self.repeatable = if self.repeats == Repeats::Always { bytes } else { 0 };
    }

    /// Makes an idle line begin at `now`, without what the last departure was rounded by.
    #[inline(always)]
    pub fn restart(&mut self, now: Time) {
        (self.free, self.part) = (now.0, 0);
    }

    /// From now on packets as long as the last one may be sent by `repeat`, or no longer, for all that others decide.
    #[inline(always)]
    pub fn let_repeat(&mut self, may: bool) {
        // Where each packet is measured there is no such length.
        self.repeatable = if may & (self.repeats == Repeats::WhenLet) {
            self.bytes
        } else {
            0
        };
    }

    /// When the last packet has left.
    #[inline(always)]
    pub fn free(&self) -> Time {
        Time(self.free)
    }

    /// Propagation delay, of the last packet where it moves.
    #[inline(always)]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// The last packet takes this long.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }
}

/// Fraction of what a line of this rate could have sent by `now` that `bytes` are; a departure's fraction of a picosecond
/// makes no more than all of it.
pub fn share_used(rate: Rate, bytes: u64, now: Time) -> f64 {
    (8.0 * bytes as f64 / (rate.0 as f64 * now.as_seconds())).min(1.0)
}

/// Whether a line of this rate can have sent so many bytes by `now`: within the picosecond that departures are rounded by.
pub fn can_have_sent(rate: Rate, bytes: u64, now: Time) -> bool {
    8 * u128::from(bytes) * u128::from(PS_PER_SECOND) < u128::from(rate.0) * (u128::from(now.0) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line() -> Line {
        Line::new(Span(0), End::Host, Repeats::Always)
    }

    #[test]
    fn a_gap_starts_afresh_and_a_backlog_adds_up() {
        let (mut line, rate) = (line(), Rate(3_000_000));
        // 1000 bytes at 3 Mbit/s last 2 666 666 666 2/3 ps.
        let third = |n: u64| n * 8_000_000_000 / 3;
        assert_eq!(line.send(Time(0), 1000, rate), Time(third(1)));
        assert_eq!(line.send(Time(5), 1000, rate), Time(third(2)));
        assert_eq!(line.send(Time(third(2)), 1000, rate), Time(third(3)));
        assert_eq!(line.send(Time(third(3) + 9), 1000, rate), Time(third(4) + 9));
    }

    #[test]
    fn a_line_takes_one_line_of_cache() {
        assert_eq!(size_of::<Line>(), 64);
    }

    proptest! {
        #[test]
        fn rounding_never_accumulates(rate in 1_000u64..10_000_000_000_000, lengths in prop::collection::vec(1u16.., 1..100)) {
            let mut line = line();
            let mut bits = 0u128;
            for bytes in lengths {
                bits += 8 * u128::from(bytes);
                let exact = bits * u128::from(PS_PER_SECOND) / u128::from(rate);
                prop_assert_eq!(u128::from(line.send(Time(0), bytes, Rate(rate)).0), exact);
            }
        }

        #[test]
        fn repeating_is_sending(rate in 1_000u64..10_000_000_000_000, bytes in 1u16.., gaps in prop::collection::vec(0u64..10_000_000, 1..100)) {
            let (mut sending, mut repeating, mut ready) = (line(), line(), 0);
            for gap in gaps {
                ready += gap;
                let expected = sending.send(Time(ready), bytes, Rate(rate));
                let departure = if repeating.may_repeat(Time(ready), bytes) {
                    repeating.repeat(Time(ready))
                } else {
                    repeating.take_repeated();
                    repeating.send(Time(ready), bytes, Rate(rate))
                };
                prop_assert_eq!((departure, repeating.part), (expected, sending.part));
            }
        }
    }
}
