//! Scenarios for tests and benchmarks: the N-source dumbbell of frr-96 as resolved by the Python package.

#[allow(dead_code)]
pub mod any_graph;
#[allow(dead_code)]
pub mod chains;
#[allow(dead_code)]
pub mod compact;
#[allow(dead_code)]
pub mod compare;
#[allow(dead_code)]
pub mod golden;
#[allow(dead_code)]
pub mod invariants;
#[allow(dead_code)]
pub mod kept;
#[allow(dead_code)]
pub mod packets;
#[allow(dead_code)]
pub mod proxies;
#[allow(dead_code)]
pub mod queued;
#[allow(dead_code)]
pub mod random;
#[allow(dead_code)]
pub mod smaller;
#[allow(dead_code)]
pub mod thread_time;
#[allow(dead_code)]
pub mod witness;

use compare::Watch;
use longpipe_network::scenario::web::{CycleFrom, PoissonCut, WebConfig};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, Engine, EpdConfig, FbaConfig, FlowConfig, Framing, LinkConfig, LossConfig, NodeConfig,
    NodeKind, OnOffConfig, PartialPacketDiscardConfig, PolicyConfig, Scenario, SchedulerConfig, SelectiveDropConfig,
    ServiceCategory, StartConfig, Ties, Times, TraceConfig, TrafficConfig, TransferConfig,
};
use longpipe_network::{Recorder, Report, Simulation};
use longpipe_tcp::config::{
    AckConfig, AimdConfig, CongestionConfig, NewRenoConfig, PhaseConfig, PipeStart, RackConfig, ReceiverControlConfig,
    RecoveryConfig, RecoveryKind, RenoConfig, Rfc6675Config, SackConfig, TahoeConfig, TcpConfig, TimerConfig,
    TimerRestart, VanillaConfig, DEFAULT_HZ,
};
use longpipe_tcp::congestion::{CarefulResumeConfig, RapidStartConfig, RateLimitedConfig};
use witness::Witness;

/// One second [ps].
pub const SECOND: u64 = 1_000_000_000_000;
/// One-way delay of a LAN link [ps].
pub const LAN: u64 = 5_000_000;
/// One-way delay of a WAN link [ps].
pub const WAN: u64 = 5_000_000_000;

/// Returns a loss-recovery configuration with the papers' parameters.
pub fn recovery(kind: RecoveryKind) -> RecoveryConfig {
    match kind {
        RecoveryKind::Vanilla => RecoveryConfig::Vanilla(VanillaConfig {}),
        RecoveryKind::Tahoe => RecoveryConfig::Tahoe(TahoeConfig { guard: false }),
        RecoveryKind::Reno => RecoveryConfig::Reno(RenoConfig {
            guard: false,
            deflate_on_timeout: false,
            guard_timeouts_only: false,
            inflate_always: false,
        }),
        RecoveryKind::Newreno => RecoveryConfig::Newreno(NewRenoConfig {
            flywheel: true,
            max_burst: None,
            partial_deflation: false,
            guard: false,
            timer_restart: TimerRestart::Every,
        }),
        RecoveryKind::Sack => RecoveryConfig::Sack(SackConfig {
            blocks: 3,
            pipe: PipeStart::Window,
            guard: true,
            timer_restart: TimerRestart::Every,
        }),
        RecoveryKind::Rfc6675 => RecoveryConfig::Rfc6675(Rfc6675Config { blocks: 3, fack: false }),
        RecoveryKind::Rack => RecoveryConfig::Rack(RackConfig {
            blocks: 3,
            probe: true,
            undo: true,
            dsack: false,
            frto: false,
            successive: false,
        }),
    }
}

