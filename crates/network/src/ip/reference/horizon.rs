//! Lower bound on the time of the next delivery of an external packet if no further external packet enters. A live run
//! may sleep until then, because simulated flows deliver no external packets.

use crate::packets::{Link, Packet};
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::{Span, Time};
use std::collections::{HashMap, VecDeque};

/// External packets at the links that they may use.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    reaches: Vec<ExternalAtLink>,
    /// Links of external circuits.
    links: Vec<Link>,
}

/// External packets at one link.
#[derive(Clone, Debug, Default)]
struct ExternalAtLink {
    /// Minimum propagation delay of the link.
    delay: Span,
    /// Minimum, over all external circuits, of the sum of the propagation delays of the remaining links.
    beyond: Span,
    /// Number of packets at the port or on the wire.
    packets: usize,
    /// Arrival times of the packets on the wire, in order.
    on_wire: VecDeque<Time>,
}

/// Returns, for each node from which packets of one direction of a flow reach their host, the minimum propagation delay
/// [ps] to the host over the links of all routes, because a packet may change between routes at any node.
fn remaining_delays(scenario: &Scenario, flow: &FlowConfig, back: bool) -> HashMap<usize, u64> {
    let first_way = if back { &flow.return_route } else { &flow.route };
    let mut remaining: HashMap<usize, u64> = first_way
        .last()
        .map(|&last| (scenario.links[last].to, 0))
        .into_iter()
        .collect();
    let mut is_stable = false;
    while !is_stable {
        is_stable = true;
        for &link in flow.ways(back).flat_map(|way| way.iter().rev()) {
            let link = &scenario.links[link];
            let Some(&remaining_delay) = remaining.get(&link.to) else {
                continue;
            };
            let delay = remaining_delay + link.guarantees().min_delay;
            let minimum = remaining.entry(link.from).or_insert(u64::MAX);
            is_stable &= *minimum <= delay;
            *minimum = delay.min(*minimum);
        }
    }
    remaining
}

impl Horizon {
    /// Creates the state of an empty network; None without external circuits.
    pub fn new(scenario: &Scenario) -> Option<Box<Horizon>> {
        let mut beyond: Vec<Option<u64>> = vec![None; scenario.links.len()];
        for flow in scenario.flows.iter().filter(|flow| flow.foreign) {
            for back in [false, true] {
                let remaining = remaining_delays(scenario, flow, back);
                for &link in flow.ways(back).flatten() {
                    let remaining_delay = remaining.get(&scenario.links[link].to).copied();
                    beyond[link] = beyond[link].into_iter().chain(remaining_delay).min();
                }
            }
        }
        let links = (0..beyond.len()).filter(|&link| beyond[link].is_some());
        let links: Vec<Link> = links.map(Link::new).collect();
        let reach = |(link, beyond): (usize, Option<u64>)| ExternalAtLink {
            delay: Span(scenario.links[link].guarantees().min_delay),
            beyond: Span(beyond.unwrap_or(0)),
            ..ExternalAtLink::default()
        };
        (!links.is_empty()).then(|| {
            Box::new(Horizon {
                reaches: beyond.into_iter().enumerate().map(reach).collect(),
                links,
            })
        })
    }

    /// Records a packet's arrival at a port.
    pub fn on_arrival_at(&mut self, link: Link, packet: &Packet) {
        self.reaches[link.index()].packets += usize::from(packet.is_external());
    }

    /// Records a packet's departure from a port, and its arrival time at the other end of the wire.
    pub fn leaves(&mut self, link: Link, packet: &Packet, arrival: Time) {
        if packet.is_external() {
            let on_wire = &mut self.reaches[link.index()].on_wire;
            let later = on_wire.iter().rev().take_while(|&&other| other > arrival).count();
            on_wire.insert(on_wire.len() - later, arrival);
        }
    }

    /// Records that the first packet on a wire has arrived.
    pub fn arrives(&mut self, link: Link, packet: &Packet) {
        if packet.is_external() {
            self.reaches[link.index()].on_wire.pop_front();
        }
    }

    /// Records that `packets` external packets have left a link, because they were forwarded or lost.
    pub fn on_departure_from(&mut self, link: Link, packets: usize) {
        self.reaches[link.index()].packets -= packets;
    }

    /// Returns the lower bound as of `now`.
    pub fn from(&self, now: Time) -> Time {
        let at = |&link: &Link| {
            let ExternalAtLink {
                delay,
                beyond,
                packets,
                on_wire,
            } = &self.reaches[link.index()];
            let first = on_wire.front().map(|&arrival| arrival + *beyond);
            let waiting = (*packets > on_wire.len()).then(|| now + *delay + *beyond);
            first.into_iter().chain(waiting).min()
        };
        self.links.iter().filter_map(at).min().unwrap_or(Time(u64::MAX))
    }
}
