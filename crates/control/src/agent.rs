//! A sender whose rate or window is set from outside, between steps of the simulation.

use crate::answer::{Answer, Answers, LARGEST_WINDOW};
use crate::complaints::Complaints;
use crate::monitor::Monitor;
use longpipe_events::{Span, Time};
use longpipe_tcp::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, Sent, Wants};
use longpipe_tcp::congestion::loaded::{Controller, Plugin, Requirements};
use longpipe_tcp::flight::Flight;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Quantity that actions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The pacing rate; the window does not limit the sender.
    Rate,
    /// The congestion window.
    Window,
}

/// State of one agent, shared by its sender and the environment.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Sums of the present step.
    pub monitor: Monitor,
    /// Pacing rate [bit/s]; NaN before the first RTT sample.
    pub rate: f64,
    /// Congestion window [byte]; NaN before the first RTT sample.
    pub window: f64,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Smallest RTT sample of the connection.
    pub min_rtt: Option<Span>,
    /// Bytes in flight after the latest ACK.
    pub in_flight: u64,
    /// Payload of a full segment [byte].
    pub mss: f64,
}

impl State {
    /// Whether the agent can act: there is an RTT sample.
    pub fn is_ready(&self) -> bool {
        !self.window.is_nan() && self.mss > 0.0
    }
}

/// An agent in the form in which a scenario holds it.
#[derive(Clone, Debug)]
pub struct Agent {
    state: Arc<Mutex<State>>,
    steering: Steering,
}

impl Agent {
    /// Returns an agent before its connection begins.
    pub fn new(steering: Steering) -> Agent {
        let state = State {
            rate: f64::NAN,
            window: f64::NAN,
            ..State::default()
        };
        Agent {
            state: Arc::new(Mutex::new(state)),
            steering,
        }
    }

    /// Returns the state.
    #[inline]
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plugin for Agent {
    fn requirements(&self) -> Requirements {
        Requirements {
            wants: Wants {
                records: true,
                sending: true,
                pacing: self.steering == Steering::Rate,
                ..Wants::default()
            },
            owns_window: true,
            measures_delay: false,
        }
    }

    fn connect(&self) -> Box<dyn Controller> {
        Box::new(Steered {
            agent: self.clone(),
            answers: Answers::default(),
            complaints: Complaints::default(),
        })
    }
}

/// The controller of an agent's connection.
#[derive(Debug)]
struct Steered {
    agent: Agent,
    answers: Answers,
    complaints: Complaints,
}

impl Steered {
    fn answer(&self, state: &State, flight: &Flight) -> Answer {
        let unchanged = Answer::unchanged(flight);
        if !state.is_ready() {
            return unchanged;
        }
        match self.agent.steering {
            Steering::Rate => Answer {
                window: LARGEST_WINDOW,
                rate_bps: Some(state.rate),
                ..unchanged
            },
            Steering::Window => Answer {
                window: state.window,
                ..unchanged
            },
        }
    }

    fn grant(&mut self, flight: &Flight, now: Time) -> CwndUpdate {
        let answer = self.answer(&self.agent.state(), flight);
        self.answers.take(&answer, flight, now, &self.complaints)
    }
}

impl Controller for Steered {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        panic!("an environment with agents cannot be copied");
    }
}

impl Control for Steered {
    fn wants(&self) -> Wants {
        self.agent.requirements().wants
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        let answer = {
            let mut state = self.agent.state();
            state.monitor.sent += sent.end - sent.sequence;
            self.answer(&state, flight)
        };
        self.answers.pacing(&answer, flight, sent.now, &self.complaints)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.answers.least_rtt = ack.least_rtt.or(self.answers.least_rtt);
        let answer = {
            let mut state = self.agent.state();
            state.monitor.on_ack(ack);
            (state.srtt, state.min_rtt) = (ack.srtt, ack.least_rtt);
            (state.in_flight, state.mss) = (ack.in_flight, flight.mss());
            if let (true, Some(srtt)) = (state.window.is_nan(), ack.srtt) {
                // The first window over the RTT, as the sender does without an agent.
                state.window = flight.cwnd();
                state.rate = 8.0 * flight.cwnd() / srtt.as_seconds();
            }
            self.answer(&state, flight)
        };
        self.answers.take(&answer, flight, ack.now, &self.complaints)
    }

    fn on_reduction(&mut self, _cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        self.grant(flight, now)
    }

    fn on_recovered(&mut self, _spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        self.grant(flight, now)
    }
}
