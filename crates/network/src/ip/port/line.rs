//! The transmitter of a link: computes the departure time of each packet, in order of arrival.
//!
//! Most packets of a run are equally long and find the line idle. Their departure is one addition (`repeat`), which also
//! counts them; the port collects the count (`take_repeated`) before it does anything else with the line.

use crate::bounds::{AFTER_ANY_RUN, MAX_BACKLOG};
use longpipe_events::{Rate, Span, Time, PS_PER_SECOND};

/// Treatment of packets at the end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The packet may meet packets of other wires, at a port of a router.
    Shared,
    /// Like `Shared`, but packets of the same wire may also overtake it.
    Unordered,
    /// The packet passes through a router without meeting packets of other wires.
    Through,
    /// The packet has reached its host.
    Host,
    /// The packet continues in another part of a run on several threads.
    Leaves,
    /// Decided on arrival, because the packet may be corrupted or rerouted; if it is not, `DeliveryCheck::end` applies.
    DecidedOnArrival,
}

/// Whether an idle line may transmit a packet of the same length as the previous one without calling the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Never: the port decides on each packet.
    Never,
    /// Always: no rule of the port restricts it.
    Always,
    /// Only while the port permits it.
    WhenAllowed,
}

/// Packets that `Line::repeat` transmitted, all of the same length.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    /// Number of packets.
    pub packets: u64,
    /// Length [byte] of each packet.
    pub bytes: u64,
    /// Transmission time [ps] of each packet, rounded down.
    pub duration: u64,
}

/// A line with departure times `max(free, ready) + 8·L/rate` for packets of `L` bytes. The times are exact: the fraction
/// of a picosecond that rounding removes is carried over to the next packet of a backlog, so that errors do not
/// accumulate. All data needed for a packet that does not wait are in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Line {
    /// Departure time [ps] of the last packet, rounded down.
    free: u64,
    /// Fraction of a picosecond [1/rate ps] that rounding removed from `free`. `repeat` does not update it, because the
    /// next packet needs it only in a backlog; `take_repeated` does.
    remainder: u64,
    /// Transmission time [ps] of the last packet, rounded down.
    duration: u64,
    /// Fraction of a picosecond [1/rate ps] that rounding removed from `duration`.
    duration_remainder: u64,
    delay: Span,
    /// Number of packets transmitted by `repeat` that have not been collected.
    repeated: u64,
    /// Time up to which packets may be delivered early at the end of the wire; 0 at a host while packets wait for their
    /// arrival events.
    pub earliest_event: Time,
    /// Length [byte] of the last packet.
    bytes: u16,
    /// Length of packets that `repeat` may transmit; 0 if `repeat` may not be used.
    repeatable: u16,
    /// Whether `repeat` may be used.
    repeats: Repeats,
    /// Whether departure times are limited to `AFTER_ANY_RUN`.
    bounded: bool,
    /// Treatment of packets at the end of the wire.
    pub end: End,
}

impl Line {
    /// Creates an idle line.
    pub fn new(delay: Span, end: End, repeats: Repeats) -> Line {
        Line {
            free: 0,
            remainder: 0,
            duration: 0,
            duration_remainder: 0,
            delay,
            repeated: 0,
            earliest_event: Time::ZERO,
            bytes: 0,
            repeatable: 0,
            repeats,
            bounded: false,
            end,
        }
    }