/// Returns the TCP configuration with the parameters of frr-96.
pub fn tcp(kind: RecoveryKind, receiver_window_bytes: u64) -> TcpConfig {
    TcpConfig {
        recovery: recovery(kind),
        congestion: CongestionConfig::Aimd(AimdConfig { byte_counting: false }),
        mss_bytes: 512,
        receiver_window_bytes,
        window_scale: TcpConfig::least_window_scale(receiver_window_bytes),
        initial_window_segments: 1,
        initial_ssthresh_bytes: None,
        estimate_ssthresh: false,
        duplicate_ack_threshold: 3,
        fast_retransmit_restarts_timer: true,
        fast_retransmit_interval_ps: 0,
        silly_window_avoidance: true,
        idle_restart: false,
        initial_rtt_ps: 0,
        preconnect_ps: 0,
        handshake: false,
        pacing: false,
        pacing_burst_segments: None,
        hz: DEFAULT_HZ,
        careful_resume: CarefulResumeConfig::default(),
        rapid_start: RapidStartConfig::default(),
        receiver_control: ReceiverControlConfig::default(),
        rate_limited: RateLimitedConfig::default(),
        timer: TimerConfig::Coarse {
            tick_ps: SECOND / 10,
            phase: PhaseConfig::Common {},
            min_rto_ticks: 2,
            max_rto_ticks: 640,
            initial_rto_ticks: 30,
            count_from_one: true,
            expires_on_tick: true,
        },
        ack: AckConfig::Immediate {},
        ecn: Default::default(),
    }
}

/// Returns the policy with the given name and the parameters of frr-96.
pub fn policy(name: &str) -> PolicyConfig {
    let (z, keep_last) = (0.8, true);
    match name {
        "tail-drop" => PolicyConfig::TAIL_DROP,
        "partial-packet-discard" => PolicyConfig::PartialPacketDiscard(PartialPacketDiscardConfig { keep_last }),
        "epd" => PolicyConfig::Epd(EpdConfig {
            threshold: 0.8,
            keep_last,
        }),
        "selective-drop" => PolicyConfig::SelectiveDrop(SelectiveDropConfig {
            threshold: 0.9,
            z,
            keep_last,
        }),
        "fba" => PolicyConfig::Fba(FbaConfig {
            threshold: 0.9,
            z,
            keep_last,
        }),
        _ => panic!("no policy {name}"),
    }
}

/// Builds a graph with named nodes.
pub struct Builder {
    pub scenario: Scenario,
    pub buffer_cells: u64,
    pub policy: PolicyConfig,
}

impl Builder {
    pub fn new(seconds: u64, buffer_cells: u64, policy: PolicyConfig) -> Builder {
        Builder {
            scenario: Scenario {
                engine: Engine::Trains,
                framing: Framing::Aal5,
                duration_ps: seconds * SECOND,
                ties: Ties::Random,
                slot_phase: 0.5,
                nodes: vec![],
                links: vec![],
                flows: vec![],
                vbr: vec![],
                traces: TraceConfig::default(),
            },
            buffer_cells,
            policy,
        }
    }

    pub fn node(&mut self, kind: NodeKind) -> usize {
        let name = format!("n{}", self.scenario.nodes.len());
        self.scenario.nodes.push(NodeConfig {
            name,
            kind,
            send_jitter_ps: 0,
        });
        self.scenario.nodes.len() - 1
    }

    /// Adds two directed links. Returns the index of the link from `a`; the reverse link has the next index.
    pub fn link(&mut self, a: usize, b: usize, rate_bps: u64, delay_ps: u64) -> usize {
        for (from, to) in [(a, b), (b, a)] {
            let switch = self.scenario.nodes[from].kind == NodeKind::Switch;
            self.scenario.links.push(LinkConfig {
                from,
                to,
                rate_bps,
                delay_ps,
                buffer: switch.then_some(BufferConfig {
                    unit: BufferUnit::Cells,
                    limit: self.buffer_cells,
                }),
                policy: if switch {
                    self.policy.clone()
                } else {
                    PolicyConfig::TAIL_DROP
                },
                scheduler: SchedulerConfig::Fifo {},
                loss: LossConfig::None {},
                motion: None,
                conditioners: vec![],
                access: None,
            });
        }
        self.scenario.links.len() - 2
    }

