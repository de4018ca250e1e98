//! What a run leaves behind: counters by flow and by port, checked, and a hash of the final state.

use crate::link::{Feed, Link};
use crate::probe::Probe;
use crate::simulation::Simulation;
use longpipe_events::{mix, Span, Time};
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
    /// Most cells ever held; 0 for hosts, whose queues are not measured.
    pub peak_queue: u64,
    /// Cells held, averaged over time; none for hosts.
    pub mean_queue: Option<f64>,
    /// Fraction of the slots that carried a cell.
    pub utilization: f64,
}

/// Everything a run leaves behind, except its traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// By flow.
    pub flows: Vec<FlowReport>,
    /// By link.
    pub ports: Vec<PortReport>,
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
        let mut hash = StateHash::default();
        let mut flows = Vec::with_capacity(self.flows.len());
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
            flows.push(report);
        }
        let mut ports = Vec::with_capacity(self.links.len());
        for (index, link) in self.links.iter_mut().enumerate() {
            let cell = link.end.cell;
            let report = port_report(link, now, cell);
            let lost = report.lost_overflow + report.lost_refused + report.lost_discarded + report.lost_forced;
            let conserved = report.cells_in == report.cells_out + lost + report.held;
            check(conserved && report.utilization <= 1.0, || {
                format!("port {index}: {report:?}")
            })?;
            if let Feed::Port(port) = &link.feed {
                let by_vc: u64 = (0..self.topology.vcs_of_link[index] as usize)
                    .map(|vc| port.vc_held(vc))
                    .sum();
                check(by_vc == report.held, || {
                    format!("port {index}: {by_vc} cells by VC, {report:?}")
                })?;
                (0..self.topology.vcs_of_link[index] as usize).for_each(|vc| hash.word(port.vc_held(vc)));
            }
            hash.port(&report);
            ports.push(report);
        }
        Ok(Report {
            flows,
            ports,
            state_hash: hash.0,
            events: self.events,
        })
    }
}

fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), InvariantError> {
    if holds {
        Ok(())
    } else {
        Err(InvariantError(what()))
    }
}

fn port_report(link: &mut Link, now: Time, cell: u64) -> PortReport {
    let seconds = Span(now.0).as_seconds();
    let slots = now.0 as f64 / cell as f64;
    match &mut link.feed {
        Feed::Nic(nic) => PortReport {
            host: true,
            cells_in: nic.cells_in,
            cells_out: nic.cells_out,
            lost_overflow: 0,
            lost_refused: 0,
            lost_discarded: 0,
            lost_forced: nic.lost_forced,
            held: nic.cells_held(),
            frames_in: nic.frames_in,
            frames_damaged: 0,
            peak_queue: 0,
            mean_queue: None,
            utilization: nic.cells_out as f64 / slots,
        },
        Feed::Port(port) => {
            let counters = port.counters_at(now);
            PortReport {
                host: false,
                cells_in: counters.cells_in,
                cells_out: counters.cells_out,
                lost_overflow: counters.lost_overflow,
                lost_refused: counters.lost_refused,
                lost_discarded: counters.lost_discarded,
                lost_forced: counters.lost_forced,
                held: port.held(),
                frames_in: counters.frames_in,
                frames_damaged: counters.frames_damaged,
                peak_queue: counters.peak_queue,
                mean_queue: Some(counters.cell_time as f64 / 1e12 / seconds),
                utilization: counters.cells_out as f64 / slots,
            }
        }
    }
}

/// Folds words, in order, into one.
#[derive(Default)]
struct StateHash(u64);

impl StateHash {
    fn word(&mut self, word: u64) {
        self.0 = mix(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(word.wrapping_add(1)));
    }

    fn instant(&mut self, time: Option<Time>) {
        self.word(time.map_or(u64::MAX, |time| time.0));
    }

    fn flow(&mut self, report: &FlowReport, flow: &crate::flow::Flow) {
        let (space, counters) = (flow.sender.flight(), &report.sender);
        for word in [
            report.delivered_bytes,
            report.highest_sequence_bytes,
            space.una,
            space.nxt,
            space.max,
            space.cwnd.to_bits(),
            space.ssthresh.to_bits(),
            u64::from(space.duplicates),
            counters.sent_segments,
            counters.sent_bytes,
            counters.retransmitted_segments,
            counters.retransmitted_bytes,
            counters.timeouts,
            counters.fast_retransmits,
            counters.duplicate_acks,
            report.start.0,
        ] {
            self.word(word);
        }
        self.instant(report.completion);
        self.instant(flow.sender.next_timeout());
        self.instant(flow.receiver.next_timeout());
    }

    fn port(&mut self, report: &PortReport) {
        for word in [
            report.cells_in,
            report.cells_out,
            report.lost_overflow,
            report.lost_refused,
            report.lost_discarded,
            report.lost_forced,
            report.held,
            report.frames_in,
            report.frames_damaged,
            report.peak_queue,
            report.mean_queue.map_or(0, f64::to_bits),
        ] {
            self.word(word);
        }
    }
}
