//! The timers of a sender; its host keeps a single event for all of them.

use longpipe_events::{MaybeTime, Time};

/// Timers, in the order in which those that expire simultaneously are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission timer.
    Retransmission,
}

impl Timer {
    /// All timers, in the order in which they are processed.
    pub const ALL: [Timer; 1] = [Timer::Retransmission];
}

/// Expiration time of each timer.
#[derive(Clone, Copy, Debug)]
pub struct Timers<const N: usize = { Timer::ALL.len() }>([MaybeTime; N]);

impl<const N: usize> Timers<N> {
    /// No timer is armed.
    pub const IDLE: Timers<N> = Timers([MaybeTime::NONE; N]);

    /// Returns the expiration time of a timer.
    #[inline(always)]
    pub fn get(&self, timer: Timer) -> MaybeTime {
        self.0[timer as usize]
    }

    /// Arms the timer, or disarms it with `NONE`.
    #[inline(always)]
    pub fn set(&mut self, timer: Timer, at: MaybeTime) {
        self.0[timer as usize] = at;
    }

    /// Returns the expiration time of the timer that expires first.
    #[inline(always)]
    pub fn next(&self) -> MaybeTime {
        self.0.into_iter().reduce(MaybeTime::min).unwrap_or(MaybeTime::NONE)
    }

    /// Returns whether a timer expires by `now`.
    pub fn is_due(&self, timer: Timer, now: Time) -> bool {
        self.get(timer) <= now.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_is_next() {
        let mut timers = Timers([Time(7).into(), MaybeTime::NONE, Time(5).into()]);
        assert_eq!(timers.next(), Time(5).into());
        timers.set(Timer::Retransmission, Time(3).into());
        assert_eq!(timers.next(), Time(3).into());
        assert!(timers.is_due(Timer::Retransmission, Time(3)) && !timers.is_due(Timer::Retransmission, Time(2)));
        assert_eq!(Timers::<3>::IDLE.next(), MaybeTime::NONE);
    }
}