    /// Adds a greedy flow over duplex links, each of which is given by the index of its first direction.
    pub fn flow(&mut self, route: Vec<usize>, tcp: TcpConfig) {
        let return_route = route.iter().rev().map(|link| link ^ 1).collect();
        self.scenario.flows.push(FlowConfig {
            name: format!("f{}", self.scenario.flows.len()),
            route,
            return_route,
            tcp,
            traffic: TrafficConfig::GREEDY,
            start: StartConfig::Fixed { at_ps: 0 },
            class: 0,
            service: ServiceCategory::UBR,
            scalable: false,
            foreign: false,
            onward: None,
            relayed: false,
            stop: None,
            rerouting: None,
        });
    }

    /// Adds a greedy flow from a host through a switch to another host, over LAN links of equal rate.
    #[allow(dead_code)]
    pub fn flow_over_a_switch(&mut self, rate_bps: u64, tcp: TcpConfig) {
        let (source, switch, sink) = (
            self.node(NodeKind::Host),
            self.node(NodeKind::Switch),
            self.node(NodeKind::Host),
        );
        let route = vec![
            self.link(source, switch, rate_bps, LAN),
            self.link(switch, sink, rate_bps, LAN),
        ];
        self.flow(route, tcp);
    }
}

/// Runs a scenario without a probe.
#[allow(dead_code)]
pub fn run(scenario: &Scenario, seed: u64) -> Report {
    let mut simulation = Simulation::new(scenario, seed).expect("a valid scenario");
    simulation.run();
    simulation.report().expect("what entered is accounted for")
}

/// Runs a scenario with a recorder; with it, every arrival at a host has an event.
#[allow(dead_code)]
pub fn watched(scenario: &Scenario, seed: u64) -> (Report, Recorder) {
    let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
    let watch: Watch = (recorder, (None, None));
    let mut simulation = Simulation::with_probe(scenario, seed, watch).expect("a valid scenario");
    simulation.run();
    let report = simulation.report().expect("what entered is accounted for");
    (report, simulation.into_probe().0)
}

/// Runs a scenario, and returns the packets that end points sent and received.
#[allow(dead_code)]
pub fn witnessed(scenario: &Scenario, seed: u64) -> Witness {
    let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
    let watch: Watch = (recorder, (None, Some(Witness::default())));
    let mut simulation = Simulation::with_probe(scenario, seed, watch).expect("a valid scenario");
    simulation.run();
    let (_, (_, witness)) = simulation.into_probe();
    witness.expect("a probe that is present")
}

/// Runs a scenario in both engines, with and without a probe, and asserts equal results.
#[allow(dead_code)]
pub fn both(scenario: &Scenario) -> Report {
    let mut reference = scenario.clone();
    reference.engine = Engine::Reference;
    let (fast, plain) = (run(scenario, 1), run(&reference, 1));
    assert_eq!((fast.state_hash, &fast.datagrams), (plain.state_hash, &plain.datagrams));
    assert_eq!(fast.state_hash, watched(scenario, 1).0.state_hash);
    fast
}

/// Returns whether each transfer is complete exactly if all of its bytes were delivered; a transfer with a stop time
/// may be complete with fewer bytes.
#[allow(dead_code)]
pub fn transfers_agree(scenario: &Scenario, report: &Report) -> bool {
    report.flows.iter().zip(&scenario.flows).all(|(flow, config)| {
        let TrafficConfig::Transfer(TransferConfig { size_bytes }) = config.traffic else {
            return true;
        };
        if config.stop.is_some() {
            return flow.delivered_bytes <= size_bytes;
        }
        flow.delivered_bytes <= size_bytes && flow.completion.is_some() == (flow.delivered_bytes == size_bytes)
    })
}

/// Asserts that the flows of `parking_lot` that cross only one bottleneck get more than the flows that cross both.
#[allow(dead_code)]
pub fn short_routes_get_more(report: &Report) {
    let delivered: Vec<u64> = report.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert!(
        delivered[1] > delivered[0] && delivered[2] > delivered[3],
        "short routes get more: {delivered:?}"
    );
}

