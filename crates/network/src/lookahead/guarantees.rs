//! Guarantees about a scenario's links and circuits, derived from the guarantees of its parts.

use super::queueless::queueless;
use crate::packets::{Circuit, Flow};
use crate::scenario::guarantees::{EndGuarantees, HostGuarantees, LinkGuarantees};
use crate::scenario::topology::Topology;
use crate::scenario::{Framing, LinkConfig, Scenario};

/// Guarantees about a circuit's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CircuitGuarantees {
    /// Guarantees of the end point that sends the circuit's packets.
    pub end: EndGuarantees,
    /// Circuit whose packets trigger all packets of this circuit, each when it reaches its host; None if this circuit
    /// also has other packets.
    pub answers: Option<Circuit>,
    /// Circuit whose packets trigger all packets of this circuit, each when it reaches its host or when a timer of the
    /// receiver expires later; None if this circuit has other packets, or only packets without delay.
    pub waits_for: Option<Circuit>,
    /// Whether the circuit may carry ACKs.
    pub has_acks: bool,
}

/// Guarantees about a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Guarantees {
    /// Guarantees by link.
    pub(super) links: Vec<LinkGuarantees>,
    /// Guarantees by node.
    pub(super) hosts: Vec<HostGuarantees>,
    /// Guarantees of each circuit of the topology; circuits of unknown kinds have none.
    pub(super) circuits: Vec<CircuitGuarantees>,
}

impl Guarantees {
    /// Collects the guarantees of all parts of a scenario.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Guarantees {
        let mut circuits = vec![CircuitGuarantees::default(); topology.circuit_count()];
        for (index, config) in scenario.flows.iter().enumerate() {
            let flow = Flow::new(index);
            let [sending, receiving] = config.guarantees();
            let (data, acks) = (Circuit::of_data(flow), Circuit::of_acks(flow));
            let acks_alone = receiving.silent_between_timers && receiving.answers_at_once;
            circuits[data.index()].end = sending;
            circuits[acks.index()] = CircuitGuarantees {
                end: receiving,
                answers: acks_alone.then_some(data),
                waits_for: (receiving.delays_acks && receiving.answers_or_waits).then_some(data),
                has_acks: true,
            };
        }
        let queueless = queueless(scenario, topology);
        let link = |(index, (link, queueless)): (usize, (&LinkConfig, bool))| {
            let mut guarantees = link.guarantees();
            guarantees.departs_as_admitted |= queueless;
            if has_unknown_departures(
                scenario,
                link,
                scenario.has_queue_per_vc(index, topology.vcs_of_link[index]),
            ) {
                (guarantees.departs_as_admitted, guarantees.departs_as_begun) = (false, false);
            }
            guarantees
        };
        Guarantees {
            links: scenario.links.iter().zip(queueless).enumerate().map(link).collect(),
            hosts: scenario.nodes.iter().map(|node| node.guarantees()).collect(),
            circuits,
        }
    }

    /// Returns whether the time and order of arrivals over a link are certain once transmission from its port starts.
    pub(super) fn arrivals_are_known(&self, link: usize) -> bool {
        let LinkGuarantees {
            departs_as_begun,
            keeps_order,
            loses_none_on_wire,
            ..
        } = self.links[link];
        departs_as_begun && keeps_order && loses_none_on_wire
    }

    /// Returns whether the departure times of all packets at a link's port are known.
    pub(crate) fn departures_are_known(&self, link: usize) -> bool {
        self.links[link].departs_as_admitted
    }
}

/// Returns whether a port gives no guarantee about departures, although its parts do.
fn has_unknown_departures(scenario: &Scenario, link: &LinkConfig, has_queue_per_vc: bool) -> bool {
    let is_host = scenario.is_host(link.from);
    // The cells of a frame leave one by one while the rate changes, and losses in outages at a host would not be
    // attributed to their cause.
    let is_varying_frame_or_host = has_varying_departures(link) && (scenario.framing == Framing::Aal5 || is_host);
    // The slot of a cell in a queue per VC depends on later arrivals.
    is_varying_frame_or_host || has_queue_per_vc || scenario.has_queue_at_host(link) || link.is_conditioned()
}

/// Returns whether the transmission times of a port vary, or its decisions depend on more than its occupancy while the
/// link varies.
fn has_varying_departures(link: &LinkConfig) -> bool {
    link.motion.as_ref().is_some_and(|motion| {
        motion.service.is_some() || motion.outages.is_some() || !link.policy.depends_on_occupancy_only()
    })
}
