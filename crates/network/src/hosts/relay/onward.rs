//! State of connections at a split-TCP proxy.

use super::account::Account;
use super::windows::Windows;
use crate::hosts::connection::Connection;
use crate::packets::Flow;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Span;

/// Maximum interval of zero-window probes.
const RAREST_PROBE: Span = Span::seconds(60);

/// State of a split or forwarding connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relay {
    /// Whether the application has started.
    pub started: bool,
    /// Flow whose data this one forwards.
    pub source: Option<Flow>,
    pub(super) onward: Option<Onward>,
}

/// Forwarding flow, and the window of this one.
#[derive(Clone, Debug)]
pub(super) struct Onward {
    pub flow: Flow,
    pub account: Account,
    pub windows: Windows,
    /// Whether segments have timestamps.
    pub timestamps: bool,
    /// Number of zero-window probes, and of those since the last answer.
    pub probes: u64,
    pub unanswered: u32,
    /// Whether a zero-window probe is scheduled.
    pub waits: bool,
}

impl Relay {
    /// Returns whether delivered data are forwarded.
    pub(crate) fn feeds(&self) -> bool {
        self.onward.is_some()
    }
}

/// Connects the flows of a scenario with their forwarding flows.
pub(crate) fn join(scenario: &Scenario, flows: &mut [Connection]) {
    for (index, config) in scenario.flows.iter().enumerate() {
        if let Some(onward) = config.onward {
            let relay = flows[index].relay.get_or_insert_default();
            relay.onward = Some(Onward {
                flow: Flow::new(onward.flow),
                account: Account::default(),
                windows: Windows::new(onward.buffer_bytes, config.tcp.mss_bytes),
                timestamps: config.tcp.timestamps(),
                probes: 0,
                unanswered: 0,
                waits: false,
            });
            flows[onward.flow].relay.get_or_insert_default().source = Some(Flow::new(index));
        }
    }
    for index in 0..flows.len() {
        if flows[index].relay.is_none() {
            continue;
        }
        let start = flows[last(&scenario.flows, index)].start;
        let flow = &mut flows[index];
        flow.start = start;
        flow.sender.heed_each_ack();
        if flow.relay.as_ref().is_some_and(|relay| relay.feeds()) {
            flow.awaited = 0;
            flow.receiver.heed_each_segment();
        }
    }
}

/// Returns the last flow of a chain of forwarding flows.
fn last(flows: &[FlowConfig], mut index: usize) -> usize {
    while let Some(onward) = flows[index].onward {
        index = onward.flow;
    }
    index
}

impl Onward {
    /// Returns the wait until the next zero-window probe, with exponential backoff.
    pub fn patience(&self, rto: Span) -> Span {
        Span(rto.0.saturating_mul(1 << self.unanswered.min(20))).min(RAREST_PROBE.max(rto))
    }
}
