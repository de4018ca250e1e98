//! Networks as the resolver reads them.

use crate::copies::Copies;
use crate::dumbbell;
use crate::input::Graph;
use crate::splits;
use crate::topology::Topology;
use crate::Problems;

/// Reads a network from JSON, checks it, finds the routes of its flows, and splits them at proxies.
///
/// # Errors
/// Returns the problems of the network, or the problem of the JSON text, which is a defect of the caller.
pub fn topology(network: &str) -> Result<Topology, Problems> {
    of_graph(Graph::read(network)?)
}

/// Checks a network, finds the routes of its flows, and splits them at proxies.
///
/// # Errors
/// Returns the problems of the network.
pub(crate) fn of_graph(mut graph: Graph) -> Result<Topology, Problems> {
    if let Some(fields) = graph.dumbbell.clone() {
        dumbbell::expand(&fields, &mut graph)?;
    }
    splits::check(&graph)?;
    let mut topology = Topology::new(graph)?;
    if !topology.graph.peps.is_empty() {
        let (graph, parts) = splits::split(&topology)?;
        topology = Topology::new(graph)?;
        topology.parts = parts;
    }
    let of = topology.parts.iter().map(|part| part.of);
    topology.copies = Copies::new(&topology.graph, &topology.ends, of);
    Ok(topology)
}
