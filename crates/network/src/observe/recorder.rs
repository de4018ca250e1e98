//! What a scenario asks to have recorded over time, as columns.

use crate::atm::aal5::Cell;
use crate::observe::arrived::Arrived;
use crate::observe::probe::{Fate, Probe, Slot};
use crate::observe::vc_queue::VcQueues;
use crate::packets::contents::{Contents, Datagram};
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Flow, Link};
use crate::scenario::TraceConfig;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use longpipe_tcp::segment::Opening;
use longpipe_tcp::sender::Watched;
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

/// What senders are about; a row at each change.
#[derive(Clone, Debug, Default)]
pub struct ControlTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Number of the stage of a control that has a model of its path; -1: it has none.
    pub stage: Vec<i8>,
    /// Number of the recovery's state.
    pub state: Vec<i8>,
    /// Rate at which segments leave: payload [bit/s]; nan: as ACKs come.
    pub pacing: Vec<f64>,
    /// Bandwidth that the model has: payload [bit/s]; nan without.
    pub bandwidth: Vec<f64>,
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

/// Packets that left routers' ports, and how long they were there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayTrace {
    /// When the last bit left [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Circuit (VC) index.
    pub vc: Vec<u32>,
    /// Length, headers included [byte].
    pub bytes: Vec<u32>,
    /// Since its arrival [ps].
    pub delay: Vec<u64>,
}

/// Packets that routers' ports lost or marked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DropTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Number of the reason, as in `FATES`.
    pub reason: Vec<u8>,
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

/// Data that reached receivers for the first time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalTrace {
    /// Instant [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Bytes that had not come before.
    pub bytes: Vec<u32>,
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
    latest_control: Vec<Option<Watched>>,
    /// Windows over time.
    pub windows: WindowTrace,
    /// What senders are about over time.
    pub controls: ControlTrace,
    /// Round trips and timers over time.
    pub timers: TimerTrace,
    /// Queues over time.
    pub queues: QueueTrace,
    /// Queues by VC over time.
    pub vc_queues: VcQueues,
    /// Sequence numbers over time.
    pub sequences: SequenceTrace,
    /// Delays at routers' ports.
    pub delays: DelayTrace,
    /// What routers' ports lost or marked.
    pub drops: DropTrace,
    /// What reached receivers.
    pub arrivals: ArrivalTrace,
    arrived: Vec<Arrived>,
}

impl Recorder {
    /// An empty record for `flows` senders and `links` links.
    pub fn new(wanted: TraceConfig, flows: usize, links: usize) -> Recorder {
        Recorder {
            wanted,
            latest: vec![(f64::NAN, f64::NAN); flows],
            latest_rto: vec![Span(0); flows],
            latest_control: vec![None; flows],
            vc_queues: VcQueues::new(wanted.vc_queue_interval_ps, links),
            arrived: vec![Arrived::default(); flows],
            ..Recorder::default()
        }
    }

    /// Completes what is sampled, at the end of the run, and puts what ports told ahead of time into the order of time.
    pub fn finish(&mut self, end: Time) {
        if self.wanted.vc_queue {
            self.vc_queues.finish(end);
        }
        let QueueTrace { time, port, held } = &mut self.queues;
        let order = sorted(time.len(), &|row| (time[row], port[row], 0));
        permute(&order, time);
        permute(&order, port);
        permute(&order, held);
        let DelayTrace {
            time,
            port,
            vc,
            bytes,
            delay,
        } = &mut self.delays;
        let order = sorted(time.len(), &|row| (time[row], port[row], 0));
        permute(&order, time);
        permute(&order, port);
        permute(&order, vc);
        permute(&order, bytes);
        permute(&order, delay);
        let within = time.partition_point(|&time| time <= end.0);
        time.truncate(within);
        port.truncate(within);
        vc.truncate(within);
        bytes.truncate(within);
        delay.truncate(within);
        let DropTrace { time, port, reason } = &mut self.drops;
        let order = sorted(time.len(), &|row| (time[row], port[row], reason[row]));
        permute(&order, time);
        permute(&order, port);
        permute(&order, reason);
    }

    fn hold(&mut self, slot: Slot, vc: Circuit) {
        if let Some(arrival) = slot.arrival.filter(|_| self.wanted.vc_queue) {
            self.vc_queues.admit(slot.link, arrival, slot.departure, vc.0);
        }
    }

    fn arrival(&mut self, now: Time, flow: Flow, bytes: u32) {
        if bytes > 0 {
            self.arrivals.time.put(now.0);
            self.arrivals.flow.put(flow.0);
            self.arrivals.bytes.put(bytes);
        }
    }

