//! A record of each segment under way, for those who ask for it.
//!
//! A segment stays as it was cut when it was first sent; what is sent again brings the records that it covers up to date.

mod arrived;
mod in_order;
mod losses;
mod place;

use crate::congestion::control::{Lost, RateSample, Wants};
use crate::ranges::Ranges;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
pub use losses::Judged;
use losses::Losses;
use place::Place;
use std::collections::VecDeque;

/// The latest transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// First byte after it.
    end: u64,
    /// When it left.
    sent: Time,
    /// Its number among all transmissions.
    number: u64,
    /// Whether it was sent again since its first instant (Karn).
    again: bool,
    /// Whether it is known to have arrived.
    arrived: bool,
    /// Whether it is taken to be lost, and was not sent again since.
    lost: bool,
}

/// How things stood when it left, of which the rate of delivery is told.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// When the segment left whose delivery was the latest news then: since then its flight was sent.
    first_sent: Time,
    /// Bytes delivered in all by then, and since when.
    delivered: u64,
    delivered_time: Time,
    /// Bytes under way, itself included.
    tx_in_flight: u64,
    /// Bytes taken to be lost in all by then.
    lost: u64,
    /// Whether the application said how much was under way.
    app_limited: bool,
}

/// A transmission whose delivery is the latest news of the path (RFC 8985 section 5.2, RACK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Its number among all transmissions.
    pub number: u64,
    /// Its round trip.
    pub rtt: Span,
}

/// What an ACK tells of the segments under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Round trip of the latest segment acknowledged, unless it was sent again.
    pub rtt: Option<Span>,
    /// Shortest of all so far.
    pub least_rtt: Option<Span>,
    /// Bytes newly known to have arrived.
    pub delivered: u64,
    /// Bytes sent again since the ACK before.
    pub lost: u64,
    /// At which rate data arrives.
    pub rate: Option<RateSample>,
    /// Longest round trip of the segments newly known to have arrived and sent once: with the delay of the ACK.
    pub slow_rtt: Option<Span>,
    /// The one sent last of those newly known to have arrived, if it can't be a copy of another.
    pub latest: Option<Latest>,
    /// Whether a segment arrived, sent once, after one that was sent later.
    pub reordered: bool,
    /// Where the first segment ends that is newly known to have arrived and was sent once; beyond all bytes if none is.
    pub original_end: u64,
    /// Whether SACK blocks told of any.
    pub sacked: bool,
}

/// Segments under way, by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All that were sent and are not acknowledged in order.
    pub under_way: usize,
    /// Arrived beyond a hole.
    pub arrived: usize,
    /// Lost, and not sent again.
    pub lost: usize,
    /// Sent again, and not known to have arrived.
    pub again: usize,
    /// The shortest round trip so far.
    pub least_rtt: Option<Span>,
}

/// The segments under way of one sender, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    records: VecDeque<Record>,
    /// Of each record, where somebody asks for rates.
    departures: Option<VecDeque<Departure>>,
    /// First byte under way, and segments before it.
    una: u64,
    passed: u64,
    /// What SACK blocks covered, and the latest ones.
    sacked: Ranges,
    latest: [(u64, u64); 3],
    /// Bytes known to have arrived, and since when.
    delivered: u64,
    delivered_time: Time,
    /// When the segment left that was the latest to arrive.
    first_sent: Time,
    least_rtt: Option<Span>,
    /// Bytes sent again since the latest ACK.
    sent_again: u64,
    /// Bytes that arrived beyond the first hole.
    beyond: u64,
    /// Transmissions so far.
    transmissions: u64,
    /// End of what is known to have arrived.
    highest: u64,
    /// End of what was ever sent again.
    again_until: u64,
    /// Until so many bytes are known to have arrived, what is under way is what the application had; 0: the window says it.
    app_limited: u64,
    /// What is lost, where a recovery wants to know.
    losses: Option<Losses>,
}

impl Ledger {
    /// One of which so much is wanted.
    pub fn new(wants: Wants) -> Ledger {
        Ledger {
            losses: wants.losses.then(|| Losses::new(wants.each_loss)),
            departures: wants.rates.then(VecDeque::new),
            ..Ledger::default()
        }
    }

    /// The shortest round trip so far.
    pub fn least_rtt(&self) -> Option<Span> {
        self.least_rtt
    }

