//! Records of sent segments: one for each segment in flight, for the recovery algorithms and controllers that
//! need them.
//!
//! Segments keep the boundaries of their first transmission; a retransmission updates the records that it covers.

mod arrived;
mod in_order;
mod losses;
mod min_rtt;
mod place;

use crate::congestion::control::{LostSegment, RateSample, Wants};
use crate::ranges::Ranges;
use longpipe_events::{Ring, Span, Time};
pub use losses::DetectedLosses;
use losses::Losses;
use min_rtt::MinRttFilter;
use place::Place;

/// The latest transmission of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct SentSegment {
    /// First byte after the segment.
    end: u64,
    /// Time of the latest transmission.
    sent: Time,
    /// Number of the latest transmission among all transmissions of the connection.
    number: u64,
    /// Whether the segment was retransmitted at a later time than its first transmission, so that its RTT is ambiguous
    /// (Karn).
    retransmitted: bool,
    /// Whether the segment is known to have arrived.
    arrived: bool,
    /// Whether the segment has been declared lost and not retransmitted since.
    lost: bool,
}

/// State of the connection at a transmission, for delivery-rate samples.
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    /// Send time of the segment most recently delivered at that time (`first_sent_time` of the delivery-rate draft).
    first_sent: Time,
    /// Total bytes delivered before the transmission, and time of the latest delivery.
    delivered: u64,
    delivered_time: Time,
    /// Bytes in flight, including this segment.
    tx_in_flight: u64,
    /// Total bytes declared lost before the transmission.
    lost: u64,
    /// Whether the sender was application-limited at the transmission.
    app_limited: bool,
}

/// The latest transmission known to be delivered (RFC 8985 section 5.2, RACK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestDelivery {
    /// Number of the transmission among all transmissions of the connection.
    pub number: u64,
    /// RACK.rtt: of the transmissions that the ACK delivered, the RTT of the one that Linux processes last. Linux
    /// processes SACK blocks before the cumulative acknowledgement, both in sequence order.
    pub rtt: Span,
}

/// Effects of an ACK on the segments in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSummary {
    /// RTT sample for congestion controllers and the minimum RTT, taken from the last newly SACKed segment; if there is
    /// none, from the last newly acknowledged segment; otherwise, from the timestamp echo, in milliseconds (Linux:
    /// `ca_rtt_us`).
    /// Retransmitted segments and segments SACKed earlier give no sample.
    pub rtt: Option<Span>,
    /// Minimum RTT of the last 300 s.
    pub least_rtt: Option<Span>,
    /// Bytes newly known to have arrived.
    pub delivered: u64,
    /// Lost bytes: if losses are detected, the bytes newly declared lost by this ACK (set by `records.rs`); otherwise,
    /// the bytes retransmitted since the previous ACK.
    pub lost: u64,
    /// Delivery rate sample.
    pub rate: Option<RateSample>,
    /// RTT sample for SRTT and RTO, which includes the delay of the ACK. It is taken from the first newly acknowledged
    /// segment; if there is none, from the first newly SACKed segment; otherwise, from the timestamp echo (Linux:
    /// `seq_rtt_us`).
    pub seq_rtt: Option<Span>,
    /// Latest newly delivered transmission; None if it may be confused with another transmission of the same segment.
    pub latest: Option<LatestDelivery>,
    /// Whether a segment that was not retransmitted was delivered after a segment sent later (reordering).
    pub reordered: bool,
    /// End of the first newly delivered segment that was sent only once; `u64::MAX` if there is none.
    pub original_end: u64,
    /// Whether SACK blocks reported any newly delivered data.
    pub sacked: bool,
}

/// Numbers of segments in flight, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Segments sent but not cumulatively acknowledged.
    pub unacked: usize,
    /// Segments delivered beyond a hole.
    pub arrived: usize,
    /// Segments that are lost and have not been retransmitted.
    pub lost: usize,
    /// Segments that were retransmitted and are not known to be delivered.
    pub retransmitted: usize,
    /// Minimum RTT of the last 300 s.
    pub least_rtt: Option<Span>,
}

