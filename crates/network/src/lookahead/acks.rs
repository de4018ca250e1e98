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
    let shared = |&link: &usize| is_shared(topology, link);
    let route = |circuit: Circuit| route(topology, circuit);
    let latencies = Latencies { scenario, guarantees };
    let mut ports = vec![PortArrivals::Unused; scenario.links.len()];
    for (circuit, _) in topology.circuits() {
        let path = AckPath::new(topology, guarantees, early, circuit);
        let meets = path.as_ref().map(|path| path.back.len());
        for (at, link) in route(circuit).into_iter().enumerate() {
            if Some(at) != meets {
                ports[link] = PortArrivals::Others;
            }
        }
        if let Some(path) = path {
            ports[path.port] = ports[path.port].with(path.forth[0], latencies.after_next(&path));
        }
    }
    // An ACK's lookahead is that of the link over which it leaves, so the guarantee must hold for all packets on this
    // link.
    let mut has_lookahead = vec![true; ack_lookaheads.len()];
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
            PortArrivals::AcksOf { latency, .. } if has_lookahead[first] && shared(&first) => {
                let min = &mut ack_lookaheads[first].0;
                *min = if *min == 0 { latency } else { latency.min(*min) };
            }
            _ => (has_lookahead[first], ack_lookaheads[first]) = (false, Span(0)),
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

/// Path of data from their trunk to their host, and of their ACKs from there to the next shared port.
pub(super) struct AckPath {
    /// The links of the data; the first one is the trunk.
    pub forth: Vec<usize>,
    /// The links of the ACKs.
    pub back: Vec<usize>,
    /// The link whose port the ACKs reach.
    pub port: usize,
    /// Minimum length of the data [byte].
    pub bytes: u64,
}

impl AckPath {
    /// Returns the path of the ACKs that use `circuit`; None if the circuit has packets other than ACKs of data from one
    /// trunk to hosts with early delivery, if the data may wait at an unknown time between trunk and port, or if the
    /// ACKs may be delayed and `early` does not allow this.
    pub fn new(topology: &Topology, guarantees: &Guarantees, early: &EarlyHosts, circuit: Circuit) -> Option<AckPath> {
        let own = guarantees.circuits.get(circuit.index())?;
        let waits_for = own.waits_for.filter(|_| early.delayed_acks.is_some());
        let data = own
            .answers
            .or(waits_for)
            .filter(|&data| early.include_both(data, circuit))?;
        let end = &guarantees.circuits[data.index()].end;
        let bytes = match own.answers {
            Some(_) => end.min_packet_bytes,
            None => end.min_data_bytes,
        };
        AckPath::of(topology, guarantees, (circuit, data), bytes)
    }

    /// Returns the path of the ACKs that use `circuit`, each for data of at least `bytes` bytes that use circuit `data`.
    pub fn of(
        topology: &Topology,
        guarantees: &Guarantees,
        (circuit, data): (Circuit, Circuit),
        bytes: u64,
    ) -> Option<AckPath> {
        let shared = |&link: &usize| is_shared(topology, link);
        let (mut back, mut forth) = (route(topology, circuit), route(topology, data));
        let meets = back.iter().position(shared)? + 1;
        let trunk = forth.iter().rposition(shared)? + 1;
        let port = back[meets];
        back.truncate(meets);
        // Data that left the trunk earlier and wait at a later port could be acknowledged at any time.
        let mut between = forth[trunk + 1..].iter().chain(&back);
        if !between.all(|&link| guarantees.departures_are_known(link)) {
            return None;
        }
        forth.drain(..trunk);
        Some(AckPath {
            forth,
            back,
            port,
            bytes,
        })
    }
}

/// Returns whether packets may meet other packets at the end of a link.
pub(super) fn is_shared(topology: &Topology, link: usize) -> bool {
    !topology.ends[link].host && !topology.ends[link].unshared
}

/// Returns the links of a circuit.
fn route(topology: &Topology, circuit: Circuit) -> Vec<usize> {
    let steps = topology.route(topology.first_step(circuit));
    steps.map(|(_, link)| link).collect()
}

/// Minimum latencies [ps] of a scenario's links.
pub(super) struct Latencies<'a> {
    pub scenario: &'a Scenario,
    pub guarantees: &'a Guarantees,
}

impl Latencies<'_> {
    /// Returns the minimum time between the departures of two packets, the second one of `bits` bits, as it appears at
    /// the end of the link. For a time-varying link, the maximum rate and the minimum spacing of packets are used.
    fn after_another(&self, link: usize, bits: u64) -> u64 {
        let rate = self.guarantees.links[link].max_rate_bps;
        let spread = u128::from(duration(bits, rate)) * u128::from(self.guarantees.links[link].min_spacing_ratio);
        // Delays and time-varying departures are rounded to a picosecond.
        let rounded = if self.scenario.links[link].motion.is_some() {
            2
        } else {
            0
        };
        ((spread >> 32) as u64).saturating_sub(rounded)
    }

    fn over(&self, links: &[usize], bits: u64) -> u64 {
        let min = |&link: &usize| self.after_another(link, bits) + self.guarantees.links[link].min_delay;
        links.iter().map(min).sum()
    }

    /// Returns the minimum time from the departure of a packet from the trunk until the ACK of the next packet (or that
    /// ACK's first cell) has arrived at its port.
    fn after_next(&self, path: &AckPath) -> u64 {
        match self.scenario.framing {
            Framing::Ip => self.over(&path.forth, 8 * path.bytes) + self.back(path),
            Framing::Aal5 => {
                // On the trunk, all cells of a packet count; on other links, only the last data cell and the first ACK
                // cell.
                let before = u64::from(frame_cells(path.bytes as u32)) - 1;
                let rate = self.guarantees.links[path.forth[0]].max_rate_bps;
                let trunk = before * duration(CELL_BITS, rate);
                trunk + self.over(&path.forth, CELL_BITS) + self.over(&path.back, CELL_BITS)
            }
        }
    }

    /// Returns the minimum time from the departure of an IP packet from the trunk until its own ACK has arrived at its
    /// port.
    pub fn of_own(&self, path: &AckPath) -> u64 {
        let trunk = self.guarantees.links[path.forth[0]].min_delay;
        trunk + self.over(&path.forth[1..], 8 * path.bytes) + self.back(path)
    }

    /// Returns the minimum time from the transmission of an ACK as an IP packet until it has arrived at its port.
    pub fn back(&self, path: &AckPath) -> u64 {
        self.over(&path.back, 8 * u64::from(header_bytes(None)))
    }
}

/// Returns the transmission time [ps] of `bits`, rounded down.
fn duration(bits: u64, rate_bps: u64) -> u64 {
    (u128::from(bits) * u128::from(PS_PER_SECOND) / u128::from(rate_bps)) as u64
}