    /// How many segments are under way, and how they are.
    pub fn count(&self) -> Count {
        let mut count = Count {
            under_way: self.records.len(),
            least_rtt: self.least_rtt,
            ..Count::default()
        };
        for record in &self.records {
            count.arrived += usize::from(record.arrived);
            count.lost += usize::from(record.lost);
            count.again += usize::from(record.again && !record.arrived && !record.lost);
        }
        count
    }

    /// Bytes under way: sent, neither known to have arrived nor lost; `max` is the first byte never sent.
    #[inline]
    pub fn in_flight(&self, max: u64) -> u64 {
        max - self.una - self.beyond - self.losses.as_ref().map_or(0, Losses::bytes)
    }

    /// The first segment under way.
    #[inline]
    fn first(&self) -> Place {
        Place {
            number: self.passed,
            start: self.una,
        }
    }

    /// The application has no more to send, though the window has room.
    pub fn limit_by_app(&mut self, max: u64) {
        self.app_limited = (self.delivered + self.in_flight(max)).max(1);
    }

    /// Whether what is under way is what the application had.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// The segment `sequence..end` leaves, the first time or again, after which `max` bytes were sent.
    pub fn on_sent(&mut self, now: Time, sequence: u64, end: u64, max: u64) {
        self.transmissions += 1;
        let record = Record {
            end,
            sent: now,
            number: self.transmissions,
            again: false,
            arrived: false,
            lost: false,
        };
        let departure = self.departures.is_some().then(|| self.departure(now, max));
        let known = self.records.back().map_or(self.una, |last| last.end);
        if sequence < known {
            self.on_sent_again(sequence, record, departure);
        }
        if known < end {
            self.records.put(record);
            if let (Some(departures), Some(departure)) = (&mut self.departures, departure) {
                departures.put(departure);
            }
        }
    }

    /// How things stand when a segment leaves.
    fn departure(&mut self, now: Time, max: u64) -> Departure {
        if self.records.is_empty() {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        Departure {
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            tx_in_flight: self.in_flight(max),
            lost: self.lost_in_all(),
            app_limited: self.is_app_limited(),
        }
    }

    fn on_sent_again(&mut self, sequence: u64, latest: Record, departure: Option<Departure>) {
        let (first, start) = self.place_of(sequence);
        let mut place = Place {
            number: self.passed + first as u64,
            start,
        };
        self.again_until = self.again_until.max(latest.end);
        for (index, record) in (first..).zip(self.records.range_mut(first..)) {
            if record.end > latest.end {
                break;
            }
            if !record.arrived {
                if let (Some(departures), Some(departure)) = (&mut self.departures, departure) {
                    departures[index] = departure;
                }
                let length = record.end - place.start;
                let mut again = record.again || record.sent != latest.sent;
                if let Some(losses) = &mut self.losses {
                    losses.on_sent_again(latest.number, place, if record.lost { length } else { 0 });
                    again = true;
                } else {
                    self.sent_again += length;
                }
                place = place.next(record.end);
                *record = Record {
                    end: record.end,
                    again,
                    ..latest
                };
            } else {
                place = place.next(record.end);
                record.again |= record.sent != latest.sent;
            }
        }
    }
}

/// What one ACK tells of arrivals.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// End of what had arrived before, and the shortest round trip.
    highest: u64,
    least_rtt: Option<Span>,
    /// The one sent last, where somebody asks for rates.
    newest: Option<(Record, Departure)>,
    /// Longest round trip of those sent once.
    slow_rtt: Option<Span>,
    /// The one sent last that can't be a copy of another.
    latest: Option<Latest>,
    end: u64,
    reordered: bool,
    original_end: Option<u64>,
}

impl Arrivals {
    fn take(&mut self, now: Time, record: &Record, departure: Option<&Departure>) {
        if let Some(departure) = departure {
            if self.newest.is_none_or(|(newest, _)| newest.number <= record.number) {
                self.newest = Some((*record, *departure));
            }
        }
        self.end = self.end.max(record.end);
        self.reordered |= !record.again && record.end < self.highest;
        if !record.again {
            self.slow_rtt = self.slow_rtt.max(Some(now - record.sent));
            self.original_end = self.original_end.or(Some(record.end));
        }
        let latest = Latest {
            number: record.number,
            rtt: now - record.sent,
        };
        // What was sent again and is here sooner than anything before was the first copy (RFC 8985 section 6.2, step 2).
        let copy = record.again && self.least_rtt.is_some_and(|least| latest.rtt < least);
        if !copy && self.latest.is_none_or(|before| before.is_before(&latest)) {
            self.latest = Some(latest);
        }
    }
}

