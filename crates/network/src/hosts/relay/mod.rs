//! Split-TCP proxies (performance enhancing proxies, RFC 3135): a proxy acknowledges the data of one connection, keeps them in a
//! buffer, and forwards them over the next connection, whose ACKs free the buffer.
//!
//! ```text
//! sender ── data ─▶ receiver ─▶ buffer ─▶ sender ── data ─▶ receiver
//!    ◀─ ACK, window ──┘ ◀── room ──────────┘ ◀── ACK ──────────┘
//! ```
//!
//! Every TCP header contains the window. To keep packets unchanged, the sender looks up the window by the number of the ACK that
//! would contain it (`windows.rs`). Data beyond the window's edge are withheld from the sender as if its application had not
//! written them.

mod account;
pub(super) mod onward;
mod windows;

use super::Hosts;
use crate::clock::{Actor, START, UNKNOWN};
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Flow};
use crate::report::flows::RelayReport;
use longpipe_tcp::{AckSegment, DataSegment};
use onward::Onward;

fn onward<P: Probe>(hosts: &mut Hosts<P>, flow: Flow) -> Option<&mut Onward> {
    hosts.flows[flow.index()].relay.as_mut()?.onward.as_mut()
}

/// Starts a split connection, or sends a zero-window probe that is due.
#[cold]
pub(super) fn on_clock<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    if let Some(relay) = &mut hosts.flows[flow.index()].relay {
        if std::mem::replace(&mut relay.started, true) {
            return ask_for_window(hosts, medium, flow);
        }
    }
    send(hosts, medium, flow);
}

/// Forwards new data of a flow's receiver.
#[cold]
pub(super) fn pass_on<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let Some(to) = onward(hosts, flow).map(|onward| onward.flow) else {
        return;
    };
    count_held(hosts, flow, to);
    send(hosts, medium, to);
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
    let of_window_alone = onward(hosts, flow).is_some_and(|onward| onward.windows.hear(frame));
    let sender = &mut hosts.flows[flow.index()].sender;
    // Not a duplicate ACK, because the window has changed (RFC 5681 section 2).
    if !of_window_alone || ack.acknowledgement > sender.flight().una {
        sender.on_ack(now, ack);
    }
    send(hosts, medium, flow);
    let source = hosts.flows[flow.index()].relay.as_ref().and_then(|relay| relay.source);
    if let Some(source) = source {
        count_held(hosts, source, flow);
        tell_of_room(hosts, medium, source, flow);
    }
}

/// Passes the available data within the window to a sender.
fn send<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let ready = ready_bytes(hosts, flow);
    let edge = onward(hosts, flow).map_or(u64::MAX, |onward| onward.windows.known());
    hosts.flows[flow.index()].sender.write_up_to(ready.min(edge));
    hosts.send_data(medium, flow);
    let space = hosts.flows[flow.index()].sender.flight();
    let stalls = space.una == space.max && space.max == edge && edge < ready;
    let rto = hosts.flows[flow.index()].sender.timer().rto();
    let now = hosts.clock.now;
    let Some(onward) = onward(hosts, flow) else { return };
    if !stalls {
        onward.unanswered = 0;
    }
    if stalls != onward.waits {
        onward.waits = stalls;
        if stalls {
            let due = now + onward.patience(rto);
            hosts.clock.set(Actor::Start(flow), due, START);
        } else {
            hosts.clock.cancel(Actor::Start(flow));
        }
    }
}

/// Returns the data that a flow may send so far [byte].
fn ready_bytes<P: Probe>(hosts: &Hosts<P>, flow: Flow) -> u64 {
    let state = &hosts.flows[flow.index()];
    match state.relay.as_ref().and_then(|relay| relay.source) {
        Some(source) => hosts.flows[source.index()].receiver.delivered(),
        None => state.size,
    }
}

/// Updates the occupancy of the buffer between a flow and the forwarding flow.
fn count_held<P: Probe>(hosts: &mut Hosts<P>, flow: Flow, to: Flow) {
    let held = hosts.flows[flow.index()].receiver.delivered() - hosts.flows[to.index()].sender.flight().una;
    let now = hosts.clock.now;
    if let Some(onward) = onward(hosts, flow) {
        onward.account.set(now, held);
    }
}

/// Sends a window update from a flow's receiver if it is worth an ACK.
fn tell_of_room<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow, to: Flow) {
    let (freed, state) = (
        hosts.flows[to.index()].sender.flight().una,
        &mut hosts.flows[flow.index()],
    );
    let (next, received) = (state.acks.next_number(), state.receiver.delivered());
    let tells = state
        .relay
        .as_mut()
        .and_then(|relay| relay.onward.as_mut())
        .is_some_and(|onward| onward.windows.open(freed, next, received));
    if tells {
        state.receiver.tell_again();
        hosts.send_ack(medium, flow, UNKNOWN);
    }
}

/// Sends a zero-window probe: retransmits an acknowledged byte, so that the ACK reports the window. The ACK that opened the
/// window may have been lost.
fn ask_for_window<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let (travels, now) = (medium.travels(Circuit::of_data(flow)), hosts.clock.now);
    let state = &mut hosts.flows[flow.index()];
    let rto = state.sender.timer().rto();
    let una = state.sender.flight().una;
    let Some(onward) = state.relay.as_mut().and_then(|relay| relay.onward.as_mut()) else {
        return;
    };
    onward.probes += 1;
    onward.unanswered += 1;
    let (due, timestamp) = (now + onward.patience(rto), onward.timestamps.then_some(now));
    let segment = DataSegment {
        sequence: una - 1,
        length: 1,
        retransmission: true,
        timestamp: timestamp.into(),
        ..DataSegment::default()
    };
    let frame = state.data.number(travels, segment);
    hosts.probe.sent(now, flow, frame, &segment);
    medium.send_off(hosts, Circuit::of_data(flow), frame, &segment);
    hosts.clock.set(Actor::Start(flow), due, START);
}

/// Returns the results of the buffer behind a flow, if there is one.
pub(crate) fn report<P: Probe>(hosts: &Hosts<P>, flow: Flow) -> Option<Result<RelayReport, String>> {
    let onward = hosts.flows[flow.index()].relay.as_ref()?.onward.as_ref()?;
    let (from, to) = (&hosts.flows[flow.index()], &hosts.flows[onward.flow.index()]);
    let (delivered, space) = (from.receiver.delivered(), to.sender.flight());
    let (held, now) = (delivered - space.una, hosts.clock.now);
    let report = RelayReport {
        flow: flow.index(),
        onward: onward.flow.index(),
        mean_bytes: onward.account.mean(now),
        peak_bytes: onward.account.peak(),
        held_bytes: held,
        window_updates: onward.windows.updates(),
        window_probes: onward.probes,
    };
    let most = onward.windows.buffer_bytes();
    let holds = space.max <= delivered
        && to.receiver.delivered() <= delivered
        && onward.account.held() == held
        && report.peak_bytes <= most
        && from.receiver.highest() <= space.una + most;
    Some(if holds {
        Ok(report)
    } else {
        Err(format!("{report:?}, {delivered} delivered, {space:?}, room for {most}"))
    })
}
