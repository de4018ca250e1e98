//! Loss detection by the time since transmission: RACK (RFC 8985 section 6.2).

use super::place::Place;
use super::{Departure, LatestDelivery, LostSegment, RetransmissionQueue, SentSegment};
use longpipe_events::memory::Growing;
use longpipe_events::{Ring, Span, Time};
use std::collections::VecDeque;

/// Lost segments that have not been retransmitted, and segments still subject to loss detection.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    bytes: u64,
    /// Segments before this one are not lost.
    from: Place,
    /// First transmissions of segments before this one have been examined.
    detected: Place,
    /// Retransmissions in the order of their transmission: the number of the transmission and its segment.
    retransmitted: VecDeque<(u64, Place)>,
    /// Cumulative bytes declared lost, counting repeats.
    total: u64,
    /// Losses declared since the last call, if a controller requests each loss.
    newly_lost: Option<Vec<LostSegment>>,
    /// First byte and length of every segment declared lost since the last call of `take_declared_losses`, for an
    /// observer.
    declared: Option<Vec<(u64, u64)>>,
}

impl Losses {
    /// Creates the state of a connection without losses. `reports_each` is true if a controller requests each loss.
    pub fn new(reports_each: bool) -> Losses {
        Losses {
            newly_lost: reports_each.then(Vec::new),
            ..Losses::default()
        }
    }

    /// Returns the number of bytes that are lost and have not been retransmitted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records the retransmission of a segment of which `lost` bytes had been declared lost.
    pub fn on_retransmitted(&mut self, number: u64, place: Place, lost: u64) {
        self.bytes -= lost;
        self.retransmitted.put((number, place));
    }

    /// Records that `bytes` bytes that were declared lost have arrived after all.
    pub fn on_arrived(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }

    fn add(&mut self, place: Place, length: u64, departure: Option<&Departure>) {
        self.bytes += length;
        self.from = self.from.min(place);
        self.count(place, length, departure);
    }

    fn count(&mut self, place: Place, length: u64, departure: Option<&Departure>) {
        self.total += length;
        if let Some(declared) = &mut self.declared {
            declared.put((place.start, length));
        }
        if let (Some(newly_lost), Some(departure)) = (&mut self.newly_lost, departure) {
            newly_lost.push(LostSegment {
                sequence: place.start,
                end: place.start + length,
                tx_in_flight: departure.tx_in_flight,
                lost: self.total - departure.lost,
                prior_delivered: departure.delivered,
                app_limited: departure.app_limited,
                delivered: 0,
            });
        }
    }
}

/// Result of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetectedLosses {
    /// Newly lost bytes.
    pub lost: u64,
    /// Whether a lost segment had been retransmitted.
    pub retransmitted: bool,
    /// Time until every segment sent before the latest delivered one has been delivered or is declared lost; None if
    /// there is no such segment.
    pub wait: Option<Span>,
}

impl RetransmissionQueue {
    /// Declares lost those segments that were sent before `latest` and have been in flight for longer than the RTT of
    /// `latest` plus `tolerance` (RACK_detect_loss).
    pub fn detect_losses(&mut self, now: Time, latest: &LatestDelivery, tolerance: Span) -> DetectedLosses {
        let mut detected = DetectedLosses::default();
        let allowed = latest.rtt + tolerance;
        self.check_first_transmissions(now, latest, allowed, &mut detected);
        self.check_retransmissions(now, latest, allowed, &mut detected);
        detected
    }

