//! The resolved scenario: every field is present, and every quantity is an integer in the unit given by the suffix of
//! its name.
//!
//! Defaults are set by the Python front end alone; here a missing or unknown field is an error. The rows of large networks
//! derive serde's `Deserialize`, which creates no tree; all other types derive `FromJson`, which is less code.

pub mod access;
pub mod check;
pub mod conditioners;
mod connection_slots;
mod forwarding;
mod grouped;
pub(crate) mod guarantees;
pub(crate) mod link_ends;
pub(crate) mod refusal;
mod repetition;
pub mod rerouting;
mod routes;
mod tcp_cache;
pub mod time_varying;
pub mod topology;
mod traces;
pub mod written;

pub use crate::impairments::loss::LossConfig;
pub use crate::policies::blue::BlueConfig;
pub use crate::policies::dfba::DfbaConfig;
pub use crate::policies::epd::EpdConfig;
pub use crate::policies::fba::FbaConfig;
pub use crate::policies::parameters::QueueUnit;
pub use crate::policies::partial_packet_discard::PartialPacketDiscardConfig;
pub use crate::policies::pie::{PieConfig, PieDelay, PieRules};
pub use crate::policies::red::{RedConfig, RedGap};
pub use crate::policies::selective_drop::SelectiveDropConfig;
pub use crate::policies::step_marking::StepMarkingConfig;
pub use crate::queues::ack_filter::AckFilterConfig;
pub use crate::queues::codel::{CodelArithmetic, CodelConfig};
pub use crate::queues::dualpi2::{DualPi2Config, LowLatencyMarking, TwoQueues};
pub use crate::queues::fq::FqConfig;
pub use crate::queues::fq_codel::{FqCodelConfig, FqCodelRules};
pub use crate::queues::head_drop::HeadDropConfig;
pub use crate::queues::nqb::NqbConfig;
pub use crate::queues::protection::QueueProtectionConfig;
pub use crate::queues::round_robin::{DrrConfig, SfqConfig};
pub use crate::queues::strict::StrictPriorityConfig;
pub use crate::queues::weighted::WeightedPriorityConfig;
pub use crate::queues::PolicyConfig;
use crate::schedulers::class::Class;
pub use crate::schedulers::service::ServiceCategory;
pub use crate::schedulers::{SchedulerConfig, ServiceUnit};
pub use crate::traffic::adaptive_video::{AdaptiveVideoConfig, BitrateRule};
pub use crate::traffic::arrivals::ArrivalsConfig;
pub use crate::traffic::bursts::{BurstsConfig, Times};
pub use crate::traffic::cbr::CbrConfig;
pub use crate::traffic::flow_arrivals::{ArrivalTimesConfig, FlowArrivalsConfig, SizesConfig};
pub use crate::traffic::on_off::OnOffDatagramsConfig;
pub use crate::traffic::poisson::PoissonConfig;
pub use crate::traffic::stack::{StackConfig, StackPathConfig};
pub use crate::traffic::stream::StreamConfig;
pub use crate::traffic::transfer::TransferConfig;
pub use crate::traffic::video::VideoConfig;
pub use crate::traffic::{web, TrafficConfig};
use access::AccessConfig;
use conditioners::ConditionerConfig;
pub(crate) use connection_slots::{connection_slot_bytes, ConnectionSlots};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
pub use repetition::MAX_REPETITIONS;
use rerouting::ReroutingConfig;
use serde::{Deserialize, Serialize};
use strum::VariantNames;
use time_varying::TimeVaryingConfig;
pub use traces::TraceConfig;

/// All inputs to a run other than its seed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Engine of the run.
    pub engine: Engine,
    /// What the links carry: ATM cells or IP packets.
    pub framing: Framing,
    /// Length of the run [ps].
    pub duration_ps: u64,
    /// Order in which a switch processes cells that reach it at the same time.
    pub ties: Ties,
    /// Offset of a switch's output slots from the slots in which cells arrive, as a fraction of a cell time in [0, 1).
    pub slot_phase: f64,
    /// Hosts and switches.
    pub nodes: Vec<NodeConfig>,
    /// Directed links, each including the output port that feeds it.
    pub links: Vec<LinkConfig>,
    /// TCP connections.
    pub flows: Vec<FlowConfig>,
    /// On/off sources of VBR cells.
    pub vbr: Vec<OnOffConfig>,
    /// Traces to record.
    pub traces: TraceConfig,
}

