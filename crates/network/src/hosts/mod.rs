//! Hosts: end points, their timers, and their applications.

pub(crate) mod application;
mod arriving;
pub mod connection;
pub mod datagrams;
pub(crate) mod due_acks;
pub mod early_delivery;
mod end_points;
pub(crate) mod external;
mod jitter;
pub(crate) mod media;
pub(crate) mod medium;
mod new_connections;
pub mod proxy;
pub(crate) mod reports;
mod request_response;
pub mod requests;
mod saved_paths;
pub(crate) mod stream;
mod timers;
pub(crate) mod transmissions;

use crate::clock::Clock;
use crate::lookahead::early::EarlyHosts;
use crate::observe::probe::{Event, Probe};
use crate::packets::external::Outcome;
use crate::packets::Flow;
use crate::scenario::topology::{Entry, Topology};
use crate::scenario::{ConnectionSlots, Scenario};
use arriving::Arriving;
use connection::Connection;
use early_delivery::EarlyDelivery;
use jitter::HostJitter;
use longpipe_events::{Span, Time};
use new_connections::connections;
use reports::Elsewhere;

/// All hosts of a run, with the run's clock and probe.
#[derive(Debug)]
pub(crate) struct Hosts<P: Probe> {
    pub clock: Clock,
    pub flows: Vec<Connection>,
    /// Jitter of each node; empty if no node has jitter.
    pub jitter: Vec<Option<HostJitter>>,
    /// First node of each link.
    pub origins: Vec<u32>,
    pub early_delivery: EarlyDelivery,
    pub probe: P,
    /// Arriving flows; empty if there are none.
    pub arriving: Vec<Arriving>,
    /// Fates of external packets that have not been collected yet.
    pub outcomes: Vec<Outcome>,
    /// Losses for flows of other parts of a run on several threads; None on one thread.
    pub elsewhere: Option<Box<Elsewhere>>,
}

impl Hosts<()> {
    /// Returns the state of a part of a run without hosts.
    pub fn without_flows(scenario: &Scenario, topology: &Topology, interval: Span) -> Hosts<()> {
        let (links, flows, sources) = (scenario.links.len(), scenario.flows.len(), scenario.vbr.len());
        Hosts {
            clock: Clock::new(Time(scenario.duration_ps), links, flows, sources, interval),
            flows: vec![],
            jitter: vec![],
            origins: topology.origins.clone(),
            early_delivery: EarlyDelivery::new(EarlyHosts::default()),
            probe: (),
            arriving: vec![],
            outcomes: vec![],
            elsewhere: Some(Box::new(Elsewhere {
                sends: vec![false; flows],
                fates: vec![],
            })),
        }
    }
}

impl<P: Probe> Hosts<P> {
    /// Returns the number of flows of the scenario, which precede the slots of arriving flows.
    pub fn own_flows(&self) -> usize {
        let slots = self.arriving.iter().map(|own| own.slots().flows.len());
        self.flows.len() - slots.sum::<usize>()
    }
}

/// Creates the hosts of a scenario at time zero; `entries` are the starts of the circuits. `interval` is the typical
/// time between the scheduling of an event and its occurrence.
pub(crate) fn hosts<P: Probe>(
    (scenario, slots): (&Scenario, Vec<ConnectionSlots>),
    topology: &Topology,
    early: EarlyHosts,
    (seed, entries, interval): (u64, &[Entry], Span),
    probe: P,
) -> Hosts<P> {
    let (links, flow_count, sources) = (scenario.links.len(), scenario.flows.len(), scenario.vbr.len());
    let mut flows = connections(scenario, seed, entries);
    let arriving = arriving::arriving(scenario, slots, seed, &mut flows);
    let mut hosts = Hosts {
        clock: Clock::new(Time(scenario.duration_ps), links, flow_count, sources, interval),
        flows,
        arriving,
        jitter: jitter::of_hosts(scenario, seed),
        origins: topology.origins.clone(),
        early_delivery: EarlyDelivery::new(early),
        probe,
        outcomes: Vec::new(),
        elsewhere: None,
    };
    for own in &hosts.arriving {
        let slots = own.slots();
        hosts
            .probe
            .observe(Event::ConnectionSlots(Flow::new(slots.owner), slots.flows.len()));
    }
    hosts.record_events();
    hosts
}
