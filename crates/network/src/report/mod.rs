//! Results of a run: counters by flow and by port, with checked invariants, and a hash of the final state.

pub mod cells;
mod conditions;
pub mod delays;
pub mod files;
pub mod flows;
mod hashing;
pub mod packets;
pub(crate) mod state_hash;
mod table;
pub mod tables;

pub use crate::conditioners::TokenCredit;
use crate::queues::subqueues::SubqueueCounters;
use crate::report::cells::QueueCounters;
use crate::report::files::File;
use crate::report::packets::PacketReport;
use crate::schedulers::class::Class;
use flows::{ArrivedReport, DatagramReport, MediaReport, ProxyReport, StreamReport, VideoReport};
use longpipe_events::{Span, Time};
use longpipe_tcp::sender::SenderCounters;

/// Results of a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowReport {
    /// Bytes delivered in order to the application.
    pub delivered_bytes: u64,
    /// Sequence number after the last byte received, including data beyond gaps.
    pub highest_sequence_bytes: u64,
    /// Number of packets that arrived after a packet of the flow that was sent later (RFC 4737), without
    /// retransmissions and duplicates.
    pub reordered: u64,
    /// Sender's counters.
    pub sender: SenderCounters,
    /// Start time of the application.
    pub start: Time,
    /// Time at which the last byte was delivered.
    pub completion: Option<Time>,
}

/// Results of a flow's web traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebReport {
    /// Flow index.
    pub flow: usize,
    /// Bytes that the server has written.
    pub scheduled_bytes: u64,
    /// Counters of the TCP sender that carries the requests.
    pub requests: SenderCounters,
    /// Requested files, in the order of the requests.
    pub files: Vec<File>,
}

/// Results of a link's output port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortReport {
    /// Whether the port belongs to a host.
    pub host: bool,
    /// Cells that arrived.
    pub cells_in: u64,
    /// Cells that left.
    pub cells_out: u64,
    /// Cells that found the buffer full.
    pub lost_overflow: u64,
    /// Cells of frames that the buffer policy dropped as a whole.
    pub lost_aqm: u64,
    /// Cells discarded after a loss in their frame.
    pub lost_discarded: u64,
    /// Cells of frames removed by the link's injected losses.
    pub lost_injected: u64,
    /// Cells dropped because of an outage, either on arrival or from the buffer.
    pub lost_outage: u64,
    /// Cells lost on the wire because of an outage; they do not count as departed.
    pub lost_on_wire: u64,
    /// Cells in the buffer at the end of the run.
    pub held: u64,
    /// Frames whose first cell arrived.
    pub frames_in: u64,
    /// Frames that were admitted but lost a cell.
    pub frames_damaged: u64,
    /// Maximum queue length [cell]; 0 for hosts, whose queues are not measured, and for ports that cannot queue.
    pub peak_queue: u64,
    /// Time-averaged queue length [cell]; None if the maximum is not measured.
    pub mean_queue: Option<f64>,
    /// Fraction of the slots that carried a cell.
    pub utilization: f64,
    /// Frames that would have been complete without this link's bit errors.
    pub frames_corrupted: u64,
}

impl PortReport {
    /// Returns the number of cells lost from all causes.
    pub(crate) fn lost(&self) -> u64 {
        let at_the_port = self.lost_overflow + self.lost_aqm + self.lost_discarded + self.lost_injected;
        at_the_port + self.lost_outage + self.lost_on_wire
    }
}

/// Results of the queue of one service class at a switch port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassReport {
    /// Link index.
    pub port: usize,
    /// Service class.
    pub class: Class,
    /// Counters of the queue.
    pub counters: QueueCounters,
    /// Cells in the buffer at the end of the run.
    pub held: u64,
    /// Time-averaged queue length [cell]; None if the port cannot queue.
    pub mean_queue: Option<f64>,
}

/// Results of a queue into which a discipline divides a port that carries IP packets.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueReport {
    /// Link index.
    pub port: usize,
    /// Number of the queue within the port, which `PolicyConfig::queue_names` names.
    pub queue: usize,
    /// Counters of the queue.
    pub counters: SubqueueCounters,
    /// Time-averaged number of packets that waited.
    pub mean_packets: f64,
}

