//! A connection whose window is controlled by a loaded object.

use crate::answer::{Answer, Answers};
use crate::operations::Operations;
use longpipe_events::{Span, Stream, Time};
use longpipe_plugin::table::{self as interface, NO_TIME, SAME_RATE};
use longpipe_tcp::congestion::control::{
    Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, RecoveryPhase, Sent, Wants,
};
use longpipe_tcp::congestion::flight::Flight;
use longpipe_tcp::congestion::user::Controller;
use std::ffi::c_int;

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow<O: Operations> {
    operations: O,
    answers: Answers,
    /// Idle time between the establishment of the connection and its first segment.
    preconnect: Span,
}

impl<O: Operations> Flow<O> {
    /// Returns a connection; its state is created when its settings are known.
    pub fn new(operations: O) -> Flow<O> {
        Flow {
            operations,
            answers: Answers::default(),
            preconnect: Span(0),
        }
    }

    fn take(&mut self, answer: &interface::Grant, flight: &Flight, now: Time) -> CwndUpdate {
        let complaints = &self.operations.about().complaints;
        self.answers.take(&plain(answer), flight, now, complaints)
    }
}

#[inline(always)]
fn plain(answer: &interface::Grant) -> Answer {
    Answer {
        window: answer.window,
        ssthresh: answer.ssthresh,
        rate_bps: (answer.pacing_bps != SAME_RATE).then_some(answer.pacing_bps),
        burst_segments: answer.burst_segments,
    }
}

impl<O: Operations> Controller for Flow<O> {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        panic!(
            "{}: the state of a loaded controller cannot be copied",
            self.operations.about().name
        );
    }
}

#[inline(always)]
fn shown(flight: &Flight, now: Time) -> interface::Flight {
    interface::Flight {
        now_ps: now.0,
        una: flight.una,
        nxt: flight.nxt,
        max: flight.max,
        cwnd: flight.cwnd(),
        ssthresh: flight.ssthresh(),
        rwnd: flight.rwnd(),
        mss: flight.mss,
        reserved: 0,
    }
}

#[inline(always)]
fn unchanged(flight: &Flight) -> interface::Grant {
    interface::Grant {
        window: flight.cwnd(),
        ssthresh: flight.ssthresh(),
        pacing_bps: SAME_RATE,
        burst_segments: 0,
        reserved: 0,
    }
}

fn time(span: Option<Span>) -> i64 {
    span.map_or(NO_TIME, |span| i64::try_from(span.0).unwrap_or(i64::MAX))
}

impl<O: Operations> Control for Flow<O> {
    fn wants(&self) -> Wants {
        self.operations.about().requirements.wants
    }

    fn draw_from(&mut self, draws: Stream) {
        self.operations.draw_from(draws);
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.preconnect = idle;
    }

    /// Also creates the state of the loaded controller, because this is the last setting before the connection starts.
    fn set_ecn(&mut self, on: bool) {
        self.operations.create(on, self.preconnect);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, Time::ZERO), unchanged(flight));
        self.answers.least_rtt = Some(rtt);
        self.operations.on_start(rtt.0, &seen, &mut answer);
        self.take(&answer, flight, Time::ZERO)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        if !self.operations.about().has_on_sent {
            return None;
        }
        let (seen, mut answer) = (shown(flight, sent.now), unchanged(flight));
        let segment = interface::Sent {
            sequence: sent.sequence,
            end: sent.end,
            in_flight: sent.in_flight,
            retransmission: u32::from(sent.retransmission),
            app_limited: u32::from(sent.app_limited),
        };
        self.operations.on_sent(&segment, &seen, &mut answer);
        let complaints = &self.operations.about().complaints;
        self.answers.pacing(&plain(&answer), flight, sent.now, complaints)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        if !self.operations.about().has_on_acked_or_sample {
            return CwndUpdate::unchanged(flight);
        }
        let (seen, mut answer) = (shown(flight, sample.now), unchanged(flight));
        let rate_sample = interface::Sample {
            acked: sample.acked,
            delivered: sample.delivered,
            marked: sample.marked,
            rtt_ps: time(sample.rtt),
            delay_ps: time(sample.delay),
            delivered_since_sent: sample.delivered_since_sent.unwrap_or(0),
            has_sack_blocks: u32::from(sample.has_sack_blocks),
            paced: u32::from(sample.paced),
        };
        self.operations.on_acked(&rate_sample, &seen, &mut answer);
        self.take(&answer, flight, sample.now)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.answers.least_rtt = ack.least_rtt.or(self.answers.least_rtt);
        let (seen, mut answer) = (shown(flight, ack.now), unchanged(flight));
        let record = interface::Ack {
            acked: ack.acked,
            delivered: ack.delivered,
            marked: ack.marked,
            lost: ack.lost,
            in_flight_before: ack.in_flight_before,
            in_flight: ack.in_flight,
            most_in_flight: ack.usage.most,
            cwnd: ack.cwnd,
            rtt_ps: time(ack.rtt),
            srtt_ps: time(ack.srtt),
            min_rtt_ps: time(ack.least_rtt),
            held_ps: ack.held.0,
            rate_delivered: ack.rate.map_or(0, |rate| rate.delivered),
            rate_interval_ps: time(ack.rate.map(|rate| rate.interval)),
            rate_prior_delivered: ack.rate.map_or(0, |rate| rate.prior_delivered),
            rate_in_flight: ack.rate.map_or(0, |rate| rate.tx_in_flight),
            rate_lost: ack.rate.map_or(0, |rate| rate.lost),
            rate_app_limited: u32::from(ack.rate.is_some_and(|rate| rate.app_limited)),
            grows: u32::from(ack.grows),
            open: u32::from(ack.open),
            phase: match ack.phase {
                RecoveryPhase::Open => 0,
                RecoveryPhase::Recovery => 1,
                RecoveryPhase::Loss => 2,
            },
            window_limited: u32::from(ack.window_limited),
            window_was_full: u32::from(ack.usage.full),
            paced: u32::from(ack.paced),
            reordered: u32::from(ack.reordered),
        };
        self.operations.on_ack(&record, &seen, &mut answer);
        self.take(&answer, flight, ack.now)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        if !self.operations.about().has_on_lost {
            return;
        }
        let seen = shown(flight, now);
        let record = interface::Lost {
            sequence: lost.sequence,
            end: lost.end,
            in_flight: lost.tx_in_flight,
            lost: lost.lost,
            prior_delivered: lost.prior_delivered,
            delivered: lost.delivered,
            app_limited: u32::from(lost.app_limited),
            reserved: 0,
        };
        self.operations.on_lost(&record, &seen);
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, now), unchanged(flight));
        let cause: c_int = match cause {
            Cause::FastRetransmit => 0,
            Cause::Timeout => 1,
            Cause::Mark { abe: false } => 2,
            Cause::Mark { abe: true } => 3,
        };
        self.operations.on_reduction(cause, &seen, &mut answer);
        self.take(&answer, flight, now)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, now), unchanged(flight));
        self.operations.on_recovered(spurious, &seen, &mut answer);
        self.take(&answer, flight, now)
    }
}
