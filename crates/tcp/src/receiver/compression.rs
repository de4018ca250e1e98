//! SACK compression as in Linux (tcp_input.c, __tcp_ack_snd_check, 6.1): several ACKs of data beyond a hole are
//! combined into one.

use longpipe_events::Span;

/// Number of ACKs that are sent at once, because senders may count duplicate ACKs (TCP_FASTRETRANS_THRESH).
const IMMEDIATE_ACKS: u32 = 3;
/// Number of additional segments after whose arrival an ACK is sent (tcp_comp_sack_nr).
const COMP_SACK_NR: u32 = 44;
/// Inverse of the maximum wait of an ACK in RTTs; the maximum is 1/20 of the RTT.
const RTT_DIVISOR: u64 = 20;

/// Maximum number of ranges beyond the first hole that the receiver keeps, namely those that received segments most
/// recently (TCP_NUM_SACKS).
const NUM_SACKS: usize = 4;
/// Index of the first range for which a new segment triggers the waiting ACK (TCP_SACK_BLOCKS_EXPECTED).
const SACK_BLOCKS_EXPECTED: usize = 2;

/// State of the compression.
#[derive(Clone, Debug)]
pub struct Compression {
    max_wait: Span,
    /// Next byte expected, and number of ACKs sent since this byte last advanced.
    next: u64,
    immediate_acks: u32,
    /// Number of segments whose ACKs are waiting (`compressed_ack`).
    waiting: u32,
    /// Number of segments whose ACKs will still be waiting after the next ACK.
    waiting_after_ack: u32,
    /// The latest ranges beyond the first hole, the most recent one first (`selective_acks`).
    ranges: Vec<(u64, u64)>,
}

impl Compression {
    /// Creates the compression for a maximum wait of an ACK. Returns None if the maximum is 0, because ACKs then never
    /// wait.
    pub fn new(max_wait_ps: u64) -> Option<Compression> {
        (max_wait_ps > 0).then_some(Compression {
            max_wait: Span(max_wait_ps),
            next: 0,
            immediate_acks: 0,
            waiting: 0,
            waiting_after_ack: 0,
            ranges: Vec::new(),
        })
    }

    /// Returns the delay of the ACK for a segment that arrived beyond a hole at `next`; None if the ACK is sent at
    /// once. `fresh` is true for the first segment beyond a hole; `range` is the index of its range.
    pub fn on_segment(&mut self, next: u64, range: usize, fresh: bool, round_trip: Option<Span>) -> Option<Span> {
        // An ACK has room for three ranges. Linux sends an ACK that reports the segments before this one and delays
        // this segment's own ACK; in this simulation, the ACK also reports this segment.
        if self.waiting > 0 && range >= SACK_BLOCKS_EXPECTED {
            self.waiting_after_ack = 1;
            return None;
        }
        // Linux 6.1.176 sends four immediate ACKs at a new hole, but only three if another hole was filled before.
        if fresh || self.waiting >= COMP_SACK_NR {
            return None;
        }
        if self.next != next {
            (self.next, self.immediate_acks) = (next, 0);
        }
        if self.immediate_acks < IMMEDIATE_ACKS {
            self.immediate_acks += 1;
            return None;
        }
        let wait = self.max_wait.min(Span(round_trip?.0 / RTT_DIVISOR));
        self.waiting += 1;
        Some(wait)
    }

    /// Records that an ACK was sent since the previous segment.
    pub fn on_ack(&mut self) {
        self.waiting = std::mem::take(&mut self.waiting_after_ack);
    }

    /// Adds a segment to the ranges beyond the hole at `next`. Returns the index of the range that it extends, or the
    /// number of ranges if it extends none (`tcp_sack_new_ofo_skb`).
    pub fn take(&mut self, next: u64, (sequence, end): (u64, u64)) -> usize {
        self.ranges.retain(|&(start, _)| start > next);
        if sequence <= next {
            return 0;
        }
        let touches = |&(start, until): &(u64, u64)| sequence <= until && start <= end;
        let place = self.ranges.iter().position(touches);
        let (mut whole, before) = ((sequence, end), self.ranges.len());
        self.ranges.retain(|range| {
            if touches(range) {
                whole = (whole.0.min(range.0), whole.1.max(range.1));
            }
            !touches(range)
        });
        self.ranges.insert(0, whole);
        self.ranges.truncate(NUM_SACKS);
        place.unwrap_or(before)
    }

    /// Returns the latest ranges, the most recent one first; some of them may already have been acknowledged.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Span> = Some(Span::millis(100));

    #[test]
    fn four_acks_are_immediate_and_the_next_waits_for_a_millisecond_or_44_segments() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        assert_eq!(compression.on_segment(1000, 0, true, RTT), None);
        let waits: Vec<_> = (0..48).map(|_| compression.on_segment(1000, 0, false, RTT)).collect();
        assert!(waits[..3].iter().all(Option::is_none));
        assert!(waits[3..47].iter().all(|&wait| wait == Some(Span::millis(1))));
        assert_eq!(waits[47], None);
        compression.on_ack();
        assert_eq!(compression.on_segment(1000, 0, false, RTT), Some(Span::millis(1)));
        // This segment reveals a second hole.
        assert_eq!(compression.on_segment(2000, 0, false, RTT), None);
    }

    /// tcp_sack_new_ofo_skb of Linux 6.1: a segment that starts or extends a third range triggers the waiting ACK; the
    /// ACK of a segment that extends the first or second range waits.
    #[test]
    fn a_third_range_beyond_the_hole_triggers_the_waiting_ack() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        let mut waits = |sequence: u64, acked: bool| {
            let range = compression.take(0, (sequence, sequence + 1));
            let wait = compression.on_segment(0, range, false, RTT).is_some();
            if acked {
                compression.on_ack();
            }
            wait
        };
        for sequence in [10, 11, 20] {
            assert!(!waits(sequence, true), "{sequence}");
        }
        assert!(waits(21, false) && waits(12, false));
        // This segment starts a new range; in Linux, its ACK waits.
        assert!(!waits(30, true) && !waits(40, true));
        // The first segment extends the second range to 30..32; the second segment extends the range that is now the
        // third and was the second before.
        assert!(waits(31, false) && waits(41, false));
        assert!(!waits(13, true));
    }

    #[test]
    fn on_a_short_path_acks_wait_a_twentieth_of_the_rtt() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        for _ in 0..3 {
            compression.on_segment(0, 0, false, None);
        }
        assert_eq!(
            compression.on_segment(0, 0, false, Some(Span::millis(10))),
            Some(Span(Span::millis(1).0 / 2))
        );
        assert_eq!(compression.on_segment(0, 0, false, None), None);
        assert!(Compression::new(0).is_none());
    }
}
