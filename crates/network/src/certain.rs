//! ACKs whose place among all that reach the next shared port is certain when they leave their host.
//!
//! Where every packet that reaches a port is an ACK of data that came over one trunk, the next one cannot arrive before
//! the trunk has sent another data packet and that has reached its host. An ACK that comes earlier than that, while no
//! other is on its way, goes on at once and waits for no event.

use crate::aal5::{frame_cells, CELL_BITS};
use crate::ahead::Ahead;
use crate::scenario::{FlowConfig, Framing, Scenario, TrafficConfig};
use crate::topology::Topology;
use longpipe_events::{Span, PS_PER_SECOND};
use longpipe_tcp::config::AckConfig;
use longpipe_tcp::segment::header_bytes;

/// What is known of the ACKs that reach a port.
#[derive(Clone, Copy)]
enum Port {
    /// No circuit leads there.
    Unused,
    /// All are of data that came over this link, and arrive at least so long after these have left there [ps].
    AcksOf { trunk: usize, latency: u64 },
    /// Other packets come, too, or ACKs at other times.
    Others,
}

/// By link: an ACK that arrives at its end less than this after the data packet has left the trunk precedes all ACKs of
/// later ones; zero where nothing is certain. As cells, if the next packet's last one leaves the trunk as long after as it takes to.
pub(crate) fn leads(scenario: &Scenario, topology: &Topology, ahead: &Ahead) -> Vec<Span> {
    let mut leads = vec![Span(0); scenario.links.len()];
    let shared = |&link: &usize| !topology.ends[link].host && !topology.ends[link].unshared;
    let mut ports = vec![Port::Unused; scenario.links.len()];
    for (index, flow) in scenario.flows.iter().enumerate() {
        for &link in &flow.route {
            ports[link] = Port::Others;
        }
        let back = &flow.return_route;
        let meets = back.iter().position(shared).map(|at| at + 1);
        for (at, &link) in back.iter().enumerate() {
            if Some(at) != meets {
                ports[link] = Port::Others;
            }
        }
        let Some(meets) = meets else { continue };
        let port = &mut ports[back[meets]];
        let trunk = flow.route.iter().rposition(shared).map(|at| at + 1);
        let (Some(trunk), true) = (trunk, ahead.knows(index) && acknowledges_at_once(flow)) else {
            *port = Port::Others;
            continue;
        };
        let latency = least_latency(scenario, flow, &flow.route[trunk..], &back[..meets]);
        let trunk = flow.route[trunk];
        *port = match *port {
            Port::Unused => Port::AcksOf { trunk, latency },
            Port::AcksOf {
                trunk: other,
                latency: least,
            } if other == trunk => Port::AcksOf {
                trunk,
                latency: latency.min(least),
            },
            Port::AcksOf { .. } | Port::Others => Port::Others,
        };
    }
    for &link in scenario.vbr.iter().flat_map(|source| &source.route) {
        ports[link] = Port::Others;
    }
    for flow in &scenario.flows {
        let [first, second, ..] = flow.return_route[..] else {
            continue;
        };
        if let (Port::AcksOf { latency, .. }, true) = (ports[second], shared(&first)) {
            leads[first] = Span(latency);
        }
    }
    leads
}

/// Whether each packet of data is answered by an ACK that leaves when it comes.
fn acknowledges_at_once(flow: &FlowConfig) -> bool {
    matches!(flow.tcp.ack, AckConfig::Immediate {})
}

/// How long after another packet has left the trunk, the first link of `forth`, the ACK of the next one has come over `back`
/// at the least, or its first cell [ps].
fn least_latency(scenario: &Scenario, flow: &FlowConfig, forth: &[usize], back: &[usize]) -> u64 {
    let links = |links: &[usize], bits: u64| -> u64 {
        let links = links.iter().map(|&link| &scenario.links[link]);
        links.map(|link| duration(bits, link.rate_bps) + link.delay_ps).sum()
    };
    let bytes = least_packet_bytes(flow);
    match scenario.framing {
        Framing::Ip => links(forth, 8 * bytes) + links(back, 8 * u64::from(header_bytes(None))),
        Framing::Aal5 => {
            // All cells pass the trunk one after the other; elsewhere the last one of the data and the first of the ACK count.
            let before = u64::from(frame_cells(bytes as u32)) - 1;
            let trunk = before * duration(CELL_BITS, scenario.links[forth[0]].rate_bps);
            trunk + links(forth, CELL_BITS) + links(back, CELL_BITS)
        }
    }
}

/// How long so many bits last, rounded down [ps].
fn duration(bits: u64, rate_bps: u64) -> u64 {
    (u128::from(bits) * u128::from(PS_PER_SECOND) / u128::from(rate_bps)) as u64
}

/// Least length of a flow's data packets.
fn least_packet_bytes(flow: &FlowConfig) -> u64 {
    let mss = u64::from(flow.tcp.mss_bytes);
    let short_at_end_only = flow.tcp.silly_window_avoidance && mss <= flow.tcp.advertised_window() / 2;
    let payload = match flow.traffic {
        _ if !short_at_end_only => 1,
        TrafficConfig::Transfer { size_bytes } if size_bytes % mss > 0 => size_bytes % mss,
        TrafficConfig::Transfer { .. } | TrafficConfig::Greedy {} => mss,
        TrafficConfig::Web(_) => 1,
    };
    payload + u64::from(header_bytes(None))
}
