//! ACKs whose place among all that reach the next shared port is certain when they leave their host.
//!
//! Where every packet that reaches a port is an ACK of data that came over one trunk, the next one cannot arrive before
//! the trunk has sent another data packet and that has reached its host. An ACK that comes earlier than that, while no
//! other is on its way, goes on at once and waits for no event.

use crate::atm::aal5::{frame_cells, CELL_BITS};
use crate::lookahead::ahead::Ahead;
use crate::lookahead::promises::Promises;
use crate::packets::Circuit;
use crate::scenario::topology::Topology;
use crate::scenario::{Framing, Scenario};
use longpipe_events::{Span, PS_PER_SECOND};
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
pub(crate) fn leads(scenario: &Scenario, topology: &Topology, promises: &Promises, ahead: &Ahead) -> Vec<Span> {
    let mut leads = vec![Span(0); scenario.links.len()];
    let shared = |&link: &usize| !topology.ends[link].host && !topology.ends[link].unshared;
    let route = |circuit: Circuit| -> Vec<usize> {
        let steps = topology.route(topology.first_step(circuit));
        steps.map(|(_, link)| link).collect()
    };
    let mut ports = vec![Port::Unused; scenario.links.len()];
    for ((circuit, _), promise) in topology.circuits().zip(&promises.circuits) {
        let back = route(circuit);
        let data = promise.answers.filter(|&data| ahead.knows(data, circuit));
        let meets = back.iter().position(shared).map(|at| at + 1).filter(|_| data.is_some());
        for (at, &link) in back.iter().enumerate() {
            if Some(at) != meets {
                ports[link] = Port::Others;
            }
        }
        let (Some(meets), Some(data)) = (meets, data) else {
            continue;
        };
        let (port, forth) = (&mut ports[back[meets]], route(data));
        let Some(trunk) = forth.iter().rposition(shared).map(|at| at + 1) else {
            *port = Port::Others;
            continue;
        };
        // What left the trunk before and is held on its way might be answered any time.
        let mut between = forth[trunk + 1..].iter().chain(&back[..meets]);
        if !between.all(|&link| promises.holds_none_back(link)) {
            *port = Port::Others;
            continue;
        }
        let bytes = promises.circuits[data.index()].end.least_packet_bytes;
        let latency = least_latency(scenario, promises, bytes, &forth[trunk..], &back[..meets]);
        *port = port.with(forth[trunk], latency);
    }
    // An ACK is told by its link alone, so that all that leave over it have to be certain.
    let mut known = vec![true; leads.len()];
    for (circuit, _) in topology.circuits() {
        if !promises.circuits[circuit.index()].has_acks {
            continue;
        }
        let back = route(circuit);
        let first = back[0];
        let port = back.get(1).map_or(Port::Others, |&second| ports[second]);
        match port {
            Port::AcksOf { latency, .. } if known[first] && shared(&first) => {
                let lead = &mut leads[first].0;
                *lead = if *lead == 0 { latency } else { latency.min(*lead) };
            }
            _ => (known[first], leads[first]) = (false, Span(0)),
        }
    }
    leads
}

impl Port {
    /// The same where ACKs of data that came over this trunk arrive, too, at least so long after these left there.
    fn with(self, trunk: usize, latency: u64) -> Port {
        match self {
            Port::Unused => Port::AcksOf { trunk, latency },
            Port::AcksOf {
                trunk: other,
                latency: least,
            } if other == trunk => Port::AcksOf {
                trunk,
                latency: latency.min(least),
            },
            Port::AcksOf { .. } | Port::Others => Port::Others,
        }
    }
}

/// How long after another packet has left the trunk, the first link of `forth`, the ACK of the next one, of `bytes` at the
/// least, has come over `back`, or its first cell [ps].
fn least_latency(scenario: &Scenario, promises: &Promises, bytes: u64, forth: &[usize], back: &[usize]) -> u64 {
    let rate = |link: usize| scenario.links[link].rate_bps;
    // Where a delay moves, what counts of a packet is when it arrives less the least delay, and how close the next one follows.
    let after_another = |link: usize, bits: u64| -> u64 {
        let spread = u128::from(duration(bits, rate(link))) * u128::from(promises.links[link].least_spread);
        // Delays are rounded to a picosecond.
        let rounded = if promises.links[link].least_spread == 1 << 32 {
            0
        } else {
            2
        };
        ((spread >> 32) as u64).saturating_sub(rounded)
    };
    let links = |links: &[usize], bits: u64| -> u64 {
        let least = |&link: &usize| after_another(link, bits) + promises.links[link].least_delay;
        links.iter().map(least).sum()
    };
    match scenario.framing {
        Framing::Ip => links(forth, 8 * bytes) + links(back, 8 * u64::from(header_bytes(None))),
        Framing::Aal5 => {
            // All cells pass the trunk one after the other; elsewhere the last one of the data and the first of the ACK count.
            let before = u64::from(frame_cells(bytes as u32)) - 1;
            let trunk = before * duration(CELL_BITS, rate(forth[0]));
            trunk + links(forth, CELL_BITS) + links(back, CELL_BITS)
        }
    }
}

/// How long so many bits last, rounded down [ps].
fn duration(bits: u64, rate_bps: u64) -> u64 {
    (u128::from(bits) * u128::from(PS_PER_SECOND) / u128::from(rate_bps)) as u64
}
