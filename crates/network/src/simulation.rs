//! A run of any scenario. Only this module selects the medium (cells or packets) and the engine.
//!
//! The reference engine processes one event for each cell at each port, and for each arrival and departure of a packet.
//! The fast engine (`Trains`) takes shortcuts (`docs/shortcuts.md`), such as trains of cells, of which only the first
//! and the last cell are processed. The results of both engines are identical.

use crate::atm::link::FedWire;
use crate::atm::{vbr, Atm};
use crate::hosts::connection::Connection;
use crate::hosts::hosts;
use crate::hosts::medium::Medium;
use crate::ip::port::router::Router;
#[cfg(feature = "reference")]
use crate::ip::reference::Reference;
use crate::ip::wire::{PendingArrivals, Wire};
use crate::ip::Ip;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::observe::probe::{Detail, Probe};
use crate::packets::aal5::Reassembler;
use crate::packets::external::{ExternalPacket, Outcome};
use crate::packets::Circuit;
use crate::parts;
use crate::parts::plan::Plan;
use crate::report::{InvariantError, Report};
use crate::run::{AnyRun, Run};
#[cfg(not(feature = "reference"))]
use crate::scenario::refusal::refuse;
use crate::scenario::refusal::ScenarioError;
use crate::scenario::topology::{Step, Topology};
use crate::scenario::{connection_slot_bytes, Engine, Framing, Scenario};
use longpipe_events::{memory, Time};
use longpipe_tcp::journal::attribution::Totals;
use std::fmt;

pub use crate::parts::Balance;

/// A run in progress.
pub struct Simulation<P: Probe>(Box<dyn AnyRun<P>>);

impl Simulation<()> {
    /// Returns a run at time zero that no probe observes. The function is not generic, so the engines for `()` are
    /// compiled in this crate and not again in every crate that runs simulations.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    ///
    /// # Panics
    /// This and all other functions unwind with a `MemoryLimit` if the run needs more memory than allowed.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Simulation<()>, ScenarioError> {
        Simulation::with_probe(scenario, seed, ())
    }
}

/// How a scenario can run on several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// At most this number of threads.
    UpTo(usize),
    /// Several threads if they are expected to be faster than one, but at most this number.
    IfFaster(usize),
    /// One thread that simulates the parts of this number of threads in turn, as tests do.
    InTurn(usize),
}

impl Threads {
    /// Returns the maximum number of threads.
    pub fn at_most(self) -> usize {
        let (Threads::UpTo(max) | Threads::IfFaster(max) | Threads::InTurn(max)) = self;
        max
    }
}

/// A run on several threads.
#[derive(Debug)]
pub enum Divided {
    /// The run has ended. The times are those of `Threads::InTurn`.
    Ended(Simulation<()>, Balance),
    /// The caller ended the run early.
    Interrupted,
    /// The scenario runs on one thread; the text is the reason, as the end of a sentence.
    Sequential(String),
}

