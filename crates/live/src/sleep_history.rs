//! Sleep of a thread that forwards packets. The thread wakes up before a packet is due, earlier by the machine's wake-up
//! latency. At real-time priority, it naps often enough that the kernel never throttles it.

use longpipe_events::Time;

use crate::clock::{nanoseconds, PS_PER_NS};

/// At real-time priority, the thread naps for 1/YIELD_DIVISOR of its CPU time, in naps of about 0.1 ms. Otherwise the
/// kernel would stop it for 5 % of each second, in one pause of 50 ms (`sched_rt_runtime_us`; since Linux 6.12 the fair
/// server). 1/12 leaves a margin above these 5 %.
const YIELD_DIVISOR: u64 = 12;
/// The thread naps as soon as its debt, the CPU time [ns] that it still has to yield, exceeds this.
const MAX_DEBT_NS: u64 = 100_000;
/// Maximum estimate of the wake-up latency [ns].
pub const MAX_LATENCY_NS: u64 = 300_000;

/// Sleep history of the thread.
#[derive(Clone, Copy, Debug)]
pub struct SleepHistory {
    /// Minimum time for which the thread spins before a packet is due [ns]; 0 means that it never spins.
    spin_ns: u64,
    /// Whether the thread yields CPU time to other threads.
    must_yield: bool,
    /// Estimate of the maximum wake-up latency [ns], which is a moving average that rises fast and falls slowly.
    max_latency_ns: u64,
    /// Estimate of the minimum wake-up latency [ns], which is a moving average that falls fast and rises slowly; None
    /// before the first sample.
    min_latency_ns: Option<u64>,
    /// End of the last sleep.
    last_wakeup: Time,
    /// Debt at that time [ns].
    debt_at_wakeup_ns: u64,
}

impl SleepHistory {
    /// Creates the history of a thread that has been awake since `now`.
    pub fn new(spin_ns: u64, must_yield: bool, now: Time) -> SleepHistory {
        SleepHistory {
            spin_ns,
            must_yield,
            max_latency_ns: 0,
            min_latency_ns: None,
            last_wakeup: now,
            debt_at_wakeup_ns: 0,
        }
    }

    /// Returns the time [ns] by which the thread must be awake before a packet is due.
    pub fn margin_ns(&self) -> u64 {
        if self.spin_ns == 0 {
            return 0;
        }
        self.spin_ns.max(self.max_latency_ns.min(MAX_LATENCY_NS))
    }

    /// Returns the length [ns] of a nap that the thread must take now, even if packets are waiting. The nap is shorter
    /// than the debt by the wake-up latency, for which the thread oversleeps.
    pub fn nap_ns(&self, now: Time) -> Option<u64> {
        let debt_ns = self.debt_ns(now);
        (self.must_yield && debt_ns > MAX_DEBT_NS).then(|| debt_ns.saturating_sub(self.max_latency_ns))
    }

    fn debt_ns(&self, now: Time) -> u64 {
        self.debt_at_wakeup_ns + nanoseconds(self.last_wakeup, now) / YIELD_DIVISOR
    }

    /// Records a sleep from `from` to `to`. `requested` is the requested duration [ns]; None if an event
    /// ended the sleep.
    pub fn record(&mut self, from: Time, to: Time, requested: Option<u64>) {
        let duration = nanoseconds(from, to);
        self.debt_at_wakeup_ns = self.debt_ns(from).saturating_sub(duration);
        self.last_wakeup = to;
        let Some(requested) = requested else { return };
        let latency = duration.saturating_sub(requested);
        // The estimate rises fast and falls slowly, so that it stays close to the recent maximum without being
        // dominated by one outlier.
        if latency > self.max_latency_ns {
            self.max_latency_ns += (latency - self.max_latency_ns) / 4;
        } else {
            self.max_latency_ns -= (self.max_latency_ns - latency) / 32;
        }
        let min_latency = self.min_latency_ns.get_or_insert(latency.min(MAX_LATENCY_NS));
        if latency < *min_latency {
            *min_latency -= (*min_latency - latency) / 4;
        } else {
            *min_latency += (latency.min(MAX_LATENCY_NS) - *min_latency) / 32;
        }
    }

