//! Processing of arriving packets by end points, and sending of data and ACKs.

use super::{arriving, datagrams, external, proxy, request_response, Hosts};
use crate::clock::UNKNOWN;
use crate::hosts::medium::Medium;
use crate::observe::probe::{Detail, Event, Probe};
use crate::packets::payload::{AckWithoutOptions, SparseAck};
use crate::packets::NO_OPTIONS;
use crate::packets::{Circuit, Flow, Link, Options, Packet};
use longpipe_events::Time;
use longpipe_tcp::{AckSegment, DataSegment};

impl<P: Probe> Hosts<P> {
    /// Delivers a packet to its end point at the current time; `left_trunk` is its departure time from its trunk
    /// (`lookahead/acks.rs`). Returns the result of `Medium::send` for the ACK sent in response.
    #[inline(always)]
    pub fn receive<M: Medium>(
        &mut self,
        medium: &mut M,
        packet: Packet,
        options: &Options,
        left_trunk: Time,
    ) -> M::Proven {
        let flow = packet.vc().flow();
        if packet.is_of_request() || packet.has_extras() || !self.arriving.is_empty() {
            return self.receive_in_full(medium, packet, options, left_trunk);
        }
        if packet.is_data() {
            let segment = packet.segment(&NO_OPTIONS);
            let receiver = &mut self.flows[flow.index()].receiver;
            if let Some(acknowledgement) = receiver.try_fast_path(segment.sequence, segment.length) {
                return self.acknowledge(medium, (flow, packet.frame()), &segment, acknowledgement, left_trunk);
            }
            self.receive_data(medium, packet, left_trunk)
        } else {
            self.receive_ack(medium, packet);
            M::Proven::default()
        }
    }

    /// Like `receive`, but for data of a flow without options or flags, for which the receiver's fast path does not
    /// apply.
    #[inline(always)]
    pub fn receive_data<M: Medium>(&mut self, medium: &mut M, packet: Packet, left_trunk: Time) -> M::Proven {
        if !self.arriving.is_empty() {
            return self.receive_in_full(medium, packet, &NO_OPTIONS, left_trunk);
        }
        let segment = packet.segment(&NO_OPTIONS);
        self.on_data(medium, packet.vc().flow(), packet.frame(), &segment, left_trunk)
    }

    /// Like `receive`, but for an ACK of a flow's data without options or flags.
    #[inline(always)]
    pub fn receive_ack<M: Medium>(&mut self, medium: &mut M, packet: Packet) {
        if !self.arriving.is_empty() {
            self.receive_in_full(medium, packet, &NO_OPTIONS, UNKNOWN);
            return;
        }
        self.on_ack(medium, packet.vc().flow(), packet.frame(), &packet.ack(&NO_OPTIONS));
    }

    /// Like `receive`, but for any kind of packet.
    #[inline(never)]
    pub fn receive_in_full<M: Medium>(
        &mut self,
        medium: &mut M,
        packet: Packet,
        options: &Options,
        left_trunk: Time,
    ) -> M::Proven {
        if !packet.is_of_sender() {
            self.receive_other(medium, packet, options);
            return M::Proven::default();
        }
        let Some(packet) = packet.since(self.flows[packet.vc().flow().index()].base) else {
            return M::Proven::default();
        };
        let (flow, frame) = (packet.vc().flow(), packet.frame());
        if !packet.vc().is_back() {
            return self.on_data(medium, flow, frame, &packet.segment(options), left_trunk);
        }
        self.on_ack(medium, flow, frame, &packet.ack(options));
        arriving::on_ack(self, flow);
        M::Proven::default()
    }

    /// Delivers a packet that is neither data of a flow nor an ACK of such data.
    #[inline(never)]
    fn receive_other<M: Medium>(&mut self, medium: &mut M, packet: Packet, options: &Options) {
        let (flow, frame) = (packet.vc().flow(), packet.frame());
        if packet.is_external() {
            external::deliver(self, packet);
        } else if packet.is_datagram() {
            datagrams::applications::arrive(self, flow, frame, &packet.datagram());
        } else if packet.is_data() {
            request_response::on_request(self, medium, flow, frame, &packet.segment(options));
        } else {
            request_response::on_request_ack(self, medium, flow, frame, &packet.ack(options));
        }
    }

    /// Acknowledges data that the receiver accepted in order, with a packet without options.
    #[inline(always)]
    fn acknowledge<M: Medium>(
        &mut self,
        medium: &mut M,
        (flow, frame): (Flow, u32),
        segment: &DataSegment,
        acknowledgement: u64,
        left_trunk: Time,
    ) -> M::Proven {
        let now = self.clock.now;
        let travels = medium.travels(Circuit::of_acks(flow));
        let state = &mut self.flows[flow.index()];
        self.probe.observe(Event::Received(now, flow, frame, segment));
        if acknowledgement >= state.awaited {
            state.on_awaited(now);
        }
        let ack = AckSegment {
            acknowledgement,
            ..AckSegment::default()
        };
        let frame = state.acks.number(travels, ack);
        self.probe.observe(Event::Answered(now, flow, frame, &ack));
        medium.send(
            self,
            Circuit::of_acks(flow),
            frame,
            &AckWithoutOptions(acknowledgement),
            left_trunk,
        )
    }

    /// Delivers data to their receiver.
    #[inline(always)]
    fn on_data<M: Medium>(
        &mut self,
        medium: &mut M,
        flow: Flow,
        frame: u32,
        segment: &DataSegment,
        left_trunk: Time,
    ) -> M::Proven {
        let now = self.clock.now;
        let state = &mut self.flows[flow.index()];
        self.probe.observe(Event::Received(now, flow, frame, segment));
        state.set_echoed(segment.timestamp, segment.sequence);
        state.receiver.on_segment(now, segment);
        if state.receiver.delivered() >= state.awaited {
            state.on_awaited(now);
            proxy::forward_data(self, medium, flow);
        }
        self.send_ack(medium, flow, left_trunk)
    }

