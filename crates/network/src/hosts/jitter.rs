//! A host's random delay before a packet reaches its interface.

use crate::scenario::Scenario;
use longpipe_events::{Span, Stream, Time};

/// The delays of one host; packets keep their order.
#[derive(Clone, Debug)]
pub struct Jitter {
    stream: Stream,
    bound: u64,
    latest: Time,
}

impl Jitter {
    /// When a packet that the host sends now reaches its interface.
    pub fn ready(&mut self, now: Time) -> Time {
        let drawn = now + Span(self.stream.below(self.bound));
        self.latest = self.latest.max(drawn);
        self.latest
    }
}

/// By node, none where nothing is delayed; empty if that is everywhere.
pub(crate) fn of_hosts(scenario: &Scenario, seed: u64) -> Vec<Option<Jitter>> {
    if scenario.nodes.iter().all(|node| node.send_jitter_ps == 0) {
        return Vec::new();
    }
    let nodes = scenario.nodes.iter().enumerate().map(|(index, node)| {
        (node.send_jitter_ps > 0).then(|| Jitter {
            stream: Stream::new(seed, "send-jitter", index as u64),
            bound: node.send_jitter_ps,
            latest: Time::ZERO,
        })
    });
    nodes.collect()
}
