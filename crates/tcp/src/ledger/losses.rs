//! Loss detection by the time since transmission: RACK (RFC 8985 section 6.2).

use super::place::Place;
use super::{Departure, Latest, Ledger, Lost, Record};
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Lost segments that have not been retransmitted, and segments still subject to loss detection.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    bytes: u64,
    /// No lost segment precedes this one.
    from: Place,
    /// First transmissions of segments before this one have been examined.
    judged: Place,
    /// Retransmissions in order: number of the transmission, and its segment.
    again: VecDeque<(u64, Place)>,
    /// Cumulative bytes declared lost, counting repeats.
    in_all: u64,
    /// Newly declared losses, for a controller that requests each.
    each: Option<Vec<Lost>>,
    /// First byte and length of every segment declared lost that has not been taken, for an observer.
    declared: Option<Vec<(u64, u64)>>,
}

impl Losses {
    /// Creates the state without losses; `each` if a controller requests each loss.
    pub fn new(each: bool) -> Losses {
        Losses {
            each: each.then(Vec::new),
            ..Losses::default()
        }
    }

    /// Returns the bytes lost and not retransmitted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records a retransmission of a segment with `lost` lost bytes.
    pub fn on_sent_again(&mut self, number: u64, place: Place, lost: u64) {
        self.bytes -= lost;
        self.again.put((number, place));
    }

    /// Records that `bytes` declared lost have arrived after all.
    pub fn on_arrived(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }

    fn add(&mut self, place: Place, length: u64, departure: Option<&Departure>) {
        self.bytes += length;
        self.from = self.from.min(place);
        self.count(place, length, departure);
    }

    fn count(&mut self, place: Place, length: u64, departure: Option<&Departure>) {
        self.in_all += length;
        if let Some(declared) = &mut self.declared {
            declared.put((place.start, length));
        }
        if let (Some(each), Some(departure)) = (&mut self.each, departure) {
            each.push(Lost {
                sequence: place.start,
                end: place.start + length,
                tx_in_flight: departure.tx_in_flight,
                lost: self.in_all - departure.lost,
                prior_delivered: departure.delivered,
                app_limited: departure.app_limited,
                delivered: 0,
            });
        }
    }
}

/// Result of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Newly lost bytes.
    pub lost: u64,
    /// Whether a lost segment had been retransmitted.
    pub again: bool,
    /// Time until all segments sent before the latest delivered one are lost or delivered; None if there are none.
    pub wait: Option<Span>,
}

impl Ledger {
    /// Declares segments sent before `latest` lost that have been in flight for longer than its RTT plus `tolerance`
    /// (RACK_detect_loss).
    pub fn judge(&mut self, now: Time, latest: &Latest, tolerance: Span) -> Judged {
        let mut judged = Judged::default();
        let allowed = latest.rtt + tolerance;
        self.judge_first(now, latest, allowed, &mut judged);
        self.judge_again(now, latest, allowed, &mut judged);
        judged
    }

    fn judge_first(&mut self, now: Time, latest: &Latest, allowed: Span, judged: &mut Judged) {
        let first = self.first();
        let Some(losses) = &mut self.losses else { return };
        let mut place = losses.judged.max(first);
        let mut settled = true;
        for (index, record) in (place.after(first)..).zip(self.records.range_mut(place.after(first)..)) {
            if !(record.again || record.arrived || record.lost) {
                if record.number >= latest.number {
                    break;
                }
                let age = now - record.sent;
                if age >= allowed {
                    record.lost = true;
                    let departure = self.departures.as_ref().and_then(|departures| departures.get(index));
                    losses.add(place, record.end - place.start, departure);
                    judged.lost += record.end - place.start;
                } else {
                    settled = false;
                    judged.wait = judged.wait.max(Some(Span(allowed.0 - age.0)));
                }
            }
            place = place.next(record.end);
            if settled {
                losses.judged = place;
            }
        }
    }

    fn judge_again(&mut self, now: Time, latest: &Latest, allowed: Span, judged: &mut Judged) {
        let first = self.first();
        let Some(losses) = &mut self.losses else { return };
        let mut index = 0;
        while let Some(&(number, place)) = losses.again.get(index) {
            let Some(record) = under_way(&mut self.records, first, number, place) else {
                // The segment arrived, is lost, or was retransmitted again.
                if index == 0 {
                    losses.again.pop_front();
                } else {
                    index += 1;
                }
                continue;
            };
            if number >= latest.number {
                break;
            }
            let age = now - record.sent;
            if age >= allowed {
                record.lost = true;
                let length = record.end - place.start;
                let departure = self.departures.as_ref();
                let departure = departure.and_then(|departures| departures.get(place.after(first)));
                losses.add(place, length, departure);
                losses.again.pop_front();
                judged.lost += length;
                judged.again = true;
            } else {
                judged.wait = judged.wait.max(Some(Span(allowed.0 - age.0)));
                index += 1;
            }
        }
    }

