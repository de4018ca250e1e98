//! Parameters that connections save for later connections between the same hosts (Careful Resume, RFC 9959).

use super::Hosts;
use crate::observe::probe::Probe;
use crate::packets::Flow;
use longpipe_tcp::congestion::{CarefulResume, Observed};

impl<P: Probe> Hosts<P> {
    /// Applies, to a connection that is about to send its first segment, the parameters that earlier connections
    /// between the same hosts have saved.
    pub fn resume(&mut self, flow: Flow) {
        let lifetime = self.careful_resume(flow.index()).and_then(CarefulResume::lifetime);
        let (Some(lifetime), 0) = (lifetime, self.flows[flow.index()].sender.flight().max) else {
            return;
        };
        let now = self.clock.now;
        let latest = self.observed(flow).filter(|latest| now.since(latest.time) <= lifetime);
        if let Some(path) = latest.and_then(|latest| latest.path) {
            self.flows[flow.index()].sender.resume_from(path);
        }
    }

    /// Returns the latest observation by other connections between the hosts of `flow`; None while one of them is
    /// starting with saved parameters, because saved parameters serve one connection at a time.
    fn observed(&self, flow: Flow) -> Option<Observed> {
        let (now, hosts) = (self.clock.now, self.hosts_of(flow.index()));
        let mut latest: Option<Observed> = None;
        for (index, other) in self.flows.iter().enumerate() {
            if index == flow.index() || other.start > now || self.hosts_of(index) != hosts {
                continue;
            }
            let Some(resume) = self.careful_resume(index) else {
                continue;
            };
            // A short transfer can end in any phase. `completion` belongs to the receiving host, whose events may be
            // processed later.
            let is_complete = other.sender.flight().una >= other.size;
            if resume.is_resuming() && !is_complete {
                return None;
            }
            let observed = resume.observed();
            if observed.is_some_and(|observed| latest.is_none_or(|latest| observed.time >= latest.time)) {
                latest = observed;
            }
        }
        latest
    }

    /// Returns the Careful Resume state of a flow's sender; None if Careful Resume is not used, as with datagrams.
    fn careful_resume(&self, flow: usize) -> Option<&CarefulResume> {
        let connection = &self.flows[flow];
        connection
            .sender
            .careful_resume()
            .filter(|_| !connection.application.is_without_tcp())
    }

    /// Returns the nodes of a flow's sending and receiving host.
    fn hosts_of(&self, flow: usize) -> (u32, u32) {
        let (way, way_back) = (self.flows[flow].way, self.flows[flow].way_back);
        (self.origins[way.link.index()], self.origins[way_back.link.index()])
    }
}
