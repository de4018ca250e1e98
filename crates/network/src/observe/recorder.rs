//! Recorder that stores the traces that a scenario requests as columns.

use crate::observe::arrived::Arrived;
use crate::observe::probe::{Detail, Event, Probe, Slot};
use crate::observe::stack_packets::PacketTrace;
use crate::observe::traces::{
    ArrivalTrace, ControlTrace, DelayTrace, DropTrace, EventTrace, FlightTrace, GrantTrace, QueueTrace, SequenceTrace,
    TimerTrace, WindowTrace,
};
use crate::observe::vc_queue::VcQueues;
use crate::packets::contents::Contents;
use crate::packets::drops::Dropped;
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Flow};
use crate::scenario::TraceConfig;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use longpipe_tcp::journal::losses::LossCause;
use longpipe_tcp::journal::SenderEvent;
use longpipe_tcp::segment::Opening;
use longpipe_tcp::sender::SenderState;
use longpipe_tcp::AckSegment;

const SENT: u8 = 0;
const ACKNOWLEDGED: u8 = 1;
const SACKED: u8 = 2;

/// Records the traces that a scenario requests.
///
/// In traces of ports and of arrived data, connections of arriving flows appear under the number of the scenario's flow
/// to which they belong. Traces of senders omit these connections.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    traces: TraceConfig,
    /// Number of flows in the scenario.
    flows: usize,
    /// For each additional flow, the flow of the scenario to which it belongs.
    owners: Vec<Flow>,
    latest: Vec<(f64, f64)>,
    latest_rto: Vec<Span>,
    /// Latest SRTT of each flow whose sender reports no RTT samples.
    latest_srtt: Vec<Span>,
    latest_control: Vec<Option<SenderState>>,
    /// Congestion windows over time.
    pub windows: WindowTrace,
    /// States of senders over time.
    pub controls: ControlTrace,
    /// Data in flight from senders over time.
    pub flights: FlightTrace,
    /// RTT samples and retransmission timers over time.
    pub timers: TimerTrace,
    /// Queue lengths over time.
    pub queues: QueueTrace,
    /// Queue length of each VC over time.
    pub vc_queues: VcQueues,
    /// Sequence numbers over time.
    pub sequences: SequenceTrace,
    /// Delays at routers' ports.
    pub delays: DelayTrace,
    /// Lost and marked packets.
    pub drops: DropTrace,
    /// Events of stations with medium access.
    pub grants: GrantTrace,
    /// Events of senders.
    pub events: EventTrace,
    /// First arrivals of data at receivers, and arrivals of the packets of real stacks.
    pub arrivals: ArrivalTrace,
    /// Packets of real stacks at their senders.
    pub packets: PacketTrace,
    arrived: Vec<Arrived>,
}

impl Recorder {
    /// Returns an empty record for `flows` senders and `links` links.
    pub fn new(traces: TraceConfig, flows: usize, links: usize) -> Recorder {
        Recorder {
            traces,
            flows,
            latest: vec![(f64::NAN, f64::NAN); flows],
            latest_rto: vec![Span(0); flows],
            latest_srtt: vec![Span(0); flows],
            latest_control: vec![None; flows],
            vc_queues: VcQueues::new(traces.vc_queue_interval_ps, links),
            arrived: vec![Arrived::default(); flows],
            ..Recorder::default()
        }
    }

    /// Completes the samples at the end of the run, and sorts the rows that ports reported in advance by time.
    pub fn finish(&mut self, end: Time) {
        if self.traces.vc_queue {
            self.vc_queues.finish(end);
        }
        let QueueTrace { time, port, held } = &mut self.queues;
        let order = sorted(time.len(), &|row| (time[row], port[row], 0, 0));
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
        let order = sorted(time.len(), &|row| (time[row], port[row], 0, 0));
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
        let DropTrace {
            time,
            port,
            flow,
            sequence,
            cause,
        } = &mut self.drops;
        let order = sorted(time.len(), &|row| (time[row], port[row], cause[row], 0));
        permute(&order, time);
        permute(&order, port);
        permute(&order, flow);
        permute(&order, sequence);
        permute(&order, cause);
        // Losses that outages would cause after the end of the run were reported in advance.
        let within = time.partition_point(|&time| time <= end.0);
        time.truncate(within);
        port.truncate(within);
        flow.truncate(within);
        sequence.truncate(within);
        cause.truncate(within);
        self.finish_grants(end);
        self.finish_events(end);
    }

