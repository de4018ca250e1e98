//! A simulation that is advanced step by step, while agents set the congestion windows or rates.

use crate::agent::{Agent, Steering};
use crate::monitor::Length;
use longpipe_events::{Span, Time};
use longpipe_network::{Scenario, ScenarioError, Simulation};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::loaded::{ModuleConfig, Slot};
use std::sync::Arc;

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

/// Maximum simulated time that a simulation runs at its start until all agents have an RTT sample.
const WAITS: Span = Span(10_000_000_000_000);
/// Interval at which the simulation checks for the first RTT samples, and minimum length of a step that is given in
/// round trips.
const MOMENT: Span = Span(1_000_000_000);
/// Maximum rate of an agent, and rate to which its maximum window corresponds, each relative to the slowest link of the
/// agent's route.
const MOST: f64 = 8.0;

/// An episode.
#[derive(Debug)]
pub struct Environment {
    simulation: Simulation<()>,
    agents: Vec<Agent>,
    /// Rate [bit/s] of the slowest link of each agent's route.
    slowest: Vec<f64>,
    steering: Steering,
    /// Length of a step. A round trip is the smoothed RTT of the agent for which it is longest; ACKs are those of the
    /// agent that received fewest.
    step: Length,
    now: Time,
    end: Time,
}

impl Environment {
    /// Begins an episode of a scenario in which the flows with these indices are agents.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    pub fn new(
        mut scenario: Scenario,
        seed: u64,
        flows: &[usize],
        steering: Steering,
        step: Length,
    ) -> Result<Environment, ScenarioError> {
        let (mut agents, mut slowest) = (vec![], vec![]);
        for &flow in flows {
            let flow = &mut scenario.flows[flow];
            let agent = Agent::new(steering, &flow.tcp.congestion);
            flow.tcp.congestion = CongestionConfig::Module(ModuleConfig {
                plugin: Slot(Some(Arc::new(agent.clone()))),
                ..ModuleConfig::default()
            });
            let rates = flow.route.iter().map(|&link| scenario.links[link].rate_bps);
            slowest.push(rates.min().unwrap_or(u64::MAX) as f64);
            agents.push(agent);
        }
        let mut environment = Environment {
            simulation: Simulation::new(&scenario, seed, ())?,
            agents,
            slowest,
            steering,
            step,
            now: Time::ZERO,
            end: Time(scenario.duration_ps),
        };
        environment.wait();
        Ok(environment)
    }

    /// Runs until all agents have an RTT sample.
    fn wait(&mut self) {
        let most = Time(self.end.0.min(WAITS.0));
        while self.now < most && !self.agents.iter().all(|agent| agent.state().is_ready()) {
            self.run_to(Time(most.0.min(self.now.0 + MOMENT.0)));
        }
        self.begin();
    }

    fn run_to(&mut self, time: Time) {
        self.simulation.advance_to(time);
        self.now = time;
    }

    fn run_for(&mut self, span: Span) {
        self.run_to(Time(self.end.0.min(self.now.0.saturating_add(span.0))));
    }

    /// Runs until each agent has received this number of ACKs in the current step.
    fn run_until_acks(&mut self, count: u64) {
        while self.now < self.end && self.agents.iter().any(|agent| agent.state().monitor.acks < count) {
            let next = self.simulation.next_due();
            self.run_to(next.min(self.end).max(self.now));
        }
    }

    fn begin(&mut self) {
        for agent in &self.agents {
            let mut state = agent.state();
            let srtt = state.srtt;
            state.monitor.begin(self.now, srtt);
        }
    }

    /// Multiplies the quantities that the agents control by `factors`, runs one step, and writes the measurements of
    /// each agent, in the order of [`FEATURES`]. Returns false once the end of the scenario has been reached.
    pub fn step(&mut self, factors: &[f64], measured: &mut [f64]) -> bool {
        for ((agent, &factor), &slowest) in self.agents.iter().zip(factors).zip(&self.slowest) {
            let mut state = agent.state();
            if !state.is_ready() {
                continue;
            }
            let rtt = state.srtt.map_or(0.0, Span::as_seconds);
            match self.steering {
                Steering::Rate => state.rate = bounded(state.rate * factor, 8.0 * state.mss, MOST * slowest),
                Steering::Window | Steering::Base => {
                    let (least, most) = (2.0 * state.mss, MOST * slowest * rtt / 8.0);
                    // A factor of 1 leaves the window of a base controller unchanged even if it exceeds the bounds.
                    if factor != 1.0 || self.steering == Steering::Window {
                        state.window = bounded(state.window * factor, least, most.max(least));
                        state.moved = true;
                    }
                }
            }
        }
        match self.step {
            Length::Time(span) => self.run_for(span),
            Length::RoundTrips(count) => {
                let rtts = self
                    .agents
                    .iter()
                    .map(|agent| agent.state().srtt.map_or(0, |srtt| srtt.0));
                let span = (rtts.max().unwrap_or(0) as f64 * count) as u64;
                self.run_for(Span(span.max(MOMENT.0)));
            }
            Length::Acks(count) => self.run_until_acks(count),
        }
        self.measure(measured);
        self.begin();
        self.now < self.end
    }

    /// Writes the measurements of each agent since the latest step, in the order of [`FEATURES`].
    pub fn measure(&self, measured: &mut [f64]) {
        for (agent, row) in self.agents.iter().zip(measured.chunks_exact_mut(FEATURES.len())) {
            let state = agent.state();
            let monitor = &state.monitor;
            let (window, rate) = state.window_and_rate(self.steering);
            row.copy_from_slice(&[
                self.now.as_seconds(),
                (self.now - monitor.began).as_seconds(),
                monitor.acks as f64,
                monitor.acked as f64,
                monitor.delivered as f64,
                monitor.lost as f64,
                monitor.marked as f64,
                monitor.sent as f64,
                monitor.mean_rtt(),
                monitor.min_rtt(),
                monitor.rtt_increase(),
                state.srtt.map_or(f64::NAN, Span::as_seconds),
                state.min_rtt.map_or(f64::NAN, Span::as_seconds),
                state.in_flight as f64,
                window,
                rate,
                state.mss,
            ]);
        }
    }
}

/// Returns the value clamped to the bounds, or the lower bound if the value is NaN.
fn bounded(value: f64, least: f64, most: f64) -> f64 {
    value.max(least).min(most)
}
