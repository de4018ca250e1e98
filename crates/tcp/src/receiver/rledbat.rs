//! rLEDBAT: the receiver computes a window by the rules of LEDBAT++ and advertises it, so that any sender yields
//! (RFC 9840).
//!
//! The receiver measures RTTs by the timestamps that segments echo, and recognizes a retransmission by a timestamp that
//! is later than that of data beyond it. The advertised window is the smaller one of RLWND and the window of flow
//! control; its right edge never moves back, so a smaller RLWND takes effect as data arrive.

use crate::congestion::control::{Ack, Cause, Control, RecoveryPhase, Usage};
use crate::congestion::flight::{Flight, Limits};
use crate::congestion::{LedbatPlusPlus, LedbatPlusPlusConfig};
use crate::receiver::autotuning::AckOrder;
use crate::segment::{DataSegment, TIMESTAMP_TICK};
use crate::variant::Variant;
use longpipe_events::{MaybeTime, Ring, Span, Time};

/// An ACK that is the first in its tick of the receiver's timestamp clock.
#[derive(Clone, Copy, Debug, Default)]
struct SentAck {
    order: AckOrder,
    sent: Time,
}

/// State of an rLEDBAT receiver.
#[derive(Clone, Debug)]
pub struct Rledbat {
    control: LedbatPlusPlus,
    /// RLWND and its slow start threshold.
    flight: Flight,
    /// Right edge of the advertised window.
    edge: u64,
    /// Unit of the window field [byte].
    unit: u64,
    /// Largest window that fits into the buffer, in whole units [byte].
    most: u64,
    /// The latest RTT.
    round_trip: Option<Span>,
    /// First ACKs of the ticks whose timestamps no segment has echoed yet, oldest first.
    unechoed: Ring<SentAck>,
    /// The latest ACK that the receiver sent.
    latest: AckOrder,
    /// The latest ACK that had arrived when the current segment was sent; None if it is unknown.
    echoed: Option<AckOrder>,
    /// End of the tick of the latest ACK in `unechoed`.
    tick_end: Time,
    /// End and timestamp of the highest data received.
    highest: (u64, MaybeTime),
    /// Retransmissions that arrive before this time belong to a loss to which the window has been reduced.
    next_reduction: Time,
}

impl Rledbat {
    /// Creates the state of a new connection. `buffer` is the largest window of flow control [byte].
    pub fn new(target_ps: u64, initial_window: u64, buffer: u64, scale: u32, mss: u32) -> Rledbat {
        let unit = 1 << scale;
        // A window that has reached the buffer ends the first slow start.
        let limits = Limits::new(initial_window as f64, buffer as f64);
        Rledbat {
            control: LedbatPlusPlus::new(&LedbatPlusPlusConfig::with_target(target_ps)),
            flight: Flight::new(limits, buffer, mss),
            edge: initial_window.next_multiple_of(unit),
            unit,
            most: buffer / unit * unit,
            round_trip: None,
            unechoed: Ring::default(),
            latest: AckOrder::default(),
            echoed: None,
            tick_end: Time::ZERO,
            highest: (0, MaybeTime::NONE),
            next_reduction: Time::ZERO,
        }
    }

    /// Sets the latest ACK that had arrived when the next segment was sent.
    pub fn set_echoed(&mut self, echoed: AckOrder) {
        self.echoed = Some(echoed);
    }

    /// Processes a segment. `next` is RCV.NXT before the segment.
    pub fn on_segment(&mut self, now: Time, segment: &DataSegment, next: u64) {
        let sample = self.measure(now);
        let (end, stamp) = self.highest;
        let is_retransmission = segment.end() <= end && segment.timestamp > stamp;
        if segment.end() > end {
            self.highest = (segment.end(), segment.timestamp);
        }
        self.update(now, segment.length, sample, is_retransmission, next);
    }

    /// Updates RLWND for `length` bytes that arrived. `next` is RCV.NXT before them.
    fn update(&mut self, now: Time, length: u32, sample: Option<Span>, is_retransmission: bool, next: u64) {
        self.round_trip = sample.or(self.round_trip);
        let Some(round_trip) = self.round_trip else {
            return;
        };
        // While the data in flight exceed RLWND, a reduction is in progress.
        let is_reducing = self.edge.saturating_sub(next) > self.rounded_window();
        // A reduction holds for a round trip. The receiver does not know SND.MAX, so it counts in time.
        (self.flight.una, self.flight.max) = (now.0, now.0 + round_trip.0);
        let update = if is_retransmission {
            if let Some(rtt) = sample {
                self.control.measure(rtt, now);
            }
            if now < self.next_reduction {
                return;
            }
            self.next_reduction = now + round_trip;
            self.control.on_reduction(Cause::FastRetransmit, now, &self.flight)
        } else {
            let ack = self.ack(now, length, sample, !is_reducing);
            self.control.on_ack(&ack, &self.flight)
        };
        self.flight.limits.set(update.window, update.threshold);
    }

