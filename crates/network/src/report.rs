//! What a run leaves behind: counters by flow and by port, checked, and a hash of the final state.

use crate::ip::report::PacketReport;
use crate::link::{Feed, Link};
use crate::on_off::{Meter, OnOff};
use crate::port::admission::QueueCounters;
use crate::port::classes::Class;
use crate::probe::Probe;
use crate::requests::File;
use crate::simulation::Simulation;
use crate::state_hash::StateHash;
use longpipe_events::{Span, Time};
use longpipe_tcp::sender::SenderCounters;

/// One flow's results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowReport {
    /// Bytes delivered in order to the application.
    pub delivered_bytes: u64,
    /// Highest byte received, plus one.
    pub highest_sequence_bytes: u64,
    /// Sender's counters.
    pub sender: SenderCounters,
    /// When the application began.
    pub start: Time,
    /// When the last byte was delivered.
    pub completion: Option<Time>,
}

/// One flow's web traffic: results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebReport {
    /// Flow index.
    pub flow: usize,
    /// Bytes that the server has written.
    pub scheduled_bytes: u64,
    /// Counters of the requests' sender.
    pub requests: SenderCounters,
    /// Files asked for, in order.
    pub files: Vec<File>,
}

/// One link's output port: results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortReport {
    /// Whether a host owns it.
    pub host: bool,
    /// Cells that arrived.
    pub cells_in: u64,
    /// Cells that left.
    pub cells_out: u64,
    /// Cells that found the buffer full.
    pub lost_overflow: u64,
    /// Cells of frames refused whole.
    pub lost_refused: u64,
    /// Cells discarded after a loss in their frame.
    pub lost_discarded: u64,
    /// Cells of frames lost by force.
    pub lost_forced: u64,
    /// Cells held at the end.
    pub held: u64,
    /// Frames whose first cell arrived.
    pub frames_in: u64,
    /// Frames admitted that lost a cell.
    pub frames_damaged: u64,
    /// Most cells ever held; 0 for hosts, whose queues are not measured, and for ports that cannot hold one.
    pub peak_queue: u64,
    /// Cells held, averaged over time; none where the peak is not measured.
    pub mean_queue: Option<f64>,
    /// Fraction of the slots that carried a cell.
    pub utilization: f64,
}

/// One class's queue at a switch's port: results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassReport {
    /// Link index.
    pub port: usize,
    /// The class.
    pub class: Class,
    /// What the queue counted.
    pub counters: QueueCounters,
    /// Cells held at the end.
    pub held: u64,
    /// Cells held, averaged over time; none where the port cannot hold a queue.
    pub mean_queue: Option<f64>,
}

/// One VBR source's results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceReport {
    /// Cells that have left the source.
    pub sent: u64,
    /// Cells that arrived at its sink.
    pub delivered: u64,
    /// Cells that a later one overtook.
    pub lost: u64,
    /// Delays from ready to arrived, averaged [s]; nan before any arrival.
    pub mean_delay: f64,
    /// Smallest delay.
    pub least_delay: Span,
    /// Largest delay.
    pub most_delay: Span,
}

/// Everything a run leaves behind, except its traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// By flow.
    pub flows: Vec<FlowReport>,
    /// By flow with web traffic.
    pub web: Vec<WebReport>,
    /// By link, under AAL5.
    pub ports: Vec<PortReport>,
    /// By link, for IP packets.
    pub packet_ports: Vec<PacketReport>,
    /// By switch port and class that has circuits there.
    pub classes: Vec<ClassReport>,
    /// By VBR source.
    pub sources: Vec<SourceReport>,
    /// Hash of the final state; equal for equal runs, whatever the engine.
    pub state_hash: u64,
    /// Events handled.
    pub events: u64,
}

/// A broken invariant: a defect of longpipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant broken: {0}")]
pub struct InvariantError(pub String);

