//! A sender whose rate or window is set from outside the simulation, between steps.

use crate::answer::{Answer, Answers, LARGEST_WINDOW};
use crate::base::Base;
use crate::complaints::Complaints;
use crate::monitor::Monitor;
use longpipe_events::{Span, Stream, Time};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, Sent, Wants};
use longpipe_tcp::congestion::limits::Limits;
use longpipe_tcp::congestion::loaded::{Controller, Plugin, Requirements};
use longpipe_tcp::flight::Flight;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Quantity that actions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The pacing rate. The window does not limit the sender.
    Rate,
    /// The congestion window; nothing else changes it.
    Window,
    /// The congestion window of the flow's own congestion controller; the controller continues from the new value
    /// (Orca).
    Base,
}

/// State of one agent, shared by its sender and the environment.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Sums over the current step.
    pub monitor: Monitor,
    /// Pacing rate that actions have set [bit/s]; NaN before the first RTT sample. Without `Steering::Rate`, nothing
    /// changes it.
    pub rate: f64,
    /// Congestion window [byte]; NaN before the first RTT sample. With `Steering::Rate`, nothing changes it.
    pub window: f64,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Minimum RTT sample of the connection.
    pub min_rtt: Option<Span>,
    /// Bytes in flight after the latest ACK.
    pub in_flight: u64,
    /// Payload of a full segment [byte].
    pub mss: f64,
    /// Whether an action has changed the window of the base controller since the latest ACK.
    pub moved: bool,
}

impl State {
    /// Returns whether the agent can act, which requires an RTT sample.
    pub fn is_ready(&self) -> bool {
        !self.window.is_nan() && self.mss > 0.0
    }

    /// Returns the congestion window [byte] and the rate [bit/s]. One of them is set; the other one corresponds to it at
    /// the smoothed RTT.
    pub fn window_and_rate(&self, steering: Steering) -> (f64, f64) {
        let srtt = self.srtt.map_or(f64::NAN, Span::as_seconds);
        match steering {
            Steering::Rate => (self.rate * srtt / 8.0, self.rate),
            Steering::Window | Steering::Base => (self.window, 8.0 * self.window / srtt),
        }
    }

    /// Stores the measurements of an ACK.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) {
        self.monitor.on_ack(ack);
        (self.srtt, self.min_rtt) = (ack.srtt, ack.least_rtt);
        (self.in_flight, self.mss) = (ack.in_flight, flight.mss());
    }
}

/// An agent in the form in which a scenario holds it.
#[derive(Clone, Debug)]
pub struct Agent {
    state: Arc<Mutex<State>>,
    steering: Steering,
    /// The flow's congestion controller, which runs between the actions.
    base: Option<CongestionConfig>,
}

impl Agent {
    /// Returns an agent for a connection that has not started yet. `own` is the flow's own congestion controller.
    pub fn new(steering: Steering, own: &CongestionConfig) -> Agent {
        let state = State {
            rate: f64::NAN,
            window: f64::NAN,
            ..State::default()
        };
        Agent {
            state: Arc::new(Mutex::new(state)),
            steering,
            base: (steering == Steering::Base).then(|| own.clone()),
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
        let wants = Wants {
            records: true,
            sending: true,
            pacing: self.steering == Steering::Rate,
            ..Wants::default()
        };
        match &self.base {
            None => Requirements {
                wants,
                owns_window: true,
                measures_delay: false,
            },
            Some(base) => Requirements {
                wants: wants.or(Base::new(base).wants()),
                owns_window: base.is_model(),
                measures_delay: base.measures_delay(),
            },
        }
    }

    fn connect(&self) -> Box<dyn Controller> {
        match &self.base {
            None => Box::new(Steered {
                agent: self.clone(),
                answers: Answers::default(),
                complaints: Complaints::default(),
            }),
            Some(base) => Box::new(Based {
                agent: self.clone(),
                base: Base::new(base),
            }),
        }
    }
}

/// The controller of a connection that has an agent.
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
            Steering::Window | Steering::Base => Answer {
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
            state.on_ack(ack, flight);
            if let (true, Some(srtt)) = (state.window.is_nan(), ack.srtt) {
                // The initial rate is the first window divided by the RTT, as for a sender without an agent.
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

/// Controller of a connection whose window the agent sets; the base controller continues from there.
#[derive(Debug)]
struct Based {
    agent: Agent,
    base: Base,
}

impl Based {
    /// Records the window that the base controller has set. If it is a reduction, an action that has not taken effect
    /// yet is discarded.
    fn left(&self, grant: CwndUpdate) -> CwndUpdate {
        let mut state = self.agent.state();
        state.moved = false;
        if state.is_ready() {
            state.window = grant.window;
        }
        grant
    }
}

impl Controller for Based {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        panic!("an environment with agents cannot be copied");
    }
}

impl Control for Based {
    fn wants(&self) -> Wants {
        self.agent.requirements().wants
    }

    fn draw_from(&mut self, draws: Stream) {
        self.base.draw_from(draws);
    }

    fn set_hz(&mut self, hz: u32) {
        self.base.set_hz(hz);
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.base.set_preconnect(idle);
    }

    fn set_ecn(&mut self, on: bool) {
        self.base.set_ecn(on);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.base.on_start(rtt, flight)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.agent.state().monitor.sent += sent.end - sent.sequence;
        self.base.on_sent(sent, flight)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        self.base.on_sample(sample, flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let mut flight = flight.clone();
        {
            let mut state = self.agent.state();
            state.on_ack(ack, &flight);
            // During a recovery, loss recovery sets the window, as in Linux, where PRR overwrites a window that was set
            // from outside.
            if state.moved && ack.grows {
                flight.limits = Limits::new(state.window, flight.ssthresh());
            }
            state.moved = false;
        }
        let grant = self.base.on_ack(ack, &flight);
        let mut state = self.agent.state();
        if ack.srtt.is_some() {
            state.window = grant.window;
        }
        grant
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        self.base.on_lost(lost, now, flight);
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let grant = self.base.on_reduction(cause, now, flight);
        self.left(grant)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        let grant = self.base.on_recovered(spurious, now, flight);
        self.left(grant)
    }
}
