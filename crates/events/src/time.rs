//! Times and durations in integer picoseconds.

use std::ops::{Add, AddAssign, Sub};

/// Picoseconds in one second.
pub const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Picoseconds per nanosecond; Linux's queue disciplines compute in nanoseconds.
pub const PS_PER_NS: u64 = 1_000;

/// A time [ps since the start of the run]; 64 bits cover 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// An optional time in one word. `NONE` compares as greater than every time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaybeTime(u64);

/// A duration [ps].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);

    /// Returns the time in seconds, for reports only.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// Returns the time in whole nanoseconds, rounded down.
    #[inline]
    pub fn as_nanoseconds(self) -> i64 {
        (self.0 / PS_PER_NS) as i64
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl MaybeTime {
    /// No time.
    pub const NONE: MaybeTime = MaybeTime(u64::MAX);

    /// Returns the time, if there is one.
    #[inline(always)]
    pub fn get(self) -> Option<Time> {
        (self != MaybeTime::NONE).then_some(Time(self.0))
    }
}

impl Default for MaybeTime {
    #[inline(always)]
    fn default() -> MaybeTime {
        MaybeTime::NONE
    }
}

impl From<Time> for MaybeTime {
    #[inline(always)]
    fn from(time: Time) -> MaybeTime {
        MaybeTime(time.0)
    }
}

impl From<Option<Time>> for MaybeTime {
    #[inline(always)]
    fn from(time: Option<Time>) -> MaybeTime {
        time.map_or(MaybeTime::NONE, MaybeTime::from)
    }
}

impl Span {
    /// Returns the duration in seconds, for reports only.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// Returns a span of `n` seconds.
    pub const fn seconds(n: u64) -> Span {
        Span(n * PS_PER_SECOND)
    }

    /// Returns a span of `n` milliseconds.
    pub const fn millis(n: u64) -> Span {
        Span(n * (PS_PER_SECOND / 1_000))
    }

    /// Returns a span of `n` microseconds.
    pub const fn micros(n: u64) -> Span {
        Span(n * (PS_PER_SECOND / 1_000_000))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}
