//! A run of any scenario. Only this module selects the medium (cells or packets) and the engine.
//!
//! The reference engine processes one event for each cell at each port, and for each arrival and departure of a packet.
//! The fast engine (`Trains`) takes shortcuts (`docs/shortcuts.md`), such as trains of cells, of which only the first
//! and the last cell are processed. The results of both engines are identical.

use crate::atm::aal5::Reassembler;
use crate::atm::link::FedWire;
use crate::atm::{vbr, Atm};
use crate::hosts::connection::Connection;
use crate::hosts::external::{self, ExternalPacket, Outcome};
use crate::hosts::hosts;
use crate::ip::port::fifo::Router;
#[cfg(feature = "reference")]
use crate::ip::reference::Reference;
use crate::ip::wire::{PendingArrivals, Wire};
use crate::ip::Ip;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::observe::probe::Probe;
use crate::packets::Circuit;
use crate::report::{InvariantError, Report};
use crate::run::Run;
#[cfg(not(feature = "reference"))]
use crate::scenario::refusal::refuse;
use crate::scenario::refusal::ScenarioError;
use crate::scenario::topology::{Step, Topology};
use crate::scenario::{connection_slot_bytes, Engine, Framing, Scenario};
use longpipe_events::{memory, Time};
use longpipe_tcp::reductions::Totals;

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Simulation<P: Probe>(Engines<P>);

#[derive(Clone, Debug)]
enum Engines<P: Probe> {
    Cells(Box<Run<P, Atm>>),
    Packets(Box<Run<P, Ip>>),
    #[cfg(feature = "reference")]
    PacketsReference(Box<Run<P, Reference>>),
}

/// Evaluates an expression for a run with either medium.
macro_rules! of {
    ($engines:expr, $run:ident => $what:expr) => {
        match $engines {
            Engines::Cells($run) => $what,
            Engines::Packets($run) => $what,
            #[cfg(feature = "reference")]
            Engines::PacketsReference($run) => $what,
        }
    };
}

impl<P: Probe> Simulation<P> {
    /// Returns a run at time zero.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    ///
    /// # Panics
    /// This and all other functions unwind with a `MemoryLimit` if the run needs more memory than allowed.
    pub fn new(scenario: &Scenario, seed: u64, probe: P) -> Result<Simulation<P>, ScenarioError> {
        let (scenario, slots) = scenario.with_connection_slots()?;
        let (scenario, slot_memory) = (&*scenario, connection_slot_bytes(&slots));
        memory::take(fixed_bytes(scenario));
        let topology = Topology::new(scenario)?;
        let guarantees = Guarantees::new(scenario, &topology);
        let early = EarlyHosts::new(scenario, &topology, &guarantees, probe.is_idle());
        let lookahead = (&guarantees, &early);
        let engine = match (scenario.framing, scenario.engine) {
            (Framing::Aal5, _) => {
                let watched = (!probe.is_idle(), probe.wants_cells());
                let atm = Atm::new(scenario, &topology, lookahead, seed, watched);
                let at = (seed, &topology.entries()[..], atm.interval(scenario));
                let hosts = hosts((scenario, slots), &topology, early, at, probe);
                let mut run = Run::new(hosts, atm);
                vbr::add_sources(&mut run.medium, &mut run.hosts, &scenario.vbr);
                Engines::Cells(Box::new(run))
            }
            (Framing::Ip, Engine::Trains) => {
                let ip = Ip::new(scenario, &topology, lookahead, seed);
                let at = (seed, &ip.routes.entries()[..], Ip::interval(scenario, &topology));
                let hosts = hosts((scenario, slots), &topology, early, at, probe);
                Engines::Packets(Box::new(Run::new(hosts, ip)))
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
                let run = Run::new(hosts((scenario, slots), &topology, early, at, probe), reference);
                Engines::PacketsReference(Box::new(run))
            }
        };
        // The scenario that includes the flows of connection slots is dropped here.
        memory::give_back(slot_memory);
        Ok(Simulation(engine))
    }

    /// Processes up to `events` events. Returns false at the end of the run.
    pub fn advance(&mut self, events: u64) -> bool {
        of!(&mut self.0, run => run.advance(events))
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    /// Processes all events up to `time` and sets the clock to `time`, which must be neither before the current time
    /// nor after the end.
    pub fn advance_to(&mut self, time: Time) {
        of!(&mut self.0, run => run.advance_to(time));
    }

    /// Processes events up to `time`, but stops after the first time at which an external packet is delivered or
    /// lost. Sets the clock to the time reached, and returns it.
    pub fn advance_until_outcome(&mut self, time: Time) -> Time {
        of!(&mut self.0, run => run.advance_until_outcome(time))
    }

    /// Returns the time of the next event.
    pub fn next_due(&mut self) -> Time {
        of!(&mut self.0, run => run.next_due())
    }

    /// Returns a lower bound on the time at which an external packet reaches its host if no further packet enters.
    pub fn horizon(&mut self) -> Time {
        of!(&mut self.0, run => run.horizon())
    }

    /// Injects an external packet at the start of circuit `vc` of an external flow at `time`, after all other events of
    /// that time.
    pub fn enter(&mut self, time: Time, vc: Circuit, packet: ExternalPacket) {
        of!(&mut self.0, run => {
            run.advance_to(time);
            external::ends::enter(&mut run.hosts, &mut run.medium, vc, packet);
        });
    }

    /// Returns, in order of time, the outcomes of external packets since the caller last emptied the list.
    pub fn outcomes(&mut self) -> &mut Vec<Outcome> {
        of!(&mut self.0, run => &mut run.hosts.outcomes)
    }

    /// Ends the run at the current time instead of the scenario's end time.
    pub fn stop(&mut self) {
        of!(&mut self.0, run => run.hosts.clock.end = run.hosts.clock.now);
    }

    /// Returns the elapsed fraction of the simulated time.
    pub fn progress(&self) -> f64 {
        of!(&self.0, run => run.progress())
    }

    /// Returns the counters of a finished run.
    ///
    /// # Errors
    /// Returns the violated invariant if cells or bytes are not accounted for.
    pub fn report(&mut self) -> Result<Report, InvariantError> {
        of!(&mut self.0, run => run.report())
    }

    /// Returns the effects of the window reductions of each flow's sender, by cause.
    pub fn reductions(&self) -> Vec<Totals> {
        of!(&self.0, run => run.reductions())
    }

    /// Returns the start time of each flow's application.
    pub fn starts(&self) -> Vec<Time> {
        of!(&self.0, run => {
            let own = run.hosts.own_flows();
            run.hosts.flows[..own].iter().map(|flow| flow.start).collect()
        })
    }

    /// Returns the probe, so that end points outside the simulation can report to it.
    pub fn probe_mut(&mut self) -> &mut P {
        of!(&mut self.0, run => &mut run.hosts.probe)
    }

    /// Returns the probe with the records collected so far.
    pub fn probe(&self) -> &P {
        of!(&self.0, run => &run.hosts.probe)
    }

    /// Returns the probe with all its records.
    pub fn into_probe(self) -> P {
        of!(self.0, run => run.hosts.probe)
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