    fn finish_grants(&mut self, end: Time) {
        let GrantTrace {
            time,
            port,
            action,
            bytes,
            rate_bps,
            waited,
        } = &mut self.grants;
        let order = sorted(time.len(), &|row| (time[row], port[row], action[row], 0));
        // Grants that reach their stations after the end of the run were reported in advance.
        let within = time.iter().filter(|&&time| time <= end.0).count();
        permute(&order, time);
        permute(&order, port);
        permute(&order, action);
        permute(&order, bytes);
        permute(&order, rate_bps);
        permute(&order, waited);
        time.truncate(within);
        port.truncate(within);
        action.truncate(within);
        bytes.truncate(within);
        rate_bps.truncate(within);
        waited.truncate(within);
    }

    fn finish_events(&mut self, end: Time) {
        let EventTrace {
            time,
            flow,
            event,
            cause,
            drop_cause,
            sequence,
            length,
            cwnd,
            ssthresh,
        } = &mut self.events;
        let order = sorted(time.len(), &|row| {
            // Losses come first; simultaneous losses are sorted by cause and sequence number, so that the order does
            // not depend on the order of the reports.
            match event[row] {
                EventTrace::DROPPED => (time[row], flow[row], drop_cause[row], sequence[row]),
                _ => (time[row], flow[row], u8::MAX, 0),
            }
        });
        let within = time.iter().filter(|&&time| time <= end.0).count();
        permute(&order, time);
        permute(&order, flow);
        permute(&order, event);
        permute(&order, cause);
        permute(&order, drop_cause);
        permute(&order, sequence);
        permute(&order, length);
        permute(&order, cwnd);
        permute(&order, ssthresh);
        time.truncate(within);
        flow.truncate(within);
        event.truncate(within);
        cause.truncate(within);
        drop_cause.truncate(within);
        sequence.truncate(within);
        length.truncate(within);
        cwnd.truncate(within);
        ssthresh.truncate(within);
    }

    /// Returns whether a flow is defined in the scenario, rather than being a connection slot of arriving flows.
    fn is_own(&self, flow: Flow) -> bool {
        flow.index() < self.flows
    }

    /// Returns the flow of the scenario to which a flow belongs.
    fn owner(&self, flow: Flow) -> Flow {
        let place = flow.index().checked_sub(self.flows);
        place.map_or(flow, |place| self.owners[place])
    }

    /// Returns the circuit of the scenario's flow to which the flow of `vc` belongs, in the direction of `vc`.
    fn circuit(&self, vc: Circuit) -> Circuit {
        if vc.flow().index() < self.flows + self.owners.len() {
            let owner = self.owner(vc.flow());
            if vc.is_back() {
                Circuit::of_acks(owner)
            } else {
                Circuit::of_data(owner)
            }
        } else {
            vc
        }
    }

    fn event_of(&mut self, time: Time, flow: Flow, event: u8, cause: u8, drop_cause: u8) {
        self.events.time.put(time.0);
        self.events.flow.put(flow.0);
        self.events.event.put(event);
        self.events.cause.put(cause);
        self.events.drop_cause.put(drop_cause);
    }

