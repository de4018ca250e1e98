//! A sender whose rate or window an agent changes once per step.
//!
//! A step ends with the first ACK at or after its scheduled end, because a sender has no other events. The action takes
//! effect after this time. An agent outside the simulation acts between two calls of [`crate::environment`]; a
//! [`Policy`] acts within the run, at the next event of its sender. Both see and do the same, bit by bit.

use crate::answer::{Answer, Answers, LARGEST_WINDOW};
use crate::base::Base;
use crate::complaints::{Complaints, Kind};
use crate::monitor::{Length, Monitor};
use longpipe_events::{Span, Stream, Time};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, Sent, Wants};
use longpipe_tcp::congestion::flight::Flight;
use longpipe_tcp::congestion::flight::Limits;
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use std::fmt;
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

/// Names of the measurements of one agent in one step.
pub const FEATURES: [&str; 17] = [
    "now",
    "duration",
    "acks",
    "acked",
    "delivered",
    "lost",
    "marked",
    "sent",
    "rtt",
    "lowest_rtt",
    "rtt_increase",
    "srtt",
    "min_rtt",
    "in_flight",
    "window",
    "rate",
    "mss",
];

/// Measurements of one agent in one step, in the order of [`FEATURES`].
pub type Row = [f64; FEATURES.len()];

/// Minimum length of a step that is given in round trips.
pub(crate) const MOMENT: Span = Span(1_000_000_000);
/// Maximum rate of an agent, and rate to which its maximum window corresponds, each relative to the slowest link of the
/// agent's route.
const MAX_RELATIVE_RATE: f64 = 8.0;

/// A policy that acts within a run.
pub trait Policy: fmt::Debug + Send {
    /// Returns the factor by which the policy multiplies the rate or the window after a step with these measurements;
    /// None if it has failed. `at` is the end of the step.
    fn factor(&mut self, row: &Row, at: Time) -> Option<f64>;
}

/// Scheduled end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Due {
    /// The first RTT sample of the connection.
    #[default]
    FirstSample,
    /// A time.
    At(Time),
    /// A number of ACKs.
    Acks(u64),
}

/// State of one agent, shared by its sender and the environment.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Sums over the current step.
    pub monitor: Monitor,
    /// Scheduled end of the current step.
    pub(crate) due: Due,
    /// Time of the ACK with which the current step ended; None while it continues.
    pub(crate) ended: Option<Time>,
    /// Maximum rate [bit/s] that an action can set.
    pub(crate) max_bps: f64,
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
    pub has_moved_window: bool,
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
        let is_over = match self.due {
            Due::FirstSample => ack.srtt.is_some(),
            Due::At(time) => ack.now >= time,
            Due::Acks(count) => self.monitor.acks >= count,
        };
        if is_over && self.ended.is_none() {
            self.ended = Some(ack.now);
        }
    }

    /// Begins a step of a given length at `now`.
    pub(crate) fn begin(&mut self, now: Time, length: Length) {
        self.monitor.begin(now, self.srtt);
        self.ended = None;
        self.due = match length {
            Length::Time(span) => Due::At(now + span),
            Length::RoundTrips(count) => {
                let span = self.srtt.map_or(0.0, |srtt| srtt.0 as f64 * count) as u64;
                Due::At(now + Span(span.max(MOMENT.0)))
            }
            Length::Acks(count) => Due::Acks(count),
        };
    }

    /// Multiplies the quantity that the agent controls by `factor`; a factor that is not a number changes nothing.
    pub(crate) fn act(&mut self, steering: Steering, factor: f64) {
        if !self.is_ready() || factor.is_nan() {
            return;
        }
        let rtt = self.srtt.map_or(0.0, Span::as_seconds);
        match steering {
            Steering::Rate => self.rate = bounded(self.rate * factor, 8.0 * self.mss, self.max_bps),
            Steering::Window | Steering::Base => {
                let (min, max) = (2.0 * self.mss, self.max_bps * rtt / 8.0);
                // A factor of 1 leaves the window of a base controller unchanged even if it exceeds the bounds.
                if factor != 1.0 || steering == Steering::Window {
                    self.window = bounded(self.window * factor, min, max.max(min));
                    self.has_moved_window = true;
                }
            }
        }
    }

    /// Returns the measurements of the current step until `now`.
    pub(crate) fn measure(&self, now: Time, steering: Steering) -> Row {
        let monitor = &self.monitor;
        let (window, rate) = self.window_and_rate(steering);
        [
            now.as_seconds(),
            (now - monitor.began).as_seconds(),
            monitor.acks as f64,
            monitor.acked as f64,
            monitor.delivered as f64,
            monitor.lost as f64,
            monitor.marked as f64,
            monitor.sent as f64,
            monitor.mean_rtt(),
            monitor.min_rtt(),
            monitor.rtt_increase(),
            self.srtt.map_or(f64::NAN, Span::as_seconds),
            self.min_rtt.map_or(f64::NAN, Span::as_seconds),
            self.in_flight as f64,
            window,
            rate,
            self.mss,
        ]
    }
}