    fn check_first_transmissions(
        &mut self,
        now: Time,
        latest: &LatestDelivery,
        allowed: Span,
        detected: &mut DetectedLosses,
    ) {
        let first = self.first();
        let Some(losses) = &mut self.losses else { return };
        let mut place = losses.detected.max(first);
        let mut settled = true;
        // A loop over numbers, because an iterator takes longer for the few segments that are usually examined.
        while place.number < self.segments.tail() {
            let segment = self.segments.get_mut(place.number);
            if !(segment.retransmitted || segment.arrived || segment.lost) {
                if segment.number >= latest.number {
                    break;
                }
                let age = now - segment.sent;
                if age >= allowed {
                    segment.lost = true;
                    let departures = self.departures.as_ref();
                    let departure = departures.and_then(|departures| departures.find(place.number));
                    losses.add(place, segment.end - place.start, departure);
                    detected.lost += segment.end - place.start;
                } else {
                    settled = false;
                    detected.wait = detected.wait.max(Some(Span(allowed.0 - age.0)));
                }
            }
            place = place.next(segment.end);
            if settled {
                losses.detected = place;
            }
        }
    }

    fn check_retransmissions(
        &mut self,
        now: Time,
        latest: &LatestDelivery,
        allowed: Span,
        detected: &mut DetectedLosses,
    ) {
        let Some(losses) = &mut self.losses else { return };
        let mut index = 0;
        while let Some(&(number, place)) = losses.retransmitted.get(index) {
            let Some(segment) = in_flight_mut(&mut self.segments, number, place) else {
                // The segment has arrived, is already declared lost, or was retransmitted again.
                if index == 0 {
                    losses.retransmitted.pop_front();
                } else {
                    index += 1;
                }
                continue;
            };
            if number >= latest.number {
                break;
            }
            let age = now - segment.sent;
            if age >= allowed {
                segment.lost = true;
                let length = segment.end - place.start;
                let departure = self.departures.as_ref();
                let departure = departure.and_then(|departures| departures.find(place.number));
                losses.add(place, length, departure);
                losses.retransmitted.pop_front();
                detected.lost += length;
                detected.retransmitted = true;
            } else {
                detected.wait = detected.wait.max(Some(Span(allowed.0 - age.0)));
                index += 1;
            }
        }
    }

    /// Declares segments lost because the retransmission timer expired: the first segment, and every other segment that
    /// was sent at least `rtt` ago, where `rtt` is RACK.rtt (RFC 8985 section 6.3; Linux: `tcp_timeout_mark_lost`).
    pub fn lose_by_timeout(&mut self, now: Time, rtt: Span) {
        let first = self.first();
        let Some(losses) = &mut self.losses else {
            return;
        };
        losses.bytes = 0;
        losses.from = first;
        let (mut place, mut kept) = (first, None);
        for (number, segment) in self.segments.iter_mut_from(first.number) {
            let recent = number > first.number && now - segment.sent < rtt;
            if !segment.arrived && (segment.lost || !recent) {
                let length = segment.end - place.start;
                losses.bytes += length;
                if !segment.lost {
                    let departure = self.departures.as_ref().and_then(|departures| departures.find(number));
                    losses.count(place, length, departure);
                }
                segment.lost = true;
            } else if !(segment.arrived || segment.retransmitted) {
                kept = kept.or(Some(place));
            }
            place = place.next(segment.end);
        }
        losses.detected = kept.unwrap_or(place);
        let segments = &self.segments;
        losses
            .retransmitted
            .retain(|&(number, place)| is_in_flight(segments, number, place));
    }

