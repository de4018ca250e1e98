//! Opportunities to send so many bytes at instants, as mahimahi's schedules have them.

use crate::scenario::bounds::AFTER_ANY_RUN;

/// The instants, over and over, and where the last packet left them.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    /// Of one cycle [ps]; the last one is its length.
    instants: Vec<u64>,
    bytes: u64,
    header: u64,
    /// When the last packet left.
    left: Option<u64>,
    /// The opportunity that carried its last byte, and how many bytes that still has.
    number: u64,
    rest: u64,
}

impl Opportunities {
    /// Opportunities that the checks accept.
    pub fn new(instants: Vec<u64>, bytes: u64, header: u64) -> Opportunities {
        Opportunities {
            instants,
            bytes,
            header,
            left: None,
            number: 0,
            rest: 0,
        }
    }

    /// Returns when the first byte of a packet can leave that came at `came`, after all packets before it.
    pub fn ready(&mut self, came: u64) -> u64 {
        // What an opportunity at that instant, or before, had left when nothing waited is lost.
        if self.left.is_none_or(|left| left <= came) {
            self.number = self.first_after(came);
            self.rest = self.bytes;
        }
        if self.rest == 0 {
            (self.number, self.rest) = (self.number + 1, self.bytes);
        }
        self.instant(self.number)
    }

    /// Sends a packet from the instant that `ready` has just returned: when its first and its last byte leave.
    pub fn transmit(&mut self, bytes: u64) -> (u64, u64) {
        let mut needs = bytes + self.header;
        let begins = self.instant(self.number);
        if needs > self.rest {
            needs -= self.rest;
            let more = needs.div_ceil(self.bytes);
            self.number += more;
            self.rest = more * self.bytes - needs;
        } else {
            self.rest -= needs;
        }
        let ends = self.instant(self.number);
        self.left = Some(ends);
        (begins, ends)
    }

    /// Bytes that could have been sent up to an instant, and at it.
    pub fn sent_by(&self, instant: u64) -> u64 {
        self.first_after(instant) * self.bytes
    }

    /// Bytes that a packet takes besides its own.
    pub fn header(&self) -> u64 {
        self.header
    }

    /// When an opportunity comes, or later than any run lasts.
    fn instant(&self, number: u64) -> u64 {
        let count = self.instants.len() as u64;
        let cycle = self.instants[self.instants.len() - 1];
        let base = u128::from(number / count) * u128::from(cycle);
        let within = u128::from(self.instants[(number % count) as usize]);
        (base + within).min(u128::from(AFTER_ANY_RUN.0)) as u64
    }

    /// The number of the first opportunity after an instant.
    fn first_after(&self, instant: u64) -> u64 {
        let count = self.instants.len() as u64;
        let cycle = self.instants[self.instants.len() - 1];
        // The last of a cycle, and those at 0 of the next one, come at the same instant.
        let base = (instant / cycle).saturating_sub(1);
        let mut number = base * count;
        let from = base * cycle;
        number += self.instants.partition_point(|&at| at + from <= instant) as u64;
        if number == (base + 1) * count {
            number += self.instants.partition_point(|&at| at + from + cycle <= instant) as u64;
        }
        if number == (base + 2) * count {
            number += self.instants.partition_point(|&at| at + from + 2 * cycle <= instant) as u64;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instant_s_opportunities_are_spent_before_what_comes_then() {
        let mut line = Opportunities::new(vec![0, 0, 5, 5, 9], 10, 0);
        let mut serve = |came, bytes| {
            let begins = line.ready(came);
            let sent = line.transmit(bytes);
            assert_eq!(sent.0, begins);
            sent
        };
        assert_eq!(serve(0, 10), (5, 5));
        // The other one at 5 carries ten more bytes, and that at 9 begins the next packet.
        assert_eq!(serve(1, 14), (5, 9));
        // At 9 the cycle ends and its next two begin.
        assert_eq!(serve(2, 6), (9, 9));
        assert_eq!(serve(9, 1), (14, 14));
        assert_eq!(serve(9, 40), (14, 18));
    }

    proptest! {
        #[test]
        fn the_next_opportunity_is_the_first_of_all_that_are_counted(
            mut instants in prop::collection::vec(0u64..20, 1..8), asked in 0u64..200,
        ) {
            instants.sort_unstable();
            *instants.last_mut().expect("one") += 1;
            let line = Opportunities::new(instants, 10, 0);
            let counted = (0..5000).take_while(|&number| line.instant(number) <= asked).count() as u64;
            prop_assert_eq!(line.first_after(asked), counted);
        }
    }
}
