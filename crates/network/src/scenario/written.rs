//! Descriptions of the parts that users write in another form than the core simulates.

// The types are only described, and never created.
#![allow(dead_code, clippy::large_enum_variant)]

use super::access::AccessConfig;
use super::traces::TraceConfig;
use super::{Framing, NodeKind, StartConfig, StopConfig, Ties};
use crate::conditioners::ConditionerConfig;
use crate::impairments::loss::LossConfig;
use crate::queues::PolicyConfig;
use crate::schedulers::service::ServiceCategory;
use crate::schedulers::SchedulerConfig;
use crate::traffic::bursts::Times;
use crate::traffic::TrafficConfig;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::{Described, Type};

/// A name of letters, digits, '_', '.' and '-'.
pub struct Name;

impl Described for Name {
    fn described() -> Type {
        Type::Text {
            len: None,
            pattern: "^[A-Za-z0-9_.-]{1,64}$",
        }
    }
}

/// Declares types whose syntax or models are in Python.
macro_rules! in_python {
    ($($(#[$about:meta])* $name:ident = $path:literal, is_model: $is_model:literal;)+) => {
        $(
            $(#[$about])*
            pub struct $name;

            impl Described for $name {
                fn described() -> Type {
                    Type::Python { path: $path, is_model: $is_model }
                }
            }
        )+
    };
}

in_python! {
    /// A size of a buffer in one of several dimensions.
    Buffer = "longpipe.scenario.base.Buffer", is_model: false;
    /// Fields of TCP that differ from those of the scenario.
    TcpOverrides = "longpipe.scenario.tcp_overrides.TcpOverrides", is_model: true;
    /// A variation of a link over time.
    Path = "longpipe.scenario.motion.Path", is_model: true;
    /// A split-TCP proxy of a switch.
    Pep = "longpipe.scenario.pep.Pep", is_model: true;
    /// A split-TCP proxy of a dumbbell.
    TrunkPep = "longpipe.scenario.pep.TrunkPep", is_model: true;
    /// A part of the duration, or a word.
    WarmUp = "longpipe.scenario.warm_up.WarmUp", is_model: false;
}

/// A source of VBR cells that alternately sends and pauses, beginning at its phase; its cells are never dropped.
#[derive(Described)]
#[described(name = "OnOff")]
pub struct OnOffInput {
    /// Mean duration of a burst [time]; ATM Forum/97-0424 section 5.1.
    #[field(range = "[1 us, 1000000 s]", default = "300 ms")]
    period_ps: u64,
    /// Fraction of the time during which the source sends; ATM Forum/97-0424 section 5.1.
    #[field(range = "(0, 1]", default = 0.5)]
    duty: f64,
    /// Distribution of bursts and pauses: fixed, exponential (a Markov chain) or pareto.
    #[field(default = "fixed", later)]
    times: Times,
    /// Start of the first burst [time].
    #[field(range = "[0 s, 1000000 s]", default = "0 s")]
    phase_ps: u64,
    /// Rate within a burst [bit/s]; defaults to the rate of the slowest link on the path; ATM Forum/97-0424.
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    rate_bps: Option<u64>,
}

/// A VBR source of a graph, with its own host.
#[derive(Described)]
#[described(name = "VbrFlow")]
pub struct VbrFlowInput {
    /// A name of letters, digits, '_', '.', '-'; unique among these.
    name: Name,
    /// The sending host.
    from: Name,
    /// The receiving host.
    to: Name,
    /// Nodes from sender to receiver; fewest hops if absent.
    route: Option<Vec<Name>>,
}

/// Output ports of all switches, in both directions; hosts' interfaces have unlimited queues.
#[derive(Described)]
#[described(name = "Switch")]
pub struct SwitchInput {
    /// Size of the buffer for UBR cells or IP packets, including the one in service [cells, packets, bytes, BDP
    /// or time], or 'unlimited'; with framing aal5 1000 cells if absent (ATM Forum/96-1761 table 1).
    #[field(default = "1 BDP")]
    buffer: Buffer,
    /// Queue discipline of a port: which packets or frames it drops or marks, and when.
    #[field(default = "tail-drop")]
    policy: PolicyConfig,
    /// Service of VBR and UBR at a port: fifo, priority or guaranteed-rate; of its VCs: wfq.
    #[field(default = "fifo")]
    scheduler: SchedulerConfig,
    /// Order of cells or packets that reach a switch at the same time.
    #[field(default = "random")]
    ties: Ties,
    /// Offset of output slots from the slots in which cells arrive [cell times]; not used by IP.
    #[field(range = "[0, 1)", default = 0.5)]
    slot_phase: f64,
}

/// Fields of a flow, or of a group of flows, that are the scenario's if they are absent.
#[derive(Described)]
struct FlowSettingsInput {
    /// TCP fields that differ from the scenario's.
    #[field(default = null)]
    tcp: TcpOverrides,
    /// Traffic; the scenario's if absent.
    traffic: Option<TrafficConfig>,
    /// Start time; the scenario's if absent.
    start: Option<StartConfig>,
    /// Stop time; the scenario's if absent.
    stop: Option<StopConfig>,
    /// Class of its packets in both directions: at ports with classes 0 is the first one; at CAKE it is the DSCP.
    #[field(range = "[0, 255]", default = 0, later)]
    class: u32,
    /// ATM service category of the VC of its data: ubr, or gfr, a guaranteed rate; ubr if absent.
    #[field(later)]
    service: Option<ServiceCategory>,
    /// Whether split-TCP proxies split its connections; false for encrypted transports such as QUIC (RFC 9065).
    #[field(default = true, later)]
    split: bool,
}

/// Flows of a dumbbell with equal settings, called name1 to nameN, or just name if there is only one.
///
/// Settings that the group does not specify are taken from the scenario.
#[derive(Described)]
#[described(name = "Group", input(FlowSettingsInput, "access_delay"))]
pub struct GroupInput {
    /// Prefix of the flows' names: letters, digits, '_', '.', '-'.
    name: Name,
    /// Number of flows.
    #[field(range = "[1, 100000]", default = 1)]
    count: u32,
    /// Propagation delay from source to switch1 [time]; network.access_delay if absent.
    #[field(range = "[0 s, 1000 s]")]
    access_delay_ps: Option<u64>,
    /// Propagation delay from switch2 to sink [time]; network.exit_delay if absent.
    #[field(range = "[0 s, 1000 s]")]
    exit_delay_ps: Option<u64>,
    /// Direction of the data: from source to sink (forth), or from sink to source (back).
    #[field(values("forth", "back"), default = "forth")]
    direction: String,
}

/// A host, where flows begin and end, or a switch (router), which forwards.
#[derive(Described)]
#[described(name = "Node")]
pub struct NodeInput {
    /// A name of letters, digits, '_', '.', '-'; unique.
    name: Name,
    /// A kind: host or switch.
    kind: NodeKind,
    /// Send jitter of a host: it delays each packet by a uniform random time below this [time].
    #[field(range = "[0 s, 1000 s]", default = "0 s")]
    send_jitter_ps: u64,
    /// Split-TCP proxy of a switch (RFC 3135); none if absent.
    pep: Option<Pep>,
}

/// A duplex link: two directed links, each with its output port.
#[derive(Described)]
#[described(name = "Link")]
pub struct LinkInput {
    /// Two node names, as in ['a', 'b'].
    between: (Name, Name),
    /// A bit rate of 53-byte cells or of IP packets [bit/s], as in '155.52 Mbit/s'.
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    rate_bps: u64,
    /// A propagation delay [time], as in '5 ms'.
    #[field(range = "[0 s, 1000 s]")]
    delay_ps: u64,
    /// Rate from the second node to the first [bit/s]; equal to rate if absent.
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    return_rate_bps: Option<u64>,
    /// Delay from the second node to the first [time]; equal to delay if absent.
    #[field(range = "[0 s, 1000 s]")]
    return_delay_ps: Option<u64>,
    /// Buffer of the link's switch ports [cells, packets, bytes, BDP or time].
    buffer: Option<Buffer>,
    /// Buffer of the second node's port [cells, packets, bytes, BDP or time]; equal to buffer if absent.
    return_buffer: Option<Buffer>,
    /// Queue discipline of the link's switch ports.
    policy: Option<PolicyConfig>,
    /// Queue discipline of the second node's port; equal to policy if absent.
    return_policy: Option<PolicyConfig>,
    /// Queue discipline of the link's host interfaces; tail drop if absent.
    host_policy: Option<PolicyConfig>,
    /// Buffer of the link's host interfaces [packets, bytes, BDP or time]; unlimited if absent.
    host_buffer: Option<Buffer>,
    /// Injected losses, from the first node to the second.
    #[field(default = "none")]
    loss: LossConfig,
    /// Injected losses, from the second node to the first.
    #[field(default = "none")]
    return_loss: LossConfig,
    /// Policers, shaper, jitter, reordering, duplication, batches of the first node's port.
    #[field(default = [])]
    conditioners: Vec<ConditionerConfig>,
    /// Policers, shaper, jitter, reordering, duplication, batches of the second node's port.
    #[field(default = [])]
    return_conditioners: Vec<ConditionerConfig>,
    /// Variation over time, from the first node to the second; static if absent.
    path: Option<Path>,
    /// Variation over time, from the second node to the first; equal to path if absent.
    return_path: Option<Path>,
    /// Medium access of the first node's port, whose link then reacts to traffic; none if absent.
    access: Option<AccessConfig>,
    /// Medium access of the second node's port; none if absent.
    return_access: Option<AccessConfig>,
}

/// A TCP connection or a datagram flow between two hosts; fields that it lacks are taken from the scenario.
#[derive(Described)]
#[described(name = "Flow", input(FlowSettingsInput))]
pub struct FlowInput {
    /// A name of letters, digits, '_', '.', '-'; unique.
    name: Name,
    /// The sending host.
    from: Name,
    /// The receiving host.
    to: Name,
    /// Nodes from sender to receiver; fewest hops if absent.
    route: Option<Vec<Name>>,
    /// Nodes of the return route; the reversed route if absent.
    return_route: Option<Vec<Name>>,
}

/// Hosts, switches and links, and the flows between them.
#[derive(Described)]
pub enum NetworkInput {
    /// N sources share one trunk: source1..N, switch1, switch2, sink1..N; flow i runs from source i to sink i, or back.
    ///
    /// All links are duplex. With the default delays the round-trip propagation time is 40 ms.
    Dumbbell {
        /// Number of sources, in total with groups.
        #[field(range = "[1, 100000]", default = 1, profile("1996", 5))]
        sources: u32,
        /// Groups of flows, as in [{name = 'web', count = 20, traffic = 'web'}]; all flows equal if absent.
        group: Option<Vec<GroupInput>>,
        /// Rate of the hosts' links [bit/s].
        #[field(
            range = "[1 kbit/s, 10 Tbit/s]",
            default = "10 Gbit/s",
            profile("1996", "155.52 Mbit/s")
        )]
        access_rate_bps: u64,
        /// Rate of the shared link [bit/s].
        #[field(
            range = "[1 kbit/s, 10 Tbit/s]",
            default = "100 Mbit/s",
            profile("1996", "155.52 Mbit/s")
        )]
        trunk_rate_bps: u64,
        /// Propagation delay from source to switch1 [time].
        #[field(range = "[0 s, 1000 s]", default = "0 s", profile("1996", "5 us"))]
        access_delay_ps: u64,
        /// Propagation delay from switch1 to switch2 [time].
        #[field(range = "[0 s, 1000 s]", default = "20 ms", profile("1996", "5 us"))]
        trunk_delay_ps: u64,
        /// Propagation delay from switch2 to sink [time].
        #[field(range = "[0 s, 1000 s]", default = "0 s", profile("1996", "5 us"))]
        exit_delay_ps: u64,
        /// Rate from switch2 to each sink [bit/s]; access_rate if absent.
        #[field(range = "[1 kbit/s, 10 Tbit/s]")]
        exit_rate_bps: Option<u64>,
        /// Rate from each sink to switch2 [bit/s]; exit_rate if absent.
        #[field(range = "[1 kbit/s, 10 Tbit/s]")]
        exit_return_rate_bps: Option<u64>,
        /// Rate of the trunk from switch2 to switch1 [bit/s]; trunk_rate if absent.
        #[field(range = "[1 kbit/s, 10 Tbit/s]")]
        return_rate_bps: Option<u64>,
        /// Propagation delay from switch2 to switch1 [time]; trunk_delay if absent.
        #[field(range = "[0 s, 1000 s]")]
        return_delay_ps: Option<u64>,
        /// Buffer of the port from switch2 to switch1 [cells, packets, bytes, BDP or time]; switch.buffer if absent.
        return_buffer: Option<Buffer>,
        /// Policy of the port from switch2 to switch1; switch.policy if absent.
        return_policy: Option<PolicyConfig>,
        /// Send jitter: each host delays each packet by a uniform random time below this [time].
        #[field(range = "[0 s, 1000 s]", default = "0 s")]
        send_jitter_ps: u64,
        /// Queue discipline of the hosts' interfaces; tail drop if absent.
        host_policy: Option<PolicyConfig>,
        /// Buffer of the hosts' interfaces [packets, bytes, BDP or time]; unlimited if absent.
        host_buffer: Option<Buffer>,
        /// Injected losses of the trunk, switch1 to switch2.
        #[field(default = "none")]
        trunk_loss: LossConfig,
        /// Injected losses of the trunk, switch2 to switch1.
        #[field(default = "none")]
        return_loss: LossConfig,
        /// Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch1 to switch2: [{kind =
        /// 'policer', rate = '10 Mbit/s', burst = '125 KB'}].
        #[field(default = [])]
        conditioners: Vec<ConditionerConfig>,
        /// Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch2 to switch1.
        #[field(default = [])]
        return_conditioners: Vec<ConditionerConfig>,
        /// Variation of the trunk over time, switch1 to switch2; static if absent.
        path: Option<Path>,
        /// Variation of the trunk over time, switch2 to switch1; equal to path if absent.
        return_path: Option<Path>,
        /// Medium access of the trunk's port from switch1 to switch2, whose link then reacts to traffic; none if absent.
        access: Option<AccessConfig>,
        /// Medium access of the trunk's port from switch2 to switch1; none if absent.
        return_access: Option<AccessConfig>,
        /// Medium access of the ports from switch2 to the sinks, in one cell if it has a name; none if absent.
        exit_access: Option<AccessConfig>,
        /// Medium access of the sinks' ports, in one cell if it has a name; none if absent.
        exit_return_access: Option<AccessConfig>,
        /// Split-TCP proxy at one of the switches (RFC 3135); none if absent.
        pep: Option<TrunkPep>,
        /// VBR source over the trunk, from a host at switch1 to a host at switch2; none if absent.
        vbr: Option<OnOffInput>,
    },
    /// Any network of hosts, switches and duplex links.
    Graph {
        /// A list of nodes, as in [{name = 'a', kind = 'host'}].
        nodes: Vec<NodeInput>,
        /// A list of links, as in [{between = ['a', 'b'], rate = ..., delay = ...}].
        links: Vec<LinkInput>,
        /// A list of flows, as in [{name = 'f', from = 'a', to = 'b'}].
        flows: Vec<FlowInput>,
        /// A list of VBR sources, as in [{name = 'v', from = 'c', to = 'd', period = '300 ms'}].
        #[field(default = [])]
        vbr: Vec<VbrFlowInput>,
    },
}

