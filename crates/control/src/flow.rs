//! A connection whose window is controlled by a loaded object.
#![allow(unsafe_code)]

use crate::answer::{Answer, Answers};
use crate::heartbeat;
use crate::object::{Object, Shared};
use longpipe_events::{Span, Stream, Time};
use longpipe_plugin::table::{self as interface, NO_TIME, SAME_RATE};
use longpipe_tcp::congestion::control::{
    Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, RecoveryPhase, Sent, Wants,
};
use longpipe_tcp::congestion::loaded::Controller;
use longpipe_tcp::flight::Flight;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// State of one connection.
#[derive(Debug)]
pub struct Flow {
    state: *mut c_void,
    /// Random stream of the connection, boxed because `state` keeps its address.
    draws: Box<Stream>,
    answers: Answers,
    /// Time for which the connection is established and idle before its first segment leaves.
    preconnect: Span,
    object: Arc<Object>,
}

// SAFETY: `state` belongs to this connection, and the functions of an object's copy are called by the thread of one
// simulation at a time.
unsafe impl Send for Flow {}

extern "C" fn draw(source: *mut c_void, bound: u32) -> u32 {
    // SAFETY: the source is the `draws` of the flow whose operation is in progress, which borrows nothing of it meanwhile.
    let draws = unsafe { &mut *source.cast::<Stream>() };
    let bound = if bound == 0 { 1 << 32 } else { u64::from(bound) };
    draws.below(bound) as u32
}

impl Flow {
    /// Creates the state of a connection.
    pub fn new(object: Arc<Object>) -> Flow {
        Flow {
            state: std::ptr::null_mut(),
            draws: Box::new(Stream::new(0, "control", 0)),
            answers: Answers::default(),
            preconnect: Span(0),
            object,
        }
    }

    fn create(&mut self, ecn: bool) {
        let connection = interface::Connection {
            draw,
            source: std::ptr::from_mut(&mut *self.draws).cast(),
            ecn: u32::from(ecn),
            preconnect_us: u32::try_from(self.preconnect.0 / 1_000_000).unwrap_or(u32::MAX),
        };
        let create = self.object.control().create.expect("checked when it was loaded");
        // SAFETY: the structure is that of the interface; the source outlives the state.
        self.state = heartbeat::during(|| unsafe { create(&connection) });
        assert!(
            !self.state.is_null(),
            "{}: out of memory for a connection",
            self.object.name()
        );
    }

    fn take(&mut self, answer: &interface::Grant, flight: &Flight, now: Time) -> CwndUpdate {
        self.answers.take(&plain(answer), flight, now, &self.object.complaints)
    }

    fn pacing(&mut self, answer: &interface::Grant, flight: &Flight, now: Time) -> Option<Pacing> {
        self.answers
            .pacing(&plain(answer), flight, now, &self.object.complaints)
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

impl Drop for Flow {
    fn drop(&mut self) {
        if let (Some(destroy), false) = (self.object.control().destroy, self.state.is_null()) {
            // SAFETY: the state is of this object, and nothing uses it afterwards.
            heartbeat::during(|| unsafe { destroy(self.state) });
        }
    }
}

impl Controller for Flow {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        panic!(
            "{}: the state of a loaded controller cannot be copied",
            self.object.name()
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

impl Control for Flow {
    fn wants(&self) -> Wants {
        Shared::wants(&self.object)
    }

    fn draw_from(&mut self, draws: Stream) {
        *self.draws = draws;
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.preconnect = idle;
    }

    /// Also creates the state, because this is the last setting before the connection starts.
    fn set_ecn(&mut self, on: bool) {
        self.create(on);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, Time::ZERO), unchanged(flight));
        self.answers.least_rtt = Some(rtt);
        if let Some(on_start) = self.object.control().on_start {
            // SAFETY: the state is of this object, the structures are those of the interface.
            heartbeat::during(|| unsafe { on_start(self.state, rtt.0, &seen, &mut answer) });
        }
        self.take(&answer, flight, Time::ZERO)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        let on_sent = self.object.control().on_sent?;
        let (seen, mut answer) = (shown(flight, sent.now), unchanged(flight));
        let told = interface::Sent {
            sequence: sent.sequence,
            end: sent.end,
            in_flight: sent.in_flight,
            retransmission: u32::from(sent.retransmission),
            app_limited: u32::from(sent.app_limited),
        };
        // SAFETY: the state is of this object, the structures are those of the interface.
        heartbeat::during(|| unsafe { on_sent(self.state, &told, &seen, &mut answer) });
        self.pacing(&answer, flight, sent.now)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) {
        let Some(on_sample) = self.object.control().on_sample else {
            return;
        };
        let seen = shown(flight, sample.now);
        let told = interface::Sample {
            acked: sample.acked,
            delivered: sample.delivered,
            marked: sample.marked,
            rtt_ps: time(sample.rtt),
            delay_ps: time(sample.delay),
            delivered_since_sent: sample.delivered_since_sent.unwrap_or(0),
            has_sack_blocks: u32::from(sample.has_sack_blocks),
            reserved: 0,
        };
        // SAFETY: the state is of this object, the structures are those of the interface.
        heartbeat::during(|| unsafe { on_sample(self.state, &told, &seen) });
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.answers.least_rtt = ack.least_rtt.or(self.answers.least_rtt);
        let (seen, mut answer) = (shown(flight, ack.now), unchanged(flight));
        let told = interface::Ack {
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
            reserved: 0,
        };
        let on_ack = self.object.control().on_ack.expect("checked when it was loaded");
        // SAFETY: the state is of this object, the structures are those of the interface.
        heartbeat::during(|| unsafe { on_ack(self.state, &told, &seen, &mut answer) });
        self.take(&answer, flight, ack.now)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        let Some(on_lost) = self.object.control().on_lost else {
            return;
        };
        let seen = shown(flight, now);
        let told = interface::Lost {
            sequence: lost.sequence,
            end: lost.end,
            in_flight: lost.tx_in_flight,
            lost: lost.lost,
            prior_delivered: lost.prior_delivered,
            delivered: lost.delivered,
            app_limited: u32::from(lost.app_limited),
            reserved: 0,
        };
        // SAFETY: the state is of this object, the structures are those of the interface.
        heartbeat::during(|| unsafe { on_lost(self.state, &told, &seen) });
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, now), unchanged(flight));
        let cause: c_int = match cause {
            Cause::FastRetransmit => 0,
            Cause::Timeout => 1,
            Cause::Mark { abe: false } => 2,
            Cause::Mark { abe: true } => 3,
        };
        let on_reduction = self.object.control().on_reduction.expect("checked when it was loaded");
        // SAFETY: the state is of this object, the structures are those of the interface.
        heartbeat::during(|| unsafe { on_reduction(self.state, cause, &seen, &mut answer) });
        self.take(&answer, flight, now)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        let (seen, mut answer) = (shown(flight, now), unchanged(flight));
        if let Some(on_recovered) = self.object.control().on_recovered {
            // SAFETY: the state is of this object, the structures are those of the interface.
            heartbeat::during(|| unsafe { on_recovered(self.state, c_int::from(spurious), &seen, &mut answer) });
        }
        self.take(&answer, flight, now)
    }
}