/// The segments that one sender has in flight, in sequence order.
#[derive(Clone, Debug, Default)]
pub struct RetransmissionQueue {
    /// The segments, with numbers that count over the whole connection.
    segments: Ring<SentSegment>,
    /// For each segment, the connection's state at its transmission; kept only if delivery rates are requested.
    departures: Option<Ring<Departure>>,
    /// First byte in flight.
    una: u64,
    /// Ranges that SACK blocks have covered, and the latest blocks.
    sacked: Ranges,
    latest: [(u64, u64); 3],
    /// Bytes known to have been delivered, and time of the latest delivery.
    delivered: u64,
    delivered_time: Time,
    /// Send time of the most recently delivered segment.
    first_sent: Time,
    min_rtt: MinRttFilter,
    /// Bytes retransmitted since the latest ACK.
    retransmitted_bytes: u64,
    /// Bytes and segments delivered beyond the first hole.
    beyond: u64,
    segments_beyond: usize,
    /// Number of transmissions so far.
    transmissions: u64,
    /// End of the data known to be delivered.
    highest: u64,
    /// End of the retransmitted data: no later byte has been retransmitted.
    retransmitted_until: u64,
    /// Number of delivered bytes up to which the sender counts as application-limited; 0 if it is not (`app_limited` of
    /// the draft).
    app_limited: u64,
    /// Loss detection, if a recovery requests it.
    losses: Option<Losses>,
}

impl RetransmissionQueue {
    /// Creates an empty queue with the requested features.
    pub fn new(wants: Wants) -> RetransmissionQueue {
        RetransmissionQueue {
            losses: wants.losses.then(|| Losses::new(wants.each_loss)),
            departures: wants.rates.then(Ring::default),
            ..RetransmissionQueue::default()
        }
    }

    /// Returns the minimum RTT of the last 300 s.
    pub fn least_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// Returns the numbers of segments in flight, by state.
    pub fn count(&self) -> Count {
        let mut count = Count {
            unacked: self.segments.len() as usize,
            arrived: self.segments_beyond,
            least_rtt: self.least_rtt(),
            ..Count::default()
        };
        for segment in self.segments.iter() {
            count.lost += usize::from(segment.lost);
            count.retransmitted += usize::from(segment.retransmitted && !segment.arrived && !segment.lost);
        }
        count
    }

    /// Returns the bytes in flight: those sent that are neither known to be delivered nor lost. `max` is SND.MAX.
    #[inline]
    pub fn in_flight(&self, max: u64) -> u64 {
        max - self.una - self.beyond - self.losses.as_ref().map_or(0, Losses::bytes)
    }

    /// Returns the first segment in flight.
    #[inline]
    fn first(&self) -> Place {
        Place {
            number: self.segments.head(),
            start: self.una,
        }
    }

    /// Records that the sender is application-limited: the application has no more data, but the window has room.
    pub fn set_app_limited(&mut self, max: u64) {
        self.app_limited = (self.delivered + self.in_flight(max)).max(1);
    }

    /// Returns whether the sender is application-limited.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Records a transmission of the bytes `sequence..end`. `max` is SND.MAX after it.
    pub fn on_sent(&mut self, now: Time, sequence: u64, end: u64, max: u64) {
        let sent_end = self.segments.last().map_or(self.una, |last| last.end);
        if (sequence == sent_end) & (end == max) {
            return self.on_sent_next(now, max);
        }
        self.transmissions += 1;
        let segment = SentSegment {
            end,
            sent: now,
            number: self.transmissions,
            retransmitted: false,
            arrived: false,
            lost: false,
        };
        let departure = self.departures.is_some().then(|| self.departure(now, max));
        if sequence < sent_end {
            self.on_retransmitted(sequence, segment, departure);
        }
        if sent_end < end {
            self.segments.push(segment);
            if let (Some(departures), Some(departure)) = (&mut self.departures, departure) {
                departures.push(departure);
            }
        }
    }

    /// Records a transmission as `on_sent` does, for a new segment that starts at the end of the previous one and ends
    /// before byte `max`.
    #[inline(always)]
    pub fn on_sent_next(&mut self, now: Time, max: u64) {
        self.transmissions += 1;
        if self.departures.is_some() {
            let departure = self.departure(now, max);
            if let Some(departures) = &mut self.departures {
                departures.push(departure);
            }
        }
        self.segments.push(SentSegment {
            end: max,
            sent: now,
            number: self.transmissions,
            retransmitted: false,
            arrived: false,
            lost: false,
        });
    }

