//! What a policy of a port declares: its facts, its bounds, and how its state is created.

use super::aqm::Algorithm;
use super::Policy;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Unit of a queue.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum QueueUnit {
    /// Packets of any length.
    Packets,
    /// Bytes of packets.
    Bytes,
    /// ATM cells.
    Cells,
}

/// When a policy decides on a packet, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decides {
    /// At enqueue, by the occupancy alone, and never marks.
    ByOccupancy,
    /// At enqueue, by the occupancy alone, and treats frames as a whole.
    ByFrame,
    /// At enqueue, by state that the policy keeps.
    AtEnqueue,
    /// At dequeue, because the policy is a queue discipline.
    AtDequeue,
}

/// Packets that a policy marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// None.
    Nothing,
    /// ECN-capable packets, if the parameter `ecn` is set.
    WithEcn,
    /// ECN-capable packets.
    Capable,
    /// Packets of scalable flows, and other ECN-capable packets if the parameter `ecn` is set.
    Scalable,
}

/// Property of flows by which a policy divides packets among queues of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divides {
    /// None.
    Nothing,
    /// The class of the flow.
    ByClass,
    /// Whether the flow's congestion control is scalable.
    ByScalability,
}

/// A queue of mahimahi that corresponds to a policy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mahimahi {
    /// Name of the queue.
    pub name: &'static str,
    /// Arguments of the queue [ms], each with the field of the policy that it sets.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Fields of the policy that are constants of mahimahi.
    pub constants: &'static [(&'static str, &'static str)],
}

/// Facts about a kind of policy, whatever its parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Facts {
    /// Whether the policy exists for cells.
    pub cells: bool,
    /// Whether the policy exists for IP packets.
    pub packets: bool,
    /// When the policy decides.
    pub decides: Decides,
    /// Whether decisions depend on random numbers.
    pub draws: bool,
    /// Packets that the policy marks.
    pub marks: Marks,
    /// Property by which the policy divides packets.
    #[serde(skip)]
    pub divides: Divides,
    /// Processor time per packet [ns] in addition to tail drop's, on one core of a 2 GHz server.
    pub cost_ns: u32,
    /// The corresponding queue of mahimahi, if there is one.
    pub mahimahi: Option<Mahimahi>,
}

impl Facts {
    /// Returns the facts of a policy for IP packets that neither draws random numbers nor marks.
    pub const fn new(decides: Decides) -> Facts {
        Facts {
            cells: false,
            packets: true,
            decides,
            draws: false,
            marks: Marks::Nothing,
            divides: Divides::Nothing,
            cost_ns: if matches!(decides, Decides::AtDequeue) { 50 } else { 0 },
            mahimahi: None,
        }
    }

    /// Returns the facts of a policy that also exists for cells.
    pub const fn of_cells_too(self) -> Facts {
        Facts { cells: true, ..self }
    }

    /// Returns the facts of a policy that exists for cells instead of packets.
    pub const fn of_cells_only(self) -> Facts {
        Facts {
            cells: true,
            packets: false,
            ..self
        }
    }

    /// Returns the facts of a policy that draws random numbers.
    pub const fn random(self) -> Facts {
        Facts { draws: true, ..self }
    }

    /// Returns the facts of a policy with the given marks.
    pub const fn marking(self, marks: Marks) -> Facts {
        Facts { marks, ..self }
    }

    /// Returns the facts of a policy that divides packets.
    pub const fn dividing(self, divides: Divides) -> Facts {
        Facts { divides, ..self }
    }

    /// Returns the facts of a policy that takes the given processor time per packet [ns].
    pub const fn costing(self, cost_ns: u32) -> Facts {
        Facts { cost_ns, ..self }
    }

    /// Returns the facts of a policy that corresponds to a queue of mahimahi.
    pub const fn in_mahimahi(self, queue: Mahimahi) -> Facts {
        Facts {
            mahimahi: Some(queue),
            ..self
        }
    }
}

/// Parameters of a policy.
pub trait Parameters: Described {
    /// Facts about the kind.
    const FACTS: Facts;

    /// Returns the first invalid parameter, if any.
    fn problem(&self) -> Option<Problem> {
        self.invalid()
    }

    /// Returns whether the policy exists for cells with these parameters.
    fn takes_cells(&self) -> bool {
        Self::FACTS.cells
    }

    /// Returns whether the policy exists for IP packets with these parameters.
    fn takes_packets(&self) -> bool {
        Self::FACTS.packets
    }

    /// Returns whether the policy admits every packet unmarked at a port where no packet ever waits. Such a port needs
    /// no policy (`lookahead/queueless.rs`).
    fn is_inert_without_queue(&self) -> bool;

    /// Returns whether the policy may withhold packets from an idle transmitter.
    fn shapes(&self) -> bool {
        false
    }

    /// Returns the number of classes, or None for a policy without classes.
    fn classes(&self) -> Option<u32> {
        None
    }

    /// Returns the names of the queues among which the policy divides packets by their class or codepoint, and which the
    /// results count separately; none for other policies.
    fn queue_names(&self) -> Vec<String> {
        let classes = self.classes().unwrap_or(0);
        (0..classes).map(|class| format!("class{class}")).collect()
    }

    /// Returns the interval [ps] between updates of the policy's state, if there are any.
    fn update_ps(&self) -> Option<u64> {
        None
    }

    /// Returns the buffer policy for a buffer of `capacity` cells. Active queue management and queue disciplines make
    /// their own drop decisions.
    fn buffer_policy(&self, _capacity: f64) -> Policy {
        Policy::TAIL_DROP
    }

    /// Returns the state of active queue management at enqueue, if the policy is one, for a link of the given rate, and
    /// whether it marks.
    fn algorithm(&self, _rate_bps: u64) -> Option<(Algorithm, bool)> {
        None
    }
}
