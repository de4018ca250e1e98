//! Hosts to which packets may be delivered early, and the next spontaneous actions (timers, starts) of their end points.

use super::promises::Promises;
use crate::packets::{Circuit, Link};
use crate::scenario::topology::Topology;
use crate::scenario::{Engine, Scenario};
use longpipe_events::{Entity, Tournament};

/// Hosts to which packets may be delivered early (see `hosts.rs`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// By link: the host, if the link is the only input of such a host.
    pub(super) hosts: Vec<Option<Host>>,
    /// By circuit on which an end point sends: the link into its host, and the number of the end point there. None for
    /// hosts without early delivery.
    pub(super) places: Vec<Option<(Link, Entity)>>,
    /// True during an early delivery; packets sent in response are then not delivered early.
    pub(crate) busy: bool,
    /// Whether in-order data have a fast path besides that of plain packets. True if some sender keeps records or some
    /// ACKs are delayed, and no host adds jitter.
    pub(crate) in_order: bool,
}

/// A host to which packets may be delivered early.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// The circuits on which its end points send, senders first.
    pub(super) ends: Vec<Circuit>,
    /// Whether packets reach the host's interface without jitter.
    pub(super) sends_at_once: bool,
    /// For each end point, a lower bound on the time of its next timer or start.
    pub(super) next: Tournament,
}

impl Ahead {
    /// Returns the hosts with early delivery: hosts with a single input, over a link with predictable arrivals, whose
    /// end points act only on packets, timers and starts and do not send to each other. There are none in traced runs,
    /// with route changes, or in the reference engine.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology, promises: &Promises, unwatched: bool) -> Ahead {
        if !unwatched || scenario.reroutes() || scenario.engine == Engine::Reference {
            return Ahead::default();
        }
        let nodes = scenario.nodes.len();
        let (mut way_in, mut uncertain, mut ends) =
            (vec![None; nodes], vec![false; nodes], vec![[vec![], vec![]]; nodes]);
        for (circuit, first) in topology.circuits() {
            let way: Vec<usize> = topology.route(first).map(|(_, link)| link).collect();
            let (Some(&first), Some(&last)) = (way.first(), way.last()) else {
                continue;
            };
            let (from, to) = (scenario.links[first].from, scenario.links[last].to);
            uncertain[to] |= way_in[to].replace(last).is_some_and(|other| other != last);
            uncertain[to] |= !way.iter().all(|&link| promises.foretells(link));
            // A host that sends to itself would answer the first packet of a burst before the rest has left.
            uncertain[to] |= from == to;
            uncertain[from] |= !promises.circuits[circuit.index()].end.silent_between_timers;
            // What it sends may wait for later packets of other flows.
            uncertain[from] |= scenario.has_queue_at_host(&scenario.links[first]);
            ends[from][circuit.way()].push(circuit);
        }
        let mut ahead = Ahead {
            hosts: vec![None; scenario.links.len()],
            places: vec![None; topology.circuit_count()],
            busy: false,
            in_order: promises.hosts.iter().all(|host| host.sends_at_once)
                && (promises.circuits.iter()).any(|circuit| circuit.end.keeps_records || circuit.end.delays_acks),
        };
        for (host, link) in way_in.into_iter().enumerate() {
            if let Some(link) = link.filter(|_| !uncertain[host]) {
                let ends = std::mem::take(&mut ends[host]).concat();
                for (number, &end) in ends.iter().enumerate() {
                    ahead.places[end.index()] = Some((Link::new(link), number as Entity));
                }
                let next = Tournament::new(ends.len());
                ahead.hosts[link] = Some(Host {
                    ends,
                    sends_at_once: promises.hosts[host].sends_at_once,
                    next,
                });
            }
        }
        ahead
    }

    /// Returns true if packets may be delivered early to the receiving hosts of `circuit` and of the reverse circuit `back`.
    pub(crate) fn knows(&self, circuit: Circuit, back: Circuit) -> bool {
        let known = |end: Circuit| self.places.get(end.index()).is_some_and(Option::is_some);
        known(circuit) && known(back)
    }
}
