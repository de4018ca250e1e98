//! Split-TCP proxies (performance enhancing proxies, RFC 3135): a proxy acknowledges the data of one connection, keeps
//! them in a buffer, and forwards them over the next connection, whose ACKs free the buffer.
//!
//! ```text
//! sender ── data ─▶ receiver ─▶ buffer ─▶ sender ── data ─▶ receiver
//!    ◀─ ACK, window ──┘ ◀── room ──────────┘ ◀── ACK ──────────┘
//! ```
//!
//! Every TCP header contains the window. To keep packets unchanged, the sender looks up the window by the number of the
//! ACK that would contain it (`windows.rs`). Data beyond the window's edge are withheld from the sender, as if its
//! application had not written them yet.

mod buffer_use;
pub(super) mod forwarding;
mod windows;

use super::application::Application;
use super::Hosts;
use crate::clock::UNKNOWN;
use crate::hosts::medium::Medium;
use crate::observe::probe::{Event, Probe};
use crate::packets::{Circuit, Flow};
use crate::report::flows::ProxyReport;
use forwarding::Forwarding;
use longpipe_events::MaybeTime;
use longpipe_tcp::{AckSegment, DataSegment};

impl<P: Probe> Hosts<P> {
    /// Returns the flow that forwards the data of a flow, if any.
    pub(super) fn onward(&self, flow: Flow) -> Option<Flow> {
        self.flows[flow.index()].proxy.as_ref()?.onward()
    }
}

/// Returns the state of a flow whose data another flow forwards; None for other flows.
fn forwarding<P: Probe>(hosts: &mut Hosts<P>, flow: Flow) -> Option<&mut Forwarding> {
    hosts.flows[flow.index()].proxy.as_mut()?.forwarding.as_mut()
}

/// Sends a zero-window probe if one is due.
#[inline]
pub(super) fn on_timer<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let due = hosts.flows[flow.index()].proxy.as_ref().map(|proxy| proxy.probe_due());
    if due.is_some_and(|due| due <= hosts.clock.now.into()) {
        send_window_probe(hosts, medium, flow);
    }
}

/// Ends the data of the flows that forward those of a flow whose application has stopped.
pub(super) fn stop_writing<P: Probe>(hosts: &mut Hosts<P>, flow: Flow) {
    let (now, size) = (hosts.clock.now, hosts.flows[flow.index()].size);
    let mut at = flow;
    while let Some(onward) = hosts.onward(at) {
        hosts.flows[onward.index()].end_at(now, size);
        at = onward;
    }
}

/// Forwards the data that a flow's receiver has newly delivered to the proxy.
#[cold]
pub(super) fn forward_data<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let Some(onward) = hosts.onward(flow) else { return };
    update_buffer_use(hosts, flow, onward);
    send(hosts, medium, onward);
}

/// Handles an ACK at the sender of a split or forwarding connection.
#[cold]
pub(super) fn on_ack<P: Probe, M: Medium>(
    hosts: &mut Hosts<P>,
    medium: &mut M,
    flow: Flow,
    frame: u32,
    ack: &AckSegment,
) {
    let now = hosts.clock.now;
    let is_window_update = forwarding(hosts, flow).is_some_and(|forwarding| forwarding.windows.on_ack(frame));
    let sender = &mut hosts.flows[flow.index()].sender;
    // A pure window update is not a duplicate ACK, because the window has changed (RFC 5681 section 2).
    if !is_window_update || ack.acknowledgement > sender.flight().una {
        sender.on_ack(now, ack);
    }
    send(hosts, medium, flow);
    let source = hosts.flows[flow.index()].proxy.as_ref().and_then(|proxy| proxy.source);
    if let Some(source) = source {
        update_buffer_use(hosts, source, flow);
        send_window_update(hosts, medium, source, flow);
    }
}

/// Passes the available data within the window to a sender.
pub(super) fn send<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let (ready, is_application) = ready_bytes(hosts, flow);
    let edge = forwarding(hosts, flow).map_or(u64::MAX, |forwarding| forwarding.windows.known());
    let state = &mut hosts.flows[flow.index()];
    let end = ready.min(edge);
    if end == state.size || is_application && end == ready {
        state.sender.write_up_to(end);
    } else {
        state.sender.extend_up_to(end);
    }
    if end == state.size {
        state.sender.close();
    }
    hosts.send_data(medium, flow);
    let flight = hosts.flows[flow.index()].sender.flight();
    let is_window_closed = flight.una == flight.max && flight.max == edge && edge < ready;
    schedule_window_probe(hosts, medium, flow, is_window_closed);
}

/// Schedules a zero-window probe if the closed window stops a sender with data and without unacknowledged segments, or
/// cancels it when the window opens.
fn schedule_window_probe<P: Probe, M: Medium>(
    hosts: &mut Hosts<P>,
    medium: &mut M,
    flow: Flow,
    is_window_closed: bool,
) {
    let rto = hosts.flows[flow.index()].sender.timer().rto();
    let now = hosts.clock.now;
    let Some(forwarding) = forwarding(hosts, flow) else {
        return;
    };
    if !is_window_closed {
        (forwarding.unanswered, forwarding.probe_due) = (0, MaybeTime::NONE);
    } else if forwarding.probe_due == MaybeTime::NONE {
        forwarding.probe_due = (now + forwarding.probe_interval(rto)).into();
        hosts.arm_sending_host(medium, flow);
    }
}

