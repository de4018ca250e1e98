//! Checks that concern several parts of a network, each of which is valid by itself.

use crate::buffers::CELL_BITS;
use crate::input::{Node, NodeKind, Part, Ports, VbrSource};
use crate::splits;
use crate::topology::Topology;
use crate::units::{self, Decimal, RATE, TIME};
use crate::Problems;
use crate::{access, conditioners, framing, ports, DirectedLinks};
use serde::Serialize;

/// Maximum delay of a path [ps]: 1000000 s. The sum of this delay and the longest run fits into 64 bits of picoseconds.
const LONGEST_PATH_PS: u128 = 1_000_000 * PS_PER_S;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Returns the problems of a network, other than those of routes and TCP: policies, schedulers and VBR sources that do not
/// fit the framing, routes with too much propagation delay, and queues at hosts, conditioners and medium access that do
/// not fit their links.
pub fn network_problems(topology: &Topology, ports: &Ports) -> Vec<String> {
    let mut problems = framing::problems(topology, ports);
    problems.extend(path_problems(topology));
    problems.extend(host_problems(topology, ports.cells));
    problems.extend(conditioners::problems(topology, ports.cells));
    problems.extend(access::problems(topology, ports.cells));
    problems
}

/// Returns the problems of routes with too much propagation delay: of routes, then of return routes, then of VBR.
fn path_problems(topology: &Topology) -> Vec<String> {
    let longest = |route: &[usize]| {
        let delay_ps: u128 = route.iter().map(|link| u128::from(topology.delay_ps(*link))).sum();
        // Halves are rounded to the even number of seconds.
        let (seconds, rest) = (delay_ps / PS_PER_S, delay_ps % PS_PER_S);
        let seconds = seconds + u128::from(2 * rest + seconds % 2 > PS_PER_S);
        let shown = format!("{} links of {seconds} s in total", route.len());
        (delay_ps > LONGEST_PATH_PS).then(|| format!("{shown}; needs at most 1000000 s"))
    };
    // Flows between the same hosts share their routes.
    let of_ways: Vec<[Option<String>; 2]> = topology
        .ways
        .iter()
        .map(|(there, back)| [longest(there), longest(back)])
        .collect();
    let mut problems = vec![];
    for (back, name) in ["route", "return_route"].into_iter().enumerate() {
        for (i, way) in topology.way_of.iter().enumerate() {
            if let Some(problem) = &of_ways[*way][back] {
                problems.push(format!("network.flows[{i}].{name}: {problem}"));
            }
        }
    }
    for (i, route) in topology.vbr_routes.iter().enumerate() {
        if let Some(problem) = longest(route) {
            problems.push(format!("network.vbr[{i}].route: {problem}"));
        }
    }
    problems
}

/// Returns the problems of queues at hosts.
fn host_problems(topology: &Topology, cells: bool) -> Vec<String> {
    let mut problems = vec![];
    for (i, ends) in topology.ends.iter().enumerate() {
        let settings = topology.settings(2 * i);
        let name = match (settings.host_policy, &settings.host_buffer) {
            (None, None) => continue,
            (Some(_), _) => "host_policy",
            (None, Some(_)) => "host_buffer",
        };
        let field = topology.link_field(i, name);
        let mut hosts = ends
            .iter()
            .map(|node| &topology.graph.nodes[*node])
            .filter(|node| node.1 == NodeKind::Host);
        if cells {
            problems.push(format!(
                "{field}: set; needs framing 'ip': hosts send cells from an unlimited queue"
            ));
        } else if hosts.clone().next().is_none() {
            problems.push(format!("{field}: set; needs a host at either end of the link"));
        } else if let Some(Node(host, _, jitter)) = hosts.find(|node| units::parse(TIME, &node.2) > Some(0)) {
            problems.push(format!("{field}: set; needs send_jitter 0 s, not {jitter}, at {host}"));
            if topology.graph.dumbbell.is_some() {
                // All hosts of a dumbbell have the same jitter.
                break;
            }
        }
    }
    problems
}

