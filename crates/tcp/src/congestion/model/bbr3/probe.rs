//! The cycle of `ProbeBW`: down, cruise, refill, up (draft-ietf-ccwg-bbr section 5.3.3).

use super::startup::{self, is_too_high};
use super::state::{AckPhase, Bbr3, Sample, ShortTerm, State, HEADROOM, MIN_SEGMENTS};
use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use longpipe_events::{Span, Time};

/// A probe starts after 2 to 3 seconds, or after a number of rounds (section 5.3.3.5).
const WAIT: Span = Span::seconds(2);
const WAIT_DRAWN: Span = Span::seconds(1);
const MAX_ROUNDS: f64 = 63.0;
/// Maximum exponent n; the growth per round is 2^n segments.
const MAX_DOUBLINGS: u32 = 30;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time) {
        self.loss.reset();
        self.probe.acked_per_segment = f64::INFINITY;
        self.probe.rounds_since_up = self.draws.below(2);
        self.probe.wait = WAIT + Span(self.draws.below(WAIT_DRAWN.0));
        self.probe.began = now;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.short = ShortTerm::default();
        (self.probe.rounds, self.probe.acked) = (0, 0.0);
        self.probe.precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &Sample, flight: &Flight) {
        self.probe.ack_phase = AckPhase::Starting;
        self.start_round();
        startup::reset_full_pipe(self, sample.rate);
        self.state = State::Up;
        self.raise_slope(flight);
    }

    /// Implements `UpdateProbeBWCyclePhase` of the draft.
    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: &Sample, flight: &Flight) {
        if !self.full.reached || self.adapt_long_term(ack, sample, flight) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now, flight) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack, flight) => self.state = State::Cruise,
            State::Refill if self.rounds.began => {
                self.probe.is_sample = true;
                self.start_up(sample, flight);
            }
            State::Up => self.check_probe_down(ack, sample, flight),
            _ => {}
        }
    }

    fn check_probe_down(&mut self, ack: &Ack, sample: &Sample, flight: &Flight) {
        if self.is_time_to_go_down(ack, sample, flight) {
            self.probe.too_high = false;
            self.start_down(ack.now);
        }
    }

    fn is_time_to_cruise(&self, ack: &Ack, flight: &Flight) -> bool {
        let in_flight = ack.in_flight as f64;
        in_flight <= self.with_headroom(flight) && in_flight <= self.inflight(self.max_bw.get(), 1.0, flight)
    }

    fn is_time_to_go_down(&mut self, ack: &Ack, sample: &Sample, flight: &Flight) -> bool {
        if self.probe.too_high && ack.in_flight_before as f64 >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if ack.window_limited && flight.cwnd() >= self.inflight_longterm {
            startup::reset_full_pipe(self, sample.rate);
            return false;
        }
        self.full.now
    }

    fn is_time_to_probe(&self, now: Time, flight: &Flight) -> bool {
        let rounds = (self.target(flight) / flight.mss()).min(MAX_ROUNDS);
        now > self.probe.began + self.probe.wait || self.probe.rounds_since_up as f64 >= rounds
    }

    /// Returns the target for the data in flight, limited by cwnd (`TargetInflight`).
    pub(super) fn target(&self, flight: &Flight) -> f64 {
        self.product(self.bw, 1.0, flight).min(flight.cwnd())
    }

    /// Implements `InflightWithHeadroom` of the draft.
    pub(super) fn with_headroom(&self, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let headroom = mss.max(HEADROOM * self.inflight_longterm);
        if headroom.is_finite() {
            (self.inflight_longterm - headroom).max(MIN_SEGMENTS * mss)
        } else {
            f64::INFINITY
        }
    }

    fn raise_slope(&mut self, flight: &Flight) {
        let growth = f64::from(1u32 << self.probe.rounds);
        self.probe.rounds = (self.probe.rounds + 1).min(MAX_DOUBLINGS);
        self.probe.acked_per_segment = (flight.cwnd() / growth).max(flight.mss());
    }

    /// Implements `ProbeInflightLongtermUpward` of the draft.
    fn raise_long_term(&mut self, ack: &Ack, flight: &Flight) {
        if !ack.window_limited || flight.cwnd() < self.inflight_longterm {
            return;
        }
        let probe = &mut self.probe;
        probe.acked += ack.delivered as f64;
        if probe.acked >= probe.acked_per_segment {
            let segments = (probe.acked / probe.acked_per_segment) as u64 as f64;
            probe.acked -= segments * probe.acked_per_segment;
            self.inflight_longterm += segments * flight.mss();
        }
        if self.rounds.began {
            self.raise_slope(flight);
        }
    }

    /// Implements `AdaptLongTermModel` of the draft. Returns whether it changed the state.
    fn adapt_long_term(&mut self, ack: &Ack, sample: &Sample, flight: &Flight) -> bool {
        if self.rounds.began && self.probe.ack_phase == AckPhase::Starting {
            self.probe.ack_phase = AckPhase::Feedback;
        }
        if self.rounds.began && self.probe.ack_phase == AckPhase::Stopping {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.app_limited {
                self.cycle += 1;
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill();
                return true;
            }
        }
        if is_too_high(sample.lost, sample.tx_in_flight) || self.inflight_longterm == f64::INFINITY {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.raise_long_term(ack, flight);
        }
        false
    }
}
