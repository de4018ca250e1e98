//! Routes of IP packets. Circuits over the same links share their list of hops, so that few cache lines hold all hops.

use crate::packets::{Circuit, Link, Packet};
use crate::scenario::rerouting::RerouteInFlight;
use crate::scenario::topology::{Entry, Topology, HOST};
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Time;
use std::collections::HashMap;

/// Routes of a scenario's flows, used instead of the steps of a `Topology`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// Links of all routes, concatenated; each route of a circuit with several routes is followed by `HOST`.
    hops: Vec<Link>,
    /// Index of the first hop of each circuit.
    first: Vec<u32>,
    /// Circuits whose routes change.
    changing: HashMap<Circuit, ReroutedCircuit>,
}

/// A circuit whose routes change.
#[derive(Clone, Debug)]
struct ReroutedCircuit {
    in_flight: RerouteInFlight,
    /// First hop of each route and the time from which the route is valid, in order.
    routes: Vec<(Time, u32)>,
}

impl Routes {
    /// Creates the routes of a scenario.
    pub fn new(scenario: &Scenario) -> Routes {
        let mut routes = Routes::default();
        let mut first_of_route = HashMap::new();
        let ways = scenario.flows.iter().flat_map(|flow| [(flow, false), (flow, true)]);
        for (flow, back) in ways {
            if flow.rerouting.is_some() {
                routes.add_changing(flow, back);
                continue;
            }
            let route = if back { &flow.return_route } else { &flow.route };
            let first = *first_of_route.entry(route).or_insert_with(|| {
                let first = routes.hops.len() as u32;
                routes.hops.extend(route.iter().map(|&link| Link::new(link)));
                first
            });
            routes.first.push(first);
        }
        routes
    }

    fn add_changing(&mut self, flow: &FlowConfig, back: bool) {
        let Some(own) = &flow.rerouting else { return };
        let instants = std::iter::once(0).chain(own.changes.iter().map(|change| change.at_ps));
        let mut routes = vec![];
        for (instant, way) in instants.zip(flow.ways(back)) {
            routes.push((Time(instant), self.hops.len() as u32));
            self.hops.extend(way.iter().map(|&link| Link::new(link)));
            self.hops.push(HOST);
        }
        let circuit = Circuit(self.first.len() as u32);
        self.first.push(routes[0].1);
        let in_flight = own.in_flight;
        self.changing.insert(circuit, ReroutedCircuit { in_flight, routes });
    }

    /// Returns the start of each circuit.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |&first: &u32| Entry {
            link: self.hops[first as usize],
            step: first + 1,
        };
        self.first.iter().map(entry).collect()
    }

    /// Returns the next link of a packet.
    #[inline(always)]
    pub fn next_link(&self, packet: &Packet) -> Link {
        self.hops[packet.step() as usize]
    }

    /// Returns the link whose wire carries a packet.
    #[inline(always)]
    pub fn link(&self, packet: &Packet) -> Link {
        self.hops[packet.step() as usize - 1]
    }

    /// Returns a packet advanced past the router at which it arrived over `link` at `now`; None if no route continues
    /// from there.
    pub fn next_hop(&self, topology: &Topology, link: Link, now: Time, packet: Packet) -> Option<Packet> {
        let Some(changing) = self.changing.get(&packet.vc()) else {
            return Some(packet);
        };
        let (_, begin) = changing.routes[0];
        let at_first_router = self.hops[begin as usize] == link;
        let step = if at_first_router || changing.in_flight == RerouteInFlight::Drop {
            let count = changing.routes.partition_point(|&(from, _)| from <= now);
            let (_, first) = changing.routes[count - 1];
            let node = topology.ends[link.index()].node;
            let way = self.hops[first as usize..].iter().take_while(|&&hop| hop != HOST);
            first
                + way
                    .map(|&hop| topology.origins[hop.index()])
                    .position(|from| from == node)? as u32
        } else {
            packet.step()
        };
        (self.hops[step as usize] != HOST).then(|| packet.at_step(step))
    }

    /// Returns the index of a packet's circuit at the port of its next link.
    pub fn local(&self, topology: &Topology, packet: Packet) -> u32 {
        let hop = packet.step() - 1 - self.first[packet.vc().index()];
        topology.steps[(topology.first_step(packet.vc()) + hop) as usize].local
    }
}