/// Returns the directed links with the buffers of their ports, and automatic windows.
///
/// # Errors
/// Returns the first buffer that does not fit its port, or medium access that does not fit its link or its cell.
pub fn directed_links(topology: &Topology, ports: &Ports) -> Result<DirectedLinks, Problems> {
    let links = ports::directed_links(topology, ports)?;
    access::check(topology, ports)?;
    Ok(links)
}

/// Checks the buffers of proxies, the classes of flows and their guaranteed rates.
///
/// # Errors
/// Returns the first problem.
pub fn check_flows(topology: &Topology, ports: &Ports) -> Result<(), Problems> {
    splits::check_buffers(topology, ports)?;
    check_classes(topology, &ports.policy)?;
    check_guarantees(topology, ports.cells)
}

/// Checks that the class of each flow exists at the ports on its routes; `usual` is the policy of switches.
fn check_classes(topology: &Topology, usual: &Part) -> Result<(), Problems> {
    if usual.classes.is_none() && topology.graph.parts.iter().all(|part| part.classes.is_none()) {
        return Ok(());
    }
    let policy_of = |link: usize| match topology.graph.nodes[topology.ends_of(link).0].1 {
        NodeKind::Switch => Some(topology.policy(link).map_or(usual, |part| &topology.graph.parts[part])),
        NodeKind::Host => topology
            .settings(link)
            .host_policy
            .map(|part| &topology.graph.parts[part]),
    };
    for (i, flow) in topology.graph.flows.iter().enumerate() {
        let (there, back) = &topology.ways[topology.way_of[i]];
        for link in there.iter().chain(back) {
            let Some(Part {
                kind,
                classes: Some(classes),
                ..
            }) = policy_of(*link)
            else {
                continue;
            };
            if flow.class >= *classes {
                let (a, b) = topology.ends_of(*link);
                let (a, b) = (topology.name(a), topology.name(b));
                let (field, class) = (topology.flow_field(i), flow.class);
                let needs = format!("needs less than {classes}, the classes of {kind} at {a}->{b}");
                return Err(format!("{field}.class: {class}; {needs}").into());
            }
        }
    }
    Ok(())
}

/// Checks that routes have room for the guaranteed rates of flows; `cells` is whether the links carry ATM cells.
fn check_guarantees(topology: &Topology, cells: bool) -> Result<(), Problems> {
    let mut total = vec![0; 2 * topology.ends.len()];
    for (i, flow) in topology.graph.flows.iter().enumerate() {
        let Some(rate) = flow.mcr else {
            continue;
        };
        let field = format!("{}.service", topology.flow_field(i));
        if !cells {
            return Err(format!("{field}: gfr; needs framing 'aal5', because IP packets have no VCs").into());
        }
        for link in &topology.ways[topology.way_of[i]].0 {
            let sum = &mut total[*link];
            *sum += rate;
            let cells_per_second = topology.rate_bps(*link) / CELL_BITS;
            if *sum > cells_per_second {
                let (a, b) = topology.ends_of(*link);
                let (a, b) = (topology.name(a), topology.name(b));
                let over = format!("{rate}, {sum} cells/s in total over {a}->{b}");
                return Err(
                    format!("{field}.mcr: {over}; needs at most the {cells_per_second} cells/s of the link").into(),
                );
            }
        }
    }
    Ok(())
}

/// Checks that VBR sources, whose peak rates must always be available, cross no link that varies over time.
///
/// # Errors
/// Returns the first problem.
pub(crate) fn check_vbr(topology: &Topology) -> Result<(), Problems> {
    for (source, route) in topology.graph.vbr.iter().zip(&topology.vbr_routes) {
        if route.iter().any(|link| topology.settings(*link).varies[link % 2]) {
            let needs = "needs static links";
            return Err(format!("network.vbr: {} crosses a time-varying link; {needs}", source.name).into());
        }
    }
    Ok(())
}

