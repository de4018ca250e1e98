//! A directed link: a wire and whatever feeds it.

use crate::ip::interface::Interface;
use crate::ip::line::Line;
use crate::ip::router::Router;
use crate::ip::OnWire;
use crate::loss::Loss;
use crate::nic::Nic;
use crate::port::admission::Admission;
use crate::port::buffer::Policy;
use crate::port::classes::VbrQueue;
use crate::port::scheduler::Scheduler;
use crate::port::Port;
use crate::ring::Ring;
use crate::scenario::{Framing, LinkConfig, NodeKind, Scenario};
use crate::topology::{LinkEnd, Topology};
use longpipe_events::{Rate, Span, Time};

/// A wire with its feed and its far end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it ends.
    pub end: LinkEnd,
    /// What feeds it.
    pub feed: Feed,
    /// Frames that will have arrived whole at the host where the wire ends.
    pub deliveries: Ring<Delivery>,
    /// IP packets on the wire, where they may meet others or reach their host.
    pub packets: Ring<OnWire>,
}

/// What puts cells, or IP packets, on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch's port.
    Port(Port),
    /// A host's interface for IP packets.
    Interface(Interface),
    /// A router's port.
    Router(Router),
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
            Feed::Interface(_) | Feed::Router(_) | Feed::Vbr(_) => None,
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
        feed: match (scenario.framing, scenario.nodes[link.from].kind) {
            (Framing::Aal5, NodeKind::Host) => {
                let loss = Loss::new(&link.loss, seed, index as u64);
                Feed::Nic(Nic::new(topology.grids[index], Span(link.delay_ps), loss))
            }
            (Framing::Aal5, NodeKind::Switch) => {
                let port = port(scenario, topology, index, first_of_vbr.contains(&index), seed);
                Feed::Port(port)
            }
            (Framing::Ip, kind) => {
                let loss = Loss::new(&link.loss, seed, index as u64);
                let line = Line::new(Rate(link.rate_bps), Span(link.delay_ps));
                match kind {
                    NodeKind::Host => Feed::Interface(Interface::new(line, loss)),
                    NodeKind::Switch => Feed::Router(router(link, line, loss, topology.vcs_of_link[index])),
                }
            }
        },
        deliveries: Ring::default(),
        packets: Ring::default(),
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
    let capacity = link.buffer.map(|buffer| buffer.limit);
    let policy = Policy::new(&link.policy, capacity.unwrap_or(u64::MAX));
    let loss = Loss::new(&link.loss, seed, index as u64);
    let admission = Admission::new(capacity, policy, loss, ubr);
    let scheduler = Scheduler::new(&link.scheduler).filter(|_| first_of_vbr);
    let beside = scheduler.map(|scheduler| VbrQueue::new(scheduler, for_vbr(), Time(scenario.duration_ps)));
    Port::new(grid, delay, admission, beside.map(Box::new))
}

fn router(link: &LinkConfig, line: Line, loss: Option<Box<Loss>>, [vcs, _]: [u32; 2]) -> Router {
    let policy = Policy::new(&link.policy, link.buffer.map_or(u64::MAX, |buffer| buffer.limit));
    Router::new(line, link.buffer, policy, loss, vcs as usize)
}
