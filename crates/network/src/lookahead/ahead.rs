//! Which hosts packets may reach ahead of time, and what their end points will do by themselves.

use super::promises::Promises;
use crate::packets::{Circuit, Link};
use crate::scenario::topology::Topology;
use crate::scenario::{Engine, Scenario};
use longpipe_events::{Entity, Tournament};

/// Which hosts packets may reach ahead of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// By link, if it is the only way into such a host.
    pub(super) hosts: Vec<Option<Host>>,
    /// Link into the host and number there of each end point, likewise: by the circuit that it
    /// sends on.
    pub(super) places: Vec<Option<(Link, Entity)>>,
    /// While something happens ahead of time, what follows from it does not.
    pub(crate) busy: bool,
    /// Whether what comes in order has a way of its own beside that of plain packets: some sender keeps records, or some ACKs wait,
    /// and all hosts send at once.
    pub(crate) in_order: bool,
}

/// A host that packets may reach ahead of time.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// Its end points, by the circuits that they send on, senders first.
    pub(super) ends: Vec<Circuit>,
    /// Whether what they send is at the host's interface at once.
    pub(super) sends_at_once: bool,
    /// When each end point next does something by itself, or earlier.
    pub(super) next: Tournament,
}

impl Ahead {
    /// Hosts with one way in, over links that tell when packets arrive, whose end points are silent between their timers and
    /// send nothing to each other; none if a probe watches, where routes change, or in the reference engine.
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
            // It would answer the first packet of a burst before it has sent the rest.
            uncertain[to] |= from == to;
            uncertain[from] |= !promises.circuits[circuit.index()].end.silent_between_timers;
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

    /// Whether packets may reach both hosts of a circuit ahead of time, which that of this other one leads back from.
    pub(crate) fn knows(&self, circuit: Circuit, back: Circuit) -> bool {
        let known = |end: Circuit| self.places.get(end.index()).is_some_and(Option::is_some);
        known(circuit) && known(back)
    }
}