impl<P: Probe> Simulation<P> {
    /// Counters of a finished run.
    ///
    /// # Errors
    /// Cells or bytes that are not accounted for.
    pub fn report(&mut self) -> Result<Report, InvariantError> {
        let now = self.now;
        self.settle_trains();
        let mut hash = StateHash::default();
        let mut flows = Vec::with_capacity(self.flows.len());
        let mut web = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let report = FlowReport {
                delivered_bytes: flow.receiver.delivered(),
                highest_sequence_bytes: flow.receiver.highest(),
                sender: flow.sender.counters(),
                start: flow.start,
                completion: flow.completion,
            };
            let space = flow.sender.flight();
            let ordered = space.una <= space.nxt
                && space.nxt <= space.max
                && space.una <= report.delivered_bytes
                && report.delivered_bytes <= report.highest_sequence_bytes
                && report.highest_sequence_bytes <= space.max
                && report.sender.sent_bytes == space.max + report.sender.retransmitted_bytes;
            check(ordered, || {
                format!("flow {index}: sequence space {space:?}, {report:?}")
            })?;
            hash.flow(&report, flow);
            if let Some(requests) = &flow.requests {
                let broken = requests.broken(report.delivered_bytes);
                check(broken.is_none(), || format!("web traffic of flow {index}: {broken:?}"))?;
                let report = WebReport {
                    flow: index,
                    scheduled_bytes: requests.scheduled(),
                    requests: requests.sender.counters(),
                    files: requests.files().to_vec(),
                };
                hash.web(&report);
                web.push(report);
            }
            flows.push(report);
        }
        let mut ports = Vec::with_capacity(self.links.len());
        let packet_ports = self.packet_reports()?;
        packet_ports
            .iter()
            .flat_map(|port| port.words())
            .for_each(|word| hash.word(word));
        let mut classes = Vec::new();
        for (index, link) in self.links.iter_mut().enumerate() {
            if matches!(link.feed, Feed::Packets) {
                continue;
            }
            let found = class_reports(index, link, self.topology.vcs_of_link[index], self.transit[index], now);
            for report in &found {
                let counters = &report.counters;
                let conserved = counters.cells_in == counters.cells_out + counters.lost() + report.held;
                let vcs = self.topology.vcs_of_link[index][report.class as usize] as usize;
                let by_vc = held_by_vc(&link.feed, report.class, vcs, now);
                check(conserved && by_vc.iter().sum::<u64>() == report.held, || {
                    format!("port {index}: {by_vc:?} cells by VC, {report:?}")
                })?;
                by_vc.into_iter().for_each(|held| hash.word(held));
                hash.class(report);
            }
            let report = port_report(link, &found, &self.meters, now);
            let lost = report.lost_overflow + report.lost_refused + report.lost_discarded + report.lost_forced;
            let conserved = report.cells_in == report.cells_out + lost + report.held;
            check(conserved && report.utilization <= 1.0, || {
                format!("port {index}: {report:?}")
            })?;
            hash.port(&report);
            ports.push(report);
            classes.extend(found);
        }
        let sources: Vec<SourceReport> = self.meters.iter().map(|meter| source_report(meter, now)).collect();
        for (index, source) in sources.iter().enumerate() {
            check(source.delivered + source.lost <= source.sent, || {
                format!("source {index}: {source:?}")
            })?;
            hash.source(source);
        }
        Ok(Report {
            flows,
            web,
            ports,
            packet_ports,
            classes,
            sources,
            state_hash: hash.value(),
            events: self.events,
        })
    }
}

pub(crate) fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), InvariantError> {
    if holds {
        Ok(())
    } else {
        Err(InvariantError(what()))
    }
}

