//! How fast packets enter: no faster, for long, than the machine hands them out at the other end, where they would be late.

use longpipe_events::Time;

use crate::clock::nanoseconds;

/// Packets that may enter ahead of that pace.
const BURST: i64 = 128;
/// From so many in a row on it tells what a packet costs: one by one they cost what waking does.
const ENOUGH: u64 = 8;
/// The cost moves by one part in so many at most, so that a moment of which the machine had none to give is not all of it.
const SHARE: i64 = 16;

/// What it takes to carry a packet, and when the next one may enter.
#[derive(Clone, Copy, Debug)]
pub struct Intake {
    /// To take one in, and to let one out [ns]; 0: not known yet.
    in_ns: i64,
    out_ns: i64,
    /// What may be spent on packets that enter [ns], as of then.
    credit_ns: i64,
    counted: Time,
}

impl Intake {
    /// Nothing is known.
    pub fn new(now: Time) -> Intake {
        Intake {
            in_ns: 0,
            out_ns: 0,
            credit_ns: 0,
            counted: now,
        }
    }

    /// Whether packets may enter now.
    pub fn is_open(&mut self, now: Time) -> bool {
        let earned = nanoseconds(self.counted, now) as i64;
        self.credit_ns = (self.credit_ns + earned).min(BURST * self.cost());
        self.counted = now;
        self.credit_ns >= 0
    }

    /// So many were taken in, which took so long [ns].
    pub fn entered(&mut self, packets: u64, took: u64) {
        learn(&mut self.in_ns, packets, took);
        self.credit_ns -= packets as i64 * self.cost();
    }

    /// So many were let out, which took so long [ns].
    pub fn left(&mut self, packets: u64, took: u64) {
        learn(&mut self.out_ns, packets, took);
    }

    /// Nothing was carried for a while, though there was something to carry.
    pub fn napped(&mut self, until: Time) {
        self.counted = until;
    }

    /// Both together, and a part in 32 for what is to be done besides; nothing, as long as packets never came in a row.
    fn cost(&self) -> i64 {
        (self.in_ns + self.out_ns) * 33 / 32 * i64::from(self.in_ns > 0 && self.out_ns > 0)
    }
}

fn learn(known: &mut i64, packets: u64, took: u64) {
    if packets < ENOUGH {
        return;
    }
    let found = (took / packets).max(1) as i64;
    *known = match *known {
        0 => found,
        before => found.clamp(before - before / SHARE - 1, before + before / SHARE + 1),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    #[test]
    fn packets_enter_as_they_come_while_nothing_is_known() {
        let mut intake = Intake::new(Time::ZERO);
        for us in 0..1000 {
            assert!(intake.is_open(at(us)));
            intake.entered(7, 1_000_000);
            intake.left(7, 1_000_000);
        }
    }

    #[test]
    fn after_a_burst_they_enter_as_fast_as_they_can_leave() {
        let mut intake = Intake::new(Time::ZERO);
        intake.entered(8, 8 * 1_000);
        intake.left(8, 8 * 3_000);
        // A packet costs 4.125 µs; of .89 s 215 700 and the burst.
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
    fn a_moment_without_time_is_not_what_a_packet_costs() {
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
