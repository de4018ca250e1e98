//! COBALT: CoDel and BLUE in parallel, with the rules and the integer arithmetic of Linux's `sch_cake.c`. CoDel signals
//! responsive senders; BLUE drops packets of senders whose queue overflows. All times are nanoseconds.
//!
//! It differs from RFC 8289 in three ways. `count` is decremented step by step instead of being reset. The time of the
//! next signal also serves as the end of the first interval. The reciprocal square root of a new queue is 0, so its
//! first signal follows the first packet above the target immediately.

use super::Queued;
use longpipe_events::Stream;

/// Number of counts whose reciprocal square roots are tabulated (`REC_INV_SQRT_CACHE`).
const TABULATED: usize = 16;
/// Reciprocal square roots of small counts as 32-bit fractions, each computed by four steps of Newton's method.
const ROOTS: [u32; TABULATED] = roots();
/// Steps of BLUE's drop probability as 32-bit fractions: 1/256 and 1/4096.
const INCREMENT: u32 = 1 << 24;
const DECREMENT: u32 = 1 << 20;
/// A time before the start of every run.
const NEVER: i64 = i64::MIN / 4;

/// Performs a step of Newton's method towards 1/√count.
const fn newton(root: u32, count: u32) -> u32 {
    let square = ((root as u64 * root as u64) >> 32) as u32;
    let rest = (3u64 << 32).wrapping_sub(count as u64 * square as u64) >> 2;
    (rest.wrapping_mul(root as u64) >> 31) as u32
}

const fn roots() -> [u32; TABULATED] {
    let mut roots = [u32::MAX; TABULATED];
    let (mut root, mut count) = (u32::MAX, 1);
    while count < TABULATED {
        let mut step = 0;
        while step < 4 {
            root = newton(root, count as u32);
            step += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
}

/// Parameters of a set of queues; all times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltParams {
    /// Acceptable sojourn time, and minimum time between two changes of BLUE's probability.
    pub target: i64,
    /// Time for which the sojourn time must exceed the target before the first signal.
    pub interval: i64,
    /// Transmission time of a full packet.
    pub mtu_time: i64,
}

/// State of a queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    count: u32,
    /// Reciprocal square root of `count`, as a 32-bit fraction.
    root: u32,
    /// Time of the next signal; if `count` is 0, the time until which the queue counts as active.
    next: i64,
    dropping: bool,
    /// BLUE's drop probability, as a 32-bit fraction.
    probability: u32,
    /// Time of the latest change of `probability`.
    changed: i64,
}

impl Default for Cobalt {
    fn default() -> Cobalt {
        Cobalt {
            count: 0,
            root: 0,
            next: NEVER,
            dropping: false,
            probability: 0,
            changed: NEVER,
        }
    }
}

