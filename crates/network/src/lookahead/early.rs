//! Hosts to which packets may be delivered early, before earlier events elsewhere have been processed.

use super::acks::is_shared;
use super::delayed_acks::DelayedAcks;
use super::guarantees::Guarantees;
use crate::packets::{Circuit, Link};
use crate::scenario::topology::Topology;
use crate::scenario::{Framing, Scenario};

/// Hosts to which packets may be delivered early (see `hosts/early_delivery.rs`).
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlyHosts {
    /// For each link, the host with early delivery whose only input is this link, if any.
    pub hosts: Vec<Option<EarlyHost>>,
    /// For each circuit on which an end point sends: the link into the end point's host, and the number of the end
    /// point there. None for hosts without early delivery.
    pub places: Vec<Option<(Link, u32)>>,
    /// Whether in-order data have a fast path in addition to that for packets without options. The additional fast path
    /// exists if some sender keeps per-segment records or some ACKs are delayed, and no host adds jitter.
    pub in_order: bool,
    /// Whether ports with a queue discipline may process starts of transmissions late. This requires that neither a
    /// probe nor an external packet observes the ports.
    pub late_ports: bool,
    /// The receivers whose delayed ACKs may pass a port without an event, if the scenario allows this.
    pub delayed_acks: Option<DelayedAcks>,
}

/// A host to which packets may be delivered early.
#[derive(Clone, Debug)]
pub(crate) struct EarlyHost {
    /// The circuits on which its end points send, senders first.
    pub ends: Vec<Circuit>,
    /// Whether packets reach the host's interface without jitter.
    pub sends_at_once: bool,
}

impl EarlyHosts {
    /// Returns the hosts with early delivery: hosts with a single input, over a link with predictable arrivals, whose
    /// end points act only on packets, timers and starts and do not send to each other. There are none in traced runs,
    /// with route changes, or in the reference engine.
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Topology,
        guarantees: &Guarantees,
        unwatched: bool,
    ) -> EarlyHosts {
        if !unwatched || scenario.reroutes() || !scenario.takes_shortcuts() {
            return EarlyHosts::default();
        }
        let nodes = scenario.nodes.len();
        let (mut way_in, mut unknown, mut ends) =
            (vec![None; nodes], vec![false; nodes], vec![[vec![], vec![]]; nodes]);
        for (circuit, first) in topology.circuits() {
            let way: Vec<usize> = topology.route(first).map(|(_, link)| link).collect();
            let (Some(&first), Some(&last)) = (way.first(), way.last()) else {
                continue;
            };
            let (from, to) = (scenario.links[first].from, scenario.links[last].to);
            unknown[to] |= way_in[to].replace(last).is_some_and(|other| other != last);
            // IP packets that may meet others wait for their arrival events, so that only the links after the last shared
            // port have to be known.
            let shared = way.iter().rposition(|&link| is_shared(topology, link));
            let trunk = shared
                .filter(|_| scenario.framing == Framing::Ip)
                .map_or(0, |last| last + 1);
            unknown[to] |= !way[trunk..].iter().all(|&link| guarantees.arrivals_are_known(link));
            // A host that sends to itself would answer the first packet of a burst before the rest of the burst has
            // left.
            unknown[to] |= from == to;
            unknown[from] |= !guarantees.circuits[circuit.index()].end.silent_between_timers;
            // Packets that the host sends may have to wait for packets of other flows that are sent later.
            unknown[from] |= scenario.has_queue_at_host(&scenario.links[first]);
            ends[from][circuit.way()].push(circuit);
        }
        let mut early = EarlyHosts {
            hosts: vec![None; scenario.links.len()],
            places: vec![None; topology.circuit_count()],
            in_order: guarantees.hosts.iter().all(|host| host.sends_at_once)
                && (guarantees.circuits.iter()).any(|circuit| circuit.end.keeps_records || circuit.end.delays_acks),
            late_ports: !scenario.flows.iter().any(|flow| flow.foreign),
            delayed_acks: None,
        };
        for (host, link) in way_in.into_iter().enumerate() {
            if let Some(link) = link.filter(|_| !unknown[host]) {
                let ends = std::mem::take(&mut ends[host]).concat();
                for (number, &end) in ends.iter().enumerate() {
                    early.places[end.index()] = Some((Link::new(link), number as u32));
                }
                early.hosts[link] = Some(EarlyHost {
                    ends,
                    sends_at_once: guarantees.hosts[host].sends_at_once,
                });
            }
        }
        early.delayed_acks = DelayedAcks::new(scenario, topology, guarantees, &early);
        early
    }

    /// Returns whether packets may be delivered early to the receiving hosts of `circuit` and of the reverse circuit
    /// `back`.
    pub(crate) fn include_both(&self, circuit: Circuit, back: Circuit) -> bool {
        let has_place = |end: Circuit| self.places.get(end.index()).is_some_and(Option::is_some);
        has_place(circuit) && has_place(back)
    }
}
