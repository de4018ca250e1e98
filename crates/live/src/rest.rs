//! When a thread that carries packets sleeps, and for how long: it wakes before what is due by as much as the machine is slow to
//! wake it, and at real-time priority it leaves the processor to others before the kernel has them take it.

use longpipe_events::Time;

use crate::clock::{nanoseconds, PS_PER_NS};

/// One part in so many of the time is others' where the thread is of real-time priority: the kernel gives them 5 % of each second,
/// all at once, unless they have had it (`sched_rt_runtime_us`; since Linux 6.12 the fair server).
const SHARE: u64 = 12;
/// What it owes them before it naps [ns].
const LONGEST_DEBT: u64 = 100_000;
/// The most by which waking is taken to be slow [ns].
const SLOWEST: u64 = 300_000;

/// How the thread has slept so far.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// For at least so long it looks at the clock rather than sleep before something is due [ns]; 0: it never does.
    spin_ns: u64,
    /// Whether it owes others time.
    naps: bool,
    /// By how much waking was slow, nearly at worst [ns].
    slow_ns: u64,
    /// Likewise, nearly at best; none: not known yet.
    quick_ns: Option<u64>,
    /// Since when it has not slept, and what it owed then [ns].
    woke: Time,
    owed_ns: u64,
}

impl Rest {
    /// Of a thread that is awake since `now`.
    pub fn new(spin_ns: u64, naps: bool, now: Time) -> Rest {
        Rest {
            spin_ns,
            naps,
            slow_ns: 0,
            quick_ns: None,
            woke: now,
            owed_ns: 0,
        }
    }

    /// How long before something is due it is to be awake [ns].
    pub fn margin(&self) -> u64 {
        if self.spin_ns == 0 {
            return 0;
        }
        self.spin_ns.max(self.slow_ns.min(SLOWEST))
    }

    /// How long it is to nap now, whatever waits, if it is time to [ns].
    pub fn nap(&self, now: Time) -> Option<u64> {
        let owes = self.owes(now);
        (self.naps && owes > LONGEST_DEBT).then(|| owes.saturating_sub(self.slow_ns))
    }

    fn owes(&self, now: Time) -> u64 {
        self.owed_ns + nanoseconds(self.woke, now) / SHARE
    }

    /// It has slept from one instant to another, for `asked` nanoseconds unless something woke it before.
    pub fn slept(&mut self, from: Time, to: Time, asked: Option<u64>) {
        let lasted = nanoseconds(from, to);
        self.owed_ns = self.owes(from).saturating_sub(lasted);
        self.woke = to;
        let Some(asked) = asked else { return };
        let slow = lasted.saturating_sub(asked);
        // Up at once, and down slowly: nearly the worst of late, but that one outlier is not all of it.
        if slow > self.slow_ns {
            self.slow_ns += (slow - self.slow_ns) / 4;
        } else {
            self.slow_ns -= (self.slow_ns - slow) / 32;
        }
        let quick = self.quick_ns.get_or_insert(slow.min(SLOWEST));
        if slow < *quick {
            *quick -= (*quick - slow) / 4;
        } else {
            *quick += (slow.min(SLOWEST) - *quick) / 32;
        }
    }

    /// When that came which has ended a sleep from one instant to another: so long before its end as waking takes, nearly at best.
    pub fn was_woken(&self, from: Time, to: Time) -> Time {
        let quick = self.quick_ns.unwrap_or(0).min(nanoseconds(from, to));
        Time(to.0 - quick * PS_PER_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    #[test]
    fn who_never_sleeps_owes_a_twelfth_and_a_nap_pays_it_back() {
        let mut rest = Rest::new(50_000, true, Time::ZERO);
        assert_eq!(rest.nap(Time(1_200 * US)), None);
        let owes = rest.nap(Time(2_400 * US)).expect("a debt of 200 µs");
        assert_eq!(owes, 200_000);
        rest.slept(Time(2_400 * US), Time(2_550 * US), Some(owes));
        assert_eq!(rest.nap(Time(3_100 * US)), None);
        assert_eq!(rest.nap(Time(3_750 * US)), Some(150_000));
        assert_eq!(Rest::new(50_000, false, Time::ZERO).nap(Time(u64::MAX)), None);
    }

    #[test]
    fn the_margin_is_learned_from_sleeps_that_nothing_broke_off() {
        let mut rest = Rest::new(50_000, true, Time::ZERO);
        rest.slept(Time::ZERO, Time(900 * US), None);
        assert_eq!(rest.margin(), 50_000);
        for _ in 0..50 {
            rest.slept(Time::ZERO, Time(220 * US), Some(100_000));
        }
        assert!((115_000..=120_000).contains(&rest.margin()));
        for _ in 0..1000 {
            rest.slept(Time::ZERO, Time(110 * US), Some(100_000));
        }
        assert_eq!(rest.margin(), 50_000);
        for _ in 0..50 {
            rest.slept(Time::ZERO, Time(5_000 * US), Some(100_000));
        }
        assert_eq!(rest.margin(), SLOWEST);
        assert_eq!(Rest::new(0, true, Time::ZERO).margin(), 0);
    }

    #[test]
    fn what_ended_a_sleep_came_before_its_end_by_what_waking_takes_at_best() {
        let mut rest = Rest::new(50_000, true, Time::ZERO);
        let (from, to) = (Time(1_000 * US), Time(9_000 * US));
        assert_eq!(rest.was_woken(from, to), to);
        for slow in [20, 12, 90, 12].iter().cycle().take(200) {
            rest.slept(Time::ZERO, Time((100 + slow) * US), Some(100_000));
        }
        let before = nanoseconds(rest.was_woken(from, to), to);
        assert!((12_000..22_000).contains(&before), "{before}");
        assert_eq!(rest.was_woken(from, Time(1_005 * US)), from);
    }
}