    /// Delivers an ACK to the sender.
    #[inline(always)]
    fn on_ack<M: Medium>(&mut self, medium: &mut M, flow: Flow, frame: u32, ack: &AckSegment) {
        let now = self.clock.now;
        self.probe.observe(Event::Acknowledged(now, flow, frame, ack));
        if self.flows[flow.index()].proxy.is_some() {
            return proxy::on_ack(self, medium, flow, frame, ack);
        }
        self.flows[flow.index()].sender.on_ack(now, ack);
        self.send_on(medium, flow);
    }

    /// Sends the data that the window allows, and re-arms the retransmission timer.
    #[inline(never)]
    pub fn send_data<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        self.send_on(medium, flow);
    }

    #[inline(always)]
    fn send_on<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        let travels = medium.travels(Circuit::of_data(flow));
        let now = self.clock.now;
        loop {
            let state = &mut self.flows[flow.index()];
            let Some(mut segment) = state.sender.poll_transmit(now) else {
                break;
            };
            let sequence = segment.sequence;
            segment.sequence += state.base;
            let frame = state.data.number(travels, segment);
            self.probe
                .observe(Event::Sent(now, flow, frame, &DataSegment { sequence, ..segment }));
            medium.send_unsolicited(self, Circuit::of_data(flow), frame, &segment);
        }
        let window = self.flows[flow.index()].sender.flight();
        self.probe.observe(Event::Window {
            now,
            flow,
            cwnd: window.cwnd(),
            ssthresh: window.ssthresh(),
        });
        if self.probe.wants(Detail::Control) {
            self.probe
                .observe(Event::Control(now, flow, &self.flows[flow.index()].sender.state()));
        }
        if self.probe.wants(Detail::SenderEvents) {
            self.report_events(flow);
        }
        self.watch_timer(flow);
        self.arm_sending_host(medium, flow);
    }

    /// Sends the ACK that is due for data that left their trunk (`lookahead/acks.rs`) at `left_trunk`, and re-arms the
    /// delayed-ACK timer.
    #[inline(always)]
    pub fn send_ack<M: Medium>(&mut self, medium: &mut M, flow: Flow, left_trunk: Time) -> M::Proven {
        let receiver = &mut self.flows[flow.index()].receiver;
        if receiver.acks_carry_more() & receiver.is_pending() {
            return self.send_ack_in_full(medium, flow, left_trunk);
        }
        let ack = receiver.poll_sparse();
        let proven = ack.map(|mut ack| {
            let frame = self.number_ack(medium, flow, &mut ack);
            medium.send(self, Circuit::of_acks(flow), frame, &SparseAck(ack), left_trunk)
        });
        self.arm_receiving_host(medium, flow);
        proven.unwrap_or_default()
    }

    /// Like `send_ack`, but for an ACK that may carry options.
    #[inline(never)]
    fn send_ack_in_full<M: Medium>(&mut self, medium: &mut M, flow: Flow, left_trunk: Time) -> M::Proven {
        let Some(mut ack) = self.flows[flow.index()].receiver.poll_transmit(self.clock.now) else {
            self.arm_receiving_host(medium, flow);
            return M::Proven::default();
        };
        let frame = self.number_ack(medium, flow, &mut ack);
        let proven = medium.send(self, Circuit::of_acks(flow), frame, &ack, left_trunk);
        if self.flows[flow.index()].receiver.is_pending() {
            self.send_further_acks(medium, flow);
        }
        self.arm_receiving_host(medium, flow);
        proven
    }

    /// Sends further ACKs that are due. Several ACKs can be due at the same time only if they are delayed, and
    /// lookahead does not apply to delayed ACKs.
    #[inline(never)]
    fn send_further_acks<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        while let Some(mut ack) = self.flows[flow.index()].receiver.poll_transmit(self.clock.now) {
            let frame = self.number_ack(medium, flow, &mut ack);
            medium.send_unsolicited(self, Circuit::of_acks(flow), frame, &ack);
        }
    }

    /// Returns the frame number for an ACK, and adds the base of the ACK's connection to its acknowledgement number.
    #[inline(always)]
    fn number_ack<M: Medium>(&mut self, medium: &M, flow: Flow, ack: &mut AckSegment) -> u32 {
        let travels = medium.travels(Circuit::of_acks(flow));
        let state = &mut self.flows[flow.index()];
        let acknowledgement = ack.acknowledgement;
        ack.acknowledgement += state.base;
        let frame = state.acks.number(travels, *ack);
        let numbered = AckSegment {
            acknowledgement,
            ..*ack
        };
        self.probe
            .observe(Event::Answered(self.clock.now, flow, frame, &numbered));
        frame
    }

    /// Notifies the probe that a sender's timer may have changed.
    #[inline(always)]
    fn watch_timer(&mut self, flow: Flow) {
        if !self.probe.is_idle() {
            let sender = &mut self.flows[flow.index()].sender;
            let measured = sender.take_measured();
            let timer = sender.timer();
            self.probe.observe(Event::Timer {
                now: self.clock.now,
                flow,
                measured,
                srtt: timer.srtt(),
                rto: timer.rto(),
            });
        }
    }

    /// Returns the time at which a packet sent now by the host at the start of a link reaches the host's interface.
    #[inline(always)]
    pub fn ready(&mut self, link: Link) -> Time {
        let now = self.clock.now;
        if self.jitter.is_empty() {
            return now;
        }
        match &mut self.jitter[self.origins[link.index()] as usize] {
            None => now,
            Some(jitter) => jitter.ready(now),
        }
    }
}
