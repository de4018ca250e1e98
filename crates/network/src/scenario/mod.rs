//! The resolved scenario: every field present, every quantity an integer in the unit its name ends with.
//!
//! Defaults live in the Python front alone; here a missing or unknown field is an error.

pub mod bounds;
pub mod check;
mod datagrams;
pub(crate) mod ends;
mod grouped;
pub mod motion;
mod onward;
mod policy;
pub(crate) mod promise;
mod queue;
pub(crate) mod queueless;
pub(crate) mod refusal;
pub mod rerouting;
mod routes;
mod schedulers;
pub mod topology;
mod traces;
pub mod web;

pub use datagrams::{ArrivalsConfig, CbrConfig, OnOffDatagramsConfig, PoissonConfig, Times, VideoConfig};
use longpipe_reading::Read;
use longpipe_tcp::config::TcpConfig;
use motion::MotionConfig;
pub use policy::PolicyConfig;
pub use queue::{
    BlueConfig, CodelArithmetic, CodelConfig, FqCodelConfig, FqCodelRules, PieConfig, PieDelay, PieRules, QueueUnit,
    RedConfig, RedGap, StepMarkingConfig,
};
use rerouting::ReroutingConfig;
pub use schedulers::{
    DrrConfig, DualPi2Config, FqConfig, LowLatencyMarking, SfqConfig, StrictPriorityConfig, TwoQueues,
    WeightedPriorityConfig,
};
use serde::{Deserialize, Serialize};
use strum::VariantNames;
pub use traces::TraceConfig;
use web::WebConfig;

/// Everything one run needs besides its seed.
#[derive(Clone, Debug, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Which engine moves the cells.
    pub engine: Engine,
    /// What links carry.
    pub framing: Framing,
    /// Length of the run [ps].
    pub duration_ps: u64,
    /// Order among cells that reach one switch at one instant.
    pub ties: Ties,
    /// A switch's output slots start this fraction of a cell after the slots in which cells arrive [0, 1).
    pub slot_phase: f64,
    /// Hosts and switches.
    pub nodes: Vec<NodeConfig>,
    /// Directed links, each with the output port that feeds it.
    pub links: Vec<LinkConfig>,
    /// TCP connections.
    pub flows: Vec<FlowConfig>,
    /// On/off sources of VBR cells.
    pub vbr: Vec<OnOffConfig>,
    /// What to record over time.
    pub traces: TraceConfig,
}

/// The engines, all with identical results.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Engine {
    /// One event per cell and hop.
    Reference,
    /// An event for the last cell of a frame, where its port allows it.
    Trains,
}

/// What links carry.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Framing {
    /// Cells of AAL5 frames, through ATM switches.
    Aal5,
    /// IP packets, through routers.
    Ip,
}

/// Order among cells or packets that reach one switch at one instant.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ties {
    /// By number of the input link.
    PortOrder,
    /// By number of the input link, the first one moving on by one every cell time.
    Rotating,
    /// By a hash of seed, instant and VC.
    Random,
}

/// A vertex of the graph.
#[derive(Clone, Debug, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Name in reports, unique.
    pub name: String,
    /// What it does with a cell.
    pub kind: NodeKind,
    /// A host delays each packet by a uniform time below this [ps]; 0 on switches.
    pub send_jitter_ps: u64,
}

/// What a node does with a cell.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum NodeKind {
    /// Ends virtual circuits.
    Host,
    /// Passes cells on.
    Switch,
}

/// A directed link and the output port at its upstream end.
#[derive(Clone, Debug, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Index of the upstream node.
    pub from: usize,
    /// Index of the downstream node.
    pub to: usize,
    /// Bit rate of 53-byte cells or of IP packets [bit/s].
    pub rate_bps: u64,
    /// Propagation delay [ps].
    pub delay_ps: u64,
    /// Room at the port, that of the cell or packet in service included; none: unlimited.
    pub buffer: Option<BufferConfig>,
    /// What the port refuses.
    pub policy: PolicyConfig,
    /// Which class the port serves next.
    pub scheduler: SchedulerConfig,
    /// Frames lost whatever the buffer holds.
    pub loss: LossConfig,
    /// What it does over time, in place of its rate and delay; none: it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<Box<MotionConfig>>,
}

/// Room at a port.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// What is counted.
    pub unit: BufferUnit,
    /// How many are held at most.
    pub limit: u64,
}

/// What the room at a port is counted in: cells under AAL5, else packets or bytes.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BufferUnit {
    /// ATM cells.
    Cells,
    /// IP packets, whatever their length.
    Packets,
    /// Bytes of IP packets.
    Bytes,
}

