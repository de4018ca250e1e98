//! Parameters that connections save for later ones between the same hosts (Careful Resume, RFC 9959).

use super::Hosts;
use crate::observe::probe::Probe;
use crate::packets::Flow;
use longpipe_tcp::congestion::{CarefulResume, Observed};

impl<P: Probe> Hosts<P> {
    /// Lets a connection that is about to send its first segment use what earlier connections between its hosts have saved.
    pub fn resume(&mut self, flow: Flow) {
        let sender = &self.flows[flow.index()].sender;
        let lifetime = sender.careful_resume().and_then(CarefulResume::lifetime);
        let (Some(lifetime), 0) = (lifetime, sender.flight().max) else {
            return;
        };
        let now = self.clock.now;
        let latest = self.observed(flow).filter(|latest| now.since(latest.time) <= lifetime);
        if let Some(path) = latest.and_then(|latest| latest.path) {
            self.flows[flow.index()].sender.resume_from(path);
        }
    }

    /// Returns what other connections between the hosts of `flow` have observed last; none while one of them starts with saved
    /// parameters, because these serve one connection at a time.
    fn observed(&self, flow: Flow) -> Option<Observed> {
        let (now, hosts) = (self.clock.now, self.hosts_of(flow.index()));
        let others = (0..self.flows.len())
            .filter(|&other| other != flow.index() && self.flows[other].start <= now && self.hosts_of(other) == hosts);
        let others: Vec<&CarefulResume> = others
            .filter_map(|other| self.flows[other].sender.careful_resume())
            .collect();
        if others.iter().any(|other| other.is_resuming()) {
            return None;
        }
        others
            .into_iter()
            .filter_map(CarefulResume::observed)
            .max_by_key(|observed| observed.time)
    }

    /// Returns the nodes of a flow's sending and receiving host.
    fn hosts_of(&self, flow: usize) -> (u32, u32) {
        let (way, way_back) = (self.flows[flow].way, self.flows[flow].way_back);
        (self.origins[way.link.index()], self.origins[way_back.link.index()])
    }
}
