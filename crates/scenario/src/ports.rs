//! Both directions of each link, with the buffers of their ports, and the windows that fill their routes.

use crate::buffers::{buffer, Buffer, Pipe};
use crate::input::{Part, Ports, TAIL_DROP};
use crate::packets::{segment_bytes, Packet};
use crate::routes::{key, Numbers};
use crate::topology::Topology;
use crate::units::{self, RATE};
use crate::Problems;
use longpipe_tcp::config::MAX_WINDOW_BYTES;
use serde::Serialize;

/// Largest window of a receiver without RFC 7323 [byte].
const SMALLEST_WINDOW_BYTES: u64 = 64 << 10;
/// Multiple of the BDP in an automatic window: one BDP of data is in flight, and another BDP is sent above the hole
/// during the RTT in which a loss is repaired.
const TIMES_PATH: u64 = 2;

/// Directed links of a resolved scenario. Links that differ only in their nodes share their fields.
#[derive(Clone, Debug, Serialize)]
pub struct DirectedLinks {
    /// Distinct fields.
    pub fields: Vec<PortFields>,
    /// Both nodes of each link, and the number of its fields; the opposite direction has the following fields.
    pub links: Vec<(usize, usize, usize)>,
    /// Flows with automatic windows, each with its window [byte].
    pub windows: Vec<(usize, u64)>,
}

/// Fields of a directed link other than its nodes. Parts are numbers of the graph's parts.
#[derive(Clone, Debug, Serialize)]
pub struct PortFields {
    /// Bit rate [bit/s].
    pub rate_bps: u64,
    /// Propagation delay [ps].
    pub delay_ps: u64,
    /// Kind of the port.
    pub port: Port,
    /// Policy of the port; None is that of the switches.
    pub policy: Option<usize>,
    /// Buffer of the port; None is unlimited.
    pub buffer: Option<Buffer>,
    /// Injected losses.
    pub loss: usize,
    /// Conditioners of the port.
    pub conditioners: Vec<usize>,
    /// Medium access of the link.
    pub access: Option<usize>,
}

/// Kinds of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Port {
    /// A host's interface.
    Host,
    /// A port of a switch.
    Switch,
}

/// Returns the directed links with the buffers of their ports, and automatic windows.
///
/// # Errors
/// Returns a problem if a buffer is smaller than the largest packet, or its unit does not fit the links.
pub(crate) fn directed_links(topology: &Topology, ports: &Ports) -> Result<DirectedLinks, Problems> {
    let largest = &Packet::longest(ports);
    let round_trip_ps = topology.longest_round_trip_ps();
    let mut number_of = Numbers::new();
    let mut made = DirectedLinks {
        fields: vec![],
        links: Vec::with_capacity(topology.ends.len()),
        windows: vec![],
    };
    for (i, [a, b]) in topology.ends.iter().copied().enumerate() {
        let kinds = 2 * usize::from(topology.is_switch(a)) + usize::from(topology.is_switch(b));
        let settings = key(kinds, topology.graph.links[i].2);
        let number = match number_of.get(&settings) {
            Some(number) => *number,
            None => {
                let number = made.fields.len();
                for link in [2 * i, 2 * i + 1] {
                    made.fields
                        .push(port_fields(topology, link, ports, largest, round_trip_ps)?);
                }
                number_of.insert(settings, number);
                number
            }
        };
        made.links.push((a, b, number));
    }
    for (flow, tcp) in ports.tcp_of.iter().enumerate() {
        let tcp = &ports.tcps[*tcp];
        if tcp.is_automatic {
            let bytes = window_bytes(topology, &made, flow, segment_bytes(tcp));
            made.windows.push((flow, bytes.min(MAX_WINDOW_BYTES)));
        }
    }
    made.links = topology.copies.links(&made.links);
    Ok(made)
}

