//! End points ahead of time: a packet whose arrival at its host is certain is handed over at once.
//!
//! What leaves a FIFO port over wires that meet no other arrives in a known order at known times. If such a host has
//! one way in, nothing but timers and starts can come between; up to the first of these its packets are handed to
//! TCP as soon as they leave the last shared port, each with its own time of arrival. Results are those of events in
//! order; a probe would see them out of order, so this is for runs that nobody watches.

use crate::probe::Probe;
use crate::scenario::{Engine, Framing, NodeKind, Scenario, TrafficConfig};
use crate::simulation::Simulation;
use crate::topology::Topology;
use longpipe_events::{Entity, Time};

/// Which hosts packets may reach ahead of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// By link, if it is the only way into such a host: the circuits that begin there, 2f where flow f is sent from
    /// and 2f + 1 where it is received.
    ends: Vec<Vec<u32>>,
    /// While a packet is handed over ahead of time, what follows from it is not.
    pub(crate) busy: bool,
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
        let mut ends = vec![Vec::new(); scenario.links.len()];
        for (index, flow) in scenario.flows.iter().enumerate() {
            for (first, end) in [(flow.route[0], 2 * index), (flow.return_route[0], 2 * index + 1)] {
                let host = scenario.links[first].from;
                let alone = match flow.traffic {
                    TrafficConfig::Greedy {} | TrafficConfig::Transfer { .. } => true,
                    TrafficConfig::Web(_) => false,
                };
                several[host] |= !alone;
                if let Some(link) = way_in[host] {
                    ends[link].push(end as u32);
                }
            }
        }
        for (host, link) in way_in.into_iter().enumerate() {
            if let Some(link) = link.filter(|_| several[host]) {
                ends[link].clear();
            }
        }
        Ahead { ends, busy: false }
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
            Framing::Aal5 => self.links[link].deliveries.first().map(|next| next.time),
            Framing::Ip => self.wires[link].packets.first().map(|next| next.arrival),
        }
    }

    /// Something will reach the host at the end of a link at `time`; true if it may be handed over ahead of time.
    #[inline(never)]
    pub(crate) fn approach(&mut self, link: usize, time: Time) -> bool {
        if self.ahead.busy {
            return false;
        }
        self.look_ahead(link);
        if time > *self.quiet_until(link) {
            return false;
        }
        self.catch_up(link);
        time <= *self.quiet_until(link) && self.first_waiting(link).is_none()
    }

    /// Finds out until when nothing but packets happens at the host at the end of a link, if what was known is past.
    fn look_ahead(&mut self, link: usize) {
        let now = self.now;
        if *self.quiet_until(link) > now {
            return;
        }
        let Some(ends) = self.ahead.ends.get(link).filter(|ends| !ends.is_empty()) else {
            return;
        };
        let next = ends.iter().filter_map(|end| {
            let flow = &self.flows[(end / 2) as usize];
            if end % 2 == 1 {
                return flow.receiver.next_timeout();
            }
            let start = (flow.start >= now).then_some(flow.start);
            start.into_iter().chain(flow.sender.next_timeout()).min()
        });
        let quiet_until = next.min().map_or(self.end, |next| next.min(self.end));
        *self.quiet_until(link) = quiet_until;
    }

    /// Hands over what waits for its event, as far as the host is quiet.
    fn catch_up(&mut self, link: usize) {
        self.agenda.cancel(link as Entity);
        while let Some(time) = self.first_waiting(link).filter(|time| time <= self.quiet_until(link)) {
            let now = self.begin_ahead(time);
            match self.framing {
                Framing::Aal5 => self.on_delivery(link),
                Framing::Ip => self.on_packet(link),
            }
            self.end_ahead(now);
        }
        match self.framing {
            Framing::Aal5 => self.schedule(link),
            Framing::Ip => self.schedule_packet(link),
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

    /// The host at the end of a link is quiet up to the timer of the end point that a packet of `vc` has reached.
    #[inline(always)]
    pub(crate) fn heed_timer(&mut self, link: usize, vc: u32) {
        let flow = &self.flows[(vc / 2) as usize];
        let timeout = if vc.is_multiple_of(2) {
            flow.receiver.next_timeout()
        } else {
            flow.sender.next_timeout()
        };
        if let Some(timeout) = timeout {
            let quiet_until = self.quiet_until(link);
            *quiet_until = timeout.min(*quiet_until);
        }
    }
}
