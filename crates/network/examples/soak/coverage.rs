//! Statistics of random scenarios, and of the events in their runs.

use crate::common::compare::caught;
use crate::common::kept::Kept;
use longpipe_network::report::packets::PacketReport;
use longpipe_network::scenario::{Engine, Framing, NodeKind, PolicyConfig, SchedulerConfig, Times, TrafficConfig};
use longpipe_network::{Report, Simulation};
use std::collections::BTreeMap;
use std::time::Instant;

fn run(kept: &Kept, engine: Engine) -> Option<Report> {
    let mut scenario = kept.scenario.clone();
    scenario.engine = engine;
    let outcome = caught(|| {
        let mut simulation = Simulation::new(&scenario, kept.seed).ok()?;
        simulation.run();
        simulation.report().ok()
    });
    outcome.ok().flatten()
}

/// Prints the number of runs that have each feature, and the amount of data that they transfer.
pub fn describe(cases: impl Iterator<Item = Kept>) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut segments = vec![];
    let (mut runs, mut events, mut seconds) = (0u64, [0u64; 2], [0.0; 2]);
    for kept in cases {
        let mut reports = vec![];
        for (at, engine) in [Engine::Reference, Engine::Trains].into_iter().enumerate() {
            let begin = Instant::now();
            let report = run(&kept, engine);
            seconds[at] += begin.elapsed().as_secs_f64();
            events[at] += report.as_ref().map_or(0, |report| report.events);
            reports.extend(report);
        }
        runs += 1;
        let [reference, trains] = &reports[..] else {
            *counts.entry("no report").or_default() += 1;
            continue;
        };
        let scenario = &kept.scenario;
        let senders = || reference.flows.iter().map(|flow| flow.sender);
        let lost = |ports: &dyn Fn(&Report) -> u64| ports(reference) > 0;
        let switches = scenario
            .nodes
            .iter()
            .filter(|node| node.kind == NodeKind::Switch)
            .count();
        let web = |flow: &longpipe_network::scenario::FlowConfig| matches!(flow.traffic, TrafficConfig::Web(_));
        let facts = [
            ("engines with fewer events", trains.events < reference.events),
            ("half the events", trains.events < reference.events / 2),
            ("one switch", switches == 1),
            ("several switches", switches > 1),
            (
                "more links than a tree has",
                scenario.links.len() > 2 * (scenario.nodes.len() - 1),
            ),
            (
                "retransmissions",
                senders().any(|sender| sender.retransmitted_segments > 0),
            ),
            ("timeouts", senders().any(|sender| sender.timeouts > 0)),
            ("fast retransmits", senders().any(|sender| sender.fast_retransmits > 0)),
            (
                "overflow of cells",
                lost(&|report| report.ports.iter().map(|port| port.lost_overflow).sum()),
            ),
            (
                "overflow of packets",
                lost(&|report| report.packet_ports.iter().map(|port| port.lost_overflow).sum()),
            ),
            (
                "refused",
                lost(&|report| {
                    let cells: u64 = report.ports.iter().map(|port| port.lost_aqm).sum();
                    cells + report.packet_ports.iter().map(|port| port.lost_aqm).sum::<u64>()
                }),
            ),
            (
                "forced losses",
                lost(&|report| {
                    let cells: u64 = report.ports.iter().map(|port| port.lost_injected).sum();
                    cells + report.packet_ports.iter().map(|port| port.lost_injected).sum::<u64>()
                }),
            ),
            (
                "bit errors",
                lost(&|report| {
                    let frames: u64 = report.ports.iter().map(|port| port.frames_corrupted).sum();
                    frames + report.packet_ports.iter().map(|port| port.corrupted).sum::<u64>()
                }),
            ),
            (
                "outages",
                lost(&|report| {
                    let moved = |report: &PacketReport| report.motion.map_or(0, |motion| motion.lost_outage);
                    let cells: u64 = report.ports.iter().map(|port| port.lost_outage).sum();
                    cells + report.packet_ports.iter().map(moved).sum::<u64>()
                }),
            ),
            (
                "nothing delivered",
                reference.flows.iter().all(|flow| flow.delivered_bytes == 0),
            ),
            (
                "files complete",
                reference.flows.iter().any(|flow| flow.completion.is_some()),
            ),
            ("datagrams", reference.datagrams.iter().any(|flow| flow.received > 0)),
            (
                "datagrams as cells",
                scenario.framing == Framing::Aal5 && reference.datagrams.iter().any(|flow| flow.received > 0),
            ),
            ("datagrams lost", reference.datagrams.iter().any(|flow| flow.lost > 0)),
            ("web traffic", scenario.flows.iter().any(web)),
            ("files requested", reference.web.iter().any(|web| !web.files.is_empty())),
            ("VBR sources", !scenario.vbr.is_empty()),
            (
                "random VBR",
                scenario
                    .vbr
                    .iter()
                    .any(|source| !matches!(source.times, Times::Fixed {})),
            ),
            (
                "ineligible cells of guaranteed VCs",
                reference.guaranteed.iter().any(|vc| vc.cells_ineligible > 0),
            ),
            (
                "queues per VC",
                (scenario.links.iter()).any(|link| matches!(link.scheduler, SchedulerConfig::Wfq { .. })),
            ),
            (
                "DFBA",
                (scenario.links.iter()).any(|link| matches!(link.policy, PolicyConfig::Dfba(_))),
            ),
            (
                "VBR cells delivered",
                reference.sources.iter().any(|source| source.delivered > 0),
            ),
        ];
        for (name, _) in facts.into_iter().filter(|&(_, holds)| holds) {
            *counts.entry(name).or_default() += 1;
        }
        segments.push(senders().map(|sender| sender.sent_segments).sum::<u64>());
    }
    segments.sort_unstable();
    let at = |share: usize| segments.get(share * segments.len() / 100).copied().unwrap_or(0);
    println!(
        "{runs} runs; segments sent (10, 50, 90, 99 %): {:?}",
        [10, 50, 90, 99].map(at)
    );
    let per_run = |total: f64| total / runs as f64;
    for (name, at) in [("reference", 0), ("trains", 1)] {
        let (events, us) = (per_run(events[at] as f64), 1e6 * per_run(seconds[at]));
        println!("{name}: {events:.0} events and {us:.0} us a run");
    }
    for (name, count) in counts {
        println!("{:>6.1} %  {name}", 100.0 * per_run(count as f64));
    }
}