/// Returns the amount [byte] of data that a flow may send so far, and whether its application has written them.
fn ready_bytes<P: Probe>(hosts: &Hosts<P>, flow: Flow) -> (u64, bool) {
    let state = &hosts.flows[flow.index()];
    let Some(proxy) = &state.proxy else {
        return (state.size, true);
    };
    if let Some(source) = proxy.source {
        return (hosts.flows[source.index()].receiver.delivered(), false);
    }
    let written = match &state.application {
        Application::Stream(writer) => writer.written().min(state.size),
        Application::Requests(_) => hosts
            .exchange(proxy.last)
            .map_or(0, |(_, exchange)| exchange.scheduled()),
        _ => state.size,
    };
    (written, true)
}

/// Updates the occupancy of the buffer between a flow and the flow `onward` that forwards its data: bytes that the
/// former has delivered and the latter's receiver has not acknowledged.
fn update_buffer_use<P: Probe>(hosts: &mut Hosts<P>, flow: Flow, onward: Flow) {
    let held = hosts.flows[flow.index()].receiver.delivered() - hosts.flows[onward.index()].sender.flight().una;
    let now = hosts.clock.now;
    if let Some(forwarding) = forwarding(hosts, flow) {
        forwarding.buffer_use.set(now, held);
    }
}

/// Sends a window update from a flow's receiver if the bytes that the flow `onward` has delivered free enough of the
/// buffer.
fn send_window_update<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow, onward: Flow) {
    let freed = hosts.flows[onward.index()].sender.flight().una;
    let state = &mut hosts.flows[flow.index()];
    let next_ack = state.acks.next_number();
    let received = state.receiver.delivered();
    let is_update_due = state
        .proxy
        .as_mut()
        .and_then(|proxy| proxy.forwarding.as_mut())
        .is_some_and(|forwarding| forwarding.windows.open(freed, next_ack, received));
    if is_update_due {
        state.receiver.repeat_ack();
        hosts.send_ack(medium, flow, UNKNOWN);
    }
}

/// Sends a zero-window probe: retransmits an acknowledged byte, so that the ACK reports the window. The ACK that opened
/// the window may have been lost.
fn send_window_probe<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let travels = medium.travels(Circuit::of_data(flow));
    let now = hosts.clock.now;
    let state = &mut hosts.flows[flow.index()];
    let rto = state.sender.timer().rto();
    let una = state.sender.flight().una;
    let Some(forwarding) = state.proxy.as_mut().and_then(|proxy| proxy.forwarding.as_mut()) else {
        return;
    };
    forwarding.probes += 1;
    forwarding.unanswered += 1;
    forwarding.probe_due = (now + forwarding.probe_interval(rto)).into();
    let timestamp = forwarding.timestamps.then_some(now);
    let sequence = una - 1;
    let segment = DataSegment {
        sequence: sequence + state.base,
        length: 1,
        retransmission: true,
        timestamp: timestamp.into(),
        ..DataSegment::default()
    };
    let frame = state.data.number(travels, segment);
    hosts
        .probe
        .observe(Event::Sent(now, flow, frame, &DataSegment { sequence, ..segment }));
    medium.send_unsolicited(hosts, Circuit::of_data(flow), frame, &segment);
    hosts.arm_sending_host(medium, flow);
}

/// Returns the results of the buffer that a flow fills, if there is one; an error if they violate an invariant: no byte
/// is forwarded before it was delivered to the proxy, and the buffer never holds more than its size.
pub(crate) fn report<P: Probe>(hosts: &Hosts<P>, flow: Flow) -> Option<Result<ProxyReport, String>> {
    let forwarding = hosts.flows[flow.index()].proxy.as_ref()?.forwarding.as_ref()?;
    let (from, onward) = (&hosts.flows[flow.index()], &hosts.flows[forwarding.flow.index()]);
    let delivered = from.receiver.delivered();
    let flight = onward.sender.flight();
    let held = delivered - flight.una;
    let now = hosts.clock.now;
    let report = ProxyReport {
        flow: flow.index(),
        forwarded_over: forwarding.flow.index(),
        mean_bytes: forwarding.buffer_use.mean(now),
        peak_bytes: forwarding.buffer_use.peak(),
        held_bytes: held,
        window_updates: forwarding.windows.updates(),
        window_probes: forwarding.probes,
    };
    let buffer_bytes = forwarding.windows.buffer_bytes();
    let is_conserved = flight.max <= delivered
        && onward.receiver.delivered() <= delivered
        && forwarding.buffer_use.held() == held
        && report.peak_bytes <= buffer_bytes
        && from.receiver.highest() <= flight.una + buffer_bytes;
    Some(if is_conserved {
        Ok(report)
    } else {
        Err(format!(
            "{report:?}, {delivered} delivered, {flight:?}, room for {buffer_bytes}"
        ))
    })
}
