//! What is lost, by the time since it was sent: RACK (RFC 8985 section 6.2).

use super::place::Place;
use super::{Departure, Latest, Ledger, Lost, Record};
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// What is lost and not sent again, and what has still to be judged.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    bytes: u64,
    /// All that is lost is from this segment on.
    from: Place,
    /// First transmissions of what is before this segment are judged.
    judged: Place,
    /// What was sent again, as it left: the number of the transmission, and its segment.
    again: VecDeque<(u64, Place)>,
    /// Bytes that were ever taken to be lost, as often as they were.
    in_all: u64,
    /// What was newly lost, for a control that wants to hear of each.
    each: Option<Vec<Lost>>,
    /// First byte and length of every segment declared lost since they were taken, for an observer.
    declared: Option<Vec<(u64, u64)>>,
}

impl Losses {
    /// None so far; `each`: somebody wants to hear of each.
    pub fn new(each: bool) -> Losses {
        Losses {
            each: each.then(Vec::new),
            ..Losses::default()
        }
    }

    /// Bytes lost and not sent again.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A segment leaves again by that transmission, of which so many bytes were lost.
    pub fn on_sent_again(&mut self, number: u64, place: Place, lost: u64) {
        self.bytes -= lost;
        self.again.put((number, place));
    }

    /// So many bytes that were lost are here after all.
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

/// What was found to be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Bytes newly lost.
    pub lost: u64,
    /// Whether any of it had been sent again.
    pub again: bool,
    /// How long to wait until all that was sent before the latest to arrive is lost or here; none: nothing was.
    pub wait: Option<Span>,
}

impl Ledger {
    /// Takes what was sent before `latest` to be lost once it has been under way for its round trip and `tolerance`.
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
                // It is here, lost, or was sent yet again.
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

    /// Marks segments lost because the retransmission timer expired: the first one, and every other one that was sent at least
    /// `rtt` ago, which is RACK.rtt (RFC 8985 section 6.3; Linux: `tcp_timeout_mark_lost`).
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

    /// Bytes lost and not sent again.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, Losses::bytes)
    }

    /// Bytes that were ever taken to be lost, as often as they were.
    #[inline]
    pub fn lost_in_all(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.in_all)
    }

    /// What was newly lost since this was asked, for a control that wants to hear of each.
    pub fn take_each_loss(&mut self) -> Vec<Lost> {
        let delivered = self.delivered;
        let each = self.losses.as_mut().and_then(|losses| losses.each.as_mut());
        let mut found = each.map(std::mem::take).unwrap_or_default();
        for lost in &mut found {
            lost.delivered = delivered;
        }
        found
    }

    /// The first segment that is lost and was not sent again: its first byte and its length.
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

    /// The last segment under way: its first byte and its length.
    pub fn last(&self) -> Option<(u64, u32)> {
        let last = self.records.len().checked_sub(1)?;
        let start = last.checked_sub(1).map_or(self.una, |before| self.records[before].end);
        let record = self.records[last];
        (!record.arrived).then_some((start, (record.end - start) as u32))
    }

    /// When the first segment under way left, for the last time.
    pub fn oldest(&self) -> Option<Time> {
        self.records.front().map(|record| record.sent)
    }

    /// Whether anything is known to have arrived beyond a hole.
    #[inline]
    pub fn has_holes(&self) -> bool {
        self.beyond > 0
    }

    /// Segments known to have arrived beyond a hole, `most` at most.
    pub fn arrived_beyond(&self, most: usize) -> usize {
        if self.beyond == 0 {
            return 0;
        }
        self.records.iter().filter(|record| record.arrived).take(most).count()
    }

    /// Segments that were sent again and are still under way.
    pub fn copies(&self) -> usize {
        let first = self.first();
        let again = self.losses.iter().flat_map(|losses| &losses.again);
        again
            .filter(|&&(number, place)| is_under_way(&self.records, first, number, place))
            .count()
    }
}

/// A segment, if what that transmission sent of it is still under way; `first` is the first that is.
fn under_way(records: &mut VecDeque<Record>, first: Place, number: u64, place: Place) -> Option<&mut Record> {
    is_under_way(records, first, number, place).then(|| &mut records[place.after(first)])
}

fn is_under_way(records: &VecDeque<Record>, first: Place, number: u64, place: Place) -> bool {
    let record = (place >= first).then(|| records.get(place.after(first))).flatten();
    record.is_some_and(|record| record.number == number && !record.arrived && !record.lost)
}