/// Returns the value clamped to the bounds. Unlike `f64::clamp`, it accepts a maximum that is NaN or below the minimum.
fn bounded(value: f64, min: f64, max: f64) -> f64 {
    value.max(min).min(max)
}

/// A policy of one connection, and the steps after which it acts.
#[derive(Debug)]
struct PolicyRunner {
    policy: Box<dyn Policy>,
    step: Length,
    complaints: Arc<Complaints>,
    /// Whether the policy has seen the state at the first RTT sample.
    has_begun: bool,
}

impl PolicyRunner {
    /// Lets the policy act if a step ended before `now`, an event of the sender.
    fn act_before(&mut self, now: Time, agent: &Agent) {
        let Some(at) = agent.state().ended.filter(|&at| now > at) else {
            return;
        };
        let row = {
            let mut state = agent.state();
            if !self.has_begun {
                // What preceded the first RTT sample belongs to no step.
                state.begin(at, self.step);
                self.has_begun = true;
            }
            state.measure(at, agent.steering)
        };
        let factor = self.policy.factor(&row, at);
        let mut state = agent.state();
        if let Some(factor) = factor {
            if factor.is_nan() {
                self.complaints.add(Kind::Factor, factor, 1.0, at);
            }
            state.act(agent.steering, factor);
        }
        state.begin(at, self.step);
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
    /// Returns an agent for a connection that has not started yet. With `Steering::Base`, `base` is the controller that
    /// runs between the actions. `slowest_bps` is the rate of the slowest link on the connection's route.
    pub fn new(steering: Steering, base: Option<CongestionConfig>, slowest_bps: f64) -> Agent {
        let state = State {
            rate: f64::NAN,
            window: f64::NAN,
            max_bps: MAX_RELATIVE_RATE * slowest_bps,
            ..State::default()
        };
        Agent {
            state: Arc::new(Mutex::new(state)),
            steering,
            base,
        }
    }

    /// Returns the controller of a connection on which a policy acts after each step.
    pub fn with_policy(
        self,
        policy: Box<dyn Policy>,
        step: Length,
        complaints: Arc<Complaints>,
    ) -> Box<dyn Controller> {
        let runner = PolicyRunner {
            policy,
            step,
            complaints,
            has_begun: false,
        };
        self.controller(Some(runner))
    }

    fn controller(&self, runner: Option<PolicyRunner>) -> Box<dyn Controller> {
        match &self.base {
            None => Box::new(Steered {
                agent: self.clone(),
                answers: Answers::default(),
                complaints: Complaints::default(),
                runner,
            }),
            Some(base) => Box::new(Based {
                agent: self.clone(),
                base: Base::new(base),
                runner,
            }),
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
                owns_window: base.facts().is_model,
                measures_delay: base.facts().measures_delay,
            },
        }
    }

    fn connect(&self) -> Box<dyn Controller> {
        self.controller(None)
    }
}

/// The controller of a connection that has an agent.
#[derive(Debug)]
struct Steered {
    agent: Agent,
    answers: Answers,
    complaints: Complaints,
    /// The policy that acts within the run; None if the agent acts between steps of the run.
    runner: Option<PolicyRunner>,
}

impl Steered {
    #[inline]
    fn act_before(&mut self, now: Time) {
        if let Some(runner) = &mut self.runner {
            runner.act_before(now, &self.agent);
        }
    }

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
        self.act_before(now);
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
        self.act_before(sent.now);
        let answer = {
            let mut state = self.agent.state();
            state.monitor.sent += sent.end - sent.sequence;
            self.answer(&state, flight)
        };
        self.answers.pacing(&answer, flight, sent.now, &self.complaints)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.act_before(ack.now);
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
    /// The policy that acts within the run; None if the agent acts between steps of the run.
    runner: Option<PolicyRunner>,
}

impl Based {
    #[inline]
    fn act_before(&mut self, now: Time) {
        if let Some(runner) = &mut self.runner {
            runner.act_before(now, &self.agent);
        }
    }

    /// Records the window that the base controller has set at a reduction or after a recovery, and discards an action that
    /// has not taken effect yet. Returns the controller's update.
    fn record_window(&self, grant: CwndUpdate) -> CwndUpdate {
        let mut state = self.agent.state();
        state.has_moved_window = false;
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
        self.act_before(sent.now);
        self.agent.state().monitor.sent += sent.end - sent.sequence;
        self.base.on_sent(sent, flight)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        self.base.on_sample(sample, flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.act_before(ack.now);
        let mut flight = flight.clone();
        {
            let mut state = self.agent.state();
            state.on_ack(ack, &flight);
            // During a recovery, loss recovery sets the window, as in Linux, where PRR overwrites a window that was set
            // from outside.
            if state.has_moved_window && ack.grows {
                flight.limits = Limits::new(state.window, flight.ssthresh());
            }
            state.has_moved_window = false;
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
        self.act_before(now);
        let grant = self.base.on_reduction(cause, now, flight);
        self.record_window(grant)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        self.act_before(now);
        let grant = self.base.on_recovered(spurious, now, flight);
        self.record_window(grant)
    }
}