    /// Removes all loss marks, because the reduction that they caused proved spurious, and subjects every segment in
    /// flight to loss detection again (Linux: `tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub fn unmark_lost(&mut self) {
        let mut place = self.first();
        let Some(losses) = &mut self.losses else {
            return;
        };
        losses.bytes = 0;
        losses.detected = place;
        let mut retransmitted = Vec::new();
        for (_, segment) in self.segments.iter_mut_from(place.number) {
            segment.lost = false;
            if segment.retransmitted && !segment.arrived {
                retransmitted.push((segment.number, place));
            }
            place = place.next(segment.end);
        }
        // `check_retransmissions` relies on the order of transmission.
        retransmitted.sort_unstable();
        losses.retransmitted.clear();
        for segment in retransmitted {
            losses.retransmitted.put(segment);
        }
    }

    /// Keeps every declared loss from now on, for `take_declared_losses`.
    pub fn record_declared_losses(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.declared.get_or_insert_with(Vec::new);
        }
    }

    /// Returns the first byte and length of every segment declared lost since the last call.
    pub fn take_declared_losses(&mut self) -> Vec<(u64, u64)> {
        let declared = self.losses.as_mut().and_then(|losses| losses.declared.as_mut());
        declared.map(std::mem::take).unwrap_or_default()
    }

    /// Returns the number of bytes that are lost and have not been retransmitted.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, Losses::bytes)
    }

    /// Returns the cumulative number of bytes declared lost, counting repeats.
    #[inline]
    pub fn total_lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.total)
    }

    /// Returns whether losses were declared since the last call of `take_losses`, if a controller requests each loss.
    pub fn has_new_losses(&self) -> bool {
        let newly_lost = self.losses.as_ref().and_then(|losses| losses.newly_lost.as_ref());
        newly_lost.is_some_and(|newly_lost| !newly_lost.is_empty())
    }

    /// Returns the losses declared since the last call, if a controller requests each loss.
    pub fn take_losses(&mut self) -> Vec<LostSegment> {
        let delivered = self.delivered;
        let Some(newly_lost) = self.losses.as_mut().and_then(|losses| losses.newly_lost.as_mut()) else {
            return Vec::new();
        };
        let mut lost_segments = std::mem::take(newly_lost);
        for lost in &mut lost_segments {
            lost.delivered = delivered;
        }
        lost_segments
    }

    /// Returns the first byte and length of the first segment that is lost and not retransmitted.
    #[inline]
    pub fn next_lost(&mut self) -> Option<(u64, u32)> {
        if self.lost() == 0 {
            return None;
        }
        self.find_lost()
    }

    fn find_lost(&mut self) -> Option<(u64, u32)> {
        let first = self.first();
        let losses = self.losses.as_mut()?;
        let mut place = losses.from.max(first);
        let mut segment = self.segments.find(place.number)?;
        while !segment.lost {
            place = place.next(segment.end);
            segment = self.segments.find(place.number)?;
        }
        losses.from = place;
        Some((place.start, (segment.end - place.start) as u32))
    }

    /// Returns the first byte and length of the last segment in flight.
    pub fn last(&self) -> Option<(u64, u32)> {
        let segment = self.segments.last()?;
        let before = self.segments.tail().checked_sub(2);
        let before = before.and_then(|before| self.segments.find(before));
        let start = before.map_or(self.una, |before| before.end);
        (!segment.arrived).then_some((start, (segment.end - start) as u32))
    }

    /// Returns the time of the latest transmission of the first segment in flight.
    pub fn oldest(&self) -> Option<Time> {
        self.segments.first().map(|segment| segment.sent)
    }

    /// Returns whether any segment beyond a hole is known to have arrived.
    #[inline]
    pub fn has_holes(&self) -> bool {
        self.beyond > 0
    }

    /// Returns the number of segments beyond a hole that are known to have arrived.
    pub fn sacked_segments(&self) -> usize {
        self.segments_beyond
    }

    /// Returns the number of retransmitted segments that are in flight.
    pub fn retransmissions_in_flight(&self) -> usize {
        let retransmitted = self.losses.iter().flat_map(|losses| &losses.retransmitted);
        retransmitted
            .filter(|&&(number, place)| is_in_flight(&self.segments, number, place))
            .count()
    }
}

/// Returns a segment if the given transmission of the segment is still in flight.
fn in_flight_mut(segments: &mut Ring<SentSegment>, number: u64, place: Place) -> Option<&mut SentSegment> {
    is_in_flight(segments, number, place).then(|| segments.get_mut(place.number))
}

fn is_in_flight(segments: &Ring<SentSegment>, number: u64, place: Place) -> bool {
    let segment = segments.find(place.number);
    segment.is_some_and(|segment| segment.number == number && !segment.arrived && !segment.lost)
}
