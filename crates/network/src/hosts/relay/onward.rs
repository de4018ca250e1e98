//! Connections of which one carries on what the other delivers.

use super::account::Account;
use super::windows::Windows;
use crate::hosts::connection::Connection;
use crate::packets::Flow;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Span;

/// The longest time from one question for the window to the next.
const RAREST_PROBE: Span = Span::seconds(60);

/// What a connection that is split, or carries on, has of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relay {
    /// Whether its application has begun.
    pub started: bool,
    /// The flow that delivers what it sends.
    pub source: Option<Flow>,
    pub(super) onward: Option<Onward>,
}

/// Where it goes on, and how much it may send.
#[derive(Clone, Debug)]
pub(super) struct Onward {
    pub flow: Flow,
    pub account: Account,
    pub windows: Windows,
    /// Whether its segments have timestamps.
    pub timestamps: bool,
    /// Times that its sender has asked for the window, and of these without an answer.
    pub probes: u64,
    pub unanswered: u32,
    /// Whether it will.
    pub waits: bool,
}

impl Relay {
    /// Whether what is delivered goes on.
    pub(crate) fn feeds(&self) -> bool {
        self.onward.is_some()
    }
}

/// Joins the flows of a scenario that carry on what others deliver.
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

/// The flow over which what a flow sends reaches its end.
fn last(flows: &[FlowConfig], mut index: usize) -> usize {
    while let Some(onward) = flows[index].onward {
        index = onward.flow;
    }
    index
}

impl Onward {
    /// How long the sender waits until it asks, ever longer without an answer.
    pub fn patience(&self, rto: Span) -> Span {
        Span(rto.0.saturating_mul(1 << self.unanswered.min(20))).min(RAREST_PROBE.max(rto))
    }
}
