//! Shortcuts for frames that need no events of their own.
//!
//! 1. An ACK passes its port at once if no other ACK can reach the port before it (`is_order_proven`).
//! 2. An end point processes data and ACKs without options by its fast path, if it would only acknowledge the data, or
//!    only send full segments (`take_data_frame_on_fast_path`, `take_ack_frame_on_fast_path`).

use super::by_frames::train_port;
use super::interface::ScheduledFrame;
use super::port::trains::{First, Last};
use super::Atm;
use crate::clock::UNKNOWN;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::{Options, Packet};
use crate::scenario::topology::{Entry, Step};
use longpipe_events::{Span, Time};

impl Atm {
    /// Returns whether an ACK precedes all other ACKs at its port, so that it may pass the port before its last cell
    /// arrives at `last`. Three conditions are necessary:
    ///
    /// 1. `last` is less than `ack_lookahead`, the lookahead of the ACK's interface (`lookahead/acks.rs`), after
    ///    `left_trunk`, the time at which the acknowledged data left the trunk. Data that leave the trunk later then
    ///    cause only later ACKs.
    /// 2. `last` is not after `until`, up to which the run is simulated: frames that arrive later have not been delivered,
    ///    and the report counts cells after the end of the run as in transit.
    /// 3. No ACK is queued at a host, because it may reach the port before `last`.
    ///
    /// The caller must ensure that the ACKs in transit to this port precede the ACK.
    #[inline(always)]
    pub(crate) fn is_order_proven(&self, ack_lookahead: Span, last: Time, left_trunk: Time, until: Time) -> bool {
        // If `left_trunk` is `UNKNOWN`, the difference wraps around and exceeds every lookahead.
        let is_within_lookahead = last.0.wrapping_sub(left_trunk.0) < ack_lookahead.0;
        // `&` evaluates all conditions, because separate branches would be unpredictable.
        is_within_lookahead & (last <= until) & (self.in_transit.acks_elsewhere == 0)
    }

    /// Passes an ACK through its port now, after the ACKs in transit to the port. The ACK must precede all ACKs that are
    /// sent later (`is_order_proven`).
    #[inline(always)]
    pub(crate) fn pass_port_at_once<P: Probe>(&mut self, hosts: &mut Hosts<P>, frame: ScheduledFrame) {
        let Step { link, local } = self.topology.steps[frame.packet.step() as usize];
        let port = train_port(&mut self.links, link);
        let lane = port.lane;
        if self.in_transit.is_empty(lane) {
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
            // `on_lone` returns None if the port may drop or delay the cells.
            if let Some(slot) = port.on_lone(first, last) {
                let departure = port.grid.start(slot + 1) + port.delay;
                // An ACK never causes another ACK.
                if frame.packet.has_options() {
                    self.leave_with_options(hosts, (link, frame.packet), (departure, UNKNOWN));
                } else {
                    let passed = (frame.packet.further(), departure);
                    self.pass_on(hosts, link, passed, &Options::NONE, UNKNOWN);
                }
                return;
            }
        }
        self.pass_port_behind_others(hosts, lane, frame);
    }

    /// Slow path of `pass_port_at_once`, for ACKs that are behind others or at a port that may drop them.
    #[inline(never)]
    fn pass_port_behind_others<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize, frame: ScheduledFrame) {
        self.announce(hosts, frame.packet, frame.cells, frame.accepted());
        let now = hosts.clock.now;
        while self.in_transit.arrives_by(lane, frame.last) {
            self.take_edge_apart(hosts, lane);
        }
        hosts.clock.now = now;
    }

    /// Delivers data without options to their receiver in an untraced run, and sends their ACK. Returns the result of
    /// `send_frame`. If the receiver may do more than acknowledge the data at once, returns None without changing
    /// anything.
    #[inline(always)]
    pub(crate) fn take_data_frame_on_fast_path<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        packet: Packet,
        left_trunk: Time,
    ) -> Option<Option<ScheduledFrame>> {
        let (flow, acks) = (packet.vc().flow(), packet.vc().reverse());
        if !self.by_edges[acks.index()] {
            return None;
        }
        let state = &mut hosts.flows[flow.index()];
        let acknowledgement = state
            .receiver
            .try_fast_path(packet.sequence(), packet.segment_bytes())?;
        if acknowledgement >= state.awaited {
            state.on_awaited(hosts.clock.now);
        }
        let Entry { link, step } = state.way_back;
        let ack = Packet::ack_without_options(acks, step, acknowledgement);
        Some(self.send_frame(hosts, link, ack, &Options::NONE, left_trunk))
    }

    /// Delivers an ACK without options to its sender in an untraced run. Returns false if the sender may do more than
    /// send full segments.
    #[inline(always)]
    pub(crate) fn take_ack_frame_on_fast_path<P: Probe>(&mut self, hosts: &mut Hosts<P>, packet: Packet) -> bool {
        let (flow, data) = (packet.vc().flow(), packet.vc().reverse());
        let (now, by_edges) = (hosts.clock.now, self.by_edges[data.index()]);
        let state = &mut hosts.flows[flow.index()];
        // Only the general path stores the contents of packets that frames do not carry.
        if !by_edges || !state.sender.try_fast_path(now, packet.sequence()) {
            return false;
        }
        let Entry { link, step } = state.way;
        let mss = state.sender.mss_bytes();
        while let Some((sequence, retransmission)) = hosts.flows[flow.index()].sender.poll_full(now) {
            let capable = hosts.flows[flow.index()].sender.is_capable(retransmission);
            let segment = (sequence, retransmission, capable);
            let frame = hosts.flows[flow.index()].data.number_only();
            let packet = Packet::data_without_options(data, frame, step, segment, mss);
            self.send_frame(hosts, link, packet, &Options::NONE, UNKNOWN);
        }
        let state = &hosts.flows[flow.index()];
        // The general path sends what is not a full segment, and arms the timer if it expires earlier than before.
        if !state.sender.is_spent() | (state.sender.next_fast_path_timeout() < state.sender_armed) {
            hosts.send_data(self, flow);
        }
        true
    }
}
