//! What a run leaves behind: counters by flow and by port, checked, and a hash of the final state.

pub mod flows;
mod hashing;
pub(crate) mod state_hash;

use crate::atm::port::admission::QueueCounters;
use crate::atm::port::class::Class;
use crate::hosts::files::File;
use crate::ip::report::PacketReport;
use flows::{DatagramReport, RelayReport};
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
    /// Cells that an outage of the link refused or dropped.
    pub lost_outage: u64,
    /// Cells that an outage lost on the wire; they count as not having left.
    pub lost_on_wire: u64,
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
    /// Frames that came whole to their hosts but for bit errors of this link.
    pub frames_spoilt: u64,
}

impl PortReport {
    /// Cells lost, in any way.
    pub(crate) fn lost(&self) -> u64 {
        let at_the_port = self.lost_overflow + self.lost_refused + self.lost_discarded + self.lost_forced;
        at_the_port + self.lost_outage + self.lost_on_wire
    }
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
    /// Smallest and largest delay; none before any arrival.
    pub delays: Option<(Span, Span)>,
}

/// Everything a run leaves behind, except its traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// By flow.
    pub flows: Vec<FlowReport>,
    /// By flow with web traffic.
    pub web: Vec<WebReport>,
    /// By flow of datagrams.
    pub datagrams: Vec<DatagramReport>,
    /// By flow that another one carries on.
    pub relays: Vec<RelayReport>,
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

/// What a medium's links have counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub ports: Vec<PortReport>,
    pub packet_ports: Vec<PacketReport>,
    pub classes: Vec<ClassReport>,
    pub sources: Vec<SourceReport>,
}

/// A broken invariant: a defect of longpipe.
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
