//! Resolves a scenario for the core, and checks what several parts of it need together.

use crate::checks;
use crate::connections::Connections;
use crate::ports::PortFields;
use crate::repetition;
use crate::rows::{self, FlowRow, NodeRow};
use crate::settings::Settings;
use crate::tcp::{Facts, TcpRow};
use crate::topology::{BothWays, Topology, MAX_PROBLEMS};
use crate::{DirectedLinks, Problems};
use serde::Serialize;

/// A resolved scenario. Flows and links that have equal fields share them.
#[derive(Serialize)]
pub struct Resolved<'a> {
    /// All nodes.
    pub nodes: Vec<NodeRow>,
    /// Distinct fields of directed links.
    pub fields: Vec<PortFields>,
    /// Both nodes of each link, and the number of its fields; the opposite direction has the following fields.
    pub links: Vec<(usize, usize, usize)>,
    /// Distinct settings of TCP.
    pub tcps: Vec<TcpRow<'a>>,
    /// Number of the settings of TCP of each flow of the graph.
    pub tcp_of: Vec<usize>,
    /// Distinct routes.
    pub ways: Vec<BothWays>,
    /// All flows.
    pub flows: Vec<FlowRow>,
    /// VBR sources.
    pub vbr: Vec<checks::Vbr>,
}

/// Resolves a scenario with a network, from its other settings as JSON.
///
/// # Errors
/// Returns the problems of connections and the network together, or else the first problem of their combination.
pub fn resolve<'a>(topology: &Topology, facts: &Facts, settings_json: &'a str) -> Result<Resolved<'a>, Problems> {
    resolve_settings(topology, facts, Settings::read(settings_json)?)
}

/// Resolves a scenario with a network, from its other settings.
///
/// # Errors
/// Returns the problems of connections and the network together, or else the first problem of their combination.
pub(crate) fn resolve_settings<'a>(
    topology: &Topology,
    facts: &Facts,
    mut settings: Settings<'a>,
) -> Result<Resolved<'a>, Problems> {
    let settings = &mut settings;
    if settings.ports.cells && settings.delays {
        let problem = "traces.delay: true; needs framing = \"ip\": ATM ports keep no records of packets";
        return Err(problem.to_owned().into());
    }
    let mut connections = Connections::new(topology, settings, facts)?;
    let mut ports = settings.ports.clone();
    connections.add_to(&mut ports, topology, settings);
    let ports = &ports;
    let mut links = None;
    if ports.tcps.iter().any(|tcp| tcp.is_automatic) {
        // Windows are computed from the links, which have to be valid.
        refuse(checks::network_problems(topology, ports))?;
        let made = checks::directed_links(topology, ports)?;
        connections.fit(&made.windows);
        links = Some(made);
    }
    let mut problems = connections.problems(topology, facts, ports.cells);
    if links.is_none() {
        problems.extend(checks::network_problems(topology, ports));
    }
    refuse(problems)?;
    checks::check_flows(topology, ports)?;
    checks::check_vbr(topology)?;
    repetition::check(topology, ports, settings, &connections, &facts.most_pause)?;
    let DirectedLinks { fields, links, .. } = match links {
        Some(links) => links,
        None => checks::directed_links(topology, ports)?,
    };
    let (ways, flows) = rows::flows(topology, settings)?;
    Ok(Resolved {
        nodes: rows::nodes(topology),
        fields,
        links,
        tcps: connections.rows(),
        tcp_of: connections.of,
        ways,
        flows,
        vbr: checks::vbr(topology, ports)?,
    })
}

/// Returns the rules that connections violate, each with the names of the fields that it concerns: `names` are those of the
/// rules, of which some are absent, and the result has the number of the rule and their names in the scenario.
///
/// # Errors
/// Returns the problem of the text, which is a defect of the caller.
pub fn violated(
    topology: &Topology,
    facts: &Facts,
    settings_json: &str,
    names: &[Vec<String>],
) -> Result<Vec<(usize, Vec<String>)>, Problems> {
    let connections = Connections::new(topology, &Settings::read(settings_json)?, facts)?;
    let violated = connections.violated(facts).into_iter();
    let with_fields = |(flow, rule): (usize, usize)| {
        let names = names[rule].iter();
        (
            rule,
            names.map(|name| connections.field(topology, flow, name)).collect(),
        )
    };
    Ok(violated.map(with_fields).collect())
}

/// Returns the first different problems as an error, if there are any.
fn refuse(problems: Vec<String>) -> Result<(), Problems> {
    let mut lines: Vec<String> = vec![];
    for line in problems {
        if lines.len() < MAX_PROBLEMS && !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        Ok(())
    } else {
        Err(Problems(lines))
    }
}