fn port_fields(
    topology: &Topology,
    link: usize,
    ports: &Ports,
    largest: &Packet,
    round_trip_ps: u64,
) -> Result<PortFields, Problems> {
    let (settings, back) = (topology.settings(link), link % 2 == 1);
    let at_switch = topology.is_switch(topology.ends_of(link).0);
    let (port, policy, text, rate_bps) = if at_switch {
        let policy = topology.policy(link);
        let own = if back { settings.return_buffer.as_ref() } else { None };
        let text = own.or(settings.buffer.as_ref()).unwrap_or(&ports.buffer);
        let shaper = policy.map_or(&ports.policy, |part| &topology.graph.parts[part]);
        let rate_bps = shaped_bps(topology, link, bdp_rate_bps(topology, link), shaper);
        (Port::Switch, policy, Some(text), rate_bps)
    } else {
        let text = settings.host_buffer.as_ref();
        (
            Port::Host,
            settings.host_policy.or(Some(TAIL_DROP)),
            text,
            topology.rate_bps(link),
        )
    };
    let pipe = Pipe {
        rate_bps,
        round_trip_ps,
    };
    let buffer = match text {
        Some(text) => {
            let field = buffer_field(topology, link, at_switch);
            buffer(&field, text, ports.cells, pipe, largest)?
        }
        None => None,
    };
    Ok(PortFields {
        rate_bps: topology.rate_bps(link),
        delay_ps: topology.delay_ps(link),
        port,
        policy,
        buffer,
        loss: if back { settings.return_loss } else { settings.loss },
        conditioners: [&settings.conditioners, &settings.return_conditioners][link % 2].clone(),
        access: settings.access[link % 2],
    })
}

/// Returns the rate [bit/s] with which a BDP is computed at a port of a switch.
fn bdp_rate_bps(topology: &Topology, link: usize) -> u64 {
    let settings = topology.settings(link);
    let returning = settings.return_rate.as_ref().filter(|_| link % 2 == 1);
    // A BDP is that of the trunk at all ports of a dumbbell.
    let trunk = topology
        .graph
        .dumbbell
        .is_some()
        .then(|| &topology.graph.settings[0].rate);
    let text = returning.or(trunk).unwrap_or(&settings.rate);
    units::parse(RATE, text).unwrap_or_else(|| topology.rate_bps(link))
}

/// Returns the rate [bit/s] at which a port sends: that of its line, or the lower one of its shaper.
fn shaped_bps(topology: &Topology, link: usize, rate_bps: u64, policy: &Part) -> u64 {
    let buckets = topology.conditioners(link).filter(|part| part.kind == "tbf");
    let shapers = buckets.chain((policy.kind == "cake").then_some(policy));
    shapers.filter_map(|part| part.rate_bps).fold(rate_bps, u64::min)
}

/// Returns the name under which the buffer of a port is set in the scenario.
fn buffer_field(topology: &Topology, link: usize, at_switch: bool) -> String {
    let (settings, i) = (topology.settings(link), link / 2);
    let returning = link % 2 == 1 && settings.return_buffer.is_some();
    let name = match (at_switch, returning) {
        (false, _) => "host_buffer",
        (true, true) => "return_buffer",
        (true, false) if settings.buffer.is_some() => return format!("network.links[{i}].buffer"),
        (true, false) => return "switch.buffer".to_owned(),
    };
    topology.link_field(i, name)
}

/// Returns the window [byte] of a flow with `receiver_window = "auto"`: twice the sum of the BDP and the largest
/// buffer, where an unlimited buffer counts as one BDP, and any other is filled with packets of `packet_bytes`. It is at
/// least 64 KiB.
fn window_bytes(topology: &Topology, links: &DirectedLinks, flow: usize, packet_bytes: u64) -> u64 {
    let (there, back) = &topology.ways[topology.way_of[flow]];
    let delays = there
        .iter()
        .chain(back)
        .map(|link| topology.delay_with_jitter_ps(*link));
    let delay_ps = delays.fold(0, u64::saturating_add);
    let rate_bps = there.iter().map(|link| topology.rate_bps(*link)).min().unwrap_or(0);
    let bdp = u128::from(rate_bps) * u128::from(delay_ps) / (8 * 1_000_000_000_000);
    // The host's own port is excluded: its queue is unlimited, so the window need not fill it.
    let buffers = there[1..].iter().map(|link| {
        let fields = &links.fields[links.links[link / 2].2 + link % 2];
        fields.buffer.map_or(bdp, |buffer| buffer.bytes(packet_bytes))
    });
    let sum = u128::from(TIMES_PATH) * (bdp + buffers.max().unwrap_or(0));
    let sum = sum.max(u128::from(SMALLEST_WINDOW_BYTES));
    u64::try_from(sum).unwrap_or(u64::MAX)
}
