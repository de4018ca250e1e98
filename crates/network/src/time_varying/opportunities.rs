//! Transmission opportunities: given times, at each of which a number of bytes can be sent, as in mahimahi's trace
//! files.

use crate::bounds::AFTER_ANY_RUN;

/// The times, which repeat in cycles, and the state after the last packet.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    /// Times [ps] within one cycle; the last time is the length of the cycle.
    instants: Vec<u64>,
    bytes: u64,
    header: u64,
    /// Departure time of the last packet.
    left: Option<u64>,
    /// Number of the opportunity that carried the last packet's last byte, and the number of its bytes that remain.
    number: u64,
    rest: u64,
}

impl Opportunities {
    /// Creates opportunities from a checked configuration.
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

    /// Returns the departure time of the first byte of a packet that arrives at `arrival`, after all earlier packets.
    pub fn ready(&mut self, arrival: u64) -> u64 {
        // The bytes of opportunities that remain unused up to the end of an idle period are lost.
        if self.left.is_none_or(|left| left <= arrival) {
            self.number = self.first_after(arrival);
            self.rest = self.bytes;
        }
        if self.rest == 0 {
            (self.number, self.rest) = (self.number + 1, self.bytes);
        }
        self.instant(self.number)
    }

    /// Transmits a packet, starting at the time that `ready` has just returned. Returns the departure times of the
    /// packet's first and last byte.
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

    /// Returns the number of bytes that could have been sent up to and including `instant`.
    pub fn sent_by(&self, instant: u64) -> u64 {
        self.first_after(instant) * self.bytes
    }

    /// Returns the number of additional bytes per packet.
    pub fn header(&self) -> u64 {
        self.header
    }

    /// Returns the time of an opportunity; the result is at most the largest representable time.
    fn instant(&self, number: u64) -> u64 {
        let count = self.instants.len() as u64;
        let cycle = self.instants[self.instants.len() - 1];
        let base = u128::from(number / count) * u128::from(cycle);
        let within = u128::from(self.instants[(number % count) as usize]);
        (base + within).min(u128::from(AFTER_ANY_RUN.0)) as u64
    }

    /// Returns the number of the first opportunity after a given time.
    fn first_after(&self, instant: u64) -> u64 {
        let count = self.instants.len() as u64;
        let cycle = self.instants[self.instants.len() - 1];
        // The last opportunity of a cycle coincides with those opportunities of the next cycle that are at offset 0.
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
    fn opportunities_at_a_time_precede_arrivals_at_that_time() {
        let mut line = Opportunities::new(vec![0, 0, 5, 5, 9], 10, 0);
        let mut serve = |arrival, bytes| {
            let begins = line.ready(arrival);
            let sent = line.transmit(bytes);
            assert_eq!(sent.0, begins);
            sent
        };
        assert_eq!(serve(0, 10), (5, 5));
        // The second opportunity at time 5 carries ten more bytes, and the one at time 9 starts the next packet.
        assert_eq!(serve(1, 14), (5, 9));
        // The cycle ends at time 9, at which the first two opportunities of the next cycle occur.
        assert_eq!(serve(2, 6), (9, 9));
        assert_eq!(serve(9, 1), (14, 14));
        assert_eq!(serve(9, 40), (14, 18));
    }

    proptest! {
        #[test]
        fn the_next_opportunity_equals_a_linear_search(
            mut instants in prop::collection::vec(0u64..20, 1..8), queried in 0u64..200,
        ) {
            instants.sort_unstable();
            *instants.last_mut().expect("one") += 1;
            let line = Opportunities::new(instants, 10, 0);
            let counted = (0..5000).take_while(|&number| line.instant(number) <= queried).count() as u64;
            prop_assert_eq!(line.first_after(queried), counted);
        }
    }
}
