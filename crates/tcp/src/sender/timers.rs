//! The timers of a sender, which its host sees as one.

use longpipe_events::{MaybeTime, Time};

/// What may be due, in the order in which it is looked after at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Nothing was acknowledged for too long.
    Retransmission,
}

impl Timer {
    /// All of them.
    pub const ALL: [Timer; 1] = [Timer::Retransmission];
}

/// When each is due.
#[derive(Clone, Copy, Debug)]
pub struct Timers<const N: usize = { Timer::ALL.len() }>([MaybeTime; N]);

impl<const N: usize> Timers<N> {
    /// None is.
    pub const IDLE: Timers<N> = Timers([MaybeTime::NONE; N]);

    /// When one is due.
    #[inline(always)]
    pub fn get(&self, timer: Timer) -> MaybeTime {
        self.0[timer as usize]
    }

    /// It is due then, or never.
    #[inline(always)]
    pub fn set(&mut self, timer: Timer, at: MaybeTime) {
        self.0[timer as usize] = at;
    }

    /// When the first of them is due.
    #[inline(always)]
    pub fn next(&self) -> MaybeTime {
        self.0.into_iter().reduce(MaybeTime::min).unwrap_or(MaybeTime::NONE)
    }

    /// Whether one is due by `now`.
    pub fn is_due(&self, timer: Timer, now: Time) -> bool {
        self.get(timer) <= now.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_the_earliest_is_next() {
        let mut timers = Timers([Time(7).into(), MaybeTime::NONE, Time(5).into()]);
        assert_eq!(timers.next(), Time(5).into());
        timers.set(Timer::Retransmission, Time(3).into());
        assert_eq!(timers.next(), Time(3).into());
        assert!(timers.is_due(Timer::Retransmission, Time(3)) && !timers.is_due(Timer::Retransmission, Time(2)));
        assert_eq!(Timers::<3>::IDLE.next(), MaybeTime::NONE);
    }
}
