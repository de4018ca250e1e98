//! What clients and servers of web traffic do: clients ask, servers answer.

use super::Hosts;
use crate::clock::{Actor, START, UNKNOWN};
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::circuit::REQUEST;
use longpipe_tcp::{AckSegment, DataSegment};

impl<P: Probe> Hosts<P> {
    /// It is time for a client to ask.
    pub fn on_client_clock<M: Medium>(&mut self, medium: &mut M, flow: usize) {
        let now = self.clock.now;
        if let Some(requests) = &mut self.flows[flow].requests {
            let next = requests.ask(now);
            self.clock.set(Actor::Start(flow), next, START);
            self.send_requests(medium, flow);
        }
    }

    /// A request reaches the server.
    #[cold]
    pub fn on_request<M: Medium>(&mut self, medium: &mut M, flow: usize, frame: u32, segment: &DataSegment) {
        let now = self.clock.now;
        let state = &mut self.flows[flow];
        let Some(requests) = &mut state.requests else { return };
        self.probe.received(now, flow as u32, frame, segment);
        requests.receiver.on_segment(now, segment);
        let written = requests.answer(now);
        state.sender.write_up_to(written);
        self.send_request_ack(medium, flow);
        self.send_data(medium, flow);
    }

    /// The ACK of a request reaches the client.
    #[cold]
    pub fn on_request_ack<M: Medium>(&mut self, medium: &mut M, flow: usize, frame: u32, ack: &AckSegment) {
        let now = self.clock.now;
        let Some(requests) = &mut self.flows[flow].requests else {
            return;
        };
        self.probe.acknowledged(now, flow as u32, frame, ack);
        requests.sender.on_ack(now, ack);
        self.send_requests(medium, flow);
    }

    /// The timers of requests, some time after which something was due at their sender (the client) ...
    pub fn on_client_timer<M: Medium>(&mut self, medium: &mut M, flow: usize) {
        if let Some(requests) = &mut self.flows[flow].requests {
            requests.sender.on_timeout(self.clock.now);
            self.send_requests(medium, flow);
        }
    }

    /// ... or at their receiver (the server).
    pub fn on_server_timer<M: Medium>(&mut self, medium: &mut M, flow: usize) {
        if let Some(requests) = &mut self.flows[flow].requests {
            requests.receiver.on_timeout(self.clock.now);
            self.send_request_ack(medium, flow);
        }
    }

    fn send_requests<M: Medium>(&mut self, medium: &mut M, flow: usize) {
        let (travels, now) = (medium.travels(2 * flow + 1), self.clock.now);
        while let Some(requests) = &mut self.flows[flow].requests {
            let Some(segment) = requests.sender.poll_transmit(now) else {
                break;
            };
            let frame = requests.segments.number(travels, segment) | REQUEST;
            self.probe.sent(now, flow as u32, frame, &segment);
            medium.send(self, 2 * flow as u32 + 1, frame, &segment, UNKNOWN);
        }
        self.arm_receiving_host(medium, flow);
    }

    fn send_request_ack<M: Medium>(&mut self, medium: &mut M, flow: usize) {
        let (travels, now) = (medium.travels(2 * flow), self.clock.now);
        if let Some(requests) = &mut self.flows[flow].requests {
            if let Some(ack) = requests.receiver.poll_transmit(now) {
                let frame = requests.acks.number(travels, ack) | REQUEST;
                self.probe.answered(now, flow as u32, frame, &ack);
                medium.send(self, 2 * flow as u32, frame, &ack, UNKNOWN);
            }
        }
        self.arm_sending_host(medium, flow);
    }
}
