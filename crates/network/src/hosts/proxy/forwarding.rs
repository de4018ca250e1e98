//! State of the connections that a split-TCP proxy joins: which flow forwards whose data, and the buffer between them.

use super::buffer_use::BufferUse;
use super::windows::Windows;
use crate::hosts::connection::Connection;
use crate::packets::Flow;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::{MaybeTime, Span, Time};

/// Maximum interval between zero-window probes.
const MAX_PROBE_INTERVAL: Span = Span::seconds(60);

/// State of a split or forwarding connection.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    /// Flow whose data this flow forwards.
    pub source: Option<Flow>,
    /// Last flow of the chain, which ends at the receiver.
    pub last: Flow,
    /// Flow that forwards the data of this flow; None if this flow ends at the receiver.
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
    /// Time of the next zero-window probe; none while the window is open.
    pub probe_due: MaybeTime,
}

impl Proxy {
    /// Returns whether delivered data are forwarded.
    pub(crate) fn forwards(&self) -> bool {
        self.forwarding.is_some()
    }

    /// Returns the flow that forwards the data of this flow, if any.
    pub(crate) fn onward(&self) -> Option<Flow> {
        self.forwarding.as_ref().map(|forwarding| forwarding.flow)
    }

    /// Returns the time of the next zero-window probe.
    pub(crate) fn probe_due(&self) -> MaybeTime {
        self.forwarding
            .as_ref()
            .map_or(MaybeTime::NONE, |forwarding| forwarding.probe_due)
    }

    /// Empties the buffer for a new connection in the slot of one that has ended.
    pub(in crate::hosts) fn renew(&mut self, now: Time) {
        if let Some(forwarding) = &mut self.forwarding {
            forwarding.windows.renew();
            forwarding.buffer_use.set(now, 0);
            forwarding.unanswered = 0;
            forwarding.probe_due = MaybeTime::NONE;
        }
    }
}

/// Links the flows of a scenario to their forwarding flows.
pub(crate) fn join(scenario: &Scenario, flows: &mut [Connection]) {
    if scenario.flows.iter().all(|config| config.onward.is_none()) {
        return;
    }
    for (index, config) in scenario.flows.iter().enumerate() {
        if config.onward.is_none() && !config.relayed {
            continue;
        }
        let forwarding = config.onward.map(|onward| Forwarding {
            flow: Flow::new(onward.flow),
            buffer_use: BufferUse::default(),
            windows: Windows::new(onward.buffer_bytes, config.tcp.mss_bytes),
            timestamps: config.tcp.timestamps(),
            probes: 0,
            unanswered: 0,
            probe_due: MaybeTime::NONE,
        });
        flows[index].proxy = Some(Box::new(Proxy {
            source: None,
            last: Flow::new(last(&scenario.flows, index)),
            forwarding,
        }));
    }
    for (index, config) in scenario.flows.iter().enumerate() {
        if let Some(proxy) = config.onward.and_then(|onward| flows[onward.flow].proxy.as_mut()) {
            proxy.source = Some(Flow::new(index));
        }
    }
    for index in 0..flows.len() {
        let Some(last) = flows[index].proxy.as_ref().map(|proxy| proxy.last) else {
            continue;
        };
        let (start, stop) = (flows[last.index()].start, flows[last.index()].stop);
        let flow = &mut flows[index];
        (flow.start, flow.stop) = (start, stop);
        flow.use_slow_paths();
    }
}

/// Returns the last flow of a chain of forwarding flows.
pub(crate) fn last(flows: &[FlowConfig], mut index: usize) -> usize {
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