    /// Marks segments lost because the retransmission timer expired: the first one, and every other one that was sent at
    /// least `rtt` ago, which is RACK.rtt (RFC 8985 section 6.3; Linux: `tcp_timeout_mark_lost`).
    pub fn lose_by_timeout(&mut self, now: Time, rtt: Span) {
        let first = self.first();
        let Some(losses) = &mut self.losses else {
            return;
        };
        losses.bytes = 0;
        losses.from = first;
        let (mut place, mut kept) = (first, None);
        for (index, record) in self.records.iter_mut().enumerate() {
            let recent = index > 0 && now - record.sent < rtt;
            if !record.arrived && (record.lost || !recent) {
                let length = record.end - place.start;
                losses.bytes += length;
                if !record.lost {
                    let departure = self.departures.as_ref().and_then(|departures| departures.get(index));
                    losses.count(place, length, departure);
                }
                record.lost = true;
            } else if !(record.arrived || record.again) {
                kept = kept.or(Some(place));
            }
            place = place.next(record.end);
        }
        losses.judged = kept.unwrap_or(place);
        let records = &self.records;
        losses
            .again
            .retain(|&(number, place)| is_under_way(records, first, number, place));
    }

    /// Undoes every loss mark, because the reduction that they caused proved spurious, and makes every segment in flight
    /// subject to loss detection again (Linux: `tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub fn unmark_lost(&mut self) {
        let mut place = self.first();
        let Some(losses) = &mut self.losses else {
            return;
        };
        losses.bytes = 0;
        losses.judged = place;
        let mut again = Vec::new();
        for record in &mut self.records {
            record.lost = false;
            if record.again && !record.arrived {
                again.push((record.number, place));
            }
            place = place.next(record.end);
        }
        // `judge_again` expects the order of transmission.
        again.sort_unstable();
        losses.again.clear();
        for one in again {
            losses.again.put(one);
        }
    }

    /// Keeps every declared loss from now on, for `take_declared_losses`.
    pub fn record_declared_losses(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.declared.get_or_insert_with(Vec::new);
        }
    }

    /// Takes first byte and length of every segment declared lost since the last call.
    pub fn take_declared_losses(&mut self) -> Vec<(u64, u64)> {
        let declared = self.losses.as_mut().and_then(|losses| losses.declared.as_mut());
        declared.map(std::mem::take).unwrap_or_default()
    }

    /// Returns the bytes lost and not retransmitted.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, Losses::bytes)
    }

    /// Returns the cumulative bytes declared lost, counting repeats.
    #[inline]
    pub fn lost_in_all(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.in_all)
    }

    /// Returns the losses declared since the last call, for a controller that requests each.
    pub fn take_each_loss(&mut self) -> Vec<Lost> {
        let delivered = self.delivered;
        let each = self.losses.as_mut().and_then(|losses| losses.each.as_mut());
        let mut found = each.map(std::mem::take).unwrap_or_default();
        for lost in &mut found {
            lost.delivered = delivered;
        }
        found
    }

    /// Returns first byte and length of the first segment that is lost and not retransmitted.
    #[inline]
    pub fn next_lost(&mut self) -> Option<(u64, u32)> {
        if self.lost() == 0 {
            return None;
        }
        self.look_for_lost()
    }

    fn look_for_lost(&mut self) -> Option<(u64, u32)> {
        let first = self.first();
        let losses = self.losses.as_mut()?;
        let mut place = losses.from.max(first);
        let from = place.after(first);
        let passed = self.records.range(from..).position(|record| record.lost)?;
        if passed > 0 {
            place = Place {
                number: place.number + passed as u64,
                start: self.records[from + passed - 1].end,
            };
        }
        losses.from = place;
        Some((place.start, (self.records[from + passed].end - place.start) as u32))
    }

    /// Returns first byte and length of the last segment in flight.
    pub fn last(&self) -> Option<(u64, u32)> {
        let last = self.records.len().checked_sub(1)?;
        let start = last.checked_sub(1).map_or(self.una, |before| self.records[before].end);
        let record = self.records[last];
        (!record.arrived).then_some((start, (record.end - start) as u32))
    }

    /// Returns the time of the latest transmission of the first segment in flight.
    pub fn oldest(&self) -> Option<Time> {
        self.records.front().map(|record| record.sent)
    }

    /// Whether any segment beyond a hole is known to have arrived.
    #[inline]
    pub fn has_holes(&self) -> bool {
        self.beyond > 0
    }

    /// Returns the number of segments known to have arrived beyond a hole, at most `most`.
    pub fn arrived_beyond(&self, most: usize) -> usize {
        if self.beyond == 0 {
            return 0;
        }
        self.records.iter().filter(|record| record.arrived).take(most).count()
    }

    /// Returns the number of retransmitted segments that are in flight.
    pub fn copies(&self) -> usize {
        let first = self.first();
        let again = self.losses.iter().flat_map(|losses| &losses.again);
        again
            .filter(|&&(number, place)| is_under_way(&self.records, first, number, place))
            .count()
    }
}

/// Returns a segment if the given transmission of it is still in flight; `first` is the first segment in flight.
fn under_way(records: &mut VecDeque<Record>, first: Place, number: u64, place: Place) -> Option<&mut Record> {
    is_under_way(records, first, number, place).then(|| &mut records[place.after(first)])
}

fn is_under_way(records: &VecDeque<Record>, first: Place, number: u64, place: Place) -> bool {
    let record = (place >= first).then(|| records.get(place.after(first))).flatten();
    record.is_some_and(|record| record.number == number && !record.arrived && !record.lost)
}