impl QueueReport {
    /// Returns the reports of all queues of a port at `now`, the end of the run.
    pub(crate) fn of_port<'a>(
        port: usize,
        queues: Vec<&'a SubqueueCounters>,
        now: Time,
    ) -> impl Iterator<Item = QueueReport> + 'a {
        queues
            .into_iter()
            .enumerate()
            .map(move |(queue, counters)| QueueReport {
                port,
                queue,
                counters: counters.clone(),
                mean_packets: counters.mean_packets(now),
            })
    }
}

/// Results of a VBR source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceReport {
    /// Cells that have left the source.
    pub sent: u64,
    /// Cells that arrived at the source's sink.
    pub delivered: u64,
    /// Lost cells: cells that were not delivered although a later cell was.
    pub lost: u64,
    /// Mean delay [s] from generation to arrival; NaN if no cell arrived.
    pub mean_delay: f64,
    /// Minimum and maximum delay; None if no cell arrived.
    pub delays: Option<(Span, Span)>,
}

/// Results of a VC with a guaranteed rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuaranteedReport {
    /// Flow index.
    pub flow: usize,
    /// Frames whose last cell arrived at the first switch.
    pub frames_in: u64,
    /// Frames among them that were not eligible for the guarantee.
    pub frames_ineligible: u64,
    /// Cells that arrived at the first switch.
    pub cells_in: u64,
    /// Cells among them that belong to ineligible frames.
    pub cells_ineligible: u64,
    /// Cells of the frames that reached the receiver complete.
    pub cells_delivered: u64,
}

/// All results of a run except its traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Results by flow.
    pub flows: Vec<FlowReport>,
    /// Results of each flow with web traffic.
    pub web: Vec<WebReport>,
    /// Results of each application that writes over time.
    pub streams: Vec<StreamReport>,
    /// Results of each source of live video. They are not part of `state_hash`.
    pub media: Vec<MediaReport>,
    /// Results of each flow with adaptive video.
    pub videos: Vec<VideoReport>,
    /// Results of arriving flows.
    pub arrived: Vec<ArrivedReport>,
    /// Results of each datagram flow.
    pub datagrams: Vec<DatagramReport>,
    /// Results of the flows whose data a proxy forwards over another flow.
    pub proxies: Vec<ProxyReport>,
    /// Results of each link that carries AAL5 cells.
    pub ports: Vec<PortReport>,
    /// Results of each link that carries IP packets.
    pub packet_ports: Vec<PacketReport>,
    /// Results of each queue into which a discipline divides a link's port. They are not part of `state_hash`.
    pub queues: Vec<QueueReport>,
    /// Credits of the token buckets of each link that carries IP packets at the end of the run: of its policers in order,
    /// then of its shaper. They are not part of `state_hash`.
    pub token_credits: Vec<Vec<TokenCredit>>,
    /// Results of each class at each switch port, for classes that have circuits at the port.
    pub classes: Vec<ClassReport>,
    /// Results by VBR source.
    pub sources: Vec<SourceReport>,
    /// Results by VC with a guaranteed rate.
    pub guaranteed: Vec<GuaranteedReport>,
    /// Hash of the final state; it is the same for equal runs in all engines.
    pub state_hash: u64,
    /// Number of processed events.
    pub events: u64,
}

/// Counters of a medium's links.
#[derive(Clone, Debug, Default)]
pub(crate) struct MediumReport {
    pub ports: Vec<PortReport>,
    pub packet_ports: Vec<PacketReport>,
    pub queues: Vec<QueueReport>,
    pub token_credits: Vec<Vec<TokenCredit>>,
    pub classes: Vec<ClassReport>,
    pub sources: Vec<SourceReport>,
    pub guaranteed: Vec<GuaranteedReport>,
}

/// A violated invariant, which is a defect of longpipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant broken: {0}")]
pub struct InvariantError(pub String);

pub(crate) fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), InvariantError> {
    if holds {
        Ok(())
    } else {
        Err(InvariantError(what()))
    }
}
