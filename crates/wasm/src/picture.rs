//! Data for the plots of a run, aggregated over intervals of time, so that their size depends on the plot and not on
//! the length of the run.

use crate::columns::{floats, put};
use js_sys::Object;
use longpipe_events::Time;
use longpipe_network::observe::probe::{Detail, Event, Probe};
use longpipe_network::{Arrived, Datagram, Flow, Link, REQUEST};
use longpipe_tcp::DataSegment;
use std::collections::VecDeque;

/// Maximum number of marks of one kind in a picture; more marks could not be distinguished.
const MAX_MARKS: usize = 50_000;

/// Time intervals of a plot, of equal length.
#[derive(Clone, Copy, Debug)]
pub struct View {
    from_ps: u64,
    to_ps: u64,
    bins: usize,
    per_ps: f64,
}

impl View {
    /// Returns `bins` intervals from `from_s` to `to_s` [s], each of which is at least one picosecond long.
    pub fn new(from_s: f64, to_s: f64, bins: usize) -> View {
        let from_ps = (from_s * 1e12) as u64;
        let to_ps = ((to_s * 1e12) as u64).max(from_ps + bins as u64);
        let per_ps = bins as f64 / (to_ps - from_ps) as f64;
        View {
            from_ps,
            to_ps,
            bins,
            per_ps,
        }
    }

    /// Returns the interval that contains a time; the last interval includes its end. Returns None if no interval
    /// contains the time.
    fn bin(&self, now: Time) -> Option<usize> {
        if now.0 < self.from_ps || now.0 > self.to_ps {
            return None;
        }
        Some((((now.0 - self.from_ps) as f64 * self.per_ps) as usize).min(self.bins - 1))
    }
}

/// Minimum, maximum and latest value of a quantity in each interval; NaN for intervals without a value.
#[derive(Clone, Debug)]
struct ValueRange {
    low: Vec<f64>,
    high: Vec<f64>,
    last: Vec<f64>,
    /// Latest value before the first interval.
    before: f64,
}

impl ValueRange {
    /// Returns `bins` intervals without a value.
    fn new(bins: usize) -> ValueRange {
        ValueRange {
            low: vec![f64::NAN; bins],
            high: vec![f64::NAN; bins],
            last: vec![f64::NAN; bins],
            before: f64::NAN,
        }
    }

    /// Records a value at a time in the plot or before it; a later time is ignored.
    fn record(&mut self, view: &View, now: Time, value: f64) {
        match view.bin(now) {
            Some(bin) => self.record_in(bin, value),
            None if now.0 < view.from_ps => self.before = value,
            None => {}
        }
    }

    /// Records a value in an interval.
    fn record_in(&mut self, bin: usize, value: f64) {
        // If one argument is NaN, `min` and `max` return the other one.
        self.low[bin] = self.low[bin].min(value);
        self.high[bin] = self.high[bin].max(value);
        self.last[bin] = value;
    }

    /// Returns the values as arrays for JavaScript.
    fn columns(&self) -> Object {
        let columns = Object::new();
        put(&columns, "low", &floats(self.low.iter().copied()));
        put(&columns, "high", &floats(self.high.iter().copied()));
        put(&columns, "last", &floats(self.last.iter().copied()));
        put(&columns, "before", &self.before.into());
        columns
    }
}

/// Points of a plot: times [s] and sequence numbers [byte].
#[derive(Clone, Debug, Default)]
struct Marks {
    time_s: Vec<f64>,
    sequence_bytes: Vec<f64>,
}

impl Marks {
    /// Adds a point, unless the plot has `MAX_MARKS` already.
    fn add(&mut self, now: Time, sequence: u64) {
        if self.time_s.len() < MAX_MARKS {
            self.time_s.push(now.as_seconds());
            self.sequence_bytes.push(sequence as f64);
        }
    }

    /// Returns the points as arrays for JavaScript.
    fn columns(&self) -> Object {
        let columns = Object::new();
        put(&columns, "time_s", &floats(self.time_s.iter().copied()));
        put(&columns, "sequence_bytes", &floats(self.sequence_bytes.iter().copied()));
        columns
    }
}

