//! ACKs whose order at the next shared port is known when they leave their host, so that they pass it without an event.
//!
//! If every packet at a port is an ACK of data that left one link, the trunk, the next ACK cannot arrive before the
//! trunk has sent another data packet and that packet has reached its host. An ACK that arrives earlier than that,
//! while no other ACK is in transit, passes the port at once.

use super::early::EarlyHosts;
use super::guarantees::Guarantees;
use crate::packets::aal5::{frame_cells, CELL_BITS};
use crate::packets::Circuit;
use crate::scenario::topology::Topology;
use crate::scenario::{Framing, Scenario};
use longpipe_events::{Span, PS_PER_SECOND};
use longpipe_tcp::segment::header_bytes;

/// Guarantees about the arrivals at a port.
#[derive(Clone, Copy)]
enum PortArrivals {
    /// No circuit uses the port.
    Unused,
    /// All arrivals are ACKs of data from the link `trunk`; each arrives at least `latency` [ps] after its data left
    /// the trunk.
    AcksOf { trunk: usize, latency: u64 },
    /// Packets other than ACKs arrive, or ACKs without a lower bound on their arrival times.
    Others,
}

/// Returns the lookahead of ACKs for each link: an ACK that arrives at the link's end within this time after its data
/// packet left the trunk precedes the ACKs of all later data; 0 means no guarantee. For cells, this assumes that the
/// last cell of the next packet leaves the trunk one frame time later.
pub(crate) fn ack_lookaheads(
    scenario: &Scenario,
    topology: &Topology,
    guarantees: &Guarantees,
    early: &EarlyHosts,
) -> Vec<Span> {
    let mut ack_lookaheads = vec![Span(0); scenario.links.len()];
    let shared = |&link: &usize| !topology.ends[link].host && !topology.ends[link].unshared;
    let route = |circuit: Circuit| -> Vec<usize> {
        let steps = topology.route(topology.first_step(circuit));
        steps.map(|(_, link)| link).collect()
    };
    let mut ports = vec![PortArrivals::Unused; scenario.links.len()];
    for ((circuit, _), own) in topology.circuits().zip(&guarantees.circuits) {
        let back = route(circuit);
        let data = own.answers.filter(|&data| early.include_both(data, circuit));
        let meets = back.iter().position(shared).map(|at| at + 1).filter(|_| data.is_some());
        for (at, &link) in back.iter().enumerate() {
            if Some(at) != meets {
                ports[link] = PortArrivals::Others;
            }
        }
        let (Some(meets), Some(data)) = (meets, data) else {
            continue;
        };
        let (port, forth) = (&mut ports[back[meets]], route(data));
        let Some(trunk) = forth.iter().rposition(shared).map(|at| at + 1) else {
            *port = PortArrivals::Others;
            continue;
        };
        // Data that left the trunk earlier and wait at a later port could be acknowledged at any time.
        let mut between = forth[trunk + 1..].iter().chain(&back[..meets]);
        if !between.all(|&link| guarantees.departures_are_known(link)) {
            *port = PortArrivals::Others;
            continue;
        }
        let bytes = guarantees.circuits[data.index()].end.min_packet_bytes;
        let latency = min_latency(scenario, guarantees, bytes, &forth[trunk..], &back[..meets]);
        *port = port.with(forth[trunk], latency);
    }
    // An ACK's lookahead is that of the link over which it leaves, so the guarantee must hold for all packets on this
    // link.
    let mut known = vec![true; ack_lookaheads.len()];
    for (circuit, _) in topology.circuits() {
        if !guarantees.circuits[circuit.index()].has_acks {
            continue;
        }
        let back = route(circuit);
        let first = back[0];
        // A port with medium access processes arrivals at their time.
        let port = match back.get(1) {
            Some(&second) if scenario.links[second].access.is_none() => ports[second],
            _ => PortArrivals::Others,
        };
        match port {
            PortArrivals::AcksOf { latency, .. } if known[first] && shared(&first) => {
                let min = &mut ack_lookaheads[first].0;
                *min = if *min == 0 { latency } else { latency.min(*min) };
            }
            _ => (known[first], ack_lookaheads[first]) = (false, Span(0)),
        }
    }
    ack_lookaheads
}

impl PortArrivals {
    /// Returns the guarantee if ACKs of data from `trunk` also arrive, each at least `latency` after its data left the
    /// trunk.
    fn with(self, trunk: usize, latency: u64) -> PortArrivals {
        match self {
            PortArrivals::Unused => PortArrivals::AcksOf { trunk, latency },
            PortArrivals::AcksOf {
                trunk: other,
                latency: min,
            } if other == trunk => PortArrivals::AcksOf {
                trunk,
                latency: latency.min(min),
            },
            PortArrivals::AcksOf { .. } | PortArrivals::Others => PortArrivals::Others,
        }
    }
}

/// Returns the minimum time [ps] from the departure of a packet from the trunk, the first link of `forth`, until the
/// ACK of the next packet (or that ACK's first cell) has arrived over `back`. The next packet has at least `bytes`
/// bytes.
fn min_latency(scenario: &Scenario, guarantees: &Guarantees, bytes: u64, forth: &[usize], back: &[usize]) -> u64 {
    let rate = |link: usize| guarantees.links[link].max_rate_bps;
    // For a time-varying link, the maximum rate, the minimum delay and the minimum spacing of packets are used.
    let after_another = |link: usize, bits: u64| -> u64 {
        let spread = u128::from(duration(bits, rate(link))) * u128::from(guarantees.links[link].min_spacing_ratio);
        // Delays and time-varying departures are rounded to a picosecond.
        let rounded = if scenario.links[link].motion.is_some() { 2 } else { 0 };
        ((spread >> 32) as u64).saturating_sub(rounded)
    };
    let links = |links: &[usize], bits: u64| -> u64 {
        let min = |&link: &usize| after_another(link, bits) + guarantees.links[link].min_delay;
        links.iter().map(min).sum()
    };
    match scenario.framing {
        Framing::Ip => links(forth, 8 * bytes) + links(back, 8 * u64::from(header_bytes(None))),
        Framing::Aal5 => {
            // On the trunk, all cells of a packet count; on other links, only the last data cell and the first ACK
            // cell.
            let before = u64::from(frame_cells(bytes as u32)) - 1;
            let trunk = before * duration(CELL_BITS, rate(forth[0]));
            trunk + links(forth, CELL_BITS) + links(back, CELL_BITS)
        }
    }
}

/// Returns the transmission time [ps] of `bits`, rounded down.
fn duration(bits: u64, rate_bps: u64) -> u64 {
    (u128::from(bits) * u128::from(PS_PER_SECOND) / u128::from(rate_bps)) as u64
}