    /// Transmits a packet of `bytes` bytes that is ready at `ready`, after `take_repeated`. Returns the departure time of
    /// its last bit.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u16, rate: Rate) -> Time {
        debug_assert_eq!(self.repeated, 0);
        if self.bytes != bytes {
            self.measure(ready, bytes, rate);
        }
        let (whole, remainder) = (self.duration, self.duration_remainder);
        if ready.0 > self.free {
            (self.free, self.remainder) = (ready.0, 0);
        }
        self.free += whole;
        self.remainder += remainder;
        // Branch-free, because the branch would be unpredictable.
        let carry = u64::from(self.remainder >= rate.0);
        self.remainder -= rate.0 * carry;
        self.free += carry;
        Time(self.free)
    }

    /// Invoked when the backlog reaches a new maximum at `ready`. If it exceeds `MAX_BACKLOG`, departure times could
    /// overflow 64 bits, so all later ones are limited to `AFTER_ANY_RUN`.
    #[inline(always)]
    pub fn check_backlog(&mut self, ready: Time) {
        if self.free.saturating_sub(ready.0) > MAX_BACKLOG.0 {
            self.bound_departures();
        }
    }

    #[cold]
    fn bound_departures(&mut self) {
        debug_assert_eq!(self.repeated, 0);
        // No packet has this length, so `measure` computes each transmission time.
        (self.bounded, self.bytes, self.repeatable) = (true, 0, 0);
    }

    /// Returns whether `repeat` may transmit a packet: the line must be idle, so that no remainder is carried over, and
    /// the packet must be as long as the last one.
    #[inline(always)]
    pub fn may_repeat(&self, ready: Time, bytes: u16) -> bool {
        // `&` evaluates both conditions, because a second branch would be unpredictable.
        (self.free < ready.0) & (self.repeatable == bytes)
    }

    /// Returns whether `repeat` could transmit a packet if it were as long as the last one: the line must be idle.
    #[inline(always)]
    pub fn may_repeat_but_for_length(&self, ready: Time) -> bool {
        (self.free < ready.0) & (self.repeatable > 0)
    }

    /// Transmits a packet for which `may_repeat` holds. Returns the departure time of its last bit.
    #[inline(always)]
    pub fn repeat(&mut self, ready: Time) -> Time {
        self.repeated += 1;
        self.free = ready.0 + self.duration;
        Time(self.free)
    }

    /// Removes and returns the packets that `repeat` transmitted.
    pub fn take_repeated(&mut self) -> Repeated {
        if self.has_repeated() {
            // Each of these packets found an idle line, so only its own remainder is left.
            self.remainder = self.duration_remainder;
        }
        Repeated {
            packets: std::mem::take(&mut self.repeated),
            bytes: u64::from(self.bytes),
            duration: self.duration,
        }
    }

    /// Returns whether there are packets, transmitted by `repeat`, that have not been collected.
    #[inline(always)]
    pub fn has_repeated(&self) -> bool {
        self.repeated > 0
    }

    /// Computes the transmission time of packets of `bytes` bytes, of which one is ready at `ready`.
    #[cold]
    fn measure(&mut self, ready: Time, bytes: u16, rate: Rate) {
        let (length, per_byte) = (u64::from(bytes), 8 * PS_PER_SECOND);
        // `length * per_byte / rate`, in two parts, because the product may exceed 64 bits.
        let fractions = length * (per_byte % rate.0);
        self.duration = length * (per_byte / rate.0) + fractions / rate.0;
        self.duration_remainder = fractions % rate.0;
        if self.bounded {
            // A packet that has not left by `AFTER_ANY_RUN` never leaves within the run, so its exact departure time
            // does not matter.
            let left = AFTER_ANY_RUN.0.saturating_sub(self.free.max(ready.0));
            self.duration = self.duration.min(left);
            return;
        }
        self.bytes = bytes;
        self.repeatable = if self.repeats == Repeats::Always { bytes } else { 0 };
    }

    /// Marks an idle line as free from `now`, and discards the rounding error of the last departure.
    #[inline(always)]
    pub fn restart(&mut self, now: Time) {
        (self.free, self.remainder) = (now.0, 0);
    }

    /// Permits or forbids `repeat` for packets that are as long as the last one, if the port decides this
    /// (`Repeats::WhenAllowed`).
    #[inline(always)]
    pub fn allow_repeat(&mut self, allowed: bool) {
        // While departure times are limited, `bytes` is 0, so that no packet is repeated.
        self.repeatable = if allowed & (self.repeats == Repeats::WhenAllowed) {
            self.bytes
        } else {
            0
        };
    }

    /// Returns the length [byte] of the last packet, or 0 while departure times are limited to `AFTER_ANY_RUN`.
    #[inline(always)]
    pub fn bytes(&self) -> u16 {
        self.bytes
    }

    /// Returns the departure time of the last packet.
    #[inline(always)]
    pub fn free(&self) -> Time {
        Time(self.free)
    }

    /// Returns the propagation delay, or, if it varies, the delay of the last packet.
    #[inline(always)]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Sets the propagation delay of the last packet.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line() -> Line {
        Line::new(Span(0), End::Host, Repeats::Always)
    }

    #[test]
    fn departures_after_a_gap_and_within_a_backlog() {
        let (mut line, rate) = (line(), Rate(3_000_000));
        // 1000 bytes at 3 Mbit/s take 2 666 666 666 2/3 ps.
        let third = |n: u64| n * 8_000_000_000 / 3;
        assert_eq!(line.send(Time(0), 1000, rate), Time(third(1)));
        assert_eq!(line.send(Time(5), 1000, rate), Time(third(2)));
        assert_eq!(line.send(Time(third(2)), 1000, rate), Time(third(3)));
        assert_eq!(line.send(Time(third(3) + 9), 1000, rate), Time(third(4) + 9));
    }

    #[test]
    fn a_transmitter_fits_into_one_cache_line() {
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
        fn repeated_packet_equals_a_sent_one(rate in 1_000u64..10_000_000_000_000, bytes in 1u16.., gaps in prop::collection::vec(0u64..10_000_000, 1..100)) {
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
                let mut repeated = repeating.clone();
                repeated.take_repeated();
                prop_assert_eq!((departure, repeated.remainder), (expected, sending.remainder));
            }
        }
    }
}
