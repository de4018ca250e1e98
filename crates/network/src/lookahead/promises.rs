//! What is certain of a scenario's links and circuits, gathered from what its parts promise.

use crate::packets::{Circuit, Flow};
use crate::scenario::promise::{EndPromise, HostPromise, LinkPromise};
use crate::scenario::queueless::queueless;
use crate::scenario::topology::Topology;
use crate::scenario::{LinkConfig, Scenario};

/// What is certain of a circuit's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CircuitPromise {
    /// The end point that sends them.
    pub end: EndPromise,
    /// The circuit whose packets these answer, and nothing else, each when it reaches its host.
    pub answers: Option<Circuit>,
    /// Whether an ACK may be among them.
    pub has_acks: bool,
}

/// What is certain of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    /// By link.
    pub(super) links: Vec<LinkPromise>,
    /// By node.
    pub(super) hosts: Vec<HostPromise>,
    /// By circuit of the topology; of those of a kind that is not known here, nothing is.
    pub(super) circuits: Vec<CircuitPromise>,
}

impl Promises {
    /// Asks all parts of a scenario.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Promises {
        let mut circuits = vec![CircuitPromise::default(); topology.circuit_count()];
        for (index, config) in scenario.flows.iter().enumerate() {
            let flow = Flow::new(index);
            let [sending, receiving] = config.promises();
            let (data, acks) = (Circuit::of_data(flow), Circuit::of_acks(flow));
            let acks_alone = receiving.silent_between_timers && receiving.answers_at_once;
            circuits[data.index()].end = sending;
            circuits[acks.index()] = CircuitPromise {
                end: receiving,
                answers: acks_alone.then_some(data),
                has_acks: true,
            };
        }
        let queueless = queueless(scenario, topology);
        let link = |(link, queueless): (&LinkConfig, bool)| {
            let mut promise = link.promise();
            promise.departs_as_admitted |= queueless;
            if scenario.has_queue_at_host(link) {
                (promise.departs_as_admitted, promise.departs_as_begun) = (false, false);
            }
            promise
        };
        Promises {
            links: scenario.links.iter().zip(queueless).map(link).collect(),
            hosts: scenario.nodes.iter().map(|node| node.promise()).collect(),
            circuits,
        }
    }

    /// Whether when and in which order packets arrive over a link is certain once they begin to leave its port.
    pub(super) fn foretells(&self, link: usize) -> bool {
        let LinkPromise {
            departs_as_begun,
            keeps_order,
            loses_none_on_wire,
            ..
        } = self.links[link];
        departs_as_begun && keeps_order && loses_none_on_wire
    }

    /// Whether no packet is held at a link's port whose departure is not known.
    pub(super) fn holds_none_back(&self, link: usize) -> bool {
        self.links[link].departs_as_admitted
    }
}
