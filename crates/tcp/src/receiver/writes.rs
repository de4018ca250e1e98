//! Segments that end a write of the application (PSH), if the application fills the sender's buffer at regular
//! intervals.
//!
//! As in Linux's tcp_sendmsg, a write enters the buffer in calls of CHUNK bytes. The end of a call carries PSH only if
//! no other call follows, because the next call appends to the segment and clears the flag. Within a call, a segment
//! carries PSH if it ends more than half of the largest advertised window beyond the latest PSH or end of a call
//! (`forced_push`).

use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Number of segments that fit in Linux's send buffer of 4 MiB, including the kernel's overhead.
const BUFFER: u64 = 1538;
/// Number of bytes per call.
const CHUNK: u64 = 65_536;
/// Upper bound of the first advertised window [byte]; no larger window is advertised before the first write ends
/// (`tcp_select_initial_window`).
const FIRST_WINDOW: u64 = 65_535;

/// The writes of one sender, as seen by its receiver.
#[derive(Clone, Debug)]
pub struct Writes {
    every: Span,
    /// Payload of a full segment [byte].
    mss: u64,
    /// Capacity of the buffer for unacknowledged data [byte].
    buffer: u64,
    /// Number of write intervals that have started.
    passed: u64,
    /// Ends of segments with PSH that have not arrived.
    ends: VecDeque<u64>,
    written: u64,
}

impl Writes {
    /// Creates the writes of an application that writes every `every_ps`. Returns None if `every_ps` is 0, because the
    /// writes are then unknown.
    pub fn new(every_ps: u64, mss: u32) -> Option<Writes> {
        let mss = u64::from(mss);
        (every_ps > 0).then(|| Writes {
            every: Span(every_ps),
            mss,
            buffer: BUFFER * mss,
            passed: 0,
            ends: VecDeque::new(),
            written: 0,
        })
    }

    /// Returns whether the segment `sequence..end` carries PSH. All bytes below `acknowledged` have been acknowledged.
    pub fn on_segment(&mut self, now: Time, acknowledged: u64, (sequence, end): (u64, u64)) -> bool {
        let passed = now.0 / self.every.0 + 1;
        let room = acknowledged + self.buffer;
        if passed > self.passed && room > self.written {
            if self.written == 0 {
                self.push_within_calls(room);
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

    /// Adds those segments of the first write, up to byte `room`, that carry PSH because of their distance from the
    /// previous PSH.
    fn push_within_calls(&mut self, room: u64) {
        let distance = FIRST_WINDOW / self.mss * self.mss / 2;
        for call in (0..room).step_by(CHUNK as usize) {
            let mut pushed = call;
            loop {
                pushed = (pushed + distance + 1).next_multiple_of(self.mss);
                if pushed > room.min(call + CHUNK) {
                    break;
                }
                self.ends.push_back(pushed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Compares with Linux 6.1.176, captured at the sender on a 56 Mbit/s path with an RTT of 269 ms. Lists the
    /// numbers, counted from 1, of the segments with PSH.
    #[test]
    fn linux_sets_psh_once_per_call_of_the_first_write_and_at_the_end_of_later_writes() {
        const LINUX: [u64; 35] = [
            23, 68, 114, 159, 204, 249, 295, 340, 385, 430, 476, 521, 566, 611, 657, 702, 747, 792, 838, 883, 928, 973,
            1019, 1064, 1109, 1154, 1200, 1245, 1290, 1336, 1381, 1426, 1471, 1517, 1538,
        ];
        let mut writes = Writes::new(Span::millis(20).0, MSS as u32).unwrap();
        // One segment arrives per millisecond. Up to 2 s, each segment is acknowledged before the next one arrives;
        // afterwards, every second segment is acknowledged.
        let pushed: Vec<u64> = (0..4000)
            .filter(|&number| {
                let acknowledged = if number < 2000 { number } else { number / 2 * 2 };
                let place = (number * MSS, (number + 1) * MSS);
                writes.on_segment(Time(Span::millis(number).0), acknowledged * MSS, place)
            })
            .map(|number| number + 1)
            .collect();
        assert_eq!(pushed[..35], LINUX);
        // Each later write replaces the data that were acknowledged within 20 ms.
        assert_eq!(pushed[35..38], [BUFFER + 20, BUFFER + 40, BUFFER + 60]);
        assert!(pushed[35..].windows(2).all(|pair| pair[1] - pair[0] == 20));
    }

    #[test]
    fn an_interval_of_zero_disables_psh() {
        assert!(Writes::new(0, 1448).is_none());
    }
}
