//! What a scenario asks to have recorded over time, as columns.

use crate::aal5::Cell;
use crate::probe::{Contents, Probe, Slot};
use crate::requests::REQUEST;
use crate::scenario::TraceConfig;
use crate::vc_queue::VcQueues;
use longpipe_events::{Span, Time};
use longpipe_tcp::{AckSegment, DataSegment};

/// cwnd and ssthresh at each change.
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

/// Round trips as measured, and what the timer makes of them; a row for each measurement and each change of the RTO.
#[derive(Clone, Debug, Default)]
pub struct TimerTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Round trip measured [s]; nan where none was.
    pub rtt: Vec<f64>,
    /// Smoothed round trip [s]; nan before the first measurement.
    pub srtt: Vec<f64>,
    /// Retransmission timeout, backed off as it is [s].
    pub rto: Vec<f64>,
}

/// Port occupancy at each frame's first cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Cells held.
    pub held: Vec<u64>,
}

/// Segments sent and ACKs received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// 0: segment sent; 1: ACK received; 2: block of its SACK option.
    pub event: Vec<u8>,
    /// First byte of the segment or block, or the acknowledgement [byte].
    pub sequence: Vec<u64>,
    /// Bytes of payload, or of the block.
    pub length: Vec<u32>,
    /// Whether the segment had been sent before.
    pub retransmission: Vec<bool>,
}

const SENT: u8 = 0;
const ACKNOWLEDGED: u8 = 1;
const SACKED: u8 = 2;

/// Records what a scenario asks for.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    wanted: TraceConfig,
    latest: Vec<(f64, f64)>,
    latest_rto: Vec<Span>,
    /// Windows over time.
    pub windows: WindowTrace,
    /// Round trips and timers over time.
    pub timers: TimerTrace,
    /// Queues over time.
    pub queues: QueueTrace,
    /// Queues by VC over time.
    pub vc_queues: VcQueues,
    /// Sequence numbers over time.
    pub sequences: SequenceTrace,
}

impl Recorder {
    /// An empty record for `flows` senders and `links` links.
    pub fn new(wanted: TraceConfig, flows: usize, links: usize) -> Recorder {
        Recorder {
            wanted,
            latest: vec![(f64::NAN, f64::NAN); flows],
            latest_rto: vec![Span(0); flows],
            vc_queues: VcQueues::new(wanted.vc_queue_interval_ps, links),
            ..Recorder::default()
        }
    }

    /// Completes what is sampled, at the end of the run.
    pub fn finish(&mut self, end: Time) {
        if self.wanted.vc_queue {
            self.vc_queues.finish(end);
        }
    }

    fn hold(&mut self, slot: Slot, vc: u32) {
        if let Some(arrival) = slot.arrival.filter(|_| self.wanted.vc_queue) {
            self.vc_queues.admit(slot.link, arrival, slot.departure, vc);
        }
    }

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

    fn timer(&mut self, now: Time, flow: u32, measured: Option<Span>, srtt: Option<Span>, rto: Span) {
        if !self.wanted.rtt || (measured.is_none() && self.latest_rto[flow as usize] == rto) {
            return;
        }
        self.latest_rto[flow as usize] = rto;
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_seconds);
        self.timers.time.push(now.0);
        self.timers.flow.push(flow);
        self.timers.rtt.push(seconds(measured));
        self.timers.srtt.push(seconds(srtt));
        self.timers.rto.push(rto.as_seconds());
    }

    fn wants_queue(&self) -> bool {
        self.wanted.queue
    }

    fn wants_cells(&self) -> bool {
        self.wanted.vc_queue
    }

    fn queue(&mut self, now: Time, link: u32, held: u64) {
        if self.wanted.queue {
            self.queues.time.push(now.0);
            self.queues.port.push(link);
            self.queues.held.push(held);
        }
    }

    fn sent(&mut self, now: Time, flow: u32, frame: u32, segment: &DataSegment) {
        if self.wanted.sequence && frame & REQUEST == 0 {
            self.sequence(
                now,
                flow,
                SENT,
                segment.sequence,
                segment.length,
                segment.retransmission,
            );
        }
    }

    fn acknowledged(&mut self, now: Time, flow: u32, frame: u32, ack: &AckSegment) {
        if !self.wanted.sequence || frame & REQUEST != 0 {
            return;
        }
        self.sequence(now, flow, ACKNOWLEDGED, ack.acknowledgement, 0, false);
        for (start, end) in ack.sack_blocks() {
            self.sequence(now, flow, SACKED, start, (end - start) as u32, false);
        }
    }

    fn cell(&mut self, slot: Slot, cell: &Cell, _contents: impl Fn() -> Contents) {
        self.hold(slot, cell.vc);
    }

    fn packet(&mut self, slot: Slot, vc: u32, _frame: u32, _contents: impl Fn() -> Contents) {
        self.hold(slot, vc);
    }
}
