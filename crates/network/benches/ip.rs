//! Data packets delivered per CPU second over IP paths: three workloads, varying numbers of flows, and a very large
//! pipe.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{policy, tcp, Builder, SECOND};
use cpu_time::ProcessTime;
use longpipe_network::scenario::{BufferConfig, BufferUnit, Framing, NodeKind, Scenario, StartConfig, TrafficConfig};
use longpipe_network::Simulation;
use longpipe_tcp::config::{CongestionConfig, RecoveryKind, TcpConfig};
use longpipe_tcp::congestion::{BbrConfig, CubicConfig, CubicRules, HystartConfig};

const ROUNDS: usize = 5;
/// Receiver's window [byte].
const WINDOW: u64 = 8_704_000;
/// Linux's CUBIC.
const CUBIC: CubicConfig = CubicConfig {
    scaling: 0.4,
    beta: 0.7,
    fast_convergence: true,
    reno_friendly: true,
    hystart: HystartConfig::Linux,
    rules: CubicRules::Linux,
};

/// Pairs of hosts with some flows each over one trunk; the starts are spread over a second.
struct Work {
    name: &'static str,
    pairs: usize,
    flows_per_pair: usize,
    mss: u32,
    access_bps: u64,
    trunk_bps: u64,
    delay_ps: u64,
    buffer_packets: u64,
    seconds: u64,
    sender: Sender,
}

/// Type of the senders.
#[derive(Clone, Copy)]
enum Sender {
    Sack,
    Cubic,
    Bbr,
}

impl Sender {
    fn tcp(self) -> TcpConfig {
        let (recovery, congestion) = match self {
            Sender::Sack => return tcp(RecoveryKind::Sack, WINDOW),
            Sender::Cubic => (RecoveryKind::Rack, CongestionConfig::Cubic(CUBIC)),
            Sender::Bbr => (RecoveryKind::Rack, CongestionConfig::Bbr(BbrConfig {})),
        };
        TcpConfig {
            congestion,
            ..tcp(recovery, WINDOW)
        }
    }
}

impl Work {
    fn scenario(&self) -> Scenario {
        let mut build = Builder::new(self.seconds, 1, policy("tail-drop"));
        let (left, right) = (build.node(NodeKind::Switch), build.node(NodeKind::Switch));
        let trunk = build.link(left, right, self.trunk_bps, self.delay_ps);
        let mut config = self.sender.tcp();
        config.mss_bytes = self.mss;
        for _ in 0..self.pairs {
            let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
            let access = build.link(source, left, self.access_bps, 0);
            let exit = build.link(right, sink, self.access_bps, 0);
            for _ in 0..self.flows_per_pair {
                build.flow(vec![access, trunk, exit], config.clone());
            }
        }
        let mut scenario = build.scenario;
        scenario.framing = Framing::Ip;
        let flows = scenario.flows.len() as u64;
        for (index, flow) in scenario.flows.iter_mut().enumerate() {
            let at_ps = index as u64 * SECOND / flows;
            flow.start = StartConfig::Fixed { at_ps };
        }
        for link in scenario.links.iter_mut().filter(|link| link.buffer.is_some()) {
            link.buffer = Some(BufferConfig {
                unit: BufferUnit::Packets,
                limit: self.buffer_packets,
            });
        }
        scenario
    }

    /// Returns the delivered packets, and the median of packets per CPU second.
    fn measure(&self, rounds: usize) -> (u64, f64) {
        let scenario = self.scenario();
        let mut delivered = 0;
        let mut events = 0;
        let mut rates: Vec<f64> = (0..rounds)
            .map(|_| {
                let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
                let begin = ProcessTime::now();
                simulation.run();
                let seconds = begin.elapsed().as_secs_f64();
                let report = simulation.report().expect("invariants hold");
                let bytes: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
                delivered = bytes / u64::from(self.mss);
                events = report.events;
                delivered as f64 / seconds
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates[rounds / 2];
        println!(
            "{:28} {:6} {:9} {:8.2} {:7.1} {:8.2}",
            self.name,
            scenario.flows.len(),
            delivered,
            rate / 1e6,
            1e9 / rate,
            events as f64 / delivered as f64
        );
        (delivered, rate)
    }
}

fn main() {
    const MS: u64 = SECOND / 1000;
    println!("IP paths, SACK where nothing else is said, an ACK per packet, one core, CPU time, median of {ROUNDS}\n");
    println!("work                          flows delivered Mpacket/s ns/packet events/packet");
    let a = |name, sender| Work {
        name,
        pairs: 15,
        flows_per_pair: 1,
        mss: 1024,
        access_bps: 155_520_000,
        trunk_bps: 45_000_000,
        delay_ps: 5 * MS,
        buffer_packets: 53,
        seconds: 100,
        sender,
    };
    let each = [
        a("A 45 Mbit/s, 5 ms", Sender::Sack),
        a("A with CUBIC and RACK", Sender::Cubic),
        a("A with BBR", Sender::Bbr),
    ];
    let b = Work {
        name: "B 155 Mbit/s, 275 ms",
        pairs: 100,
        flows_per_pair: 1,
        mss: 9180,
        access_bps: 155_520_000,
        trunk_bps: 155_000_000,
        delay_ps: 275 * MS,
        buffer_packets: 1156,
        seconds: 100,
        sender: Sender::Sack,
    };
    let c = |pairs| Work {
        name: "C 1 Gbit/s, 10 ms",
        pairs,
        flows_per_pair: 50,
        mss: 1024,
        access_bps: 1_000_000_000,
        trunk_bps: 1_000_000_000,
        delay_ps: 10 * MS,
        buffer_packets: 2350,
        seconds: 10,
        sender: Sender::Sack,
    };
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let (only, rounds) = (arguments.first(), arguments.get(1));
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    for work in each.into_iter().chain([b, c(20)]) {
        if only.is_none_or(|name| work.name.starts_with(name.as_str())) {
            work.measure(rounds);
        }
    }
    if only.is_some() {
        return;
    }
    println!();
    for pairs in [1, 2, 20, 200] {
        c(pairs).measure(1);
    }
    println!();
    large_pipe();
}

/// Measures one flow that sends 8 GB over 10 Gbit/s and 600 ms.
fn large_pipe() {
    let mut scenario = Work {
        name: "",
        pairs: 1,
        flows_per_pair: 1,
        mss: 1024,
        access_bps: 100_000_000_000,
        trunk_bps: 10_000_000_000,
        delay_ps: 300 * SECOND / 1000,
        buffer_packets: 750_000,
        seconds: 1000,
        sender: Sender::Sack,
    }
    .scenario();
    let flow = &mut scenario.flows[0];
    flow.traffic = TrafficConfig::transfer(8_000_000_000);
    flow.tcp.receiver_window_bytes = 1 << 30;
    flow.tcp.window_scale = 14;
    let begin = ProcessTime::now();
    let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
    simulation.run();
    let report = simulation.report().expect("invariants hold");
    let completion = report.flows[0].completion.expect("it completes");
    println!(
        "8 GB over 10 Gbit/s x 600 ms: {:.1} s simulated, {} packets in, {:.2} s of CPU, {} MB at most",
        completion.as_seconds(),
        report.packet_ports[0].packets_in,
        begin.elapsed().as_secs_f64(),
        peak_memory_megabytes()
    );
}

/// Returns the maximum resident size of this process (Linux), 0 elsewhere.
fn peak_memory_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0u64) / 1000
}