/// Windows and arrived bytes of one flow.
#[derive(Clone, Debug)]
struct FlowPicture {
    cwnd: ValueRange,
    ssthresh: ValueRange,
    /// Bytes that reached the receiver for the first time in each interval.
    arrived: Vec<f64>,
}

/// A probe that collects the data for the plots of a run.
#[derive(Clone, Debug)]
pub struct Picture {
    view: View,
    flows: Vec<FlowPicture>,
    /// Queue length at each link's port; None until the port queues a packet.
    ports: Vec<Option<Box<ValueRange>>>,
    /// Bytes that arrived, summed over all flows, including those without a curve of their own.
    arrived: Vec<f64>,
    /// Data of each flow that have arrived, by which retransmitted data are counted once.
    received: Vec<Arrived>,
    sequence: Flow,
    sent: ValueRange,
    acknowledged: ValueRange,
    retransmitted: Marks,
    lost: Marks,
    /// Acknowledged bytes of flow `sequence`. Datagrams are not acknowledged; for them, the bytes that arrived.
    bytes_received: u64,
    /// Bytes sent in datagrams by flow `sequence`.
    bytes_sent: u64,
    /// Packet number, departure time and sequence number of each segment that flow `sequence` has in flight.
    in_flight: VecDeque<(u32, Time, u64)>,
}

impl Picture {
    /// Returns a probe that records the windows of the first `flows` flows and the segments of flow `sequence`.
    pub fn new(view: View, flows: usize, sequence: usize, links: usize) -> Picture {
        let bins = view.bins;
        let flow = FlowPicture {
            cwnd: ValueRange::new(bins),
            ssthresh: ValueRange::new(bins),
            arrived: vec![0.0; bins],
        };
        Picture {
            view,
            flows: vec![flow; flows],
            ports: vec![None; links],
            arrived: vec![0.0; bins],
            received: Vec::new(),
            sequence: Flow::new(sequence),
            sent: ValueRange::new(bins),
            acknowledged: ValueRange::new(bins),
            retransmitted: Marks::default(),
            lost: Marks::default(),
            bytes_received: 0,
            bytes_sent: 0,
            in_flight: VecDeque::new(),
        }
    }

    /// Returns `flows`; `ports`, indexed by link (null if nothing was ever queued); `arrived_bytes`, summed over all
    /// flows; and `sequence`, for one flow.
    pub fn columns(&self) -> Object {
        let picture = Object::new();
        let flows = self.flows.iter().map(|flow| {
            let columns = Object::new();
            put(&columns, "cwnd_bytes", &flow.cwnd.columns());
            put(&columns, "ssthresh_bytes", &flow.ssthresh.columns());
            put(&columns, "arrived_bytes", &floats(flow.arrived.iter().copied()));
            columns
        });
        put(&picture, "flows", &flows.collect::<js_sys::Array>());
        let ports = self.ports.iter().map(|port| match port {
            Some(course) => course.columns().into(),
            None => wasm_bindgen::JsValue::NULL,
        });
        put(&picture, "ports", &ports.collect::<js_sys::Array>());
        put(&picture, "arrived_bytes", &floats(self.arrived.iter().copied()));
        let sequence = Object::new();
        put(&sequence, "sent", &self.sent.columns());
        put(&sequence, "acknowledged", &self.acknowledged.columns());
        put(&sequence, "resent", &self.retransmitted.columns());
        put(&sequence, "lost", &self.lost.columns());
        put(&picture, "sequence", &sequence);
        picture
    }

    /// Counts bytes that reach a receiver for the first time.
    fn count_arrived(&mut self, now: Time, flow: Flow, bytes: u32) {
        if let Some(bin) = self.view.bin(now) {
            self.arrived[bin] += f64::from(bytes);
            if let Some(picture) = self.flows.get_mut(flow.index()) {
                picture.arrived[bin] += f64::from(bytes);
            }
        }
    }

