//! Sleep of a thread that forwards packets. The thread ends its sleep earlier than a packet is due by the wake-up
//! latency of the machine. At real-time priority, it yields the processor before the kernel throttles it.

use longpipe_events::Time;

use crate::clock::{nanoseconds, PS_PER_NS};

/// At real-time priority, the thread yields one part in this number of its CPU time. Otherwise the kernel would take
/// 5 % of each second for other threads, in one piece (`sched_rt_runtime_us`; since Linux 6.12 the fair server).
const YIELD_DIVISOR: u64 = 12;
/// The thread naps if it owes other threads more CPU time [ns] than this.
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
    /// End [ns] of the last sleep, and CPU time [ns] owed to other threads at that time.
    woke: Time,
    owed_ns: u64,
}

impl SleepHistory {
    /// Creates the history of a thread that has been awake since `now`.
    pub fn new(spin_ns: u64, must_yield: bool, now: Time) -> SleepHistory {
        SleepHistory {
            spin_ns,
            must_yield,
            max_latency_ns: 0,
            min_latency_ns: None,
            woke: now,
            owed_ns: 0,
        }
    }

    /// Returns the time [ns] by which the thread must be awake before a packet is due.
    pub fn margin(&self) -> u64 {
        if self.spin_ns == 0 {
            return 0;
        }
        self.spin_ns.max(self.max_latency_ns.min(MAX_LATENCY_NS))
    }

    /// Returns the length [ns] of a nap that the thread must take now, even if packets are waiting.
    pub fn nap(&self, now: Time) -> Option<u64> {
        let owes = self.owes(now);
        (self.must_yield && owes > MAX_DEBT_NS).then(|| owes.saturating_sub(self.max_latency_ns))
    }

    fn owes(&self, now: Time) -> u64 {
        self.owed_ns + nanoseconds(self.woke, now) / YIELD_DIVISOR
    }

    /// Records a sleep from `from` to `to`. `requested` is the requested duration [ns]; None if an event
    /// ended the sleep.
    pub fn slept(&mut self, from: Time, to: Time, requested: Option<u64>) {
        let duration = nanoseconds(from, to);
        self.owed_ns = self.owes(from).saturating_sub(duration);
        self.woke = to;
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

    /// Returns for how long [ns] a packet may not have been noticed in a sleep from `from` to `to`, of which `requested`
    /// [ns] were requested. A longer sleep, beyond the maximum wake-up latency, means that the process was stopped or
    /// had no processor, from any time of the sleep on.
    pub fn unnoticed(&self, from: Time, to: Time, requested: u64) -> u64 {
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

    const US: u64 = 1_000_000;

    #[test]
    fn a_thread_that_never_sleeps_owes_a_twelfth_until_it_naps() {
        let mut rest = SleepHistory::new(50_000, true, Time::ZERO);
        assert_eq!(rest.nap(Time(1_200 * US)), None);
        let owes = rest.nap(Time(2_400 * US)).expect("a debt of 200 µs");
        assert_eq!(owes, 200_000);
        rest.slept(Time(2_400 * US), Time(2_550 * US), Some(owes));
        assert_eq!(rest.nap(Time(3_100 * US)), None);
        assert_eq!(rest.nap(Time(3_750 * US)), Some(150_000));
        assert_eq!(SleepHistory::new(50_000, false, Time::ZERO).nap(Time(u64::MAX)), None);
    }

    #[test]
    fn the_margin_is_estimated_from_uninterrupted_sleeps() {
        let mut rest = SleepHistory::new(50_000, true, Time::ZERO);
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
        assert_eq!(rest.margin(), MAX_LATENCY_NS);
        assert_eq!(SleepHistory::new(0, true, Time::ZERO).margin(), 0);
    }

    #[test]
    fn a_sleep_that_is_too_long_leaves_packets_unnoticed_from_its_begin() {
        let rest = SleepHistory::new(50_000, true, Time::ZERO);
        let unnoticed = |slept_us: u64| rest.unnoticed(Time::ZERO, Time(slept_us * US), 250_000);
        assert_eq!(unnoticed(100), 0);
        assert_eq!(unnoticed(300), 50_000);
        assert_eq!(unnoticed(3_400_000), 3_400_000_000);
    }

    #[test]
    fn a_packet_that_ends_a_sleep_arrived_the_minimum_latency_earlier() {
        let mut rest = SleepHistory::new(50_000, true, Time::ZERO);
        let (from, to) = (Time(1_000 * US), Time(9_000 * US));
        assert_eq!(rest.arrival_before_wakeup(from, to), to);
        for latency in [20, 12, 90, 12].iter().cycle().take(200) {
            rest.slept(Time::ZERO, Time((100 + latency) * US), Some(100_000));
        }
        let before = nanoseconds(rest.arrival_before_wakeup(from, to), to);
        assert!((12_000..22_000).contains(&before), "{before}");
        assert_eq!(rest.arrival_before_wakeup(from, Time(1_005 * US)), from);
    }
}
