//! The random delay that a host adds before a packet reaches its interface.

use crate::scenario::Scenario;
use longpipe_events::{Span, Stream, Time};

/// Jitter of a host; packets keep their order.
#[derive(Clone, Debug)]
pub struct HostJitter {
    stream: Stream,
    bound: u64,
    latest: Time,
}

impl HostJitter {
    /// Returns the time at which a packet sent now reaches the interface.
    pub fn ready(&mut self, now: Time) -> Time {
        let drawn = now + Span(self.stream.below(self.bound));
        self.latest = self.latest.max(drawn);
        self.latest
    }
}

/// Returns the jitter of each node (None for nodes without jitter), or an empty list if no node has jitter.
pub(crate) fn of_hosts(scenario: &Scenario, seed: u64) -> Vec<Option<HostJitter>> {
    if scenario.nodes.iter().all(|node| node.send_jitter_ps == 0) {
        return Vec::new();
    }
    let nodes = scenario.nodes.iter().enumerate().map(|(index, node)| {
        (node.send_jitter_ps > 0).then(|| HostJitter {
            stream: Stream::new(seed, "send-jitter", index as u64),
            bound: node.send_jitter_ps,
            latest: Time::ZERO,
        })
    });
    nodes.collect()
}
