//! Clients and servers of web traffic and of videos: clients send requests, and servers answer with files.

use super::requests::{Exchange, Requests};
use super::{proxy, Hosts};
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

/// Handles the arrival of a request at the server, or at a proxy, which forwards it.
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
    let arrived = requests.receiver.delivered();
    match state.proxy.as_ref().map(|proxy| (proxy.source, proxy.last)) {
        None => {
            let written = requests
                .exchange
                .as_mut()
                .map_or(0, |exchange| exchange.answer(now, arrived));
            state.sender.write_up_to(written);
            send_request_ack(hosts, medium, flow);
            hosts.send_data(medium, flow);
        }
        Some((Some(source), _)) => {
            send_request_ack(hosts, medium, flow);
            if let Some(requests) = hosts.flows[source.index()].application.try_as_requests_mut() {
                requests.sender.write_up_to(arrived);
                send_requests(hosts, medium, source);
            }
        }
        Some((None, last)) => {
            if let Some(exchange) = hosts.exchange_mut(last) {
                exchange.answer(now, arrived);
            }
            send_request_ack(hosts, medium, flow);
            proxy::send(hosts, medium, flow);
        }
    }
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

impl<P: Probe> Hosts<P> {
    /// Returns a connection's direction of requests, and the client with its files; None if no client is at its end.
    pub(crate) fn exchange(&self, flow: Flow) -> Option<(&Requests, &Exchange)> {
        let requests = self.requests(flow)?;
        Some((requests, requests.exchange.as_ref()?))
    }

    fn requests(&self, flow: Flow) -> Option<&Requests> {
        self.flows[flow.index()]
            .application
            .try_as_requests_ref()
            .map(|requests| &**requests)
    }

    /// Returns an invariant of a flow's requests and files that is violated, if any.
    pub(crate) fn broken_requests(&self, flow: Flow) -> Option<String> {
        let requests = self.requests(flow)?;
        let arrived = |flow: Flow| self.requests(flow).map_or(0, |requests| requests.receiver.delivered());
        let Some(exchange) = &requests.exchange else {
            return requests.broken(self.onward(flow).map_or(0, arrived));
        };
        let mut first = flow;
        while let Some(source) = self.flows[first.index()].proxy.as_ref().and_then(|proxy| proxy.source) {
            first = source;
        }
        let delivered = self.flows[flow.index()].receiver.delivered();
        let broken = requests.broken(exchange.requested_bytes());
        broken.or_else(|| exchange.broken(arrived(first), delivered))
    }

    /// Returns the client of a connection, and the files that it has requested.
    pub(super) fn exchange_mut(&mut self, flow: Flow) -> Option<&mut Exchange> {
        let requests = self.flows[flow.index()].application.try_as_requests_mut()?;
        requests.exchange.as_mut()
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
