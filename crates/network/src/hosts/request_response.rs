//! Clients and servers of web traffic and of videos: clients send requests, and servers answer with files.

use super::Hosts;
use crate::clock::{Actor, START};
use crate::hosts::medium::Medium;
use crate::observe::probe::{Event, Probe};
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Flow};
use longpipe_tcp::{AckSegment, DataSegment};

/// Processes a client's next request, which is due now.
pub(super) fn on_clock<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let now = hosts.clock.now;
    if let Some(requests) = hosts.flows[flow.index()].application.try_as_requests_mut() {
        let next = requests.request_file(now).get();
        if let Some(next) = next.filter(|&next| hosts.flows[flow.index()].is_active_at(next)) {
            hosts.clock.set(Actor::Start(flow), next, START);
        }
        send_requests(hosts, medium, flow);
    }
}

/// Handles the arrival of a request at the server.
#[cold]
pub(super) fn on_request<P: Probe, M: Medium>(
    hosts: &mut Hosts<P>,
    medium: &mut M,
    flow: Flow,
    frame: u32,
    segment: &DataSegment,
) {
    let now = hosts.clock.now;
    let state = &mut hosts.flows[flow.index()];
    let Some(requests) = state.application.try_as_requests_mut() else {
        return;
    };
    hosts.probe.observe(Event::Received(now, flow, frame, segment));
    requests.receiver.on_segment(now, segment);
    let written = requests.answer(now);
    state.sender.write_up_to(written);
    send_request_ack(hosts, medium, flow);
    hosts.send_data(medium, flow);
}

/// Handles the arrival of a request's ACK at the client.
#[cold]
pub(super) fn on_request_ack<P: Probe, M: Medium>(
    hosts: &mut Hosts<P>,
    medium: &mut M,
    flow: Flow,
    frame: u32,
    ack: &AckSegment,
) {
    let now = hosts.clock.now;
    let Some(requests) = hosts.flows[flow.index()].application.try_as_requests_mut() else {
        return;
    };
    hosts.probe.observe(Event::Acknowledged(now, flow, frame, ack));
    requests.sender.on_ack(now, ack);
    send_requests(hosts, medium, flow);
}

/// Handles a client timer: either the timer of the sender that carries requests, or that of a player's next request.
pub(super) fn on_client_timer<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let now = hosts.clock.now;
    let state = &mut hosts.flows[flow.index()];
    let is_active = state.is_active_at(now);
    if let Some(requests) = state.application.try_as_requests_mut() {
        requests.sender.on_timeout(now);
        requests.request_if_due(now, is_active);
        send_requests(hosts, medium, flow);
    }
}

/// Handles a timer of the receiver of requests at the server.
pub(super) fn on_server_timer<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    if let Some(requests) = hosts.flows[flow.index()].application.try_as_requests_mut() {
        requests.receiver.on_timeout(hosts.clock.now);
        send_request_ack(hosts, medium, flow);
    }
}

fn send_requests<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let (travels, now) = (medium.travels(Circuit::of_acks(flow)), hosts.clock.now);
    while let Some(requests) = hosts.flows[flow.index()].application.try_as_requests_mut() {
        let Some(segment) = requests.sender.poll_transmit(now) else {
            break;
        };
        let frame = requests.segments.number(travels, segment) | REQUEST;
        hosts.probe.observe(Event::Sent(now, flow, frame, &segment));
        medium.send_unsolicited(hosts, Circuit::of_acks(flow), frame, &segment);
    }
    hosts.arm_receiving_host(medium, flow);
}

fn send_request_ack<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let (travels, now) = (medium.travels(Circuit::of_data(flow)), hosts.clock.now);
    if let Some(requests) = hosts.flows[flow.index()].application.try_as_requests_mut() {
        if let Some(ack) = requests.receiver.poll_transmit(now) {
            let frame = requests.acks.number(travels, ack) | REQUEST;
            hosts.probe.observe(Event::Answered(now, flow, frame, &ack));
            medium.send_unsolicited(hosts, Circuit::of_data(flow), frame, &ack);
        }
    }
    hosts.arm_sending_host(medium, flow);
}