    /// Returns the connection's state, which is stored with a transmission.
    #[inline]
    fn departure(&mut self, now: Time, max: u64) -> Departure {
        if self.segments.is_empty() {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        Departure {
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            tx_in_flight: self.in_flight(max),
            lost: self.total_lost(),
            app_limited: self.is_app_limited(),
        }
    }

    fn on_retransmitted(&mut self, sequence: u64, latest: SentSegment, departure: Option<Departure>) {
        let mut place = self.place_of(sequence);
        self.retransmitted_until = self.retransmitted_until.max(latest.end);
        for (number, segment) in self.segments.iter_mut_from(place.number) {
            if segment.end > latest.end {
                break;
            }
            if !segment.arrived {
                if let (Some(departures), Some(departure)) = (&mut self.departures, departure) {
                    *departures.get_mut(number) = departure;
                }
                let length = segment.end - place.start;
                let mut retransmitted = segment.retransmitted || segment.sent != latest.sent;
                if let Some(losses) = &mut self.losses {
                    losses.on_retransmitted(latest.number, place, if segment.lost { length } else { 0 });
                    retransmitted = true;
                } else {
                    self.retransmitted_bytes += length;
                }
                place = place.next(segment.end);
                *segment = SentSegment {
                    end: segment.end,
                    retransmitted,
                    ..latest
                };
            } else {
                place = place.next(segment.end);
                segment.retransmitted |= segment.sent != latest.sent;
            }
        }
    }
}

/// Deliveries reported by one ACK. Numbers of transmissions and ends of segments are never 0, so 0 stands for none.
#[derive(Clone, Copy, Debug, Default)]
struct Deliveries {
    /// End of the data delivered before this ACK, and the minimum RTT.
    highest: u64,
    least_rtt: Option<Span>,
    /// Latest delivered transmission: its number, its time, and the number of its segment.
    newest: (u64, Time, u64),
    /// RTTs of segments that this ACK newly SACKed.
    sacked: RttSamples,
    /// Number of the latest delivered transmission that cannot be confused with another transmission of the same
    /// segment; 0 if there is none.
    latest: u64,
    /// RTT of the last such segment that the ACK acknowledged cumulatively, and end and RTT of the last such segment
    /// that it SACKed; the end is 0 if there is none. Of these two segments, Linux processes the cumulatively acknowledged one last
    /// (`tcp_rack_advance`).
    acked_rtt: Option<Span>,
    sacked_rtt: (u64, Span),
    end: u64,
    reordered: bool,
    /// End of the first newly delivered segment that was sent only once; 0 if there is none.
    original_end: u64,
}

/// RTTs of the segments that one ACK covers and that were sent only once: RTTs of the first and the last of these
/// segments in sequence order, each with the end of the segment.
#[derive(Clone, Copy, Debug)]
struct RttSamples {
    first: (u64, Span),
    last: (u64, Span),
}

impl Default for RttSamples {
    /// Returns no samples: the first segment ends after, and the last one ends before, all segments.
    fn default() -> RttSamples {
        RttSamples {
            first: (u64::MAX, Span(0)),
            last: (0, Span(0)),
        }
    }
}

impl RttSamples {
    #[inline]
    fn add(&mut self, end: u64, rtt: Span) {
        if end < self.first.0 {
            self.first = (end, rtt);
        }
        if end > self.last.0 {
            self.last = (end, rtt);
        }
    }

    #[inline]
    fn first(&self) -> Option<Span> {
        (self.last.0 > 0).then_some(self.first.1)
    }

    #[inline]
    fn last(&self) -> Option<Span> {
        (self.last.0 > 0).then_some(self.last.1)
    }
}

impl Deliveries {
    /// Records newly delivered segment number `place`. `how` says whether it is acknowledged cumulatively, with TSecr, or SACKed:
    /// TSecr belongs to the segment at the left edge, not to a SACKed segment.
    #[inline(always)]
    fn take(&mut self, now: Time, (place, segment): (u64, &SentSegment), how: Delivery) {
        if self.newest.0 <= segment.number {
            self.newest = (segment.number, segment.sent, place);
        }
        self.end = self.end.max(segment.end);
        self.reordered |= !segment.retransmitted && segment.end < self.highest;
        if !segment.retransmitted && self.original_end == 0 {
            self.original_end = segment.end;
        }
        let rtt = now - segment.sent;
        // The ACK reports an earlier transmission instead of the latest one if TSecr is older, or if the RTT is below
        // the minimum RTT (RFC 8985 section 6.2, step 2).
        let stale = matches!(how, Delivery::Acked(Some(echo)) if echo < segment.sent);
        if segment.retransmitted && (stale || self.least_rtt.is_some_and(|least| rtt < least)) {
            return;
        }
        self.latest = self.latest.max(segment.number);
        match how {
            Delivery::Acked(_) => self.acked_rtt = Some(rtt),
            Delivery::Sacked => {
                if self.sacked_rtt.0 < segment.end {
                    self.sacked_rtt = (segment.end, rtt);
                }
            }
        }
    }

    /// Returns the number of the latest transmission, and the RTT of the segment that Linux processes last.
    fn latest(&self) -> Option<LatestDelivery> {
        let (number, rtt) = (self.latest, self.acked_rtt.unwrap_or(self.sacked_rtt.1));
        (number > 0).then_some(LatestDelivery { number, rtt })
    }
}

/// How an ACK reports a segment.
#[derive(Clone, Copy, Debug)]
enum Delivery {
    /// Cumulatively, with this TSecr.
    Acked(Option<Time>),
    /// By a SACK block.
    Sacked,
}

#[cfg(test)]
mod tests;