impl Cobalt {
    /// Processes a packet that is dequeued at `now`: marks the packet if a signal is due and the packet is ECN-capable,
    /// and returns whether to drop it. A signal also requires that the sojourn time exceed the transmission time of two
    /// full packets for each of `bulk_flows` flows.
    pub fn signals_drop<T: Queued>(
        &mut self,
        params: &CobaltParams,
        now: i64,
        packet: &mut T,
        bulk_flows: i64,
        random: &mut Stream,
    ) -> bool {
        let sojourn = now - packet.arrival().as_nanoseconds();
        let above =
            sojourn > params.target && sojourn > 2 * params.mtu_time * bulk_flows && sojourn > 4 * params.mtu_time;
        let mut late = now - self.next;
        let mut due = self.is_due(now);
        if above {
            if !self.dropping {
                self.dropping = true;
                self.next = self.after(now, params);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if due && self.dropping {
            drop = !packet.mark();
            self.count = self.count.saturating_add(1);
            self.advance(params);
            late = now - self.next;
        } else {
            while due {
                self.count -= 1;
                self.advance(params);
                late = now - self.next;
                due = self.is_due(now);
            }
        }
        if self.probability > 0 {
            drop |= random.below(1 << 32) < u64::from(self.probability);
        }
        if self.count == 0 {
            self.next = now + params.interval;
        } else if late > 0 && !drop {
            self.next = now;
        }
        drop
    }

    /// Records that a packet of the queue was dropped because the buffer was full.
    pub fn on_overflow(&mut self, params: &CobaltParams, now: i64) {
        if now - self.changed > params.target {
            self.probability = self.probability.saturating_add(INCREMENT);
            self.changed = now;
        }
        (self.dropping, self.next) = (true, now);
        self.count = self.count.max(1);
    }

    /// Records that the queue was empty when its turn came. Returns whether the state has decayed completely.
    pub fn on_empty(&mut self, params: &CobaltParams, now: i64) -> bool {
        if self.probability > 0 && now - self.changed > params.target {
            self.probability = self.probability.saturating_sub(DECREMENT);
            self.changed = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.advance(params);
        }
        self.probability == 0 && self.count == 0 && now >= self.next
    }

    fn is_due(&self, now: i64) -> bool {
        self.count > 0 && now >= self.next
    }

    /// Postpones the next signal by interval / √count, after a change in the count.
    fn advance(&mut self, params: &CobaltParams) {
        self.root = match ROOTS.get(self.count as usize) {
            Some(&root) => root,
            None => newton(self.root, self.count),
        };
        self.next = self.after(self.next, params);
    }

    fn after(&self, time: i64, params: &CobaltParams) -> i64 {
        time + ((u128::from(params.interval as u64) * u128::from(self.root)) >> 32) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::{Time, PS_PER_NS};

    /// A packet: its arrival time [ns], whether it is ECN-capable, and whether it is marked.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Packet(i64, bool, bool);

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            Time(self.0 as u64 * PS_PER_NS)
        }

        fn bytes(&self) -> u64 {
            1500
        }

        fn is_capable(&self) -> bool {
            self.1
        }

        fn mark(&mut self) -> bool {
            self.2 = self.1;
            self.1
        }

        fn is_marked(&self) -> bool {
            self.2
        }
    }

    const MS: i64 = 1_000_000;
    const PARAMS: CobaltParams = CobaltParams {
        target: 5 * MS,
        interval: 100 * MS,
        mtu_time: MS,
    };

    /// Dequeues one packet per millisecond from 1 s on; each packet has waited for `sojourn`. Returns the numbers of
    /// the packets that are dropped or marked.
    fn signaled(cobalt: &mut Cobalt, packets: std::ops::Range<i64>, sojourn: i64, capable: bool) -> Vec<i64> {
        let mut random = Stream::new(1, "test", 0);
        let mut found = vec![];
        for number in packets {
            let now = 1000 * MS + number * MS;
            let mut packet = Packet(now - sojourn, capable, false);
            if cobalt.signals_drop(&PARAMS, now, &mut packet, 0, &mut random) || packet.2 {
                found.push(number);
            }
        }
        found
    }

    /// Checks the roots that the kernel computes, each by four Newton steps (net/sched/sch_cake.c of Linux 6.1).
    #[test]
    fn roots_of_small_counts_equal_those_of_the_kernel() {
        let kernel = [
            4294967295, 4294967295, 3035289760, 2479700455, 2147483647, 1920767767, 1753413055, 1623345051, 1518500250,
            1431655765, 1358187914, 1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
        ];
        assert_eq!(ROOTS, kernel);
    }

    /// Checks which packets of a new queue are dropped: the second packet above the target, then the first packets
    /// after a further 100/√2 ms, 100/√3 ms, ...
    #[test]
    fn signals_are_spaced_by_the_interval_over_the_root_of_their_count() {
        for capable in [false, true] {
            let mut cobalt = Cobalt::default();
            let found = signaled(&mut cobalt, 0..300, 6 * MS, capable);
            let mut expected = vec![1];
            let mut at = 0.0;
            for count in 2..7 {
                at += 100.0 / f64::sqrt(count as f64);
                expected.push(at.ceil() as i64);
            }
            assert_eq!(found, expected);
            assert_eq!(found.len(), 6);
        }
    }

    #[test]
    fn a_sojourn_time_of_four_packets_causes_no_signal() {
        let mut cobalt = Cobalt::default();
        let slow = CobaltParams {
            mtu_time: 2 * MS,
            ..PARAMS
        };
        let mut random = Stream::new(1, "test", 0);
        for number in 0..300 {
            let now = 1000 * MS + number * MS;
            let mut packet = Packet(now - 8 * MS, false, false);
            assert!(!cobalt.signals_drop(&slow, now, &mut packet, 0, &mut random));
        }
    }

    /// Checks that overflows increase BLUE's probability by 1/256 at most once per target time, and that it decreases
    /// by 1/4096.
    #[test]
    fn overflows_raise_the_probability_once_per_target() {
        let mut cobalt = Cobalt::default();
        for number in 0..12 {
            cobalt.on_overflow(&PARAMS, number * MS);
        }
        assert_eq!(cobalt.probability, 2 * INCREMENT);
        assert!(!cobalt.on_empty(&PARAMS, 20 * MS));
        assert_eq!(cobalt.probability, 2 * INCREMENT - DECREMENT);
        assert!(!cobalt.on_empty(&PARAMS, 21 * MS));
        assert_eq!(cobalt.probability, 2 * INCREMENT - DECREMENT);
    }
}
