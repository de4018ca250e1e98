//! End points ahead of time: a packet whose arrival at its host is certain is handed over at once.
//!
//! What leaves a FIFO port over wires that meet no other arrives in a known order at known times. If such a host has
//! one way in, nothing but its timers and its applications' starts can come between. So its packets are handed to TCP
//! as soon as they leave the last shared port, each with its own time of arrival, and what comes before one of them
//! happens first. Results are those of events in order; a probe would see them out of order, so this is for runs that
//! nobody watches.

use crate::probe::Probe;
use crate::scenario::{Engine, Framing, NodeKind, Scenario, TrafficConfig};
use crate::simulation::{Simulation, START};
use crate::topology::Topology;
use longpipe_events::{Entity, Key, Order, Time, Tournament};

/// Which hosts packets may reach ahead of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// By link, if it is the only way into such a host.
    hosts: Vec<Option<Host>>,
    /// Link into the host and number there of each end point, likewise: 2f where flow f is sent from, 2f + 1 where it
    /// is received.
    places: Vec<Option<(u32, Entity)>>,
    /// While something happens ahead of time, what follows from it does not.
    pub(crate) busy: bool,
}

/// A host that packets may reach ahead of time.
#[derive(Clone, Debug)]
struct Host {
    /// Its end points, senders first.
    ends: Vec<u32>,
    /// When each end point next does something by itself, or earlier.
    next: Tournament,
}

impl Ahead {
    /// Hosts with one way in whose applications depend on nothing; none if a probe watches, or in the reference engine.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology, unwatched: bool) -> Ahead {
        if !unwatched || scenario.engine == Engine::Reference {
            return Ahead::default();
        }
        let mut way_in = vec![None; scenario.nodes.len()];
        let mut several = vec![false; scenario.nodes.len()];
        for (index, (link, vcs)) in scenario.links.iter().zip(&topology.vcs_of_link).enumerate() {
            if vcs[0] > 0 && scenario.nodes[link.to].kind == NodeKind::Host {
                several[link.to] |= way_in[link.to].replace(index).is_some();
            }
        }
        let mut ends = vec![[vec![], vec![]]; scenario.links.len()];
        for (index, flow) in scenario.flows.iter().enumerate() {
            for (side, first) in [flow.route[0], flow.return_route[0]].into_iter().enumerate() {
                let host = scenario.links[first].from;
                let alone = match flow.traffic {
                    TrafficConfig::Greedy {} | TrafficConfig::Transfer { .. } => true,
                    TrafficConfig::Web(_) => false,
                };
                several[host] |= !alone;
                if let Some(link) = way_in[host] {
                    ends[link][side].push((2 * index + side) as u32);
                }
            }
        }
        let mut ahead = Ahead {
            hosts: vec![None; scenario.links.len()],
            places: vec![None; 2 * scenario.flows.len()],
            busy: false,
        };
        for (host, link) in way_in.into_iter().enumerate() {
            if let Some(link) = link.filter(|_| !several[host]) {
                let ends = std::mem::take(&mut ends[link]).concat();
                for (number, &end) in ends.iter().enumerate() {
                    ahead.places[end as usize] = Some((link as u32, number as Entity));
                }
                let next = Tournament::new(ends.len());
                ahead.hosts[link] = Some(Host { ends, next });
            }
        }
        ahead
    }

    /// Whether packets may reach both hosts of a flow ahead of time.
    pub(crate) fn knows(&self, flow: usize) -> bool {
        let known = |end: usize| self.places.get(end).is_some_and(Option::is_some);
        known(2 * flow) && known(2 * flow + 1)
    }
}

impl<P: Probe> Simulation<P> {
    #[inline(always)]
    fn quiet_until(&mut self, link: usize) -> &mut Time {
        match self.framing {
            Framing::Aal5 => &mut self.links[link].quiet_until,
            Framing::Ip => &mut self.wires[link].line.quiet_until,
        }
    }

    /// When the first that waits for its event reaches the host at the end of a link.
    fn first_waiting(&self, link: usize) -> Option<Time> {
        match self.framing {
            Framing::Aal5 => self.links[link].deliveries.first().map(|next| next.arrival),
            Framing::Ip => self.wires[link].packets.first().map(|next| next.arrival),
        }
    }

    /// Something will reach the host at the end of a link at `time`; true if it may be handed over ahead of time.
    #[inline(never)]
    pub(crate) fn approach(&mut self, link: usize, time: Time) -> bool {
        let known = self.ahead.hosts.get(link).is_some_and(Option::is_some);
        if !known || self.ahead.busy || time > self.end {
            return false;
        }
        if self.first_waiting(link).is_some() {
            self.catch_up(link);
        }
        self.act_before(link, time);
        true
    }

    /// Hands over what waits for its event.
    fn catch_up(&mut self, link: usize) {
        self.agenda.cancel(link as Entity);
        while let Some(time) = self.first_waiting(link) {
            self.act_before(link, time);
            let now = self.begin_ahead(time);
            match self.framing {
                Framing::Aal5 => self.on_delivery(link),
                Framing::Ip => self.on_packet(link),
            }
            self.end_ahead(now);
        }
    }

    /// The end points at the end of a link do what they do before `time`.
    fn act_before(&mut self, link: usize, time: Time) {
        while let Some(host) = &self.ahead.hosts[link] {
            let next = host.next.first();
            if next.time() >= time {
                *self.quiet_until(link) = next.time().min(self.end);
                return;
            }
            let end = host.ends[next.entity() as usize];
            let flow = (end / 2) as usize;
            let now = self.begin_ahead(next.time());
            if next.order() == START {
                self.agenda.cancel(self.entity(flow, START));
                self.on_start(flow);
            } else if end.is_multiple_of(2) {
                self.on_sender_timer(flow);
            } else {
                self.on_receiver_timer(flow);
            }
            self.end_ahead(now);
        }
    }

    /// An end point will do something by itself at `time`, and not before.
    pub(crate) fn foresee(&mut self, end: usize, time: Time, order: Order) {
        let Some(&Some((link, number))) = self.ahead.places.get(end) else {
            return;
        };
        if let Some(host) = &mut self.ahead.hosts[link as usize] {
            host.next.set(number, Key::new(time, order, number));
            let quiet_until = self.quiet_until(link as usize);
            *quiet_until = time.min(*quiet_until);
        }
    }

    /// An end point will do nothing by itself.
    pub(crate) fn foresee_nothing(&mut self, end: usize) {
        if let Some(&Some((link, number))) = self.ahead.places.get(end) {
            if let Some(host) = &mut self.ahead.hosts[link as usize] {
                host.next.set(number, Key::NEVER);
            }
        }
    }

    /// What follows happens at a host, at a time that is still to come; the time it is.
    #[inline(always)]
    pub(crate) fn begin_ahead(&mut self, time: Time) -> Time {
        self.ahead.busy = true;
        std::mem::replace(&mut self.now, time)
    }

    /// What follows happens at `now` again.
    #[inline(always)]
    pub(crate) fn end_ahead(&mut self, now: Time) {
        self.ahead.busy = false;
        self.now = now;
    }
}