    /// Removes `frame` and all earlier packets from the segments in flight. Unless jitter at a host reorders packets,
    /// an earlier packet that has not arrived is lost, because links preserve the order.
    fn remove_in_flight(&mut self, frame: u32) {
        while let Some(&(sent, at, sequence)) = self.in_flight.front() {
            if sent > frame {
                break;
            }
            self.in_flight.pop_front();
            if sent != frame && self.view.bin(at).is_some() {
                self.lost.add(at, sequence);
            }
        }
    }

    /// Records that the receiver of flow `sequence` has `bytes_received` bytes in order.
    fn record_received(&mut self, now: Time, bytes_received: u64) {
        self.bytes_received = self.bytes_received.max(bytes_received);
        self.acknowledged.record(&self.view, now, self.bytes_received as f64);
    }

    fn window(&mut self, now: Time, flow: Flow, cwnd: f64, ssthresh: f64) {
        if let Some(picture) = self.flows.get_mut(flow.index()) {
            picture.cwnd.record(&self.view, now, cwnd);
            picture.ssthresh.record(&self.view, now, ssthresh);
        }
    }

    fn queue(&mut self, now: Time, link: Link, held: u64) {
        let port = &mut self.ports[link.index()];
        if port.is_none() && held < 2 {
            return;
        }
        let lengths = port.get_or_insert_with(|| Box::new(ValueRange::new(self.view.bins)));
        lengths.record(&self.view, now, held as f64);
    }

    fn sent(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        if flow != self.sequence || frame & REQUEST != 0 {
            return;
        }
        self.in_flight.push_back((frame, now, segment.sequence));
        if let Some(bin) = self.view.bin(now) {
            if segment.retransmission {
                self.retransmitted.add(now, segment.sequence);
            } else {
                let end = segment.sequence + u64::from(segment.length);
                self.sent.record_in(bin, end as f64);
            }
        }
    }

    fn received(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        if frame & REQUEST != 0 {
            return;
        }
        let index = flow.index();
        if index >= self.received.len() {
            self.received.resize(index + 1, Arrived::default());
        }
        let new_bytes = self.received[index].take(segment.sequence, segment.length);
        self.count_arrived(now, flow, new_bytes);
        if flow == self.sequence {
            self.remove_in_flight(frame);
        }
    }

    fn sent_datagram(&mut self, now: Time, flow: Flow, frame: u32, datagram: &Datagram) {
        if flow != self.sequence {
            return;
        }
        self.in_flight.push_back((frame, now, self.bytes_sent));
        self.bytes_sent += u64::from(datagram.length);
        if let Some(bin) = self.view.bin(now) {
            self.sent.record_in(bin, self.bytes_sent as f64);
        }
    }

    fn received_datagram(&mut self, now: Time, flow: Flow, frame: u32, datagram: &Datagram, first: bool) {
        if !first {
            return;
        }
        self.count_arrived(now, flow, datagram.length);
        if flow == self.sequence {
            self.record_received(now, self.bytes_received + u64::from(datagram.length));
            self.remove_in_flight(frame);
        }
    }
}

impl Probe for Picture {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Queue
    }

    fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::Window {
                now,
                flow,
                cwnd,
                ssthresh,
            } => self.window(now, flow, cwnd, ssthresh),
            Event::Queue(now, link, held) => self.queue(now, link, held),
            Event::Sent(now, flow, frame, segment) => self.sent(now, flow, frame, segment),
            Event::Received(now, flow, frame, segment) => self.received(now, flow, frame, segment),
            Event::Acknowledged(now, flow, frame, ack) if flow == self.sequence && frame & REQUEST == 0 => {
                self.record_received(now, ack.acknowledgement);
            }
            Event::SentDatagram(now, flow, frame, datagram) => self.sent_datagram(now, flow, frame, datagram),
            Event::ReceivedDatagram(now, flow, frame, datagram, first) => {
                self.received_datagram(now, flow, frame, datagram, first);
            }
            _ => {}
        }
    }
}
