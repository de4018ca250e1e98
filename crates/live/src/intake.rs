//! Rate limit for entering packets: on average, they enter no faster than the machine can deliver them; otherwise they
//! would be delivered late.

use longpipe_events::Time;

use crate::clock::nanoseconds;

/// Burst permitted above the limit [packet].
const BURST: i64 = 128;
/// Minimum number of consecutive packets for a cost sample; with fewer packets, the wake-up would dominate the cost.
const ENOUGH: u64 = 8;
/// The cost changes by at most one part in this number per sample, so that a single stall of the machine has little
/// effect.
const SHARE: i64 = 16;

/// Cost per packet, and the credit for entering packets.
#[derive(Clone, Copy, Debug)]
pub struct Intake {
    /// Cost of receiving a packet and cost of delivering a packet [ns]; 0 before the first sample.
    in_ns: i64,
    out_ns: i64,
    /// Credit for entering packets [ns] at the time that the next field contains.
    credit_ns: i64,
    counted: Time,
}

impl Intake {
    /// Creates a limit that has no samples.
    pub fn new(now: Time) -> Intake {
        Intake {
            in_ns: 0,
            out_ns: 0,
            credit_ns: 0,
            counted: now,
        }
    }

    /// Returns whether packets may enter now.
    pub fn is_open(&mut self, now: Time) -> bool {
        let earned = nanoseconds(self.counted, now) as i64;
        self.credit_ns = (self.credit_ns + earned).min(BURST * self.cost());
        self.counted = now;
        self.credit_ns >= 0
    }

    /// Records that receiving `packets` packets took `elapsed_ns`.
    pub fn entered(&mut self, packets: u64, elapsed_ns: u64) {
        learn(&mut self.in_ns, packets, elapsed_ns);
        self.credit_ns -= packets as i64 * self.cost();
    }

    /// Records that delivering `packets` packets took `elapsed_ns`.
    pub fn left(&mut self, packets: u64, elapsed_ns: u64) {
        learn(&mut self.out_ns, packets, elapsed_ns);
    }

    /// Records that the thread naps until `until`; no packets are processed during the nap.
    pub fn napped(&mut self, until: Time) {
        self.counted = until;
    }

    /// Returns the cost per packet [ns], increased by 1/32 for other work; 0 before the first sample.
    fn cost(&self) -> i64 {
        (self.in_ns + self.out_ns) * 33 / 32 * i64::from(self.in_ns > 0 && self.out_ns > 0)
    }
}

fn learn(interval_ns: &mut i64, packets: u64, elapsed_ns: u64) {
    if packets < ENOUGH {
        return;
    }
    let measured = (elapsed_ns / packets).max(1) as i64;
    *interval_ns = match *interval_ns {
        0 => measured,
        before => measured.clamp(before - before / SHARE - 1, before + before / SHARE + 1),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    #[test]
    fn the_rate_is_unlimited_before_the_first_sample() {
        let mut intake = Intake::new(Time::ZERO);
        for us in 0..1000 {
            assert!(intake.is_open(at(us)));
            intake.entered(7, 1_000_000);
            intake.left(7, 1_000_000);
        }
    }

    #[test]
    fn after_a_burst_packets_enter_at_the_rate_of_delivery() {
        let mut intake = Intake::new(Time::ZERO);
        intake.entered(8, 8 * 1_000);
        intake.left(8, 8 * 3_000);
        // A packet costs 4.125 µs, so 215 700 packets plus the burst fit into 0.89 s.
        let mut entered = 0;
        for us in (0..1_000_000).filter(|us| us % 100 < 90) {
            if us % 100 == 0 {
                intake.napped(at(us));
            }
            if intake.is_open(at(us)) {
                intake.entered(10, 10_000);
                entered += 10;
            }
        }
        assert!((215_700..216_000).contains(&entered), "{entered}");
    }

    #[test]
    fn a_time_of_zero_is_not_a_cost_sample() {
        let mut intake = Intake::new(Time::ZERO);
        intake.left(8, 8 * 3_200);
        intake.left(8, 50_000_000);
        assert_eq!(intake.out_ns, 3_401);
        for _ in 0..100 {
            intake.left(16, 16 * 1_000);
        }
        assert_eq!(intake.out_ns, 1_000);
    }
}
