//! The receiving end point: reassembly and acknowledgement.

use crate::config::AckConfig;
use crate::segment::{AckSegment, DataSegment};
use longpipe_events::{Span, Time};

/// One connection's receiving side. The application reads at once, so the window never closes.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next byte expected (RCV.NXT) -- all before it was delivered.
    next: u64,
    /// Highest byte received, plus one.
    highest: u64,
    /// Data beyond a hole, as disjoint ranges in ascending order.
    beyond: Vec<(u64, u64)>,
    ack: AckConfig,
    /// Segments received since the last ACK.
    unacknowledged: u32,
    /// When a delayed ACK is due.
    deadline: Option<Time>,
    /// RCV.NXT when the last ACK left (Last.ACK.sent of RFC 7323).
    acknowledged: u64,
    /// Timestamp to echo (RFC 7323 section 4).
    echo: Option<Time>,
    pending: bool,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(ack: AckConfig) -> Receiver {
        Receiver {
            next: 0,
            highest: 0,
            beyond: Vec::new(),
            ack,
            unacknowledged: 0,
            deadline: None,
            acknowledged: 0,
            echo: None,
            pending: false,
        }
    }

    /// A segment arrived whole.
    pub fn on_segment(&mut self, now: Time, segment: &DataSegment) {
        self.highest = self.highest.max(segment.end());
        if segment.sequence <= self.acknowledged {
            self.echo = segment.timestamp;
        }
        self.unacknowledged += 1;
        let in_order = segment.sequence <= self.next && segment.end() > self.next;
        let filled = in_order && self.advance(segment.end());
        if !in_order && segment.sequence > self.next {
            self.keep(segment.sequence, segment.end());
        }
        match self.ack {
            AckConfig::Delayed { segments, timeout_ps }
                if in_order && !filled && self.beyond.is_empty() && self.unacknowledged < segments =>
            {
                self.deadline = self.deadline.or(Some(now + Span(timeout_ps)));
            }
            _ => self.pending = true,
        }
    }

    /// Moves RCV.NXT to `end` and over what was kept; true if a hole was filled.
    fn advance(&mut self, end: u64) -> bool {
        self.next = end;
        let reached = self.beyond.partition_point(|range| range.0 <= self.next);
        if reached == 0 {
            return false;
        }
        self.next = self.next.max(self.beyond[reached - 1].1);
        self.beyond.drain(..reached);
        true
    }

    /// Keeps data that came out of order.
    fn keep(&mut self, start: u64, end: u64) {
        let first = self.beyond.partition_point(|range| range.1 < start);
        let last = self.beyond.partition_point(|range| range.0 <= end);
        if first == last {
            self.beyond.insert(first, (start, end));
            return;
        }
        let merged = (start.min(self.beyond[first].0), end.max(self.beyond[last - 1].1));
        self.beyond[first] = merged;
        self.beyond.drain(first + 1..last);
    }

    /// The caller's clock passed `next_timeout`.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.pending = true;
        }
    }

    /// When a delayed ACK is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.deadline
    }

    /// The ACK to send now, if any.
    pub fn poll_transmit(&mut self) -> Option<AckSegment> {
        if !self.pending {
            return None;
        }
        self.pending = false;
        self.unacknowledged = 0;
        self.acknowledged = self.next;
        self.deadline = None;
        Some(AckSegment {
            acknowledgement: self.next,
            echo: self.echo,
        })
    }

    /// Bytes delivered in order to the application.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Highest byte received, plus one.
    pub fn highest(&self) -> u64 {
        self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(sequence: u64, length: u32) -> DataSegment {
        DataSegment {
            sequence,
            length,
            retransmission: false,
            timestamp: None,
        }
    }

    fn acks(receiver: &mut Receiver, segments: &[(u64, u32)]) -> Vec<Option<u64>> {
        segments
            .iter()
            .map(|&(sequence, length)| {
                receiver.on_segment(Time(0), &segment(sequence, length));
                receiver.poll_transmit().map(|ack| ack.acknowledgement)
            })
            .collect()
    }

    #[test]
    fn out_of_order_data_is_kept_and_acknowledged_at_once() {
        let mut receiver = Receiver::new(AckConfig::Immediate {});
        let seen = acks(
            &mut receiver,
            &[(0, 10), (20, 10), (40, 10), (30, 10), (10, 10), (0, 10)],
        );
        assert_eq!(seen, [Some(10), Some(10), Some(10), Some(10), Some(50), Some(50)]);
    }

    #[test]
    fn a_delayed_ack_waits_for_two_segments_but_not_past_a_hole() {
        let mut receiver = Receiver::new(AckConfig::Delayed {
            segments: 2,
            timeout_ps: 200,
        });
        let seen = acks(&mut receiver, &[(0, 10), (10, 10), (30, 10), (20, 10), (40, 10)]);
        assert_eq!(seen, [None, Some(20), Some(20), Some(40), None]);
        assert_eq!(receiver.next_timeout(), Some(Time(200)));
        receiver.on_timeout(Time(200));
        assert_eq!(receiver.poll_transmit().map(|ack| ack.acknowledgement), Some(50));
    }

    proptest! {
        #[test]
        fn any_order_of_segments_delivers_all(order in Just((0u64..30).collect::<Vec<_>>()).prop_shuffle(), extra in prop::collection::vec(0u64..30, 0..30)) {
            let mut receiver = Receiver::new(AckConfig::Immediate {});
            let mut held = std::collections::BTreeSet::new();
            for i in extra.into_iter().chain(order) {
                receiver.on_segment(Time(0), &segment(i * 10, 10));
                held.insert(i);
                let prefix = (0..).take_while(|i| held.contains(i)).count() as u64;
                prop_assert_eq!(receiver.delivered(), prefix * 10);
                prop_assert_eq!(receiver.highest(), (held.last().unwrap() + 1) * 10);
            }
            prop_assert!(receiver.beyond.is_empty());
        }
    }
}
