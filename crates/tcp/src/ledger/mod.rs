//! A record of each segment under way, for those who ask for it.
//!
//! A segment stays as it was cut when it was first sent; what is sent again brings the records that it covers up to date.

mod arrived;
mod in_order;
mod losses;
mod min_rtt;
mod place;

use crate::congestion::control::{Lost, RateSample, Wants};
use crate::ranges::Ranges;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
pub use losses::Judged;
use losses::Losses;
use min_rtt::MinRtt;
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
    /// RTT sample of the congestion controllers and of the minimum RTT: of the last segment newly SACKed, else of the last newly
    /// acknowledged, else of the timestamp echo (Linux: `ca_rtt_us`). Retransmitted segments give none, nor do segments that
    /// were SACKed earlier.
    pub rtt: Option<Span>,
    /// Minimum RTT of the last 300 s.
    pub least_rtt: Option<Span>,
    /// Bytes newly known to have arrived.
    pub delivered: u64,
    /// Bytes sent again since the ACK before.
    pub lost: u64,
    /// At which rate data arrives.
    pub rate: Option<RateSample>,
    /// RTT sample of SRTT and RTO, which includes the delay of the ACK: of the first segment newly acknowledged, else of the first
    /// newly SACKed, else of the timestamp echo (Linux: `seq_rtt_us`).
    pub first_rtt: Option<Span>,
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
    /// Minimum RTT of the last 300 s.
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
    min_rtt: MinRtt,
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

    /// Returns the minimum RTT of the last 300 s.
    pub fn least_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// How many segments are under way, and how they are.
    pub fn count(&self) -> Count {
        let mut count = Count {
            under_way: self.records.len(),
            least_rtt: self.least_rtt(),
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

    /// The same of a segment never sent before, that begins where the one before it ended, and ends with byte `max`.
    #[inline]
    pub fn on_sent_next(&mut self, now: Time, max: u64) {
        self.transmissions += 1;
        if self.departures.is_some() {
            let departure = self.departure(now, max);
            if let Some(departures) = &mut self.departures {
                departures.put(departure);
            }
        }
        self.records.put(Record {
            end: max,
            sent: now,
            number: self.transmissions,
            again: false,
            arrived: false,
            lost: false,
        });
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
    /// Round trips of segments that this ACK was the first to SACK.
    sacked: Trips,
    /// The one sent last that can't be a copy of another.
    latest: Option<Latest>,
    end: u64,
    reordered: bool,
    original_end: Option<u64>,
}

/// Round trips of the segments of one ACK that were sent once: those of the first and of the last by sequence number, each with
/// the segment's end.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    first: Option<(u64, Span)>,
    last: Option<(u64, Span)>,
}

impl Trips {
    fn add(&mut self, end: u64, rtt: Span) {
        if self.first.is_none_or(|(first, _)| end < first) {
            self.first = Some((end, rtt));
        }
        if self.last.is_none_or(|(last, _)| end > last) {
            self.last = Some((end, rtt));
        }
    }

    fn first(&self) -> Option<Span> {
        self.first.map(|(_, rtt)| rtt)
    }

    fn last(&self) -> Option<Span> {
        self.last.map(|(_, rtt)| rtt)
    }
}

impl Arrivals {
    /// Takes in a segment that is newly known to have arrived. `echo` is TSecr, where it belongs to that segment or an earlier one.
    fn take(&mut self, now: Time, record: &Record, departure: Option<&Departure>, echo: Option<Time>) {
        if let Some(departure) = departure {
            if self.newest.is_none_or(|(newest, _)| newest.number <= record.number) {
                self.newest = Some((*record, *departure));
            }
        }
        self.end = self.end.max(record.end);
        self.reordered |= !record.again && record.end < self.highest;
        if !record.again {
            self.original_end = self.original_end.or(Some(record.end));
        }
        let latest = Latest {
            number: record.number,
            rtt: now - record.sent,
        };
        // An earlier transmission arrived, not the latest one, if TSecr says so, or if it took less than the minimum round trip
        // (RFC 8985 section 6.2, step 2).
        let stale = echo.is_some_and(|echo| echo < record.sent);
        let ambiguous = record.again && (stale || self.least_rtt.is_some_and(|least| latest.rtt < least));
        if !ambiguous && self.latest.is_none_or(|before| before.is_before(&latest)) {
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
mod tests;
