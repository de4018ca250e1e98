//! A run of any scenario: the one place where its medium and engine are chosen.
//!
//! The reference engine moves every cell by itself, from port to port, and lets every packet arrive and depart by an event
//! of its own. The train engine moves the first and the last cell of a frame alone, wherever the port allows it, and
//! packets from one place where they may meet others to the next.

use crate::atm::aal5::Reassembler;
use crate::atm::link::FedWire;
use crate::atm::{vbr, Atm};
use crate::hosts::connection::Connection;
use crate::hosts::foreign::{self, ForeignPacket, Outcome};
use crate::hosts::hosts;
use crate::ip::port::fifo::Router;
#[cfg(feature = "reference")]
use crate::ip::reference::Reference;
use crate::ip::wire::{Waiting, Wire};
use crate::ip::Ip;
use crate::lookahead::ahead::Ahead;
use crate::lookahead::promises::Promises;
use crate::observe::probe::Probe;
use crate::packets::Circuit;
use crate::report::{InvariantError, Report};
use crate::run::Run;
#[cfg(not(feature = "reference"))]
use crate::scenario::refusal::refuse;
use crate::scenario::refusal::ScenarioError;
use crate::scenario::topology::{Step, Topology};
use crate::scenario::{Engine, Framing, Scenario};
use longpipe_events::{memory, Time};

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Simulation<P: Probe>(Engines<P>);

#[derive(Clone, Debug)]
enum Engines<P: Probe> {
    Cells(Box<Run<P, Atm>>),
    Packets(Box<Run<P, Ip>>),
    #[cfg(feature = "reference")]
    PacketsInTheOpen(Box<Run<P, Reference>>),
}

/// The same of a run, whatever carries its packets.
macro_rules! of {
    ($engines:expr, $run:ident => $what:expr) => {
        match $engines {
            Engines::Cells($run) => $what,
            Engines::Packets($run) => $what,
            #[cfg(feature = "reference")]
            Engines::PacketsInTheOpen($run) => $what,
        }
    };
}

impl<P: Probe> Simulation<P> {
    /// A run at time zero.
    ///
    /// # Errors
    /// The first thing that is wrong with the scenario.
    ///
    /// Here and in all that follows a run unwinds with a `MemoryLimit` where it needs more than it may have.
    pub fn new(scenario: &Scenario, seed: u64, probe: P) -> Result<Simulation<P>, ScenarioError> {
        memory::take(fixed_bytes(scenario));
        let topology = Topology::new(scenario)?;
        let promises = Promises::new(scenario, &topology);
        let ahead = Ahead::new(scenario, &topology, &promises, probe.is_idle());
        let certain = (&promises, &ahead);
        Ok(Simulation(match (scenario.framing, scenario.engine) {
            (Framing::Aal5, _) => {
                let watched = (!probe.is_idle(), probe.wants_cells());
                let atm = Atm::new(scenario, &topology, certain, seed, watched);
                let at = (seed, &topology.entries()[..], atm.interval(scenario));
                let mut run = Run::new(hosts(scenario, &topology, ahead, at, probe), atm);
                vbr::add_sources(&mut run.medium, &mut run.hosts, &scenario.vbr);
                Engines::Cells(Box::new(run))
            }
            (Framing::Ip, Engine::Trains) => {
                let ip = Ip::new(scenario, &topology, certain, seed);
                let at = (seed, &ip.routes.entries()[..], Ip::interval(scenario, &topology));
                Engines::Packets(Box::new(Run::new(hosts(scenario, &topology, ahead, at, probe), ip)))
            }
            #[cfg(not(feature = "reference"))]
            (Framing::Ip, Engine::Reference) => {
                return refuse(
                    "engine",
                    "reference",
                    "needs trains where the reference engine is left out",
                );
            }
            #[cfg(feature = "reference")]
            (Framing::Ip, Engine::Reference) => {
                let reference = Reference::new(scenario, &topology, seed);
                let at = (seed, &reference.entries()[..], Ip::interval(scenario, &topology));
                let run = Run::new(hosts(scenario, &topology, ahead, at, probe), reference);
                Engines::PacketsInTheOpen(Box::new(run))
            }
        }))
    }

    /// Handles up to `events` events; false once the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        of!(&mut self.0, run => run.advance(events))
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    /// Handles all that happens up to `time`, which then it is: no earlier than it was, and no later than the end.
    pub fn advance_to(&mut self, time: Time) {
        of!(&mut self.0, run => run.advance_to(time));
    }

    /// When something happens next.
    pub fn next_due(&mut self) -> Time {
        of!(&mut self.0, run => run.next_due())
    }

    /// No packet of a program outside reaches its host before this, if none enters; likewise.
    pub fn horizon(&mut self) -> Time {
        of!(&mut self.0, run => run.horizon())
    }

    /// A packet of a program outside enters at `time`, after all else that happens then, where circuit `vc` of a foreign flow
    /// begins.
    pub fn enter(&mut self, time: Time, vc: Circuit, packet: ForeignPacket) {
        of!(&mut self.0, run => {
            run.advance_to(time);
            foreign::ends::enter(&mut run.hosts, &mut run.medium, vc, packet);
        });
    }

    /// What became of such packets since this was last emptied, in the order in which it happened.
    pub fn outcomes(&mut self) -> &mut Vec<Outcome> {
        of!(&mut self.0, run => &mut run.hosts.outcomes)
    }

    /// Ends the run at the time that it is, rather than when its scenario does.
    pub fn stop(&mut self) {
        of!(&mut self.0, run => run.hosts.clock.end = run.hosts.clock.now);
    }

    /// Fraction of the simulated time that is over.
    pub fn progress(&self) -> f64 {
        of!(&self.0, run => run.progress())
    }

    /// Counters of a finished run.
    ///
    /// # Errors
    /// Cells or bytes that are not accounted for.
    pub fn report(&mut self) -> Result<Report, InvariantError> {
        of!(&mut self.0, run => run.report())
    }

    /// The probe with what it has seen so far.
    pub fn probe(&self) -> &P {
        of!(&self.0, run => &run.hosts.probe)
    }

    /// The probe with what it saw.
    pub fn into_probe(self) -> P {
        of!(self.0, run => run.hosts.probe)
    }
}

/// What a run holds whatever happens in it [byte], but for the tables of its ports.
fn fixed_bytes(scenario: &Scenario) -> u64 {
    let steps = scenario.flows.iter().map(|flow| {
        flow.ways(false)
            .chain(flow.ways(true))
            .map(<[usize]>::len)
            .sum::<usize>()
    });
    memory::bytes::<(FedWire, Wire, Router, Waiting)>(scenario.links.len())
        + memory::bytes::<(Connection, [Reassembler; 2])>(scenario.flows.len())
        + memory::bytes::<Step>(steps.sum::<usize>())
}