    fn hold(&mut self, slot: Slot, vc: Circuit) {
        if let Some(arrival) = slot.arrival.filter(|_| self.traces.vc_queue) {
            let vc = self.circuit(vc);
            self.vc_queues.add(slot.link, arrival, slot.departure, vc.0);
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

    fn window(&mut self, now: Time, flow: Flow, cwnd: f64, ssthresh: f64) {
        if !self.traces.cwnd || !self.is_own(flow) || self.latest[flow.index()] == (cwnd, ssthresh) {
            return;
        }
        self.latest[flow.index()] = (cwnd, ssthresh);
        self.windows.time.put(now.0);
        self.windows.flow.put(flow.0);
        self.windows.cwnd.put(cwnd);
        self.windows.ssthresh.put(ssthresh);
    }

    fn control(&mut self, now: Time, flow: Flow, sender: &SenderState) {
        if !self.is_own(flow) {
            return;
        }
        let before = self.latest_control[flow.index()].replace(*sender);
        if self.traces.flight && before.is_none_or(|before| before.sending != sender.sending) {
            self.flights.time.put(now.0);
            self.flights.flow.put(flow.0);
            self.flights.in_flight.put(sender.sending.in_flight);
            self.flights.limit.put(sender.sending.limit as u8);
        }
        let sending = sender.sending;
        if !self.traces.control || before.map(|before| SenderState { sending, ..before }) == Some(*sender) {
            return;
        }
        let trace = &mut self.controls;
        trace.time.put(now.0);
        trace.flow.put(flow.0);
        trace.stage.put(sender.model.map_or(-1, |model| model.stage as i8));
        trace.state.put(sender.state as i8);
        trace.pacing.put(sender.pacing_bps.map_or(f64::NAN, |rate| rate as f64));
        trace
            .bandwidth
            .put(sender.model.map_or(f64::NAN, |model| model.bandwidth_bps));
    }

    fn timer(&mut self, now: Time, flow: Flow, measured: Option<Span>, srtt: Option<Span>, rto: Span) {
        if !self.traces.rtt || !self.is_own(flow) {
            return;
        }
        if measured.is_none() && self.latest_rto[flow.index()] == rto {
            return;
        }
        self.latest_rto[flow.index()] = rto;
        self.timers.put(now, flow, measured, srtt, Some(rto));
    }

    fn acknowledged(&mut self, now: Time, flow: Flow, frame: u32, ack: &AckSegment) {
        if !self.traces.sequence || !self.is_own(flow) || frame & REQUEST != 0 || ack.opening.is_syn() {
            return;
        }
        self.sequence(now, flow, ACKNOWLEDGED, ack.acknowledgement, 0, false);
        for (start, end) in ack.sack_blocks() {
            self.sequence(now, flow, SACKED, start, (end - start) as u32, false);
        }
    }

    fn sender_event(&mut self, flow: Flow, event: &SenderEvent) {
        if !self.is_own(flow) {
            return;
        }
        self.event_of(event.time, flow, event.kind as u8 + 1, event.cause as u8, event.loss.0);
        self.events.sequence.put(event.sequence);
        self.events.length.put(event.length);
        self.events.cwnd.put(event.cwnd);
        self.events.ssthresh.put(event.ssthresh);
    }

    fn dropped(&mut self, dropped: &Dropped) {
        // Successive connections in a slot reuse sequence numbers, so their losses are recorded without them.
        let own = self.is_own(dropped.flow);
        let data = dropped.data.filter(|_| own);
        if let (true, Some(data)) = (self.traces.events, data) {
            let Dropped { time, flow, cause, .. } = *dropped;
            self.event_of(time, flow, EventTrace::DROPPED, 0, LossCause::from(cause).0);
            self.events.sequence.put(data.sequence);
            self.events.length.put(u64::from(data.length));
            self.events.cwnd.put(f64::NAN);
            self.events.ssthresh.put(f64::NAN);
        }
        if self.traces.drops {
            let Dropped {
                time,
                link,
                flow,
                cause,
                ..
            } = *dropped;
            let sequence = data.map(|data| data.sequence);
            self.drops.put(time, link, self.owner(flow), sequence, cause as u8);
        }
    }

    fn delay(&mut self, slot: Slot, vc: Circuit, contents: &dyn Fn() -> Contents) {
        if let Some(arrival) = slot.arrival.filter(|_| self.traces.delay) {
            let vc = self.circuit(vc);
            let delays = &mut self.delays;
            delays.time.put(slot.departure.0);
            delays.port.put(slot.link.0);
            delays.vc.put(vc.0);
            delays.bytes.put(contents().packet_bytes());
            delays.delay.put((slot.departure - arrival).0);
        }
    }
}

/// Returns the stable order of rows by a key, such as (time, port, cause, 0); empty if the rows are already in order.
/// This function is not generic, because each instance of a sort compiles to a large amount of code.
pub(crate) fn sorted(rows: usize, key: &dyn Fn(usize) -> (u64, u32, u8, u64)) -> Vec<usize> {
    if (1..rows).all(|row| key(row - 1) <= key(row)) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|&row| key(row));
    order
}

/// Reorders a column.
pub(crate) fn permute<T: Copy>(order: &[usize], column: &mut Vec<T>) {
    if !order.is_empty() {
        *column = order.iter().map(|&row| column[row]).collect();
    }
}

impl Probe for Recorder {
    fn wants(&self, detail: Detail) -> bool {
        let traces = &self.traces;
        match detail {
            Detail::Control => traces.control || traces.flight,
            Detail::Queue => traces.queue,
            Detail::Cells => traces.vc_queue || traces.drops || traces.events,
            Detail::SenderEvents => traces.events,
            Detail::StackBytes => false,
        }
    }

