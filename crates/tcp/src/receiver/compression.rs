//! SACK compression as in Linux (tcp_input.c, __tcp_ack_snd_check, 6.1): several ACKs of data beyond a hole are
//! combined into one.

use crate::segment::AckSegment;
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
    /// The latest ranges beyond the first hole, the most recent one first (`selective_acks`).
    ranges: Vec<(u64, u64)>,
    /// Whether `ranges` contains all data beyond the first hole: no range has been removed since the list was last empty.
    complete: bool,
    shortcuts: bool,
    /// ACK that the latest segment triggered. It reports only the data received before this segment.
    pub before_segment: Option<Box<AckSegment>>,
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
            ranges: Vec::new(),
            complete: false,
            shortcuts: true,
            before_segment: None,
        })
    }

    /// Returns whether a segment beyond the hole at `next` triggers the waiting ACK, because it starts or extends a
    /// third range and an ACK has room for three. This ACK reports only the segments before this one, and this segment
    /// gets no ACK of its own (tcp_sack_compress_send_ack, after which no ACK is scheduled).
    pub fn is_due(&self, next: u64, segment: (u64, u64)) -> bool {
        let ranges_above = self.ranges.iter().filter(|&&(start, _)| start > next);
        self.waiting > 0 && ranges_above.take_while(|&&range| !touch(range, segment)).count() >= SACK_BLOCKS_EXPECTED
    }

    /// Returns the delay of the ACK for a segment that arrived beyond a hole at `next`; None if the ACK is sent at
    /// once. `fresh` is true for the first segment beyond a hole.
    pub fn on_segment(&mut self, next: u64, fresh: bool, round_trip: Option<Span>) -> Option<Span> {
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
        self.waiting = 0;
    }

    /// Disables the shortcut of `knows_all`.
    pub fn disable_shortcuts(&mut self) {
        self.shortcuts = false;
    }

    /// Shortcut: returns whether `ranges` has all data beyond the first hole, so that they need not be looked up.
    pub fn knows_all(&self) -> bool {
        self.shortcuts & self.complete
    }

    /// Adds a segment to the ranges beyond the hole at `next` (`tcp_sack_new_ofo_skb`). `fresh` is true for the first
    /// segment beyond a hole.
    pub fn take(&mut self, next: u64, segment: (u64, u64), fresh: bool) {
        self.complete |= fresh;
        // Shortcut: usually, the segment extends the most recent range. Ranges that have been acknowledged then remain.
        if let Some((latest, later_ranges)) = self.ranges.split_first_mut() {
            let extends = latest.0 > next && latest.1 == segment.0;
            if extends && !later_ranges.iter().any(|&range| touch(range, segment)) {
                latest.1 = segment.1;
                return;
            }
        }
        self.merge(next, segment);
    }

    fn merge(&mut self, next: u64, segment: (u64, u64)) {
        self.ranges.retain(|&(start, _)| start > next);
        if segment.0 <= next {
            return;
        }
        let mut whole = segment;
        self.ranges.retain(|&range| {
            if touch(range, segment) {
                whole = (whole.0.min(range.0), whole.1.max(range.1));
            }
            !touch(range, segment)
        });
        self.ranges.insert(0, whole);
        self.complete &= self.ranges.len() <= NUM_SACKS;
        self.ranges.truncate(NUM_SACKS);
    }

    /// Returns the latest ranges, the most recent one first; some of them may already have been acknowledged.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }
}

/// Returns whether two ranges overlap or are adjacent.
fn touch(first: (u64, u64), second: (u64, u64)) -> bool {
    first.0 <= second.1 && second.0 <= first.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Option<Span> = Some(Span::millis(100));

    #[test]
    fn fifth_ack_waits_for_1_ms_or_44_segments() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        assert_eq!(compression.on_segment(1000, true, RTT), None);
        let waits: Vec<_> = (0..48).map(|_| compression.on_segment(1000, false, RTT)).collect();
        assert!(waits[..3].iter().all(Option::is_none));
        assert!(waits[3..47].iter().all(|&wait| wait == Some(Span::millis(1))));
        assert_eq!(waits[47], None);
        compression.on_ack();
        assert_eq!(compression.on_segment(1000, false, RTT), Some(Span::millis(1)));
        // This segment reveals a second hole.
        assert_eq!(compression.on_segment(2000, false, RTT), None);
    }

    /// tcp_sack_new_ofo_skb of Linux 6.1: a segment that starts or extends a third range triggers the waiting ACK; a
    /// segment that extends the first or second range does not.
    #[test]
    fn a_third_range_beyond_the_hole_triggers_the_waiting_ack() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        let mut due = |sequence: u64| {
            let segment = (sequence, sequence + 1);
            let due = compression.is_due(0, segment);
            compression.take(0, segment, false);
            if due {
                // The segment gets no ACK of its own.
                compression.on_ack();
            } else if compression.on_segment(0, false, RTT).is_none() {
                compression.on_ack();
            }
            due
        };
        // The first three ACKs do not wait.
        assert!([10, 11, 20].iter().all(|&sequence| !due(sequence)));
        assert!(!due(21) && !due(12));
        // This segment starts a third range; no ACK waits for the next segment's new range.
        assert!(due(30) && !due(40));
        // The ACK for 40 waits. The first segment extends the second range to 30..32; the second segment extends the
        // range that is now the fourth and was the third before.
        assert!(!due(31) && due(13));
    }

    #[test]
    fn on_a_short_path_acks_wait_a_twentieth_of_the_rtt() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        for _ in 0..3 {
            compression.on_segment(0, false, None);
        }
        assert_eq!(
            compression.on_segment(0, false, Some(Span::millis(10))),
            Some(Span(Span::millis(1).0 / 2))
        );
        assert_eq!(compression.on_segment(0, false, None), None);
        assert!(Compression::new(0).is_none());
    }

    proptest! {
        #[test]
        fn extending_the_latest_range_equals_merging(
            segments in prop::collection::vec((0u64..40, 1u64..4, 0u64..3), 1..60),
        ) {
            let [mut short, mut full] = [(); 2].map(|()| Compression::new(1).unwrap());
            let (mut next, mut last) = (0, 0);
            for (start, length, advance) in segments {
                // Half of the segments extend the previous one.
                let start = if start < 20 { last } else { start };
                (last, next) = (start + length, next + advance);
                short.take(next, (start, last), false);
                full.merge(next, (start, last));
                let waiting = |compression: &Compression| {
                    let ranges = compression.ranges().iter().copied();
                    ranges.filter(|&(start, _)| start > next).collect::<Vec<_>>()
                };
                prop_assert_eq!(waiting(&short), waiting(&full));
            }
        }
    }
}