/// Returns the VBR sources in the form of the core.
///
/// # Errors
/// Returns the first problem: switches without a queue for VBR, a source without a host of its own, or a peak rate
/// above that of a link.
pub fn vbr(topology: &Topology, ports: &Ports) -> Result<Vec<Vbr>, Problems> {
    if topology.graph.vbr.is_empty() {
        return Ok(vec![]);
    }
    let scheduler = &ports.scheduler;
    if matches!(scheduler.as_str(), "fifo" | "wfq") {
        let needs = "needs priority or guaranteed-rate";
        return Err(format!("switch.scheduler: {scheduler} has no queue for VBR; {needs}").into());
    }
    let mut used = vec![false; 2 * topology.ends.len()];
    for link in topology.ways.iter().flat_map(|(there, back)| there.iter().chain(back)) {
        used[*link] = true;
    }
    let firsts: Vec<usize> = topology.vbr_routes.iter().map(|route| route[0]).collect();
    let sources = topology.graph.vbr.iter().zip(&topology.vbr_routes).enumerate();
    let rows = sources.map(|(i, (source, route))| {
        let field = topology.vbr_field(i);
        let shared = firsts.iter().filter(|first| **first == route[0]).count() > 1;
        if shared || used[route[0]] {
            let from = &source.from;
            return Err(format!("{field}.from: '{from}' sends other cells too; needs its own host").into());
        }
        let slowest = slowest_rate(topology, route);
        let rate = source.rate.as_deref().unwrap_or(slowest);
        if units::parse(RATE, rate) > units::parse(RATE, slowest) {
            let needs = format!("needs at most the rate of its slowest link, {slowest}");
            return Err(format!("{field}.rate: {rate}; {needs}").into());
        }
        let on_ps = units::parse(TIME, &source.period).unwrap_or_default();
        Ok(Vbr {
            route: topology.copies.route(route, 0),
            peak_bps: units::parse(RATE, rate).unwrap_or_default(),
            on_ps,
            off_ps: match cycle_ps(source) {
                u64::MAX => u64::MAX,
                cycle_ps => cycle_ps - on_ps,
            },
            start_ps: units::parse(TIME, &source.phase).unwrap_or_default(),
        })
    });
    rows.collect()
}

/// Returns the lowest rate among the links of a route, as written.
pub(crate) fn slowest_rate<'a>(topology: &'a Topology, route: &[usize]) -> &'a str {
    let slowest = route.iter().min_by_key(|link| topology.rate_bps(**link));
    slowest.map_or("", |link| {
        let settings = topology.settings(*link);
        let returning = settings.return_rate.as_ref().filter(|_| link % 2 == 1);
        returning.unwrap_or(&settings.rate)
    })
}

/// Returns the lowest rate [bit/s] among the links of a flow's route to its receiver.
pub fn slowest_bps(topology: &Topology, flow: usize) -> Option<u64> {
    let (there, _) = &topology.ways[topology.way_of[flow]];
    there.iter().map(|link| topology.rate_bps(*link)).min()
}

/// A VBR source of a resolved scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Vbr {
    /// Directed links.
    pub route: Vec<usize>,
    /// Peak rate [bit/s].
    pub peak_bps: u64,
    /// Mean duration of a burst [ps].
    pub on_ps: u64,
    /// Mean duration of a pause [ps].
    pub off_ps: u64,
    /// Start of the first burst [ps].
    pub start_ps: u64,
}

/// Returns the mean time [ps] from burst to burst, of which a source sends for the fraction `duty`. Longer times than 64
/// bits can represent do not end within a run.
pub(crate) fn cycle_ps(source: &VbrSource) -> u64 {
    let on_ps = units::parse(TIME, &source.period).unwrap_or_default();
    let duty = Decimal::read(&source.duty);
    duty.and_then(|duty| duty.divides(on_ps)).unwrap_or(u64::MAX)
}