    fn observe(&mut self, event: Event<'_>) {
        let traces = &self.traces;
        match event {
            Event::ConnectionSlots(owner, count) => {
                self.owners.resize(self.owners.len() + count, owner);
                self.arrived.resize(self.arrived.len() + count, Arrived::default());
            }
            Event::Renewed(flow) => self.arrived[flow.index()] = Arrived::default(),
            Event::Window {
                now,
                flow,
                cwnd,
                ssthresh,
            } => self.window(now, flow, cwnd, ssthresh),
            Event::Control(now, flow, sender) => self.control(now, flow, sender),
            Event::Timer {
                now,
                flow,
                measured,
                srtt,
                rto,
            } => self.timer(now, flow, measured, srtt, rto),
            Event::SmoothedRtt(now, flow, srtt)
                if traces.rtt && self.is_own(flow) && self.latest_srtt[flow.index()] != srtt =>
            {
                self.latest_srtt[flow.index()] = srtt;
                self.timers.put(now, flow, None, Some(srtt), None);
            }
            Event::ReceivedPayload(now, flow, bytes) if traces.arrivals => self.arrival(now, flow, bytes),
            Event::StackPacket(flow, packet) if traces.packets => self.packets.put(flow, packet),
            Event::Queue(now, link, held) if traces.queue => {
                self.queues.time.put(now.0);
                self.queues.port.put(link.0);
                self.queues.held.put(held);
            }
            Event::Sent(now, flow, frame, segment)
                if traces.sequence && self.is_own(flow) && frame & REQUEST == 0 && segment.opening == Opening::Over =>
            {
                let (start, length) = (segment.sequence, segment.length);
                self.sequence(now, flow, SENT, start, length, segment.retransmission);
            }
            Event::Received(now, flow, frame, segment) if traces.arrivals && frame & REQUEST == 0 => {
                let fresh = self.arrived[flow.index()].take(segment.sequence, segment.length);
                self.arrival(now, self.owner(flow), fresh);
            }
            Event::ReceivedDatagram(now, flow, _, datagram, true) if traces.arrivals => {
                self.arrival(now, flow, datagram.length);
            }
            Event::Acknowledged(now, flow, frame, ack) => self.acknowledged(now, flow, frame, ack),
            Event::Cell(slot, cell, _) => self.hold(slot, cell.vc),
            Event::Packet(slot, vc, _, contents) => {
                self.hold(slot, vc);
                self.delay(slot, vc, contents);
            }
            Event::Waited { link, arrival, end, vc } if traces.vc_queue => {
                let vc = self.circuit(vc);
                self.vc_queues.add(link, arrival, end, vc.0);
            }
            Event::Station(time, link, event) => self.grants.put(time, link, event),
            Event::Sender(flow, event) => self.sender_event(flow, event),
            Event::Dropped(dropped) => self.dropped(dropped),
            Event::Marked(now, link, flow) if traces.drops => {
                self.drops.put(now, link, self.owner(flow), None, DropTrace::MARKED);
            }
            _ => {}
        }
    }
}