fn class_reports(index: usize, link: &mut Link, vcs: [u32; 2], transit: bool, now: Time) -> Vec<ClassReport> {
    let report = |class, mut counters: QueueCounters, held| {
        if transit {
            (counters.peak_queue, counters.cell_time) = (0, 0);
        }
        if class == Class::Vbr {
            counters.frames_in = 0;
        }
        ClassReport {
            port: index,
            class,
            counters,
            held,
            mean_queue: (!transit).then(|| counters.cell_time as f64 / 1e12 / Span(now.0).as_seconds()),
        }
    };
    let own = if vcs[Class::Ubr as usize] > 0 || vcs[Class::Vbr as usize] == 0 {
        Class::Ubr
    } else {
        Class::Vbr
    };
    let port = match &mut link.feed {
        Feed::Port(port) => port,
        Feed::Trains(port) => {
            let own = report(Class::Ubr, port.counters_at(now), port.held_at_end(now));
            let beside = port
                .vbr_mut()
                .map(|queue| report(Class::Vbr, queue.counters_at(now), queue.held()));
            return [Some(own), beside].into_iter().flatten().collect();
        }
        Feed::Transit(port) => {
            let counters = QueueCounters {
                cells_in: port.cells_in,
                cells_out: port.cells_out,
                frames_in: port.frames_in,
                ..QueueCounters::default()
            };
            return vec![report(own, counters, port.held.iter().sum())];
        }
        _ => return Vec::new(),
    };
    let counters = port.counters_at(now);
    let Some(queue) = port.vbr_mut() else {
        return vec![report(own, counters, port.held())];
    };
    let beside = report(Class::Vbr, queue.counters_at(now), queue.held());
    vec![report(Class::Ubr, counters, port.held()), beside]
}

fn held_by_vc(feed: &Feed, class: Class, vcs: usize, now: Time) -> Vec<u64> {
    let vbr = match feed {
        Feed::Port(port) => port.vbr(),
        Feed::Trains(port) => port.vbr(),
        _ => None,
    };
    if let Some(queue) = vbr.filter(|_| class == Class::Vbr) {
        return (0..vcs).map(|vc| queue.vc_held(vc)).collect();
    }
    match feed {
        Feed::Port(port) => (0..vcs).map(|vc| port.vc_held(vc)).collect(),
        Feed::Trains(port) => port.held_by_vc(now),
        Feed::Transit(port) => port.held.clone(),
        Feed::Nic(_) | Feed::Packets | Feed::Vbr(_) => Vec::new(),
    }
}

/// Cells of all classes; peak and mean queue are those of UBR where it has circuits.
fn port_report(link: &Link, classes: &[ClassReport], meters: &[Meter], now: Time) -> PortReport {
    let slots = now.0 as f64 / link.end.cell as f64;
    let host = |cells_in, cells_out, lost_forced, held, frames_in| PortReport {
        host: true,
        cells_in,
        cells_out,
        lost_overflow: 0,
        lost_refused: 0,
        lost_discarded: 0,
        lost_forced,
        held,
        frames_in,
        frames_damaged: 0,
        peak_queue: 0,
        mean_queue: None,
        utilization: cells_out as f64 / slots,
    };
    match &link.feed {
        Feed::Nic(nic) => host(
            nic.cells_in,
            nic.cells_out(),
            nic.lost_forced,
            nic.cells_held(),
            nic.frames_in,
        ),
        Feed::Vbr(index) => {
            let meter = &meters[*index];
            let (accepted, arrived) = (meter.count(now, OnOff::ready), meter.count(now, OnOff::arrival));
            host(accepted, arrived, 0, accepted - arrived, 0)
        }
        _ => {
            let sum = |count: fn(&QueueCounters) -> u64| classes.iter().map(|class| count(&class.counters)).sum();
            let cells_out: u64 = sum(|counters| counters.cells_out);
            PortReport {
                host: false,
                cells_in: sum(|counters| counters.cells_in),
                cells_out,
                lost_overflow: sum(|counters| counters.lost_overflow),
                lost_refused: sum(|counters| counters.lost_refused),
                lost_discarded: sum(|counters| counters.lost_discarded),
                lost_forced: sum(|counters| counters.lost_forced),
                held: classes.iter().map(|class| class.held).sum(),
                frames_in: classes[0].counters.frames_in,
                frames_damaged: classes[0].counters.frames_damaged,
                peak_queue: classes[0].counters.peak_queue,
                mean_queue: classes[0].mean_queue,
                utilization: cells_out as f64 / slots,
            }
        }
    }
}

fn source_report(meter: &Meter, now: Time) -> SourceReport {
    SourceReport {
        sent: meter.count(now, OnOff::sent),
        delivered: meter.delivered,
        lost: meter.lost,
        mean_delay: meter.total_delay as f64 / 1e12 / meter.delivered as f64,
        least_delay: Span(if meter.delivered > 0 { meter.least_delay } else { 0 }),
        most_delay: Span(meter.most_delay),
    }
}
