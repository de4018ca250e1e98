//! Ports at which no packet ever waits, because their link is faster than the only link that feeds the port.

use crate::packets::Circuit;
use crate::scenario::topology::Topology;
use crate::scenario::{BufferUnit, FlowConfig, LinkConfig, NodeKind, Scenario};
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::segment::header_bytes;

/// Margin [ps] by which the time between two arrivals must exceed a transmission time, to allow for rounding.
const ROUNDED: u128 = 4;

/// Returns, for each link, whether no packet ever waits at its port and the policy ignores packets that find the queue
/// empty.
///
/// No packet waits if (1) all packets arrive over one static link, (2) the transmission of the shortest packet on that
/// link takes longer than the transmission of the longest packet on this one, (3) the lengths of packets are known, (4)
/// each packet fits into the buffer, and (5) no route changes.
pub(crate) fn queueless(scenario: &Scenario, topology: &Topology) -> Vec<bool> {
    let links = &scenario.links;
    if scenario.reroutes() {
        return vec![false; links.len()];
    }
    let mut inputs: Vec<Option<usize>> = vec![None; links.len()];
    let mut lengths = vec![(u64::MAX, 0); links.len()];
    let mut has_one_input = vec![true; links.len()];
    for (circuit, first) in topology.circuits() {
        let of_circuit = scenario
            .flows
            .get(circuit.flow().index())
            .and_then(|flow| bounds(flow, circuit));
        let mut before = None;
        for (_, link) in topology.route(first) {
            match of_circuit {
                Some((min, max)) => lengths[link] = (lengths[link].0.min(min), lengths[link].1.max(max)),
                None => has_one_input[link] = false,
            }
            has_one_input[link] &= before.is_some() && inputs[link].is_none_or(|other| Some(other) == before);
            inputs[link] = before;
            before = Some(link);
        }
    }
    let queueless = |(index, link): (usize, &LinkConfig)| {
        let (min, max) = lengths[index];
        let input = inputs[index]
            .map(|input| &links[input])
            .filter(|_| has_one_input[index])?;
        let room = link.buffer.is_none_or(|buffer| match buffer.unit {
            BufferUnit::Packets => buffer.limit >= 1,
            BufferUnit::Bytes => buffer.limit >= max,
            BufferUnit::Cells => false,
        });
        let reacts = input.access.is_some() || link.access.is_some();
        let stand = !reacts && input.motion.is_none() && link.motion.is_none() && input.conditioners.is_empty();
        let router = scenario.nodes[link.from].kind == NodeKind::Switch;
        let lasts = |bytes: u64, rate: u64| 8 * u128::from(bytes) * u128::from(PS_PER_SECOND) / u128::from(rate);
        let apart = lasts(max, link.rate_bps) + ROUNDED <= lasts(min, input.rate_bps);
        Some(room && stand && router && apart && link.policy.is_inert_without_queue())
    };
    let all = links.iter().enumerate();
    all.map(|link| queueless(link).unwrap_or(false)).collect()
}

/// Returns the minimum and maximum length [byte] of a flow's data packets or ACKs; None if a circuit carries both.
fn bounds(flow: &FlowConfig, circuit: Circuit) -> Option<(u64, u64)> {
    let [sending, _] = flow.guarantees();
    let (data, ack) = flow.tcp.largest_packets_bytes();
    let bounds = if circuit.is_back() {
        (u64::from(header_bytes(None)), u64::from(ack))
    } else {
        (sending.min_packet_bytes, u64::from(data))
    };
    sending.silent_between_timers.then_some(bounds)
}
