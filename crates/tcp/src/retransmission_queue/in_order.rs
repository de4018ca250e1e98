//! In-order ACKs without losses, reordering or retransmissions: acknowledged segments are removed from the front of the
//! queue, and the last of them is the latest delivery.

use super::{AckSummary, LatestDelivery, RetransmissionQueue};
use longpipe_events::Time;

impl RetransmissionQueue {
    /// Returns whether no segment in flight is lost, reordered or retransmitted.
    #[inline]
    pub fn is_gapless(&self) -> bool {
        (self.beyond == 0) & (self.lost() == 0) & (self.una >= self.retransmitted_until)
    }

    /// Returns whether the queue is gapless (`is_gapless`) and an ACK of all bytes below `una` covers at least the
    /// first segment.
    #[inline]
    pub fn is_in_order(&self, una: u64) -> bool {
        self.is_gapless() && self.segments.first().is_some_and(|first| first.end <= una)
    }

    /// Processes an ACK for which `is_in_order` holds; the result equals that of `on_ack`.
    #[inline(always)]
    pub fn on_ack_in_order(&mut self, now: Time, una: u64) -> AckSummary {
        debug_assert!(self.is_in_order(una));
        let before = self.una;
        let oldest = self.segments.first().map_or(now, |segment| segment.sent);
        let Some(last) = self.segments.pop_while(|segment| segment.end <= una) else {
            return AckSummary::default();
        };
        self.una = last.end;
        let rtt = now - last.sent;
        let head = self.segments.head();
        let departure = self.departures.as_mut().map(|departures| {
            let departure = *departures.get(head - 1);
            departures.drop_before(head);
            departure
        });
        let delivered = self.una - before;
        self.delivered += delivered;
        self.highest = self.highest.max(self.una);
        self.sacked.absorb(una);
        self.min_rtt.take(now, rtt);
        AckSummary {
            rtt: Some(rtt),
            least_rtt: self.least_rtt(),
            delivered,
            lost: std::mem::take(&mut self.retransmitted_bytes),
            seq_rtt: Some(now - oldest),
            latest: Some(LatestDelivery {
                number: last.number,
                rtt,
            }),
            rate: departure.map(|departure| self.rate(now, last.sent, &departure)),
            reordered: false,
            original_end: u64::MAX,
            sacked: false,
        }
    }
}
