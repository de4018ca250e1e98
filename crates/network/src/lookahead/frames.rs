//! What needs no event of its own: frames of ACKs whose place at their port is certain, and what plain ACKs bring about.

use crate::atm::by_frames::train_port;
use crate::atm::interface::Frame;
use crate::atm::port::trains::{First, Last};
use crate::atm::Atm;
use crate::clock::UNKNOWN;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::{Options, Packet};
use crate::scenario::topology::{Entry, Step};
use longpipe_events::{Span, Time};

impl Atm {
    /// Whether an ACK of data that left their trunk at `since`, whose last cell reaches a port at `last` from an interface of
    /// this lead, precedes all others there, if none is on its way.
    #[inline(always)]
    pub(crate) fn is_certain(&self, lead: Span, last: Time, since: Time, end: Time) -> bool {
        let soon = last.0.wrapping_sub(since.0) < lead.0;
        soon & (last <= end) & (self.under_way.astray == 0)
    }

    /// An ACK that precedes all that are not on their way yet passes its port now, after those that are.
    #[inline(always)]
    pub(crate) fn go_on_at_once<P: Probe>(&mut self, hosts: &mut Hosts<P>, frame: Frame) {
        let Step { link, local } = self.topology.steps[frame.packet.step() as usize];
        let port = train_port(&mut self.links, link);
        let lane = port.lane;
        if self.under_way.is_empty(lane) {
            let (slot, cells) = (frame.slot, frame.cells);
            let first = First {
                batch: slot,
                local,
                cells,
            };
            let last = Last {
                time: frame.last,
                batch: slot + u64::from(cells) - 1,
                local,
                cells,
            };
            if let Some(slot) = port.on_lone(first, last) {
                let leaves = port.grid.start(slot + 1) + port.delay;
                // An ACK brings about no other.
                if frame.packet.has_options() {
                    self.leave_with_options(hosts, (link, frame.packet), (leaves, UNKNOWN));
                } else {
                    let passed = (frame.packet.further(), leaves);
                    self.pass_on(hosts, link, passed, &Options::NONE, UNKNOWN);
                }
                return;
            }
        }
        self.go_on_behind_others(hosts, lane, frame);
    }

    /// The same where others are on their way, or the port may refuse it.
    #[inline(never)]
    fn go_on_behind_others<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize, frame: Frame) {
        self.announce(hosts, frame.packet, frame.cells, frame.accepted());
        let now = hosts.clock.now;
        while self.under_way.arrives_by(lane, frame.last) {
            self.take_edge_apart(hosts, lane);
        }
        hosts.clock.now = now;
    }

    /// An ACK without options reaches its sender, where nobody watches; false if more may follow than full segments.
    #[inline(always)]
    pub(crate) fn take_plain_ack_frame<P: Probe>(&mut self, hosts: &mut Hosts<P>, packet: Packet) -> bool {
        let (flow, data) = (packet.vc().flow(), packet.vc().reverse());
        let (now, travels) = (hosts.clock.now, self.travels[data.index()]);
        let state = &mut hosts.flows[flow.index()];
        if !travels || !state.sender.take_plain(now, packet.sequence()) {
            return false;
        }
        let Entry { link, step } = state.way;
        let mss = state.sender.mss_bytes();
        while let Some(segment) = hosts.flows[flow.index()].sender.poll_full(now) {
            let packet = Packet::plain_data(data, step, segment, mss);
            self.send_frame(hosts, link, packet, &Options::NONE, UNKNOWN);
        }
        let state = &hosts.flows[flow.index()];
        if !state.sender.is_spent() | (state.sender.next_calm_timeout() < state.sender_armed) {
            hosts.send_data(self, flow);
        }
        true
    }
}
