//! Processing of an ACK by the retransmission queue: newly delivered segments, RTT samples and the delivery rate.

use super::*;
use crate::segment::TIMESTAMP_TICK;

impl RetransmissionQueue {
    /// Processes an ACK of all bytes below `una` with SACK blocks and a timestamp echo, if any.
    pub fn on_ack(
        &mut self,
        now: Time,
        una: u64,
        echo: Option<Time>,
        blocks: impl Iterator<Item = (u64, u64)>,
    ) -> AckSummary {
        let before = self.delivered;
        let echoed = echo.filter(|_| una > self.una).map(|echo| echoed_rtt(now, echo));
        let (mut acked, mut retransmitted) = (RttSamples::default(), false);
        let mut deliveries = Deliveries {
            highest: self.highest,
            least_rtt: self.least_rtt(),
            ..Deliveries::default()
        };
        while let Some(segment) = self.segments.first().filter(|segment| segment.end <= una) {
            let length = segment.end - self.una;
            retransmitted |= segment.retransmitted;
            if !(segment.retransmitted || segment.arrived) {
                acked.add(segment.end, now - segment.sent);
            }
            if segment.arrived {
                self.beyond -= length;
                self.segments_beyond -= 1;
            } else {
                self.delivered += length;
                deliveries.take(now, (self.segments.head(), segment), Delivery::Acked(echo));
                if let (true, Some(losses)) = (segment.lost, &mut self.losses) {
                    losses.on_arrived(length);
                }
            }
            self.una = segment.end;
            self.segments.pop();
        }
        self.sacked.absorb(una);
        let in_order = self.delivered;
        let before_blocks = self.latest;
        for (place, block) in blocks.enumerate() {
            // Usually all blocks except the first were in the previous ACK.
            let [first, second, third] = before_blocks;
            if !((block == first) | (block == second) | (block == third)) {
                self.on_block(now, block.0, block.1, &mut deliveries);
            }
            self.latest[place] = block;
        }
        self.highest = self.highest.max(deliveries.end);
        // Karn's algorithm: an ACK that covers only retransmitted data gives no RTT sample.
        let (acked, sacked) = (
            if retransmitted { RttSamples::default() } else { acked },
            deliveries.sacked,
        );
        let (number, sent, place) = deliveries.newest;
        let departure = self.departures.as_mut().and_then(|departures| {
            let departure = (number > 0).then(|| *departures.get(place));
            departures.drop_before(self.segments.head());
            departure
        });
        let rate = departure.map(|departure| self.rate(now, sent, &departure));
        let rtt = sacked.last().or(acked.last()).or(echoed);
        if let Some(rtt) = rtt {
            self.min_rtt.take(now, rtt);
        }
        AckSummary {
            rtt,
            least_rtt: self.least_rtt(),
            delivered: self.delivered - before,
            lost: std::mem::take(&mut self.retransmitted_bytes),
            rate,
            seq_rtt: acked.first().or(sacked.first()).or(echoed),
            latest: deliveries.latest(),
            reordered: deliveries.reordered,
            original_end: match deliveries.original_end {
                0 => u64::MAX,
                end => end,
            },
            sacked: self.delivered > in_order,
        }
    }

    /// Marks the segments that a SACK block newly covers.
    pub(super) fn on_block(&mut self, now: Time, start: u64, end: u64, deliveries: &mut Deliveries) {
        // Usually, the block extends the last range.
        if let Some(sacked_end) = self.sacked.end_of_last_with(start) {
            if sacked_end < end {
                self.on_arrived(now, sacked_end, end, deliveries);
                self.sacked.insert(start, end);
            }
            return;
        }
        let mut from = start;
        while let Some((begin, until)) = self.sacked.missing(from, end) {
            self.on_arrived(now, begin, until, deliveries);
            from = until;
            if until == end {
                break;
            }
        }
        self.sacked.insert(start, end);
    }

    /// Returns the position of the first segment that ends after `byte`.
    pub(super) fn place_of(&self, byte: u64) -> Place {
        let head = self.segments.head();
        let place = |number: u64| Place {
            number,
            start: match number > head {
                true => self.segments.get(number - 1).end,
                false => self.una,
            },
        };
        // Most segments are as long as the first one.
        if let Some(length) = self.segments.first().map(|first| first.end - self.una) {
            let guess = head + byte.saturating_sub(self.una) / length;
            let fits = self.segments.find(guess).is_some_and(|segment| byte < segment.end);
            if fits && (guess == head || place(guess).start <= byte) {
                return place(guess);
            }
        }
        place(self.segments.partition_point(|segment| segment.end <= byte))
    }

    pub(super) fn on_arrived(&mut self, now: Time, from: u64, until: u64, deliveries: &mut Deliveries) {
        let Place { mut number, mut start } = self.place_of(from);
        // A loop over numbers, because an iterator takes longer for the one or two segments that an ACK usually reports.
        while number < self.segments.tail() {
            let segment = self.segments.get_mut(number);
            if segment.end > until {
                break;
            }
            if !segment.arrived && start >= from {
                let length = segment.end - start;
                segment.arrived = true;
                self.delivered += length;
                self.beyond += length;
                self.segments_beyond += 1;
                if !segment.retransmitted {
                    deliveries.sacked.add(segment.end, now - segment.sent);
                }
                deliveries.take(now, (number, segment), Delivery::Sacked);
                if let (true, Some(losses)) = (segment.lost, &mut self.losses) {
                    losses.on_arrived(length);
                }
                segment.lost = false;
            }
            start = segment.end;
            number += 1;
        }
    }

    /// Returns the delivery rate since the transmission of the segment that `newest` describes, limited to the rate at
    /// which data were sent.
    #[inline]
    pub(super) fn rate(&mut self, now: Time, sent: Time, newest: &Departure) -> RateSample {
        (self.first_sent, self.delivered_time) = (sent, now);
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let sending = sent.since(newest.first_sent);
        RateSample {
            delivered: self.delivered - newest.delivered,
            interval: sending.max(now - newest.delivered_time),
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            lost: self.total_lost() - newest.lost,
            app_limited: newest.app_limited,
        }
    }
}

/// Returns the RTT of a segment by its timestamp echo, in whole milliseconds and at least one (tcp_ack_update_rtt of
/// Linux).
fn echoed_rtt(now: Time, echo: Time) -> Span {
    let tick = TIMESTAMP_TICK.0;
    Span((now.0 / tick - echo.0 / tick).max(1) * tick)
}