/// Returns web traffic with a short cycle.
#[allow(dead_code)]
pub fn web() -> WebConfig {
    WebConfig {
        cycle_ps: SECOND,
        cycle_from: CycleFrom::FirstRequest,
        request_bytes: 128,
        spacing_from_ps: SECOND / 50,
        spacing_to_ps: SECOND / 10,
        requests_mean: 5.0,
        requests_most: 9,
        size_mean: 5.0,
        cut: PoissonCut::Rejection,
        class_shares_ppb: vec![200_000_000, 400_000_000, 400_000_000],
        kilobyte_bytes: 1000,
    }
}

/// Adds a VBR source and its sink to a dumbbell's switches. The source is alternately on, at the full rate, and off,
/// each for `period_ps`.
#[allow(dead_code)]
pub fn add_vbr(scenario: Scenario, scheduler: SchedulerConfig, period_ps: u64) -> Scenario {
    let (rate, delay) = (scenario.links[0].rate_bps, scenario.links[0].delay_ps);
    let mut build = Builder::new(1, 1000, policy("tail-drop"));
    build.scenario = scenario;
    let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
    let route = vec![build.link(source, 0, rate, delay), 0, build.link(1, sink, rate, delay)];
    for link in &mut build.scenario.links {
        if build.scenario.nodes[link.from].kind == NodeKind::Switch {
            link.scheduler = scheduler.clone();
        }
    }
    build.scenario.vbr.push(OnOffConfig {
        name: "vbr".to_owned(),
        route,
        peak_bps: rate,
        on_ps: period_ps,
        off_ps: period_ps,
        times: Times::Fixed {},
        start_ps: 0,
    });
    build.scenario
}

/// Adds a flow that never starts to the route of each flow of a dumbbell, so that several flows share each wire.
#[allow(dead_code)]
pub fn with_flows_that_never_start(dumbbell: &Scenario, policy: PolicyConfig) -> Scenario {
    let mut build = Builder::new(1, 200, policy);
    build.scenario = dumbbell.clone();
    for flow in &dumbbell.flows {
        let host = build.node(NodeKind::Host);
        let access = build.link(host, 1, dumbbell.links[0].rate_bps, LAN);
        build.flow(vec![access, flow.route[2]], flow.tcp.clone());
        let added = build.scenario.flows.last_mut().expect("one was added");
        added.start = StartConfig::Fixed { at_ps: 10 * SECOND };
    }
    build.scenario
}

/// Returns three switches in a row: two flows cross both trunks, and one additional flow crosses each trunk alone.
#[allow(dead_code)]
pub fn parking_lot(seconds: u64, buffer_cells: u64, policy: PolicyConfig, tcp: &TcpConfig) -> Scenario {
    const RATE: u64 = 155_520_000;
    let mut build = Builder::new(seconds, buffer_cells, policy);
    let switches: Vec<usize> = (0..3).map(|_| build.node(NodeKind::Switch)).collect();
    let trunks = [
        build.link(switches[0], switches[1], RATE, LAN),
        build.link(switches[1], switches[2], RATE, LAN),
    ];
    for (enter, leave) in [(0, 2), (0, 1), (1, 2), (0, 2)] {
        let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
        let mut route = vec![build.link(source, switches[enter], RATE, LAN)];
        route.extend(&trunks[enter..leave]);
        route.push(build.link(switches[leave], sink, RATE, LAN));
        build.flow(route, tcp.clone());
    }
    build.scenario
}

/// Returns N sources, two switches and N sinks; every link has a rate of 155.52 Mbit/s and the delay
/// `delay_ps`.
#[allow(dead_code)]
pub fn dumbbell(
    sources: usize,
    delay_ps: u64,
    buffer_cells: u64,
    policy: PolicyConfig,
    seconds: u64,
    tcp: &TcpConfig,
) -> Scenario {
    const RATE: u64 = 155_520_000;
    let mut build = Builder::new(seconds, buffer_cells, policy);
    let (left, right) = (build.node(NodeKind::Switch), build.node(NodeKind::Switch));
    let trunk = build.link(left, right, RATE, delay_ps);
    for _ in 0..sources {
        let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
        let access = build.link(source, left, RATE, delay_ps);
        let exit = build.link(right, sink, RATE, delay_ps);
        build.flow(vec![access, trunk, exit], tcp.clone());
    }
    build.scenario
}
