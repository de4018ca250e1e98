//! What needs no event of its own: frames of ACKs whose place at their port is certain, and what plain ACKs bring about.

use crate::ip::Packet;
use crate::nic::Frame;
use crate::port::trains::{First, Last};
use crate::probe::Probe;
use crate::simulation::{Simulation, UNKNOWN};
use crate::topology::{Entry, Step};
use crate::trains::train_port;
use longpipe_events::{Span, Time};

impl<P: Probe> Simulation<P> {
    /// Whether an ACK whose last cell reaches a port at `last` from an interface of this lead precedes all others there,
    /// if none is on its way.
    #[inline(always)]
    pub(crate) fn is_certain_frame(&self, lead: Span, last: Time) -> bool {
        let soon = last.0.wrapping_sub(self.left_trunk.0) < lead.0;
        soon & (last <= self.end) & (self.under_way.astray == 0)
    }

    /// An ACK that precedes all that are not on their way yet passes its port now, after those that are.
    #[inline(always)]
    pub(crate) fn go_on_at_once(&mut self, ack: Frame) {
        self.left_trunk = UNKNOWN;
        let Step { link, local } = self.topology.steps[ack.packet.step() as usize];
        let port = train_port(&mut self.links, link);
        let lane = port.lane;
        if self.under_way.is_empty(lane) {
            let (slot, cells) = (ack.slot, ack.cells);
            let first = First {
                time: ack.first,
                batch: slot,
                local,
                cells,
            };
            let last = Last {
                time: ack.last,
                batch: slot + u64::from(cells) - 1,
                local,
                cells,
            };
            if let Some(slot) = port.on_lone(first, last) {
                let leaves = port.grid.start(slot + 1) + port.delay;
                return self.pass_on(link as usize, ack.packet.further(), leaves);
            }
        }
        self.go_on_behind_others(lane, ack);
    }

    /// The same where others are on their way, or the port may refuse it.
    #[inline(never)]
    fn go_on_behind_others(&mut self, lane: usize, ack: Frame) {
        self.under_way.keep_options(&ack.packet, &self.options);
        self.announce(ack.packet, ack.cells, ack.accepted());
        let now = self.now;
        while self.under_way.arrives_by(lane, ack.last) {
            self.take_edge(lane);
        }
        self.now = now;
    }

    /// An ACK without options reaches its sender, where nobody watches; false if more may follow than full segments.
    #[inline(always)]
    pub(crate) fn take_plain_ack_frame(&mut self, packet: Packet) -> bool {
        let (flow, data) = ((packet.vc() / 2) as usize, packet.vc() & !1);
        let travels = self.travels(data as usize);
        let state = &mut self.flows[flow];
        if !travels || !state.sender.take_plain(self.now, packet.sequence()) {
            return false;
        }
        let Entry { link, step } = state.way;
        let mss = state.sender.mss_bytes();
        while let Some(segment) = self.flows[flow].sender.poll_full(self.now) {
            self.send_frame(link, Packet::plain_data(data, step, segment, mss));
        }
        let state = &self.flows[flow];
        if !state.sender.is_spent() | (state.sender.next_timeout() < state.sender_armed) {
            self.send_data(flow);
        }
        true
    }
}
