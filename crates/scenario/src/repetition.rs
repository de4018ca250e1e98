//! Bounds on repeated events that occur even if no packet is sent, so that every run ends.

use crate::buffers::CELL_BITS;
use crate::checks::{cycle_ps, slowest_rate};
use crate::connections::Connections;
use crate::framing::policies;
use crate::input::Ports;
use crate::rules::six_digits;
use crate::settings::{Settings, Traffic, Transport};
use crate::tcp::Tcp;
use crate::topology::Topology;
use crate::units::{self, RATE, SIZE, TIME};
use crate::Problems;
use longpipe_json::Json;
use longpipe_units::{Dimension, TICKS};

/// Maximum number of repetitions of an event in a run. With PIE's default interval of 15 ms, a run can last up to 173 days.
const MAX_REPETITIONS: u64 = 1_000_000_000;
/// Maximum number of times that an RTO doubles.
const MAX_BACKOFF: u32 = 6;
/// Length of the headers of IP and UDP [byte].
const DATAGRAM_HEADERS: u64 = 28;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Sources of repeated events in a run.
struct Repeating<'a> {
    traffics: &'a [Traffic<'a>],
    tcps: &'a [Tcp<'a>],
    /// Number of the traffic of each flow, 0 for that of the scenario, and of its settings of TCP.
    flows: Vec<(usize, usize)>,
}

impl<'a> Repeating<'a> {
    fn mss(&self, flow: usize) -> &str {
        self.tcps[self.flows[flow].1].text("mss")
    }

    /// Returns the last flow of each combination of traffic and TCP, in order; flows of a group share both.
    fn unlike(&self) -> Vec<usize> {
        let mut last = std::collections::BTreeMap::new();
        for (i, ends) in self.flows.iter().enumerate() {
            last.insert(*ends, i);
        }
        let mut flows: Vec<usize> = last.into_values().collect();
        flows.sort_unstable();
        flows
    }

    /// Returns the scenario's traffic and the flows' own traffic, each with its field and the MSS of its flow.
    fn with_fields(&self, topology: &Topology) -> Vec<(String, &Traffic<'a>, &str)> {
        let first = self.flows.iter().position(|flow| flow.0 == 0).unwrap_or_default();
        let mut traffics = vec![("traffic".to_owned(), &self.traffics[0], self.mss(first))];
        let mut last: Vec<((usize, &str), usize)> = vec![];
        for flow in self.unlike() {
            let traffic = self.flows[flow].0;
            if traffic == 0 {
                continue;
            }
            let key = (traffic, self.mss(flow));
            match last.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = flow,
                None => last.push((key, flow)),
            }
        }
        for ((traffic, mss), flow) in last {
            let field = format!("{}.traffic", topology.flow_field(flow));
            traffics.push((field, &self.traffics[traffic], mss));
        }
        traffics
    }
}

/// Checks that no event repeats more than a billion times in the run, and that bursts end.
///
/// # Errors
/// Returns the first problem.
pub(crate) fn check(
    topology: &Topology,
    ports: &Ports,
    settings: &Settings<'_>,
    connections: &Connections<'_>,
    most_pause: &str,
) -> Result<(), Problems> {
    let flows = topology.graph.flows.iter().zip(&connections.of);
    let repeating = &Repeating {
        traffics: &settings.traffics,
        tcps: &connections.tcps,
        flows: flows.map(|(flow, tcp)| (flow.traffic, *tcp)).collect(),
    };
    let duration = &settings.duration;
    let least_ps = units::parse(TIME, duration)
        .unwrap_or_default()
        .div_ceil(MAX_REPETITIONS);
    let at_least = |field: String, text: &str, interval_ps: u128| {
        if interval_ps >= u128::from(least_ps) {
            return Ok(());
        }
        let least = TIME.format(i128::from(least_ps));
        let needs = format!("needs at least {least}, a billionth of the duration, {duration}");
        Err(Problems::from(format!("{field}: {text}; {needs}")))
    };
    let time = |table: &Json<'_>, name: &str| quantity(TIME, table, name);
    for (field, policy) in policies(topology, ports) {
        if let Some(update) = &policy.update {
            let update_ps = units::parse(TIME, update).unwrap_or_default();
            at_least(format!("{field}.update"), update, u128::from(update_ps))?;
        }
    }
    for link in topology.described_links() {
        let settings = topology.settings(2 * link);
        for (name, loss) in [("loss", settings.loss), ("return_loss", settings.return_loss)] {
            if let Some([good, bad]) = &topology.graph.parts[loss].states {
                let own = if topology.graph.dumbbell.is_some() && name == "loss" {
                    "trunk_loss"
                } else {
                    name
                };
                let cycle_ps = [good, bad].map(|text| u128::from(units::parse(TIME, text).unwrap_or_default()));
                at_least(
                    format!("{}.good", topology.link_field(link, own)),
                    good,
                    cycle_ps.iter().sum(),
                )?;
            }
        }
    }
    let traffics = repeating.with_fields(topology);
    for (
        field,
        Traffic {
            fields: traffic,
            repeats,
            ..
        },
        mss,
    ) in &traffics
    {
        if traffic.at("kind").as_str() == Some("stream") {
            let write = traffic.at("write").as_str();
            let text = write.map_or_else(|| format!("{mss}, the MSS,"), str::to_owned);
            at_least(format!("{field}.write"), &text, write_ps(traffic, mss))?;
        } else if let Some(name) = repeats {
            let text = traffic.at(name).as_str().unwrap_or_default();
            at_least(format!("{field}.{name}"), text, time(traffic, name))?;
        }
    }
    let mut of_tcp: Vec<Option<usize>> = vec![None; repeating.tcps.len()];
    let mut order = vec![];
    for flow in repeating.unlike() {
        let (traffic, tcp) = repeating.flows[flow];
        if repeating.traffics[traffic].transport == Transport::Tcp {
            if of_tcp[tcp].is_none() {
                order.push(tcp);
            }
            of_tcp[tcp] = Some(flow);
        }
    }
    for (flow, tcp) in order.into_iter().filter_map(|tcp| Some((of_tcp[tcp]?, tcp))) {
        let timer = repeating.tcps[tcp].fields.at("timer");
        let is_coarse = timer.at("kind").as_str() == Some("coarse");
        let (dimension, tick_ps) = if is_coarse {
            (TICKS, time(timer, "tick"))
        } else {
            (TIME, 1)
        };
        for (name, factor) in [("initial_rto", 1 << MAX_BACKOFF), ("max_rto", 1)] {
            let place = if repeating.tcps[tcp].sets("timer") {
                topology.flow_field(flow) + "."
            } else {
                String::new()
            };
            let text = timer.at(name).as_str().unwrap_or_default();
            let interval_ps = factor * quantity(dimension, timer, name) * tick_ps;
            at_least(format!("{place}tcp.timer.{name}"), text, interval_ps)?;
        }
    }
    if let Some(sampling) = &settings.sampling {
        let interval_ps = units::parse(TIME, sampling).unwrap_or_default();
        at_least("traces.vc_queue_interval".to_owned(), sampling, u128::from(interval_ps))?;
    }
    for (field, Traffic { fields: traffic, .. }, mss) in &traffics {
        match traffic.at("kind").as_str() {
            Some("on-off" | "self-similar") => {
                let bits = 8 * (quantity(SIZE, traffic, "payload") + u128::from(DATAGRAM_HEADERS));
                let packet_ps = bits * PS_PER_S / quantity(RATE, traffic, "rate").max(1);
                check_bursts(field, traffic, packet_ps, "packet")?;
            }
            Some("stream") if traffic.at("bursts") != &Json::Null => {
                let bursts = traffic.at("bursts");
                check_bursts(&format!("{field}.bursts"), bursts, write_ps(traffic, mss), "write")?;
            }
            _ => {}
        }
    }
    check_vbr(topology, most_pause)
}

