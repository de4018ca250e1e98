//! A simulation that is advanced step by step, while agents set the congestion windows or rates.

use crate::agent::{Agent, Due, Steering, FEATURES};
use crate::monitor::Length;
use longpipe_events::{Span, Time};
use longpipe_network::scenario::TrafficConfig;
use longpipe_network::{Scenario, ScenarioError, Simulation};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::user::{ModuleConfig, Slot};
use std::sync::Arc;

/// Maximum simulated time that a simulation runs at its start until all agents have an RTT sample.
const WAITS: Span = Span(10_000_000_000_000);
/// State of an episode after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The episode continues.
    Continues,
    /// The transfers of all agents are complete.
    Complete,
    /// The scenario has ended.
    Over,
}

/// An episode.
#[derive(Debug)]
pub struct Environment {
    simulation: Simulation<()>,
    agents: Vec<Agent>,
    /// Indices of the agents' flows.
    flows: Vec<usize>,
    /// Whether the transfer of any agent may be complete before the scenario ends.
    may_complete: bool,
    steering: Steering,
    /// Length of a step, whose end is the first ACK of an agent at or after its scheduled end. A round trip is the
    /// smoothed RTT of the agent for which it is longest; ACKs are those of the agent that received fewest.
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
        let mut agents = vec![];
        for &flow in flows {
            let slowest_bps = slowest_bps(&scenario, flow);
            let flow = &mut scenario.flows[flow];
            let base = (steering == Steering::Base).then(|| flow.tcp.congestion.clone());
            let agent = Agent::new(steering, base, slowest_bps);
            flow.tcp.congestion = CongestionConfig::Module(ModuleConfig {
                plugin: Slot(Some(Arc::new(agent.clone()))),
                ..ModuleConfig::default()
            });
            agents.push(agent);
        }
        let mut environment = Environment {
            simulation: Simulation::new(&scenario, seed)?,
            agents,
            flows: flows.to_vec(),
            may_complete: flows.iter().any(|&flow| {
                let flow = &scenario.flows[flow];
                flow.stop.is_some() || flow.traffic != TrafficConfig::GREEDY
            }),
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
        let deadline = Time(self.end.0.min(WAITS.0));
        while self.now < deadline && !self.agents.iter().all(|agent| agent.state().is_ready()) {
            self.run_to_event(deadline);
        }
        for agent in &self.agents {
            agent.state().begin(self.now, self.step);
        }
    }

    fn run_to(&mut self, time: Time) {
        self.simulation.advance_to(time);
        self.now = time;
    }

    /// Runs up to the time of the next event, but not beyond `most`.
    fn run_to_event(&mut self, deadline: Time) {
        let next = self.simulation.next_due();
        self.run_to(next.max(self.now).min(deadline));
    }

    /// Begins a step of all agents, which has one scheduled end.
    fn begin(&mut self) {
        let mut latest = None;
        for agent in &self.agents {
            let mut state = agent.state();
            state.begin(self.now, self.step);
            if let Due::At(time) = state.due {
                latest = latest.max(Some(time));
            }
        }
        if let Some(time) = latest {
            for agent in &self.agents {
                agent.state().due = Due::At(time);
            }
            // Times are whole picoseconds, so no ACK arrives between this time and the scheduled end.
            let before = Time(time.0 - 1).min(self.end);
            if before > self.now && !self.are_complete() {
                self.run_to(before);
            }
        }
    }

    fn are_complete(&self) -> bool {
        self.may_complete && self.flows.iter().all(|&flow| self.simulation.is_complete(flow))
    }

    fn is_over(&self) -> bool {
        let ended = |agent: &Agent| agent.state().ended.is_some();
        match self.step {
            Length::Acks(_) => self
                .agents
                .iter()
                .zip(&self.flows)
                .all(|(agent, &flow)| ended(agent) || self.simulation.is_complete(flow)),
            _ => self.agents.iter().any(ended),
        }
    }

    /// Multiplies the quantities that the agents control by `factors`, runs one step, and writes the measurements of
    /// each agent.
    pub fn step(&mut self, factors: &[f64], measured: &mut [f64]) -> Progress {
        for (agent, &factor) in self.agents.iter().zip(factors) {
            agent.state().act(self.steering, factor);
        }
        self.begin();
        while self.now < self.end && !self.is_over() && !self.are_complete() {
            self.run_to_event(self.end);
        }
        self.measure(measured);
        if self.are_complete() {
            Progress::Complete
        } else if self.now < self.end {
            Progress::Continues
        } else {
            Progress::Over
        }
    }

    /// Writes the measurements of each agent in the latest step, in the order of [`FEATURES`].
    pub fn measure(&self, measured: &mut [f64]) {
        for (agent, row) in self.agents.iter().zip(measured.chunks_exact_mut(FEATURES.len())) {
            row.copy_from_slice(&agent.state().measure(self.now, self.steering));
        }
    }

    /// Writes for each agent whether its transfer is complete.
    pub fn complete(&self, complete: &mut [bool]) {
        for (&flow, complete) in self.flows.iter().zip(complete) {
            *complete = self.simulation.is_complete(flow);
        }
    }
}

/// Returns the rate [bit/s] of the slowest link on a flow's route.
pub fn slowest_bps(scenario: &Scenario, flow: usize) -> f64 {
    let rates = scenario.flows[flow]
        .route
        .iter()
        .map(|&link| scenario.links[link].rate_bps);
    rates.min().unwrap_or(u64::MAX) as f64
}
