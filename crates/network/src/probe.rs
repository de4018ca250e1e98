//! What watches a run. A probe that is `()` compiles away.

use crate::scenario::TraceConfig;
use longpipe_events::Time;
use longpipe_tcp::DataSegment;

/// Called by the simulation; never changes it.
pub trait Probe {
    /// Whether it watches nothing, so that end points may run ahead of each other.
    const IDLE: bool = false;
    /// cwnd and ssthresh [byte] of a sender after an event that may have changed them.
    fn window(&mut self, _now: Time, _flow: u32, _cwnd: f64, _ssthresh: f64) {}
    /// Whether `queue` is of use.
    fn wants_queue(&self) -> bool {
        false
    }
    /// Cells held by a switch port when the first cell of a frame arrives.
    fn queue(&mut self, _now: Time, _link: u32, _held: u64) {}
    /// A segment handed to the sender's interface.
    fn sent(&mut self, _now: Time, _flow: u32, _segment: &DataSegment) {}
    /// An ACK received by the sender.
    fn acknowledged(&mut self, _now: Time, _flow: u32, _acknowledgement: u64) {}
}

impl Probe for () {
    const IDLE: bool = true;
}

/// cwnd and ssthresh at each change, as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Congestion window [byte].
    pub cwnd: Vec<f64>,
    /// Slow start threshold [byte].
    pub ssthresh: Vec<f64>,
}

/// Port occupancy at each frame's first cell, as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Cells held.
    pub held: Vec<u64>,
}

/// Segments sent and ACKs received, as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// 0: segment sent; 1: ACK received.
    pub event: Vec<u8>,
    /// First byte of the segment, or the acknowledgement [byte].
    pub sequence: Vec<u64>,
    /// Bytes of payload.
    pub length: Vec<u32>,
    /// Whether the segment had been sent before.
    pub retransmission: Vec<bool>,
}

/// Records what a scenario asks for.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    wanted: TraceConfig,
    latest: Vec<(f64, f64)>,
    /// Windows over time.
    pub windows: WindowTrace,
    /// Queues over time.
    pub queues: QueueTrace,
    /// Sequence numbers over time.
    pub sequences: SequenceTrace,
}

impl Recorder {
    /// An empty record for `flows` senders.
    pub fn new(wanted: TraceConfig, flows: usize) -> Recorder {
        Recorder {
            wanted,
            latest: vec![(f64::NAN, f64::NAN); flows],
            ..Recorder::default()
        }
    }
}

impl Probe for Recorder {
    fn window(&mut self, now: Time, flow: u32, cwnd: f64, ssthresh: f64) {
        if !self.wanted.cwnd || self.latest[flow as usize] == (cwnd, ssthresh) {
            return;
        }
        self.latest[flow as usize] = (cwnd, ssthresh);
        self.windows.time.push(now.0);
        self.windows.flow.push(flow);
        self.windows.cwnd.push(cwnd);
        self.windows.ssthresh.push(ssthresh);
    }

    fn wants_queue(&self) -> bool {
        self.wanted.queue
    }

    fn queue(&mut self, now: Time, link: u32, held: u64) {
        if self.wanted.queue {
            self.queues.time.push(now.0);
            self.queues.port.push(link);
            self.queues.held.push(held);
        }
    }

    fn sent(&mut self, now: Time, flow: u32, segment: &DataSegment) {
        if self.wanted.sequence {
            self.sequence(now, flow, 0, segment.sequence, segment.length, segment.retransmission);
        }
    }

    fn acknowledged(&mut self, now: Time, flow: u32, acknowledgement: u64) {
        if self.wanted.sequence {
            self.sequence(now, flow, 1, acknowledgement, 0, false);
        }
    }
}

impl Recorder {
    fn sequence(&mut self, now: Time, flow: u32, event: u8, sequence: u64, length: u32, retransmission: bool) {
        let trace = &mut self.sequences;
        trace.time.push(now.0);
        trace.flow.push(flow);
        trace.event.push(event);
        trace.sequence.push(sequence);
        trace.length.push(length);
        trace.retransmission.push(retransmission);
    }
}
