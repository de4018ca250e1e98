//! Data in order, and ACKs of them, at a host without jitter that they reach ahead of time, of connections that keep records of
//! what they send: with timestamps or without, each data packet is answered at once or later, and each ACK by what the window,
//! and the time, then allow.

use crate::hosts::Hosts;
use crate::ip::port::line::End;
use crate::ip::{Ip, NO_OPTIONS};
use crate::observe::probe::Probe;
use crate::packets::payload::SparseAck;
use crate::packets::{Circuit, OnWire, Options, Packet};
use crate::scenario::topology::Entry;
use longpipe_events::{MaybeTime, Time};

impl Ip {
    /// A packet reaches a host ahead of time; false if more may follow than what one in order brings about. `since` is when it
    /// left its trunk.
    #[inline(always)]
    pub(super) fn take_in_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        since: Time,
    ) -> bool {
        if !next.packet.is_simple() {
            return false;
        }
        let stamp = match next.packet.has_options() {
            true if options.is_stamp_alone() => options.stamp(),
            true => return false,
            false => MaybeTime::NONE,
        };
        if next.packet.vc().is_back() {
            self.take_ack_in_order(hosts, next, stamp)
        } else {
            self.take_data_in_order(hosts, next, stamp, since)
        }
    }

    /// The same of data.
    #[inline(never)]
    fn take_data_in_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        stamp: MaybeTime,
        since: Time,
    ) -> bool {
        let OnWire { arrival, packet } = next;
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        let receiver = &mut state.receiver;
        if !receiver.take_in_order(arrival, packet.sequence(), packet.payload_bytes(stamp), stamp) {
            return false;
        }
        if receiver.delivered() >= state.awaited {
            state.on_awaited(arrival);
        }
        let receiver = &mut state.receiver;
        if !receiver.is_pending() {
            if receiver.next_timeout() < state.receiver_armed {
                hosts.arm_receiving_host(self, flow);
            }
            return true;
        }
        let ack = SparseAck(receiver.answer_in_order());
        let Entry { link, step } = state.way_back;
        let mut options = NO_OPTIONS;
        let packet = Packet::new(Circuit::of_acks(flow), 0, step, &ack, &mut options);
        let wire = &mut self.wires[link.index()];
        let Some(onward) = wire.send(arrival, packet.bytes(), |_| (0, false)) else {
            return true;
        };
        let (lead, end) = (wire.lead, wire.line.end);
        let next = OnWire {
            arrival: onward,
            packet,
        };
        if self.is_certain(lead, onward, since, hosts.clock.end) {
            self.go_on_for_certain(hosts, next, &options);
        } else if end != End::Shared || !self.lanes.append(next, &options) {
            self.set_out_ahead(hosts, link, next, &options, arrival);
        }
        true
    }

    /// The same of an ACK.
    #[inline(never)]
    fn take_ack_in_order<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, echo: MaybeTime) -> bool {
        let OnWire { arrival, packet } = next;
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        let sender = &mut state.sender;
        if !sender.take_in_order(arrival, packet.sequence(), echo.get()) {
            return false;
        }
        let Entry { link, step } = state.way;
        let wire = &mut self.wires[link.index()];
        let mut rest = None;
        while let Some(segment) = sender.poll_after_ack(arrival) {
            let mut options = NO_OPTIONS;
            let packet = Packet::new(Circuit::of_data(flow), 0, step, &segment, &mut options);
            let Some(onward) = wire.send(arrival, packet.bytes(), |_| (0, false)) else {
                continue;
            };
            let next = OnWire {
                arrival: onward,
                packet,
            };
            if wire.line.end != End::Shared || !self.lanes.append(next, &options) {
                rest = Some((next, options));
                break;
            }
        }
        let spent = sender.end_in_order(arrival);
        if let Some((next, options)) = rest {
            self.send_rest(hosts, (flow, link), next, &options, arrival);
        } else if !spent | (sender.next_timeout() < state.sender_armed) {
            self.send_on_ahead(hosts, flow, arrival);
        }
        true
    }
}
