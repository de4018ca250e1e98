//! Delayed ACKs whose order at the next shared port is known when they leave their host (`lookahead/acks.rs`). A delayed
//! ACK is sent when a timer expires, so the timers that expire first must have been processed.

use super::acks::{AckPath, Latencies};
use super::early::EarlyHosts;
use super::guarantees::Guarantees;
use crate::packets::{Circuit, Flow, Link};
use crate::scenario::topology::Topology;
use crate::scenario::{Framing, Scenario};
use longpipe_events::Span;

/// The receivers of a scenario in which all ACKs may be delayed, acknowledge data from one trunk, and reach one port.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAcks {
    /// For each flow, the link into the receiver's host, and the minimum time from the transmission of an ACK until its
    /// arrival at the port.
    pub receivers: Vec<(Link, Span)>,
    /// For each flow, whether the connection begins with a handshake.
    pub has_handshake: Vec<bool>,
    /// Minimum time from the departure of data from the trunk until their own ACK arrives at the port.
    pub latency: Span,
    /// The link whose port the ACKs reach.
    pub port: Link,
}

impl DelayedAcks {
    /// Returns the receivers if
    ///
    /// 1. all circuits belong to flows, all of whose ACKs may be delayed, to hosts with early delivery;
    /// 2. all data leave one trunk, and all ACKs reach one port, which no other packets reach;
    /// 3. no host has both receivers and senders.
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Topology,
        guarantees: &Guarantees,
        early: &EarlyHosts,
    ) -> Option<DelayedAcks> {
        if scenario.framing != Framing::Ip || topology.circuit_count() != 2 * scenario.flows.len() {
            return None;
        }
        let latencies = Latencies { scenario, guarantees };
        let (mut receivers, mut has_handshake) = (vec![], vec![]);
        let (mut common, mut latency) = (None, u64::MAX);
        for (index, flow) in scenario.flows.iter().enumerate() {
            let (data, acks) = (Circuit::of_data(Flow::new(index)), Circuit::of_acks(Flow::new(index)));
            let waits_for = guarantees.circuits[acks.index()].waits_for == Some(data);
            if !(waits_for && early.include_both(data, acks)) {
                return None;
            }
            let bytes = guarantees.circuits[data.index()].end.min_data_bytes;
            let path = AckPath::of(topology, guarantees, (acks, data), bytes)?;
            let of_path = (path.forth[0], path.port);
            if *common.get_or_insert(of_path) != of_path {
                return None;
            }
            let (link, _) = early.places[acks.index()]?;
            let ends = &early.hosts[link.index()].as_ref()?.ends;
            if !ends.iter().all(|end| end.is_back()) {
                return None;
            }
            latency = latency.min(latencies.of_own(&path));
            receivers.push((link, Span(latencies.back(&path))));
            has_handshake.push(flow.tcp.handshake);
        }
        let (_, port) = common?;
        Some(DelayedAcks {
            receivers,
            has_handshake,
            latency: Span(latency),
            port: Link::new(port),
        })
    }
}