impl Simulation<()> {
    /// Runs a scenario to its end on several threads. Results are equal to those on one thread, except for the number of
    /// events. `on_progress` is invoked regularly with the elapsed fraction of the simulated time; if it returns false,
    /// the run ends.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    ///
    /// # Panics
    /// Panics if a thread does; unwinds with a `MemoryLimit` if the run needs more memory than allowed.
    pub fn divided(
        scenario: &Scenario,
        seed: u64,
        threads: Threads,
        on_progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Divided, ScenarioError> {
        let topology = Topology::new(scenario)?;
        let guarantees = Guarantees::new(scenario, &topology);
        let plan = match Plan::new(scenario, &topology, &guarantees, threads.at_most()) {
            Ok(plan) => plan,
            Err(reason) => return Ok(Divided::Sequential(reason)),
        };
        if matches!(threads, Threads::IfFaster(_)) && !plan.pays() {
            return Ok(Divided::Sequential("windows have too few packets".to_owned()));
        }
        let most = match threads {
            Threads::InTurn(_) => 1,
            // A thread that waits for a core would stop all others at the end of each window.
            _ => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let run = parts::run((scenario, &topology, &guarantees), seed, (&plan, most), on_progress);
        Ok(run.map_or(Divided::Interrupted, |(mut run, balance)| {
            run.medium.finish(&mut run.hosts);
            Divided::Ended(Simulation(Box::new(run)), balance)
        }))
    }
}

impl<P: Probe> Simulation<P> {
    /// Returns a run at time zero that `probe` observes.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    pub fn with_probe(scenario: &Scenario, seed: u64, probe: P) -> Result<Simulation<P>, ScenarioError> {
        let (scenario, slots) = scenario.with_connection_slots()?;
        let (scenario, slot_memory) = (&*scenario, connection_slot_bytes(&slots));
        memory::take(fixed_bytes(scenario));
        let topology = Topology::new(scenario)?;
        let guarantees = Guarantees::new(scenario, &topology);
        let early = EarlyHosts::new(scenario, &topology, &guarantees, probe.is_idle());
        let lookahead = (&guarantees, &early);
        let run: Box<dyn AnyRun<P>> = match (scenario.framing, scenario.engine) {
            (Framing::Aal5, _) => {
                let atm = Atm::new(scenario, &topology, lookahead, seed, probe.wants(Detail::Cells));
                let at = (seed, &topology.entries()[..], atm.interval(scenario));
                let hosts = hosts((scenario, slots), &topology, early, at, probe);
                let mut run = Run::new(hosts, atm);
                vbr::add_sources(&mut run.medium, &mut run.hosts, &scenario.vbr, seed);
                Box::new(run)
            }
            (Framing::Ip, Engine::Trains) => {
                let ip = Ip::new(scenario, &topology, lookahead, seed);
                let at = (seed, &ip.routes.entries()[..], Ip::interval(scenario, &topology));
                let hosts = hosts((scenario, slots), &topology, early, at, probe);
                Box::new(Run::new(hosts, ip))
            }
            #[cfg(not(feature = "reference"))]
            (Framing::Ip, Engine::Reference) => {
                return refuse(
                    "engine",
                    "reference",
                    "needs trains, because this build does not include the reference engine",
                );
            }
            #[cfg(feature = "reference")]
            (Framing::Ip, Engine::Reference) => {
                let reference = Reference::new(scenario, &topology, seed);
                let at = (seed, &reference.entries()[..], Ip::interval(scenario, &topology));
                let hosts = hosts((scenario, slots), &topology, early, at, probe);
                Box::new(Run::new(hosts, reference))
            }
        };
        // The scenario that includes the flows of connection slots is dropped here.
        memory::give_back(slot_memory);
        Ok(Simulation(run))
    }

    /// Processes up to `events` events. Returns false at the end of the run.
    pub fn advance(&mut self, events: u64) -> bool {
        self.0.advance(events)
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    /// Processes all events up to `time` and sets the clock to `time`, which must be neither before the current time
    /// nor after the end.
    pub fn advance_to(&mut self, time: Time) {
        self.0.advance_to(time);
    }

    /// Processes events up to `time`, but stops after the first time at which an external packet is delivered or
    /// lost. Sets the clock to the time reached, and returns it.
    pub fn advance_until_outcome(&mut self, time: Time) -> Time {
        self.0.advance_until_outcome(time)
    }

    /// Returns the time of the next event.
    pub fn next_due(&mut self) -> Time {
        self.0.next_due()
    }

    /// Returns a lower bound on the time at which an external packet reaches its host if no further packet enters.
    pub fn horizon(&mut self) -> Time {
        self.0.horizon()
    }

    /// Injects an external packet at the start of circuit `vc` of an external flow at `time`, after all other events of
    /// that time.
    pub fn enter(&mut self, time: Time, vc: Circuit, packet: ExternalPacket) {
        self.0.enter(time, vc, packet);
    }

    /// Returns, in order of time, the outcomes of external packets since the caller last emptied the list.
    pub fn outcomes(&mut self) -> &mut Vec<Outcome> {
        &mut self.0.hosts_mut().outcomes
    }

    /// Ends the run at the current time instead of the scenario's end time.
    pub fn stop(&mut self) {
        let clock = &mut self.0.hosts_mut().clock;
        clock.end = clock.now;
    }

    /// Returns the elapsed fraction of the simulated time.
    pub fn progress(&self) -> f64 {
        let clock = &self.0.hosts().clock;
        clock.now.0 as f64 / clock.end.0 as f64
    }

    /// Returns the counters of a finished run.
    ///
    /// # Errors
    /// Returns the violated invariant if cells or bytes are not accounted for.
    pub fn report(&mut self) -> Result<Report, InvariantError> {
        self.0.report()
    }

    /// Returns the effects of the window reductions of each flow's sender, by cause.
    pub fn reductions(&self) -> Vec<Totals> {
        self.0.reductions()
    }

    /// Returns the start time of each flow's application.
    pub fn starts(&self) -> Vec<Time> {
        let hosts = self.0.hosts();
        hosts.flows[..hosts.own_flows()].iter().map(|flow| flow.start).collect()
    }

    /// Returns whether the transfer of a flow is complete; flows without an end never are.
    pub fn is_complete(&self, flow: usize) -> bool {
        self.0.hosts().flows[flow].completion.is_some()
    }

    /// Returns the probe, so that end points outside the simulation can report to it.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.0.hosts_mut().probe
    }

    /// Returns the probe with the records collected so far.
    pub fn probe(&self) -> &P {
        &self.0.hosts().probe
    }

    /// Returns the probe with all its records.
    pub fn into_probe(self) -> P {
        self.0.into_probe()
    }
}

impl<P: Probe> fmt::Debug for Simulation<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.0.hosts().clock.now;
        formatter
            .debug_struct("Simulation")
            .field("now", &now)
            .finish_non_exhaustive()
    }
}

/// Returns the memory [byte] that every run of the scenario needs, not counting the tables of its ports.
fn fixed_bytes(scenario: &Scenario) -> u64 {
    let steps = scenario.flows.iter().map(|flow| {
        flow.ways(false)
            .chain(flow.ways(true))
            .map(<[usize]>::len)
            .sum::<usize>()
    });
    memory::bytes::<(FedWire, Wire, Router, PendingArrivals)>(scenario.links.len())
        + memory::bytes::<(Connection, [Reassembler; 2])>(scenario.flows.len())
        + memory::bytes::<Step>(steps.sum::<usize>())
}
