//! The application's writes, which determine the segments with PSH, as in Linux's `tcp_sendmsg`.
//!
//! A write enters the send buffer in calls of `send`. The segment that ends a call carries PSH, unless the next call
//! appends data to it. Within a call, a full segment carries PSH if it ends more than half of the largest advertised
//! window beyond the latest PSH or the start of the call (`forced_push`). A call that fills the buffer pushes the last
//! segment in the buffer.
//!
//! A call that has filled the buffer continues when a third of the buffer is free (`sk_stream_write_space`). If the
//! scenario sets an interval (`write_every`), an application that does not wait writes again once per interval, and the
//! buffer grows with cwnd (`tcp_sndbuf_expand`), because `tcp_wmem` permits more than the usual 4 MiB.

use crate::config::{AckConfig, TcpConfig};
use crate::congestion::flight::Flight;
use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Bytes that a full segment of 1448 bytes occupies in Linux's send buffer (`truesize`).
const TRUE_SIZE: u64 = 2728;
/// Number of segments that fit in Linux's send buffer of 4 MiB.
const BUFFER: u64 = (4_u64 << 20).div_ceil(TRUE_SIZE);
/// Maximum number of segments in the send buffer of an application that writes once per interval, 64 MiB.
const MAX_BUFFER: u64 = (64_u64 << 20).div_ceil(TRUE_SIZE);
/// Bytes of the send buffer per segment of cwnd (`tcp_sndbuf_expand`): room for two segments, 2304 bytes each.
const EXPANSION: u64 = 2 * 2304;
/// Number of bytes per call of an application that writes once per interval.
const CHUNK: u64 = 65_536;
/// Upper bound of the first advertised window [byte] (`tcp_select_initial_window`).
const FIRST_WINDOW: u64 = 65_535;

/// The writes of one sender's application.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// Interval of writes; None if a call waits until a third of the buffer is free.
    every: Option<Span>,
    /// Capacity of the buffer for unacknowledged data [byte].
    buffer: u64,
    /// Number of intervals that have started.
    passed: u64,
    /// First byte that has not entered the buffer.
    buffered: u64,
    /// Ends of segments with PSH that have not been acknowledged, in ascending order.
    ends: VecDeque<u64>,
}

impl Writes {
    /// Creates the writes of a sender whose receiver acknowledges as Linux does; None for other receivers, whose ACKs
    /// do not depend on PSH.
    pub fn new(config: &TcpConfig) -> Option<Box<Writes>> {
        let AckConfig::Linux { write_every_ps, .. } = config.ack else {
            return None;
        };
        Some(Box::new(Writes {
            every: (write_every_ps > 0).then_some(Span(write_every_ps)),
            buffer: BUFFER * u64::from(config.mss_bytes),
            passed: 0,
            buffered: 0,
            ends: VecDeque::new(),
        }))
    }

    /// Returns whether the application writes once per interval.
    pub fn are_regular(&self) -> bool {
        self.every.is_some()
    }

    /// Returns the acknowledgement number at which the application continues to write up to byte `written`; the maximum
    /// if all data have entered the buffer, and 0 if the application writes once per interval.
    pub fn refill_at(&self, written: u64) -> u64 {
        if self.every.is_some() {
            return 0;
        }
        if self.buffered >= written {
            return u64::MAX;
        }
        self.buffered.saturating_sub(self.buffer - self.buffer.div_ceil(3))
    }

    /// Writes data up to byte `written`, of which `before` bytes had been written earlier, unless an earlier call waits
    /// for space.
    pub fn on_write(&mut self, flight: &Flight, written: u64, before: u64) {
        if self.buffered >= before {
            self.fill(flight, flight.una, written);
        }
    }

    /// Makes data up to byte `end` available whose writes are unknown, such as those that a proxy forwards.
    pub fn skip_to(&mut self, end: u64) {
        self.buffered = self.buffered.max(end);
    }

