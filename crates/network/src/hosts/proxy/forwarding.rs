//! State of the connections that a split-TCP proxy joins: which flow forwards whose data, and the buffer between them.

use super::buffer_use::BufferUse;
use super::windows::Windows;
use crate::hosts::connection::Connection;
use crate::packets::Flow;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Span;

/// Maximum interval between zero-window probes.
const MAX_PROBE_INTERVAL: Span = Span::seconds(60);

/// State of a split or forwarding connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxy {
    /// Whether the application has started.
    pub started: bool,
    /// Flow whose data this flow forwards.
    pub source: Option<Flow>,
    /// Flow that forwards the data of this flow; None if this flow ends at its application.
    pub(super) forwarding: Option<Forwarding>,
}

/// Flow that forwards the data of this flow, and the window that this flow advertises.
#[derive(Clone, Debug)]
pub(super) struct Forwarding {
    /// The flow that forwards the data.
    pub flow: Flow,
    /// Occupancy of the buffer between both flows.
    pub buffer_use: BufferUse,
    /// Windows that the proxy advertises to this flow's sender.
    pub windows: Windows,
    /// Whether segments have timestamps.
    pub timestamps: bool,
    /// Number of zero-window probes.
    pub probes: u64,
    /// Number of zero-window probes since the last response.
    pub unanswered: u32,
    /// Whether a zero-window probe is scheduled.
    pub waits: bool,
}

impl Proxy {
    /// Returns whether delivered data are forwarded.
    pub(crate) fn forwards(&self) -> bool {
        self.forwarding.is_some()
    }
}

/// Links the flows of a scenario to their forwarding flows.
pub(crate) fn join(scenario: &Scenario, flows: &mut [Connection]) {
    for (index, config) in scenario.flows.iter().enumerate() {
        if let Some(forwarding) = config.onward {
            let proxy = flows[index].proxy.get_or_insert_default();
            proxy.forwarding = Some(Forwarding {
                flow: Flow::new(forwarding.flow),
                buffer_use: BufferUse::default(),
                windows: Windows::new(forwarding.buffer_bytes, config.tcp.mss_bytes),
                timestamps: config.tcp.timestamps(),
                probes: 0,
                unanswered: 0,
                waits: false,
            });
            flows[forwarding.flow].proxy.get_or_insert_default().source = Some(Flow::new(index));
        }
    }
    for index in 0..flows.len() {
        if flows[index].proxy.is_none() {
            continue;
        }
        let start = flows[last(&scenario.flows, index)].start;
        let flow = &mut flows[index];
        flow.start = start;
        flow.sender.disable_fast_path();
        if flow.proxy.as_ref().is_some_and(|proxy| proxy.forwards()) {
            flow.awaited = 0;
            flow.receiver.disable_fast_path();
        }
    }
}

/// Returns the last flow of a chain of forwarding flows.
fn last(flows: &[FlowConfig], mut index: usize) -> usize {
    while let Some(forwarding) = flows[index].onward {
        index = forwarding.flow;
    }
    index
}

impl Forwarding {
    /// Returns the time until the next zero-window probe, with exponential backoff.
    pub fn probe_interval(&self, rto: Span) -> Span {
        Span(rto.0.saturating_mul(1 << self.unanswered.min(20))).min(MAX_PROBE_INTERVAL.max(rto))
    }
}