/// All inputs of a run except its seed; the defaults describe one CUBIC flow of Linux 6 over 100 Mbit/s and 40 ms.
#[derive(Described)]
#[described(name = "Fields")]
pub struct ScenarioInput {
    /// A name for reports.
    #[field(len = "[1, 200]", default = "unnamed")]
    name: String,
    /// Defaults of absent fields: 'modern' for those listed, or '1996' for the LAN of ATM Forum/96-1761: cells, classic
    /// TCP, five sources, links of 155.52 Mbit/s and 5 us.
    #[field(values("modern", "1996"), default = "modern")]
    defaults: String,
    /// Simulated time [time]; ATM Forum/96-1761 section 3.1 (LAN).
    #[field(range = "[1 ps, 2400 h]", default = "10 s")]
    duration_ps: u64,
    /// Engine for cells: moves whole frames where that is exact, or cells one by one; both give bit-identical
    /// results.
    #[field(values("trains", "reference"), default = "trains")]
    engine: String,
    /// What links carry: aal5 (cells, through ATM switches) or ip (packets, through routers).
    #[field(default = "ip", profile("1996", "aal5"))]
    framing: Framing,
    /// Hosts, switches and links: dumbbell or graph.
    #[field(default = "dumbbell")]
    network: NetworkInput,
    /// Output ports of switches.
    #[field(default = {})]
    switch: SwitchInput,
    /// TCP sender and receiver of every connection.
    #[field(default = {})]
    tcp: TcpConfig,
    /// Traffic of the applications: {kinds}.
    #[field(default = "greedy")]
    traffic: TrafficConfig,
    /// Start times of the applications: fixed, staggered or random.
    #[field(default = "fixed")]
    start: StartConfig,
    /// Time at which the applications stop writing: at a given time, or some time after their start; never if
    /// absent.
    stop: Option<StopConfig>,
    /// Initial part of the run that counters and means exclude [time], or automatic: chosen by MSER-5.
    #[field(default = "0 s", later)]
    warm_up: WarmUp,
    /// Traces to record over time.
    #[field(default = {})]
    traces: TraceConfig,
}