/// Simulation engines. They give identical results.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Engine {
    /// Every arrival and departure of a cell or packet at every port is processed.
    Reference,
    /// The fast engine, which takes shortcuts, such as processing whole trains of cells.
    Trains,
}

/// What the links carry: ATM cells or IP packets.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames, Described)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Framing {
    /// Cells of AAL5 frames, through ATM switches.
    Aal5,
    /// IP packets, through routers.
    Ip,
}

/// Order in which a switch or router processes cells or packets that reach it at the same time.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames, Described)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ties {
    /// By index of the input link.
    PortOrder,
    /// By index of the input link, starting with a different link in every cell time.
    Rotating,
    /// By a hash of seed, time and VC.
    Random,
}

/// A vertex of the graph.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Name in reports, unique.
    pub name: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Upper bound [ps] of the uniformly distributed delay that a host adds to each packet; 0 on switches.
    pub send_jitter_ps: u64,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames, Described)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum NodeKind {
    /// A host, where circuits end.
    Host,
    /// A switch or router, which forwards.
    Switch,
}

/// A directed link and the output port at its upstream end.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Index of the upstream node.
    pub from: usize,
    /// Index of the downstream node.
    pub to: usize,
    /// Bit rate [bit/s], which counts 53 bytes per cell, or whole IP packets.
    pub rate_bps: u64,
    /// Propagation delay [ps].
    pub delay_ps: u64,
    /// Buffer size of the port, including the cell or packet in transmission; None means unlimited.
    pub buffer: Option<BufferConfig>,
    /// Policy of the port.
    pub policy: PolicyConfig,
    /// Scheduler of the port's classes.
    pub scheduler: SchedulerConfig,
    /// Injected losses.
    pub loss: LossConfig,
    /// Variation over time, which replaces the constant rate and delay; None means a static link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<Box<TimeVaryingConfig>>,
    /// Conditioners before the queue discipline, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditioners: Vec<ConditionerConfig>,
    /// Medium access, which replaces the transmitter; None if the link sends whenever a packet waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Box<AccessConfig>>,
}

/// Buffer size of a port.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// Unit of the limit.
    pub unit: BufferUnit,
    /// Maximum occupancy, in `unit`.
    pub limit: u64,
}

/// Unit of a buffer size: cells for AAL5, packets or bytes for IP.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BufferUnit {
    /// ATM cells.
    Cells,
    /// IP packets of any length.
    Packets,
    /// Bytes of IP packets.
    Bytes,
}

/// One TCP connection.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Name in reports, unique.
    pub name: String,
    /// Links from the sender to the receiver, in order.
    pub route: Vec<usize>,
    /// Links from the receiver back to the sender, in order.
    pub return_route: Vec<usize>,
    /// TCP end points.
    #[serde(deserialize_with = "tcp_cache::deserialize")]
    pub tcp: TcpConfig,
    /// Traffic of the application.
    pub traffic: TrafficConfig,
    /// Start time.
    pub start: StartConfig,
    /// Time at which the application stops writing; None means that it never stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopConfig>,
    /// Class of the flow's packets, in both directions, at ports with classes; 0 is the first class.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub class: u32,
    /// Service category of the VC that carries the data; the VC of ACKs has no guarantee.
    #[serde(default = "ServiceCategory::ubr", skip_serializing_if = "ServiceCategory::is_ubr")]
    pub service: ServiceCategory,
    /// Whether ECN-capable packets carry ECT(1), because the congestion control is scalable (RFC 9331).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scalable: bool,
    /// Whether real programs replace the flow's end points. If so, `traffic` and `start` are not used, and the MSS
    /// limits the packet length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Forwarding of the delivered data over another flow, which starts where this one ends; None without a proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onward: Option<ForwardingConfig>,
    /// Whether the flow forwards the data of another flow. If so, both flows have equal traffic and start times.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
    /// Route changes; None means that the routes are constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerouting: Option<Box<ReroutingConfig>>,
}

/// Forwarding at a split-TCP proxy (RFC 3135 section 2.4).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ForwardingConfig {
    /// Index of the forwarding flow.
    pub flow: usize,
    /// Buffer [byte] for data that have been received but not yet acknowledged on the forwarding flow.
    pub buffer_bytes: u64,
}

fn is_zero(class: &u32) -> bool {
    *class == 0
}

