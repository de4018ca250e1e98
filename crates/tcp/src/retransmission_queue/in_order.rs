//! In-order ACKs without losses, reordering or retransmissions: acknowledged segments are removed from the front of the
//! queue, and the last of them is the latest delivery.

use super::{AckSummary, LatestDelivery, RetransmissionQueue};
use longpipe_events::Time;

impl RetransmissionQueue {
    /// Returns whether no segment in flight is lost, reordered or retransmitted.
    #[inline]
    pub fn is_gapless(&self) -> bool {
        self.beyond == 0 && self.lost() == 0 && self.una >= self.retransmitted_until
    }

    /// Returns whether the queue is gapless (`is_gapless`) and an ACK of all bytes below `una` covers at least the
    /// first segment.
    #[inline]
    pub fn is_in_order(&self, una: u64) -> bool {
        self.is_gapless() && self.segments.first().is_some_and(|first| first.end <= una)
    }

    /// Processes an ACK for which `is_in_order` holds; the result equals that of `on_ack`.
    #[inline]
    pub fn on_ack_in_order(&mut self, now: Time, una: u64) -> AckSummary {
        debug_assert!(self.is_in_order(una));
        let first = self.una;
        let (mut seq_rtt, mut newest, mut departure) = (None, None, None);
        while let Some(segment) = self.segments.first().filter(|segment| segment.end <= una) {
            if newest.is_none() {
                seq_rtt = Some(now - segment.sent);
            }
            self.una = segment.end;
            newest = Some(LatestDelivery {
                number: segment.number,
                rtt: now - segment.sent,
            });
            self.segments.pop();
            if let Some(departures) = &mut self.departures {
                departure = departures.pop();
            }
        }
        let delivered = self.una - first;
        self.delivered += delivered;
        self.highest = self.highest.max(self.una);
        self.sacked.absorb(una);
        let rtt = newest.map(|newest| newest.rtt);
        if let Some(rtt) = rtt {
            self.min_rtt.take(now, rtt);
        }
        AckSummary {
            rtt,
            least_rtt: self.least_rtt(),
            delivered,
            lost: std::mem::take(&mut self.retransmitted_bytes),
            seq_rtt,
            latest: newest,
            rate: match (&newest, &departure) {
                (Some(newest), Some(departure)) => Some(self.rate(now, Time(now.0 - newest.rtt.0), departure)),
                _ => None,
            },
            reordered: false,
            original_end: u64::MAX,
            sacked: false,
        }
    }
}