    /// Processes an ACK before it changes `flight`: continues a call that waits for space, or writes if an interval has
    /// started since the previous ACK. Returns whether it did so, which may change the ends of unsent segments with PSH.
    pub fn on_ack(&mut self, now: Time, flight: &Flight, acknowledgement: u64, written: u64) -> bool {
        let (fills, una) = match self.every {
            Some(every) => {
                let before = std::mem::replace(&mut self.passed, now.0 / every.0);
                (self.passed > before, flight.una)
            }
            None => (acknowledgement >= self.refill_at(written), acknowledgement),
        };
        if fills {
            self.fill(flight, una, written);
        }
        while self.ends.front().is_some_and(|&end| end <= acknowledgement) {
            self.ends.pop_front();
        }
        fills
    }

    /// Returns whether the segment `sequence..end` carries PSH.
    pub fn push(&self, sequence: u64, end: u64) -> bool {
        self.next_end(sequence).is_some_and(|pushed| pushed <= end)
    }

    /// Returns the end of the first segment with PSH beyond byte `sequence`.
    #[inline]
    pub fn next_end(&self, sequence: u64) -> Option<u64> {
        // Usually only the last segment with PSH lies beyond `sequence`, or all of them.
        if *self.ends.back()? <= sequence {
            return None;
        }
        match self.ends.front() {
            Some(&first) if first > sequence => Some(first),
            _ => {
                let before = self.ends.partition_point(|&end| end <= sequence);
                self.ends.get(before).copied()
            }
        }
    }

    /// Removes the data beyond byte `end`, which the application does not write.
    pub fn truncate(&mut self, end: u64) {
        self.buffered = self.buffered.min(end);
        while self.ends.back().is_some_and(|&pushed| pushed > end) {
            self.ends.pop_back();
        }
    }

    /// Moves data up to byte `written` into the buffer, as far as it has room while all bytes before `una` have been
    /// acknowledged.
    fn fill(&mut self, flight: &Flight, una: u64, written: u64) {
        if self.every.is_some() {
            self.expand(flight);
        }
        let end = written.min(una + self.buffer);
        if end <= self.buffered {
            return;
        }
        // A call that appends to a segment in the buffer clears its PSH flag.
        let unsent = self.buffered.saturating_sub(flight.max);
        if !unsent.is_multiple_of(u64::from(flight.mss)) && self.ends.back() == Some(&self.buffered) {
            self.ends.pop_back();
        }
        self.push_within_calls(flight, end);
        self.ends.push_back(end);
        self.buffered = end;
    }

    /// Increases the capacity of the buffer to the one that Linux derives from cwnd, if that is larger.
    fn expand(&mut self, flight: &Flight) {
        let cwnd = (flight.cwnd() / flight.mss()) as u64;
        let segments = (EXPANSION * cwnd).div_ceil(TRUE_SIZE).min(MAX_BUFFER);
        self.buffer = self.buffer.max(segments * u64::from(flight.mss));
    }

