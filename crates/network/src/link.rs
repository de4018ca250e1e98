//! A directed link: a wire and whatever feeds it.

use crate::loss::Loss;
use crate::nic::Nic;
use crate::port::admission::Admission;
use crate::port::buffer::Policy;
use crate::port::classes::VbrQueue;
use crate::port::scheduler::Scheduler;
use crate::port::Port;
use crate::ring::Ring;
use crate::scenario::{LinkConfig, NodeKind, Scenario};
use crate::topology::{LinkEnd, Topology};
use longpipe_events::{Span, Time};

/// A wire with its feed and its far end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it ends.
    pub end: LinkEnd,
    /// What puts cells on it.
    pub feed: Feed,
    /// Frames that will have arrived whole at the host where the wire ends.
    pub deliveries: Ring<Delivery>,
}

/// What puts cells on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch's port.
    Port(Port),
    /// The VBR source of this number, whose cells the port at the link's end looks after.
    Vbr(usize),
}

/// A frame's arrival at a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// When its last cell arrives.
    pub time: Time,
    /// Its virtual circuit.
    pub vc: u32,
    /// Its number within the circuit.
    pub frame: u32,
}

impl Link {
    /// When the wire wants to be looked at next, and the VC of what arrives then.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, u32)> {
        match &self.feed {
            Feed::Nic(nic) => nic.head(),
            Feed::Port(_) if self.end.host => self.deliveries.first().map(|delivery| (delivery.time, delivery.vc)),
            Feed::Port(port) => port.head(),
            Feed::Vbr(_) => None,
        }
    }
}

/// Every link of a scenario, idle; those of VBR sources as if their hosts had interfaces.
pub(crate) fn links(scenario: &Scenario, topology: &Topology, seed: u64) -> Vec<Link> {
    let first_of_vbr: Vec<usize> = scenario
        .vbr
        .iter()
        .filter_map(|source| source.route.get(1).copied())
        .collect();
    let links = scenario.links.iter().enumerate().map(|(index, link)| Link {
        end: topology.ends[index],
        feed: match scenario.nodes[link.from].kind {
            NodeKind::Host => {
                let loss = Loss::new(&link.loss, seed, index as u64);
                Feed::Nic(Nic::new(topology.grids[index], Span(link.delay_ps), loss))
            }
            NodeKind::Switch => {
                let port = port(scenario, topology, index, first_of_vbr.contains(&index), seed);
                Feed::Port(port)
            }
        },
        deliveries: Ring::default(),
    });
    links.collect()
}

/// A switch's port. VBR has a queue of its own at the first switch; past that it is alone at its ports, and without
/// a limit there too.
fn port(scenario: &Scenario, topology: &Topology, index: usize, first_of_vbr: bool, seed: u64) -> Port {
    let link: &LinkConfig = &scenario.links[index];
    let [ubr, vbr] = topology.vcs_of_link[index].map(|vcs| vcs as usize);
    let for_vbr = || Admission::new(None, Policy::TailDrop, None, vbr);
    let (grid, delay) = (topology.grids[index], Span(link.delay_ps));
    if vbr > 0 && !first_of_vbr {
        return Port::new(grid, delay, for_vbr(), None);
    }
    let policy = Policy::new(&link.policy, link.buffer_cells.unwrap_or(u64::MAX));
    let loss = Loss::new(&link.loss, seed, index as u64);
    let admission = Admission::new(link.buffer_cells, policy, loss, ubr);
    let scheduler = Scheduler::new(&link.scheduler).filter(|_| first_of_vbr);
    let beside = scheduler.map(|scheduler| VbrQueue::new(scheduler, for_vbr(), Time(scenario.duration_ps)));
    Port::new(grid, delay, admission, beside.map(Box::new))
}