/// Frames that a link loses: whole as they enter its port or interface, or by bits at the end of its wire.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum LossConfig {
    /// No frame.
    None {},
    /// Frames by number.
    Packets {
        /// Numbers of the frames lost, counted from 0, ascending.
        indices: Vec<u64>,
    },
    /// The first frame at or after each of some instants.
    AtTimes {
        /// The instants [ps], ascending.
        instants_ps: Vec<u64>,
    },
    /// Each frame, independently.
    Bernoulli {
        /// Probability of a loss.
        probability: f64,
    },
    /// Each frame, independently, with a probability that changes over time.
    OverTime {
        /// Instants [ps], ascending, and the probability of a loss from each on; none before the first.
        steps_ps: Vec<(u64, f64)>,
    },
    /// A good and a bad state of exponential lengths of time.
    GilbertElliottInTime {
        /// Mean time in the good state [ps].
        good_ps: u64,
        /// Mean time in the bad state [ps].
        bad_ps: u64,
        /// Probability of a loss in the good state.
        loss_in_good: f64,
        /// Probability of a loss in the bad state.
        loss_in_bad: f64,
    },
    /// A Markov chain of a good and a bad state that moves before each frame (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of a step from good to bad.
        good_to_bad: f64,
        /// Probability of a step from bad to good.
        bad_to_good: f64,
        /// Probability of a loss in the good state.
        loss_in_good: f64,
        /// Probability of a loss in the bad state.
        loss_in_bad: f64,
    },
    /// Frames and packets with a wrong bit, each bit independently.
    BitErrors {
        /// Probability that a bit is wrong.
        rate: f64,
    },
}

/// Schedulers between the classes of a port.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum SchedulerConfig {
    /// One queue, for UBR alone.
    Fifo {},
    /// A queue each, VBR before UBR.
    Priority {},
    /// A queue each, and a share of the slots for UBR while both wait.
    GuaranteedRate {
        /// GR [parts per billion].
        share_ppb: u64,
    },
}

/// One TCP connection.
#[derive(Clone, Debug, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Name in reports, unique.
    pub name: String,
    /// Links from the sender to the receiver, in order.
    pub route: Vec<usize>,
    /// Links from the receiver back to the sender, in order.
    pub return_route: Vec<usize>,
    /// End points.
    pub tcp: TcpConfig,
    /// What the application sends.
    pub traffic: TrafficConfig,
    /// When it begins.
    pub start: StartConfig,
    /// Class in which ports with classes put its packets, both ways; 0 is the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub class: u32,
    /// Whether packets that can be marked say ECT(1): its control is scalable (RFC 9331).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scalable: bool,
    /// Whether programs outside the run send and receive in place of its end points, both ways: then `traffic` and `start` mean
    /// nothing, and the MSS bounds the packets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// What is delivered goes on over another flow, which begins where this one ends: none does if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onward: Option<OnwardConfig>,
    /// Whether it sends what another one delivers: then both have the same traffic, and that one starts when this one does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
    /// Further routes from instants on: the ones above stay if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerouting: Option<Box<ReroutingConfig>>,
}

/// How a connection goes on where a node splits it (RFC 3135 section 3.1).
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct OnwardConfig {
    /// Index of the flow that carries on.
    pub flow: usize,
    /// What may have been received and not acknowledged further on [byte].
    pub buffer_bytes: u64,
}

fn is_zero(class: &u32) -> bool {
    *class == 0
}

/// A source of VBR cells, on and off in turn.
#[derive(Clone, Debug, Deserialize, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffConfig {
    /// Name in reports, unique among these.
    pub name: String,
    /// Links from the source to its sink, in order; the first carries nothing else.
    pub route: Vec<usize>,
    /// Rate of cells while on [bit/s].
    pub peak_bps: u64,
    /// Time on [ps].
    pub on_ps: u64,
    /// Time off [ps].
    pub off_ps: u64,
    /// When it is on for the first time [ps].
    pub start_ps: u64,
}

/// What an application sends.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum TrafficConfig {
    /// Always has data.
    Greedy {},
    /// One file.
    Transfer {
        /// Length of the file [byte].
        size_bytes: u64,
    },
    /// Files, each in answer to a request from the flow's far end.
    Web(WebConfig),
    /// Datagrams at a constant rate, and no TCP, here and in what follows.
    Cbr(CbrConfig),
    /// Likewise, in bursts.
    OnOff(OnOffDatagramsConfig),
    /// At exponential distances.
    Poisson(PoissonConfig),
    /// Frames of video.
    Video(VideoConfig),
    /// As listed.
    Arrivals(ArrivalsConfig),
}

/// When an application begins.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum StartConfig {
    /// At a given instant.
    Fixed {
        /// The instant [ps].
        at_ps: u64,
    },
    /// Uniformly in an interval, from the flow's own random stream.
    Random {
        /// Start of the interval [ps].
        from_ps: u64,
        /// Length of the interval [ps].
        over_ps: u64,
    },
}

impl Scenario {
    /// Whether some flow's route changes.
    pub(crate) fn reroutes(&self) -> bool {
        self.flows.iter().any(|flow| flow.rerouting.is_some())
    }

    /// Whether a node is a host.
    pub(crate) fn is_host(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeKind::Host
    }
}