    /// Adds the full segments up to byte `end` that carry PSH because of their distance from the previous one.
    fn push_within_calls(&mut self, flight: &Flight, end: u64) {
        let mss = u64::from(flight.mss);
        // Before the first ACK, the receiver has advertised only whole segments of its first buffer.
        let window = match flight.una {
            0 => flight.rwnd().min(FIRST_WINDOW) / mss * mss,
            _ => flight.rwnd(),
        };
        let length = self.every.map_or(u64::MAX, |_| CHUNK);
        let mut call = self.buffered;
        while call < end {
            let last = end.min(call.saturating_add(length));
            let mut pushed = call;
            loop {
                pushed = flight.max + (pushed + window / 2 + 1 - flight.max).next_multiple_of(mss);
                if pushed >= last {
                    break;
                }
                self.ends.push_back(pushed);
            }
            call = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;
    use crate::congestion::flight::Limits;

    const MSS: u64 = 1448;

    fn writes(write_every_ps: u64) -> (Box<Writes>, Flight) {
        let ack = AckConfig::Linux {
            timeout_ps: Span::millis(40).0,
            quick: 16,
            sack_delay_ps: 0,
            least_round_trip: true,
            write_every_ps,
            growing_window: false,
        };
        let config = TcpConfig {
            ack,
            mss_bytes: MSS as u32,
            ..config()
        };
        let writes = Writes::new(&config).expect("the receiver acknowledges as Linux does");
        (writes, Flight::new(Limits::new(1.0, 1.0), 32 << 20, MSS as u32))
    }

    /// Returns the numbers, counted from 1, of the segments with PSH among the first `count`, which are sent and
    /// acknowledged one per millisecond.
    fn pushed(write_every_ps: u64, size: u64, count: u64) -> Vec<u64> {
        let (mut writes, mut flight) = writes(write_every_ps);
        writes.on_write(&flight, size, 0);
        (0..count)
            .filter(|number| {
                let (start, end) = (number * MSS, ((number + 1) * MSS).min(size));
                writes.on_ack(Time(Span::millis(*number).0), &flight, start, size);
                (flight.una, flight.nxt, flight.max) = (start, end, end);
                writes.push(start, end)
            })
            .map(|number| number + 1)
            .collect()
    }

    /// Compares with Linux 6.1.176, captured at the sender on a 56 Mbit/s path with an RTT of 269 ms. Lists the
    /// numbers, counted from 1, of the segments with PSH.
    #[test]
    fn linux_sets_psh_at_the_end_of_each_write() {
        const LINUX: [u64; 35] = [
            23, 68, 114, 159, 204, 249, 295, 340, 385, 430, 476, 521, 566, 611, 657, 702, 747, 792, 838, 883, 928, 973,
            1019, 1064, 1109, 1154, 1200, 1245, 1290, 1336, 1381, 1426, 1471, 1517, 1538,
        ];
        let pushed = pushed(Span::millis(20).0, u64::MAX, 4000);
        assert_eq!(pushed[..35], LINUX);
        // Each later write replaces the data that were acknowledged within 20 ms.
        assert_eq!(pushed[35..38], [BUFFER + 19, BUFFER + 39, BUFFER + 59]);
        assert!(pushed[35..].windows(2).all(|pair| pair[1] - pair[0] == 20));
    }

    /// Compares with Linux 6.1.176, captured at the sender on a 31.6 Mbit/s path with an RTT of 230 ms: acknowledged
    /// segments at the time of a write in slow start, and the number, counted from 1, of the segment with PSH.
    #[test]
    fn linux_expands_the_send_buffer_beyond_4_mib_with_cwnd() {
        const LINUX: [(u64, u64); 8] = [
            (811, 2349),
            (863, 2401),
            (916, 2481),
            (968, 2620),
            (1542, 4164),
            (1646, 4444),
            (2064, 5568),
            (2377, 6409),
        ];
        let (mut writes, _) = writes(Span::millis(20).0);
        for (interval, (acknowledged, pushed)) in (1..).zip(LINUX) {
            let una = acknowledged * MSS;
            let limits = Limits::new((una + 10 * MSS) as f64, f64::INFINITY);
            let mut flight = Flight::new(limits, 32 << 20, MSS as u32);
            (flight.una, flight.max, flight.nxt) = (una, una, una);
            writes.on_ack(Time(Span::millis(20 * interval).0), &flight, una, u64::MAX);
            assert_eq!(writes.ends.back(), Some(&(pushed * MSS)));
        }
    }

    /// A call of `send` with 2000 segments fills the buffer of 1538 segments, and continues when 513 segments are
    /// acknowledged. Before the first ACK, the window is 45 segments, so every 23rd segment carries PSH.
    #[test]
    fn large_write_sets_psh_every_half_window() {
        let pushed = pushed(0, 2000 * MSS + 1, 2001);
        let first: Vec<u64> = (1..=66).map(|number| 23 * number).collect();
        assert_eq!(pushed[..66], first);
        assert_eq!(pushed[66..], [1538, 2001]);
    }

    #[test]
    fn a_write_that_appends_to_a_waiting_segment_clears_its_flag() {
        let (mut writes, flight) = writes(0);
        writes.on_write(&flight, 1000, 0);
        assert!(writes.push(0, 1000));
        writes.on_write(&flight, 1200, 1000);
        assert!(!writes.push(0, 1000) && writes.push(0, 1200));
        // The next write starts another segment.
        writes.on_write(&flight, MSS, 1200);
        writes.on_write(&flight, MSS + 1, MSS);
        assert!(writes.push(0, MSS) && writes.push(MSS, MSS + 1));
    }
}