    /// Returns the ACK of LEDBAT++ that corresponds to `length` bytes that arrived.
    fn ack(&self, now: Time, length: u32, rtt: Option<Span>, grows: bool) -> Ack {
        let acked = u64::from(length);
        Ack {
            now,
            acked,
            grows,
            open: grows,
            phase: RecoveryPhase::Open,
            delivered: acked,
            lost: 0,
            marked: 0,
            in_flight_before: 0,
            in_flight: 0,
            cwnd: self.flight.cwnd(),
            window_limited: true,
            usage: Usage::of(true, 0),
            rtt,
            seq_rtt: rtt,
            srtt: self.round_trip,
            least_rtt: None,
            delay: None,
            rate: None,
            held: Span(0),
            paced: false,
            reordered: false,
        }
    }

    /// Returns the RTT of the segment that has just arrived, if it is the first one that echoes a tick: the time since
    /// the first ACK of the tick.
    fn measure(&mut self, now: Time) -> Option<Span> {
        let echoed = self.echoed?;
        let mut sent = None;
        while let Some(ack) = self.unechoed.first().filter(|ack| ack.order <= echoed) {
            sent = Some(ack.sent);
            self.unechoed.pop();
        }
        sent.map(|sent| now - sent)
    }

    /// Records that an ACK of all bytes before `next` is sent, and returns the window that it advertises [byte].
    /// `flow_control` is the window of flow control [byte].
    pub fn advertise(&mut self, now: Time, next: u64, flow_control: u64) -> u32 {
        self.latest = self.latest.next(next);
        if now >= self.tick_end {
            self.tick_end = Time((now.0 / TIMESTAMP_TICK.0 + 1) * TIMESTAMP_TICK.0);
            let order = self.latest;
            self.unechoed.push(SentAck { order, sent: now });
        }
        let in_flight = self.edge.saturating_sub(next).next_multiple_of(self.unit);
        let window = self.rounded_window().max(in_flight).min(self.most);
        self.edge = self.edge.max(next + window);
        window.min(flow_control) as u32
    }

    /// Returns RLWND, rounded up to whole units [byte].
    fn rounded_window(&self) -> u64 {
        (self.flight.cwnd().ceil() as u64).next_multiple_of(self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows that an independent program (tests/rledbat_witness.py) computes by the rules of RFC 9840, for base delays
    /// of 7, 10, 60 and 600 ms. Each row is a segment that arrives and its ACK.
    const WITNESS: &str = include_str!("rledbat_witness.csv");

    #[test]
    fn windows_equal_those_of_the_independent_program() {
        let target_ps = Span::millis(60).0;
        let begun = || Rledbat::new(target_ps, 10_000, 400_000, 7, 1000);
        let (mut case, mut receiver) = ("", begun());
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<u64>().expect(row);
            if fields[0] != case {
                (case, receiver) = (fields[0], begun());
            }
            let now = Time(Span::micros(number(1)).0);
            let (sequence, length) = (number(2), number(3));
            let rtt = (!fields[4].is_empty()).then(|| Span::micros(number(4)));
            receiver.update(now, length as u32, rtt, number(5) == 1, sequence);
            let advertised = receiver.advertise(now, sequence + length, u64::MAX);
            for (value, column) in [(receiver.flight.cwnd(), 6), (receiver.flight.ssthresh(), 7)] {
                let expected = fields[column].parse::<f64>().expect(row);
                assert!((value - expected).abs() < 1e-6, "{row}: {value}");
            }
            assert_eq!(u64::from(advertised), number(8), "{row}");
        }
    }

    #[test]
    fn an_rtt_is_measured_once_per_tick_from_its_first_ack() {
        let mut receiver = Rledbat::new(Span::millis(60).0, 10_000, 400_000, 7, 1000);
        let at = |micros| Time(Span::micros(micros).0);
        receiver.advertise(at(100), 1000, u64::MAX);
        receiver.advertise(at(900), 2000, u64::MAX);
        receiver.advertise(at(1100), 3000, u64::MAX);
        let mut sample = |now, number| {
            receiver.set_echoed(AckOrder::new(number, 0));
            receiver.measure(at(now))
        };
        assert_eq!(sample(20_000, 1000), Some(Span::micros(19_900)));
        assert_eq!(sample(20_500, 2000), None);
        assert_eq!(sample(21_200, 3000), Some(Span::micros(20_100)));
    }

    #[test]
    fn a_segment_with_a_later_timestamp_than_data_beyond_it_is_a_retransmission() {
        let mut receiver = Rledbat::new(Span::millis(60).0, 10_000, 400_000, 7, 1000);
        receiver.round_trip = Some(Span::millis(20));
        let mut window_after = |sequence, sent_ms| {
            let now = Time(Span::millis(sent_ms + 10).0);
            let timestamp = Time(Span::millis(sent_ms).0).into();
            let segment = DataSegment {
                sequence,
                length: 1000,
                timestamp,
                ..DataSegment::default()
            };
            receiver.on_segment(now, &segment, 1000);
            receiver.flight.cwnd()
        };
        assert_eq!(window_after(2000, 5), 10_000.0);
        // Reordered: it was sent before the data beyond it.
        assert_eq!(window_after(1000, 4), 10_000.0);
        assert_eq!(window_after(1000, 30), 5_000.0);
        // The same loss.
        assert_eq!(window_after(1000, 40), 5_000.0);
    }
}