/// Returns a quantity of a table in base units.
fn quantity(dimension: &Dimension, table: &Json<'_>, name: &str) -> u128 {
    let text = table.at(name).as_str().unwrap_or_default();
    units::parse(dimension, text).unwrap_or_default().into()
}

/// Returns the time [ps] between two writes, rounded down.
fn write_ps(stream: &Json<'_>, mss: &str) -> u128 {
    let text = stream.at("write").as_str().unwrap_or(mss);
    let bytes = u128::from(units::parse(SIZE, text).unwrap_or_default());
    8 * bytes * PS_PER_S / quantity(RATE, stream, "rate").max(1)
}

/// Checks that bursts follow each other no faster than packets or writes at the peak rate.
fn check_bursts(field: &str, bursts: &Json<'_>, packet_ps: u128, of: &str) -> Result<(), Problems> {
    let [on, off] = ["on", "off"].map(|name| bursts.at(name).as_str().unwrap_or_default());
    let cycle_ps = quantity(TIME, bursts, "on") + quantity(TIME, bursts, "off");
    let packet = TIME.format(i128::try_from(packet_ps).unwrap_or(i128::MAX));
    if cycle_ps < packet_ps {
        let needs = format!("needs a sum of at least {packet}, the transmission time of a {of} at the rate");
        return Err(format!("{field}.on: {on} and {off} off; {needs}").into());
    }
    if bursts.at("times.kind").as_str() != Some("pareto") {
        return Ok(());
    }
    let shape = match bursts.at("times.shape") {
        Json::Float(shape) => *shape,
        Json::Number(shape) => *shape as f64,
        _ => return Ok(()),
    };
    if 100.0 * cycle_ps as f64 * ((shape - 1.0) / shape) < packet_ps as f64 {
        let shape = longpipe_units::repr_of_float(shape);
        let needs = format!("needs more, so that the shortest time of on and off is a hundredth of {packet}");
        return Err(
            format!("{field}.times.shape: {shape}; {needs}, the transmission time of a {of} at the rate").into(),
        );
    }
    Ok(())
}

/// Checks that bursts of VBR follow each other in no less than a cell time on the source's own link, and not too late.
fn check_vbr(topology: &Topology, most_pause: &str) -> Result<(), Problems> {
    let longest_ps = units::parse(TIME, most_pause).unwrap_or(u64::MAX);
    for (i, (source, route)) in topology.graph.vbr.iter().zip(&topology.vbr_routes).enumerate() {
        let field = topology.vbr_field(i);
        let own_rate = slowest_rate(topology, &route[..1]);
        let cell_ps = u128::from(CELL_BITS) * PS_PER_S / u128::from(units::parse(RATE, own_rate).unwrap_or(1));
        let (period, cycle_ps) = (&source.period, cycle_ps(source));
        let pause_ps = cycle_ps.saturating_sub(units::parse(TIME, period).unwrap_or_default());
        if pause_ps > longest_ps {
            let duty = six_digits(source.duty.parse().unwrap_or_default());
            let needs = format!("needs a mean pause of at most {most_pause} after bursts of {period}");
            return Err(format!("{field}.duty: {duty}; {needs}").into());
        }
        if u128::from(cycle_ps) < cell_ps {
            let [cycle, cell] = [i128::from(cycle_ps), cell_ps as i128].map(|ps| TIME.format(ps));
            let needs =
                format!("needs {cell} from burst to burst, the transmission time of a cell on its link of {own_rate}");
            return Err(format!("{field}.period: {period} of {cycle}; {needs}").into());
        }
    }
    Ok(())
}
