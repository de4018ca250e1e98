//! Columns of the traces that a run records.

use crate::access::StationEvent;
use crate::packets::{Flow, Link};
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};

/// cwnd and ssthresh at each change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Congestion window [byte].
    pub cwnd: Vec<f64>,
    /// Slow start threshold [byte].
    pub ssthresh: Vec<f64>,
}

/// Data in flight from senders; one row per change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlightTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Bytes in flight.
    pub in_flight: Vec<u64>,
    /// Reason why the sender does not send more, as the number of a `SendLimit`.
    pub limit: Vec<u8>,
}

/// States of senders; one row per change.
#[derive(Clone, Debug, Default)]
pub struct ControlTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Number of the stage of a model-based congestion controller (BBR); -1 for other controllers.
    pub stage: Vec<i8>,
    /// Number of the state of the loss recovery.
    pub state: Vec<i8>,
    /// Pacing rate [bit/s] of the payload; NaN without pacing.
    pub pacing: Vec<f64>,
    /// The model's estimate of the bandwidth [bit/s], counting payload only; NaN without a model.
    pub bandwidth: Vec<f64>,
}

/// RTT samples and the retransmission timer: one row per RTT sample and per change of the RTO. Senders that report
/// neither have a row per change of the SRTT.
#[derive(Clone, Debug, Default)]
pub struct TimerTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// RTT sample [s]; NaN if there is no sample.
    pub rtt: Vec<f64>,
    /// Smoothed RTT [s]; NaN before the first sample.
    pub srtt: Vec<f64>,
    /// Retransmission timeout [s], including backoff; NaN if the sender does not report it.
    pub rto: Vec<f64>,
}

impl TimerTrace {
    /// Appends a row.
    pub(super) fn put(&mut self, now: Time, flow: Flow, rtt: Option<Span>, srtt: Option<Span>, rto: Option<Span>) {
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_seconds);
        self.time.put(now.0);
        self.flow.put(flow.0);
        self.rtt.put(seconds(rtt));
        self.srtt.put(seconds(srtt));
        self.rto.put(seconds(rto));
    }
}

/// Queue lengths of ports when the first cell of each frame arrives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Cells in the queue.
    pub held: Vec<u64>,
}

/// Delays of packets in routers' ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayTrace {
    /// Time [ps] at which the last bit departs.
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Circuit (VC) index.
    pub vc: Vec<u32>,
    /// Length [byte], including headers.
    pub bytes: Vec<u32>,
    /// Time [ps] from arrival to departure.
    pub delay: Vec<u64>,
}

/// Lost packets, and packets that routers' ports marked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DropTrace {
    /// Time of the loss or mark [ps].
    pub time: Vec<u64>,
    /// Link at whose port or on whose wire the packet was lost or marked.
    pub port: Vec<u32>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Sequence number of the packet's first data byte; -1 without data, and for marked packets.
    pub sequence: Vec<i64>,
    /// Number of the `DropCause`; 0 for a marked packet.
    pub cause: Vec<u8>,
}

impl DropTrace {
    /// Value of `cause` that stands for a marked packet.
    pub const MARKED: u8 = 0;

    pub(super) fn put(&mut self, time: Time, link: Link, flow: Flow, sequence: Option<u64>, cause: u8) {
        self.time.put(time.0);
        self.port.put(link.0);
        self.flow.put(flow.0);
        self.sequence.put(sequence.map_or(-1, |sequence| sequence as i64));
        self.cause.put(cause);
    }
}

/// Requests, grants and transmissions of stations with medium access.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrantTrace {
    /// Time [ps] at the station.
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Number of the `StationAction`.
    pub action: Vec<u8>,
    /// Bytes that are requested, granted or sent.
    pub bytes: Vec<u64>,
    /// Requested rate [bit/s]; 0 if none is requested.
    pub rate_bps: Vec<u64>,
    /// Time [ps] for which data have waited when a transmission begins; 0 for other events.
    pub waited: Vec<u64>,
}

impl GrantTrace {
    pub(super) fn put(&mut self, time: Time, link: Link, event: StationEvent) {
        self.time.put(time.0);
        self.port.put(link.0);
        self.action.put(event.action as u8);
        self.bytes.put(event.bytes);
        self.rate_bps.put(event.rate_bps);
        self.waited.put(event.waited.0);
    }
}

/// Events of senders, and losses of the segments that they sent.
#[derive(Clone, Debug, Default)]
pub struct EventTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// 0 if the network lost a segment; otherwise the number of the `EventKind`, counted from 1.
    pub event: Vec<u8>,
    /// Number of the `EventCause`.
    pub cause: Vec<u8>,
    /// For a lost segment and for a window reduction, the number of the `LossCause`; otherwise 0.
    pub drop_cause: Vec<u8>,
    /// First byte of the segment; for events without a segment, SND.UNA.
    pub sequence: Vec<u64>,
    /// Length [byte] of the segment; for a fast retransmit or a timeout, the number of bytes outstanding; otherwise 0.
    pub length: Vec<u64>,
    /// Congestion window [byte]: before the event for a window reduction, and after the event for other events; NaN for
    /// a lost segment.
    pub cwnd: Vec<f64>,
    /// Slow start threshold [byte] after the event; NaN for a lost segment.
    pub ssthresh: Vec<f64>,
}

impl EventTrace {
    /// Value of `event` that stands for a segment that the network lost.
    pub(super) const DROPPED: u8 = 0;
}

/// Segments sent and ACKs received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Kind of the row: 0 for a segment sent, 1 for an ACK received, and 2 for a block in the ACK's SACK option.
    pub event: Vec<u8>,
    /// First byte of the segment or block, or the acknowledgement number.
    pub sequence: Vec<u64>,
    /// Payload [byte] of the segment, or length [byte] of the block.
    pub length: Vec<u32>,
    /// Whether the segment is a retransmission.
    pub retransmission: Vec<bool>,
}

/// Data that reach receivers for the first time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Number of bytes that had not arrived before.
    pub bytes: Vec<u32>,
}
