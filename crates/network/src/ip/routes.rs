//! Routes of IP packets: circuits over the same links share their hops, so that few lines of cache hold them all.

use crate::packets::Packet;
use crate::scenario::topology::{Entry, Topology};
use crate::scenario::Scenario;
use std::collections::HashMap;

/// The routes of a scenario's flows, in place of the steps of a `Topology`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// Links of all routes, one route after the other.
    hops: Vec<u32>,
    /// First hop of each circuit.
    first: Vec<u32>,
}

impl Routes {
    /// Those of a scenario.
    pub fn new(scenario: &Scenario) -> Routes {
        let mut routes = Routes::default();
        let mut known = HashMap::new();
        for route in scenario.flows.iter().flat_map(|flow| [&flow.route, &flow.return_route]) {
            let first = *known.entry(route).or_insert_with(|| {
                let first = routes.hops.len() as u32;
                routes.hops.extend(route.iter().map(|&link| link as u32));
                first
            });
            routes.first.push(first);
        }
        routes
    }

    /// Where each circuit begins.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |&first: &u32| Entry {
            link: self.hops[first as usize],
            step: first + 1,
        };
        self.first.iter().map(entry).collect()
    }

    /// The link that a packet takes next.
    #[inline(always)]
    pub fn next_link(&self, packet: &Packet) -> u32 {
        self.hops[packet.step() as usize]
    }

    /// The link on whose wire a packet is.
    #[inline(always)]
    pub fn link(&self, packet: &Packet) -> u32 {
        self.hops[packet.step() as usize - 1]
    }

    /// The number, at the port of the link on which it is, of a packet's circuit.
    pub fn local(&self, topology: &Topology, packet: Packet) -> u32 {
        let hop = packet.step() - 1 - self.first[packet.vc().index()];
        topology.steps[(topology.first_step(packet.vc()) + hop) as usize].local
    }
}