    /// Returns the maximum time [ns] for which a packet may have waited at the end of a sleep from `from` to `to`, of which
    /// `requested` [ns] were requested: the time that the thread overslept, or the whole sleep if it overslept by more
    /// than [`MAX_LATENCY_NS`], because the process may then have been stopped at any time of the sleep.
    pub fn max_unnoticed_ns(&self, from: Time, to: Time, requested: u64) -> u64 {
        let duration = nanoseconds(from, to);
        match duration.saturating_sub(requested) {
            overslept if overslept > MAX_LATENCY_NS => duration,
            overslept => overslept,
        }
    }

    /// Returns the estimated arrival time of the packet that ended a sleep: the end of the sleep minus the estimated
    /// minimum wake-up latency.
    pub fn arrival_before_wakeup(&self, from: Time, to: Time) -> Time {
        let min_latency = self.min_latency_ns.unwrap_or(0).min(nanoseconds(from, to));
        Time(to.0 - min_latency * PS_PER_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PS_PER_US: u64 = 1_000_000;

    #[test]
    fn thread_that_never_sleeps_must_nap_for_a_twelfth() {
        let mut history = SleepHistory::new(50_000, true, Time::ZERO);
        assert_eq!(history.nap_ns(Time(1_200 * PS_PER_US)), None);
        let nap_ns = history.nap_ns(Time(2_400 * PS_PER_US)).expect("a debt of 200 µs");
        assert_eq!(nap_ns, 200_000);
        history.record(Time(2_400 * PS_PER_US), Time(2_550 * PS_PER_US), Some(nap_ns));
        assert_eq!(history.nap_ns(Time(3_100 * PS_PER_US)), None);
        assert_eq!(history.nap_ns(Time(3_750 * PS_PER_US)), Some(150_000));
        assert_eq!(
            SleepHistory::new(50_000, false, Time::ZERO).nap_ns(Time(u64::MAX)),
            None
        );
    }

    #[test]
    fn the_margin_is_estimated_from_uninterrupted_sleeps() {
        let mut history = SleepHistory::new(50_000, true, Time::ZERO);
        history.record(Time::ZERO, Time(900 * PS_PER_US), None);
        assert_eq!(history.margin_ns(), 50_000);
        for _ in 0..50 {
            history.record(Time::ZERO, Time(220 * PS_PER_US), Some(100_000));
        }
        assert!((115_000..=120_000).contains(&history.margin_ns()));
        for _ in 0..1000 {
            history.record(Time::ZERO, Time(110 * PS_PER_US), Some(100_000));
        }
        assert_eq!(history.margin_ns(), 50_000);
        for _ in 0..50 {
            history.record(Time::ZERO, Time(5_000 * PS_PER_US), Some(100_000));
        }
        assert_eq!(history.margin_ns(), MAX_LATENCY_NS);
        assert_eq!(SleepHistory::new(0, true, Time::ZERO).margin_ns(), 0);
    }

    #[test]
    fn packets_may_wait_for_an_entire_excessive_sleep() {
        let history = SleepHistory::new(50_000, true, Time::ZERO);
        let unnoticed = |slept_us: u64| history.max_unnoticed_ns(Time::ZERO, Time(slept_us * PS_PER_US), 250_000);
        assert_eq!(unnoticed(100), 0);
        assert_eq!(unnoticed(300), 50_000);
        assert_eq!(unnoticed(3_400_000), 3_400_000_000);
    }

    #[test]
    fn packet_that_ends_a_sleep_arrived_one_minimum_latency_before() {
        let mut history = SleepHistory::new(50_000, true, Time::ZERO);
        let (from, to) = (Time(1_000 * PS_PER_US), Time(9_000 * PS_PER_US));
        assert_eq!(history.arrival_before_wakeup(from, to), to);
        for latency in [20, 12, 90, 12].iter().cycle().take(200) {
            history.record(Time::ZERO, Time((100 + latency) * PS_PER_US), Some(100_000));
        }
        let before = nanoseconds(history.arrival_before_wakeup(from, to), to);
        assert!((12_000..22_000).contains(&before), "{before}");
        assert_eq!(history.arrival_before_wakeup(from, Time(1_005 * PS_PER_US)), from);
    }
}
