//! What most packets do at a host that they reach ahead of time: full segments in order, each answered by an ACK without
//! options, and such ACKs, each answered by what the window then allows.

use super::wire::End;
use super::{OnWire, Packet};
use crate::probe::Probe;
use crate::simulation::Simulation;
use crate::topology::Entry;
use longpipe_events::Time;

impl<P: Probe> Simulation<P> {
    /// A packet reaches a host ahead of time, where nothing precedes it.
    #[inline(always)]
    pub(super) fn reach_quiet_host(&mut self, arrival: Time, packet: Packet) {
        if packet.is_plain_data() {
            self.take_plain_data(arrival, packet);
        } else {
            self.reach_quiet_sender(arrival, packet);
        }
    }

    /// Likewise a packet that is no plain data.
    #[inline(always)]
    fn reach_quiet_sender(&mut self, arrival: Time, packet: Packet) {
        if packet.is_plain_ack() {
            self.take_plain_ack(arrival, packet);
        } else {
            self.hand_over_ahead(OnWire { arrival, packet });
        }
    }

    #[inline(always)]
    fn take_plain_data(&mut self, arrival: Time, packet: Packet) {
        let state = &mut self.flows[(packet.vc() / 2) as usize];
        let plain = state.receiver.take_plain(packet.sequence(), packet.segment_bytes());
        let Some(acknowledgement) = plain.filter(|_| self.jitter.is_empty()) else {
            return self.hand_over_ahead(OnWire { arrival, packet });
        };
        if acknowledgement >= state.awaited {
            state.on_awaited(arrival);
        }
        let Entry { link, step } = state.way_back;
        let packet = Packet::plain_ack(packet.vc() + 1, step, acknowledgement);
        let wire = &mut self.wires[link as usize];
        let Some(onward) = wire.send(arrival, packet.bytes(), || 0) else {
            return;
        };
        let lead = wire.lead;
        let next = OnWire {
            arrival: onward,
            packet,
        };
        if !self.is_certain(lead, onward) {
            return self.set_out_ahead(link, next, arrival);
        }
        if let Some(OnWire { arrival, packet }) = self.travel(next, false) {
            self.take_plain_ack(arrival, packet);
        }
    }

    #[inline(always)]
    fn take_plain_ack(&mut self, arrival: Time, packet: Packet) {
        let flow = (packet.vc() / 2) as usize;
        let state = &mut self.flows[flow];
        let sender = &mut state.sender;
        if !self.jitter.is_empty() || !sender.take_plain(arrival, packet.sequence()) {
            return self.hand_over_ahead(OnWire { arrival, packet });
        }
        let Entry { link, step } = state.way;
        let wire = &mut self.wires[link as usize];
        let mss = sender.mss_bytes();
        while let Some(segment) = sender.poll_full(arrival) {
            let next = |arrival| OnWire {
                arrival,
                packet: Packet::plain_data(packet.vc() - 1, step, segment, mss),
            };
            let Some(onward) = wire.send(arrival, next(arrival).packet.bytes(), || 0) else {
                continue;
            };
            if wire.line.end != End::Shared || !self.lanes.append_plain_data(next(onward)) {
                return self.send_rest(flow, link, next(onward), arrival);
            }
        }
        if !sender.is_spent() | (sender.next_timeout() < state.sender_armed) {
            self.send_on_ahead(flow, arrival);
        }
    }

    /// A flow's packet that left its host at `now`, ahead of time, is on its way; sends what the window allows beyond it.
    #[inline(never)]
    fn send_rest(&mut self, flow: usize, link: u32, next: OnWire, now: Time) {
        self.set_out_ahead(link, next, now);
        self.send_on_ahead(flow, now);
    }

    #[inline(never)]
    fn send_on_ahead(&mut self, flow: usize, now: Time) {
        let now = self.begin_ahead(now);
        self.send_data(flow);
        self.end_ahead(now);
    }

    /// A packet that left its host at `now`, ahead of time, is on its way over its first link.
    #[inline(never)]
    fn set_out_ahead(&mut self, link: u32, next: OnWire, now: Time) {
        let now = self.begin_ahead(now);
        self.set_out(link, next);
        self.end_ahead(now);
    }
}