impl Latest {
    /// Whether it was sent before another.
    pub fn is_before(&self, other: &Latest) -> bool {
        self.number < other.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ledger() -> Ledger {
        Ledger::new(Wants {
            rates: true,
            ..Wants::RECORDS
        })
    }

    fn sent(ledger: &mut Ledger, segments: std::ops::Range<u64>, at: u64) {
        for segment in segments {
            ledger.on_sent(Time(at), 10 * segment, 10 * (segment + 1), 10 * (segment + 1));
        }
    }

    #[test]
    fn a_round_trip_is_that_of_the_latest_segment_acknowledged_unless_it_was_sent_again() {
        let mut ledger = ledger();
        sent(&mut ledger, 0..2, 100);
        sent(&mut ledger, 2..4, 130);
        assert_eq!(ledger.on_ack(Time(200), 10, [].into_iter()).rtt, Some(Span(100)));
        // Karn: of what was sent again nobody knows which copy came. At one instant both are the same.
        ledger.on_sent(Time(210), 10, 20, 40);
        ledger.on_sent(Time(210), 10, 20, 40);
        let news = ledger.on_ack(Time(300), 20, [].into_iter());
        assert_eq!((news.rtt, news.least_rtt, news.lost), (None, Some(Span(100)), 20));
        let news = ledger.on_ack(Time(301), 40, [].into_iter());
        assert_eq!(
            (news.rtt, news.least_rtt, news.lost),
            (Some(Span(171)), Some(Span(100)), 0)
        );
        assert_eq!(ledger.in_flight(40), 0);
    }

    #[test]
    fn the_rate_is_that_at_which_the_bottleneck_lets_data_through() {
        // Four segments leave at once and arrive every 25; each ACK lets two more out, which queue up.
        let mut ledger = ledger();
        sent(&mut ledger, 0..4, 0);
        let mut rates = vec![];
        for segment in 0..40 {
            let now = 100 + 25 * segment;
            rates.extend(ledger.on_ack(Time(now), 10 * (segment + 1), [].into_iter()).rate);
            sent(&mut ledger, 4 + 2 * segment..6 + 2 * segment, now);
        }
        // The first one is by a whole round trip, all later ones are by the bottleneck's: 10 bytes in 25.
        assert_eq!((rates[0].delivered, rates[0].interval), (10, Span(100)));
        for rate in &rates[4..] {
            assert_eq!(rate.delivered * 25, rate.interval.0 * 10, "{rate:?}");
        }
        assert_eq!(rates[4].prior_delivered, 10);
        assert_eq!(rates[4].tx_in_flight, 40);
    }

    proptest! {
        #[test]
        fn each_byte_is_delivered_once_however_it_is_reported(
            acks in prop::collection::vec((0u64..30, prop::collection::vec((0u64..30, 1u64..8), 0..3), 0u64..30), 1..40),
        ) {
            let (mut ledger, mut una, mut arrived, mut total) = (ledger(), 0, BTreeSet::new(), 0);
            sent(&mut ledger, 0..30, 0);
            for (now, (ack, blocks, again)) in acks.into_iter().enumerate() {
                una = una.max(ack);
                let blocks: Vec<_> = blocks
                    .into_iter()
                    .filter(|&(start, _)| start > una)
                    .map(|(start, length)| (start, (start + length).min(30)))
                    .collect();
                if again >= una {
                    ledger.on_sent(Time(now as u64), 10 * again, 10 * (again + 1), 300);
                }
                let news = ledger.on_ack(
                    Time(now as u64),
                    10 * una,
                    blocks.iter().map(|&(start, end)| (10 * start, 10 * end)),
                );
                arrived.extend(0..una);
                blocks.into_iter().for_each(|(start, end)| arrived.extend(start..end));
                total += news.delivered;
                prop_assert_eq!(total, 10 * arrived.len() as u64);
                prop_assert_eq!(ledger.in_flight(300), 300 - total);
            }
        }
    }
}