    fn sequence(&mut self, now: Time, flow: Flow, event: u8, sequence: u64, length: u32, retransmission: bool) {
        let trace = &mut self.sequences;
        trace.time.put(now.0);
        trace.flow.put(flow.0);
        trace.event.put(event);
        trace.sequence.put(sequence);
        trace.length.put(length);
        trace.retransmission.put(retransmission);
    }
}

/// Rows in the order of their keys (instant, port and a reason, say), equals as they are; none where they are in order. One
/// function for all of them: a sort is much code.
pub(crate) fn sorted(rows: usize, key: &dyn Fn(usize) -> (u64, u32, u8)) -> Vec<usize> {
    if (1..rows).all(|row| key(row - 1) <= key(row)) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|&row| key(row));
    order
}

/// Puts a column into such an order.
pub(crate) fn permute<T: Copy>(order: &[usize], column: &mut Vec<T>) {
    if !order.is_empty() {
        *column = order.iter().map(|&row| column[row]).collect();
    }
}

impl Probe for Recorder {
    fn window(&mut self, now: Time, flow: Flow, cwnd: f64, ssthresh: f64) {
        if !self.wanted.cwnd || self.latest[flow.index()] == (cwnd, ssthresh) {
            return;
        }
        self.latest[flow.index()] = (cwnd, ssthresh);
        self.windows.time.put(now.0);
        self.windows.flow.put(flow.0);
        self.windows.cwnd.put(cwnd);
        self.windows.ssthresh.put(ssthresh);
    }

    fn wants_control(&self) -> bool {
        self.wanted.control
    }

    fn control(&mut self, now: Time, flow: Flow, watched: &Watched) {
        let latest = &mut self.latest_control[flow.index()];
        if latest.replace(*watched) == Some(*watched) {
            return;
        }
        let trace = &mut self.controls;
        trace.time.put(now.0);
        trace.flow.put(flow.0);
        trace.stage.put(watched.model.map_or(-1, |model| model.stage as i8));
        trace.state.put(watched.state as i8);
        trace
            .pacing
            .put(watched.pacing_bps.map_or(f64::NAN, |rate| rate as f64));
        trace
            .bandwidth
            .put(watched.model.map_or(f64::NAN, |model| model.bandwidth_bps));
    }

    fn timer(&mut self, now: Time, flow: Flow, measured: Option<Span>, srtt: Option<Span>, rto: Span) {
        if !self.wanted.rtt || (measured.is_none() && self.latest_rto[flow.index()] == rto) {
            return;
        }
        self.latest_rto[flow.index()] = rto;
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_seconds);
        self.timers.time.put(now.0);
        self.timers.flow.put(flow.0);
        self.timers.rtt.put(seconds(measured));
        self.timers.srtt.put(seconds(srtt));
        self.timers.rto.put(rto.as_seconds());
    }

    fn wants_queue(&self) -> bool {
        self.wanted.queue
    }

    fn wants_cells(&self) -> bool {
        self.wanted.vc_queue
    }

    fn queue(&mut self, now: Time, link: Link, held: u64) {
        if self.wanted.queue {
            self.queues.time.put(now.0);
            self.queues.port.put(link.0);
            self.queues.held.put(held);
        }
    }

    fn sent(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        if self.wanted.sequence && frame & REQUEST == 0 && segment.opening == Opening::Over {
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

    fn received(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        if self.wanted.arrivals && frame & REQUEST == 0 {
            let fresh = self.arrived[flow.index()].take(segment.sequence, segment.length);
            self.arrival(now, flow, fresh);
        }
    }

    fn received_datagram(&mut self, now: Time, flow: Flow, _frame: u32, datagram: &Datagram) {
        if self.wanted.arrivals {
            self.arrival(now, flow, datagram.length);
        }
    }

    fn acknowledged(&mut self, now: Time, flow: Flow, frame: u32, ack: &AckSegment) {
        if !self.wanted.sequence || frame & REQUEST != 0 || ack.opening.is_syn() {
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

    fn packet(&mut self, slot: Slot, vc: Circuit, _frame: u32, contents: impl Fn() -> Contents) {
        self.hold(slot, vc);
        if let Some(arrival) = slot.arrival.filter(|_| self.wanted.delay) {
            let delays = &mut self.delays;
            delays.time.put(slot.departure.0);
            delays.port.put(slot.link.0);
            delays.vc.put(vc.0);
            delays.bytes.put(contents().packet_bytes());
            delays.delay.put((slot.departure - arrival).0);
        }
    }

    fn fate(&mut self, now: Time, link: Link, fate: Fate) {
        if self.wanted.drops {
            self.drops.time.put(now.0);
            self.drops.port.put(link.0);
            self.drops.reason.put(fate as u8);
        }
    }
}
