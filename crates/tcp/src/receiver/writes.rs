//! Which segments end what an application wrote (PSH), where it writes every so often all that the sender's buffer has room for.

use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// What a sender's buffer holds in Linux at first, 4 MiB, with what its segments take beside their payload [segment].
const BUFFER: u64 = 1538;

/// What it writes at a time [byte].
const CHUNK: u64 = 65_536;

/// The writes of one sender, as far as its receiver comes to see them.
#[derive(Clone, Debug)]
pub struct Writes {
    every: Span,
    /// Bytes that the buffer holds, acknowledged ones not.
    buffer: u64,
    /// Instants to write that have passed.
    passed: u64,
    /// Where those writes end that have not arrived.
    ends: VecDeque<u64>,
    written: u64,
}

impl Writes {
    /// One write every so often, of full segments; none: nothing is known of writes.
    pub fn new(every_ps: u64, mss: u32) -> Option<Writes> {
        (every_ps > 0).then(|| Writes {
            every: Span(every_ps),
            buffer: BUFFER * u64::from(mss),
            passed: 0,
            ends: VecDeque::new(),
            written: 0,
        })
    }

    /// A segment arrived, before which all below `acknowledged` was; whether a write ends with it.
    pub fn on_segment(&mut self, now: Time, acknowledged: u64, (sequence, end): (u64, u64)) -> bool {
        let passed = now.0 / self.every.0 + 1;
        let room = acknowledged + self.buffer;
        if passed > self.passed && room > self.written {
            while self.written + CHUNK < room {
                self.written += CHUNK;
                self.ends.push_back(self.written);
            }
            self.written = room;
            self.ends.push_back(room);
        }
        self.passed = passed;
        while self
            .ends
            .front()
            .is_some_and(|&last| last <= sequence.min(acknowledged))
        {
            self.ends.pop_front();
        }
        self.ends
            .iter()
            .take_while(|&&last| last <= end)
            .any(|&last| last > sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    #[test]
    fn a_write_ends_where_the_buffer_was_full_and_after_each_64_kib_of_it() {
        let mut writes = Writes::new(Span::millis(20).0, MSS as u32).unwrap();
        // A segment a millisecond, each acknowledged before the next; from 2 s on every other one.
        let ends: Vec<u64> = (0..4000)
            .filter(|&number| {
                let acknowledged = if number < 2000 { number } else { number / 2 * 2 };
                let place = (number * MSS, (number + 1) * MSS);
                writes.on_segment(Time(Span::millis(number).0), acknowledged * MSS, place)
            })
            .collect();
        // The first write fills the buffer, by 64 KiB, 45.26 segments; the others replace what 20 ms took off it.
        assert_eq!(ends[..4], [45, 90, 135, 181]);
        let later: Vec<u64> = ends.iter().copied().filter(|&end| end >= BUFFER - 1).collect();
        assert_eq!(later[..4], [BUFFER - 1, BUFFER + 19, BUFFER + 39, BUFFER + 59]);
        assert!(later.windows(2).all(|pair| pair[1] - pair[0] == 20));
    }

    #[test]
    fn of_an_application_that_nothing_is_known_of_nothing_ends_a_write() {
        assert!(Writes::new(0, 1448).is_none());
    }
}