/// An on/off source of VBR cells, as the core simulates it; [`written::OnOffInput`] has the fields that users write.
#[derive(Clone, Debug, FromJson, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffConfig {
    /// Name in reports, unique among VBR sources.
    pub name: String,
    /// Links from the source to its sink, in order; the first link carries no other traffic.
    pub route: Vec<usize>,
    /// Rate [bit/s] of cells while on.
    pub peak_bps: u64,
    /// Mean duration [ps] of on periods.
    pub on_ps: u64,
    /// Mean duration [ps] of off periods.
    pub off_ps: u64,
    /// Distribution of the durations of on and off periods; fixed if absent.
    #[serde(default = "Times::fixed", skip_serializing_if = "Times::is_fixed")]
    pub times: Times,
    /// Start [ps] of the first on period.
    pub start_ps: u64,
}

/// Start time of an application.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[described(input(StartInput, "random"))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StartConfig {
    /// All flows start at the same time.
    #[described(name = "FixedStart")]
    Fixed {
        /// Start time [time]; ATM Forum/96-1761 section 3.1.
        #[field(range = "[0 s, 100000 s]", default = "0 s")]
        at_ps: u64,
    },
    /// The start of each flow is uniformly distributed over an interval, drawn from the flow's own random stream.
    #[described(name = "RandomStart")]
    Random {
        /// Start of the interval [time].
        #[field(range = "[0 s, 100000 s]", default = "0 s")]
        from_ps: u64,
        /// Length of the interval [time], as in '100 ms'.
        #[field(range = "[0 s, 100000 s]")]
        over_ps: u64,
    },
}

/// Starts that become fixed ones, of a different time for each flow.
#[derive(Described)]
#[allow(dead_code)]
enum StartInput {
    /// Flow i starts i intervals after the first.
    #[described(name = "StaggeredStart")]
    Staggered {
        /// Start of the first flow [time].
        #[field(range = "[0 s, 100000 s]", default = "0 s")]
        first_ps: u64,
        /// Time between the starts of consecutive flows [time], as in '10 ms'.
        #[field(range = "[0 s, 100000 s]")]
        interval_ps: u64,
    },
}

/// Time at which an application stops writing.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StopConfig {
    /// All flows stop writing at a given time; data that were sent before are still delivered.
    #[described(name = "StopAt")]
    At {
        /// Time of the stop [time], as in '60 s'; after the start.
        #[field(range = "[0 s, 100000 s]")]
        at_ps: u64,
    },
    /// Each flow stops writing a given time after its start; data that were sent before are still delivered.
    #[described(name = "StopAfter")]
    After {
        /// Time from the flow's start to its stop [time], as in '60 s'.
        #[field(range = "[1 us, 100000 s]")]
        after_ps: u64,
    },
}

impl Scenario {
    /// Parses a resolved scenario. The function is not generic, so the deserialization of all types is compiled only in
    /// this crate; it takes ten seconds.
    ///
    /// # Errors
    /// Returns the first syntax error, or the first field that is unknown, missing or of a wrong type.
    pub fn from_json(json: &str) -> Result<Scenario, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Returns whether the run may take shortcuts, including those of TCP. A shortcut is special code together with a
    /// condition under which its results equal those of the general code. The reference engine takes none.
    pub(crate) fn takes_shortcuts(&self) -> bool {
        self.engine == Engine::Trains
    }

    /// Returns whether the port of a link has a queue per VC, given the numbers of its circuits of each class.
    pub(crate) fn has_queue_per_vc(&self, link: usize, vcs: [u32; 2]) -> bool {
        let link = &self.links[link];
        link.scheduler.unit_of_vcs().is_some() && vcs[Class::Ubr as usize] > 1 && !self.is_host(link.from)
    }

    /// Returns whether any flow's route changes.
    pub(crate) fn reroutes(&self) -> bool {
        self.flows.iter().any(|flow| flow.rerouting.is_some())
    }

    /// Returns the names of a flow's hosts, those of its sender and its receiver, or None if its route is empty.
    pub fn host_names(&self, flow: &FlowConfig) -> Option<[&str; 2]> {
        let (&first, &last) = flow.route.first().zip(flow.route.last())?;
        Some([self.links[first].from, self.links[last].to].map(|node| self.nodes[node].name.as_str()))
    }

    /// Returns whether a node is a host.
    pub(crate) fn is_host(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeKind::Host
    }
}
