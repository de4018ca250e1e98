//! Fast paths for packets that are delivered early to a host without jitter:
//!
//! - full segments in order, each answered by an ACK without options, and such ACKs, each answered by the data that the
//!   window then allows;
//! - data in order, with or without timestamps, acknowledged at once or later, and ACKs of such data at senders that
//!   keep transmission records or are paced;
//! - data in order that a pacer releases.

use super::forward::{HostArrival, ProvenAck};
use super::port::line::End;
use super::Ip;
use crate::clock::UNKNOWN;
use crate::hosts::due_acks::DueTimer;
use crate::hosts::medium::Medium;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::NO_OPTIONS;
use crate::packets::{Carried, Circuit, Flow, Link, OnWire, Options, Packet};
use crate::scenario::topology::Entry;
use longpipe_events::{MaybeTime, Time};

impl Ip {
    /// Delivers a packet early to a host that has no earlier timers or starts.
    #[inline(always)]
    pub(crate) fn reach_quiet_host<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        reaching: HostArrival,
        options: &Options,
    ) {
        let HostArrival {
            arrival,
            packet,
            left_trunk,
        } = reaching;
        if packet.is_data_with_ect_at_most() {
            self.take_data_on_fast_path(hosts, arrival, packet, left_trunk);
        } else if packet.is_ack_without_options() {
            self.take_ack_on_fast_path(hosts, arrival, packet);
        } else {
            let next = OnWire { arrival, packet };
            // Like `deliver_early`, but inlined, so that no further call is needed.
            if !(hosts.early_delivery.in_order && self.take_in_order(hosts, next, options, left_trunk)) {
                self.deliver_extras_early(hosts, next, options, left_trunk);
            }
        }
    }

    /// Like `reach_quiet_host`, for a packet that another part of the run has sent.
    #[inline(always)]
    pub(super) fn enter_quiet_host<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, options: impl Carried) {
        let OnWire { arrival, packet } = next;
        let left_trunk = UNKNOWN;
        if hosts.early_delivery.in_order && packet.has_stamp_alone() && packet.has_at_most_stamp() {
            let stamp = options.stamp();
            if !packet.vc().is_back() {
                return self.take_data_in_order(hosts, next, stamp, left_trunk);
            }
            if !self.take_ack_in_order(hosts, next, stamp) {
                self.deliver_extras_early(hosts, next, &Options::of_stamp(stamp), left_trunk);
            }
            return;
        }
        let reaching = HostArrival {
            arrival,
            packet,
            left_trunk,
        };
        options.with(|options| self.reach_quiet_host(hosts, reaching, options));
    }

    #[inline(always)]
    fn take_data_on_fast_path<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        arrival: Time,
        packet: Packet,
        left_trunk: Time,
    ) {
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        let fast = state.receiver.try_fast_path(packet.sequence(), packet.segment_bytes());
        let Some(acknowledgement) = fast else {
            let next = OnWire { arrival, packet };
            return match packet.is_capable() {
                true => self.deliver_extras_early(hosts, next, &NO_OPTIONS, left_trunk),
                false => self.deliver_data_early(hosts, next, left_trunk),
            };
        };
        if acknowledgement >= state.awaited {
            state.on_awaited(arrival);
        }
        let Entry { link, step } = state.way_back;
        let packet = Packet::ack_without_options(Circuit::of_acks(flow), step, acknowledgement);
        let wire = &mut self.wires[link.index()];
        let Some(next_arrival) = wire.send(arrival, packet.bytes(), |_| (0, false)) else {
            return;
        };
        let ack_lookahead = wire.ack_lookahead;
        if !self.is_order_proven(ack_lookahead, next_arrival, left_trunk, hosts.clock.until) {
            let next = OnWire {
                arrival: next_arrival,
                packet,
            };
            return self.set_out_ahead(hosts, link, next, &NO_OPTIONS, arrival);
        }
        let reaching = self.travel(hosts, (next_arrival, packet), &NO_OPTIONS, false, None);
        if let Some(HostArrival { arrival, packet, .. }) = reaching {
            self.take_ack_on_fast_path(hosts, arrival, packet);
        }
    }

    #[inline(always)]
    fn take_ack_on_fast_path<P: Probe>(&mut self, hosts: &mut Hosts<P>, arrival: Time, packet: Packet) {
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        let sender = &mut state.sender;
        if !sender.try_fast_path(arrival, packet.sequence()) {
            return self.deliver_ack_early(hosts, OnWire { arrival, packet });
        }
        let Entry { link, step } = state.way;
        let wire = &mut self.wires[link.index()];
        let mss = sender.mss_bytes();
        while let Some((sequence, retransmission)) = sender.poll_full(arrival) {
            let segment = (sequence, retransmission, sender.is_capable(retransmission));
            let next = |arrival| OnWire {
                arrival,
                packet: Packet::data_without_options(Circuit::of_data(flow), 0, step, segment, mss),
            };
            let Some(next_arrival) = wire.send(arrival, next(arrival).packet.bytes(), |_| (0, segment.2)) else {
                return self.lose_and_send_rest(hosts, (flow, link), next(arrival), &NO_OPTIONS);
            };
            if wire.line.end != End::Shared || !self.lanes.append_data_without_options(next(next_arrival)) {
                return self.send_rest(hosts, (flow, link), next(next_arrival), &NO_OPTIONS, arrival);
            }
        }
        if !sender.is_spent() | (sender.next_fast_path_timeout() < state.sender_armed) {
            self.send_on_ahead(hosts, flow, arrival);
        }
    }

    /// Delivers data without options early to a receiver whose fast path does not apply.
    #[inline(never)]
    fn deliver_data_early<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, left_trunk: Time) {
        if hosts.early_delivery.in_order && self.take_in_order(hosts, next, &NO_OPTIONS, left_trunk) {
            return;
        }
        self.deliver_early_by(hosts, next.arrival, |ip, hosts| {
            hosts.receive_data(ip, next.packet, left_trunk)
        });
    }

    /// Delivers an ACK without options early to a sender whose fast path does not apply.
    #[inline(never)]
    fn deliver_ack_early<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire) {
        if hosts.early_delivery.in_order && self.take_in_order(hosts, next, &NO_OPTIONS, UNKNOWN) {
            return;
        }
        let now = hosts.begin_early(next.arrival);
        hosts.receive_ack(self, next.packet);
        hosts.end_early(now);
    }

    /// Delivers a packet early to its end point. An ACK sent in response passes its port at once if this is allowed.
    #[inline(always)]
    pub(crate) fn deliver_early<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        if hosts.early_delivery.in_order {
            self.deliver_early_in_order(hosts, next, options, left_trunk);
        } else {
            self.deliver_early_in_full(hosts, next, options, left_trunk);
        }
    }

    /// Delivers a packet by the fast path for in-order data, if it applies.
    #[inline(never)]
    fn deliver_early_in_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        if !self.take_in_order(hosts, next, options, left_trunk) {
            self.deliver_early_in_full(hosts, next, options, left_trunk);
        }
    }

    /// Delivers a packet on the slow path.
    #[inline(never)]
    fn deliver_early_in_full<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        self.deliver_early_by(hosts, next.arrival, |ip, hosts| {
            hosts.receive(ip, next.packet, options, left_trunk)
        });
    }

    /// Delivers a packet that is neither data nor an ACK of a flow, or that has options or flags. `receive` would call
    /// `receive_in_full` for it.
    #[inline(never)]
    fn deliver_extras_early<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) {
        self.deliver_early_by(hosts, next.arrival, |ip, hosts| {
            hosts.receive_in_full(ip, next.packet, options, left_trunk)
        });
    }

    /// Sends, ahead of time, the ACK that a receiver owes, whatever it reports.
    #[inline(never)]
    fn answer_early<P: Probe>(&mut self, hosts: &mut Hosts<P>, flow: Flow, arrival: Time, left_trunk: Time) {
        self.deliver_early_by(hosts, arrival, |ip, hosts| hosts.send_ack(ip, flow, left_trunk));
    }

    /// Processes an arrival ahead of time by calling `receive`, and continues with the ACK that it proves, if any.
    #[inline(always)]
    fn deliver_early_by<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        arrival: Time,
        receive: impl FnOnce(&mut Ip, &mut Hosts<P>) -> Option<ProvenAck>,
    ) {
        let now = hosts.begin_early(arrival);
        let proven = receive(self, hosts);
        hosts.end_early(now);
        if let Some(ack) = &proven {
            self.continue_proven(hosts, ack.next, &ack.options);
        }
    }

    /// Forwards, ahead of time, a flow's packet that leaves its host at `now`, and sends further data that the window
    /// allows.
    #[inline(never)]
    pub(super) fn send_rest<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (flow, link): (Flow, Link),
        next: OnWire,
        options: &Options,
        now: Time,
    ) {
        self.set_out_ahead(hosts, link, next, options, now);
        self.send_on_ahead(hosts, flow, now);
    }

    /// Reports a flow's packet that was lost on its host's link, where it arrived ahead of time, and sends further data
    /// that the window allows.
    #[cold]
    #[inline(never)]
    fn lose_and_send_rest<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (flow, link): (Flow, Link),
        lost: OnWire,
        options: &Options,
    ) {
        let now = hosts.begin_early(lost.arrival);
        self.transmit_by_queue(hosts, (link, lost.arrival), lost.packet, options);
        hosts.send_data(self, flow);
        hosts.end_early(now);
    }

    #[inline(never)]
    pub(super) fn send_on_ahead<P: Probe>(&mut self, hosts: &mut Hosts<P>, flow: Flow, now: Time) {
        let now = hosts.begin_early(now);
        hosts.send_data(self, flow);
        hosts.end_early(now);
    }

    /// Sends, ahead of time, a packet that leaves its host at `now` over its first link.
    #[inline(never)]
    pub(super) fn set_out_ahead<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        next: OnWire,
        options: &Options,
        now: Time,
    ) {
        let now = hosts.begin_early(now);
        self.set_out(hosts, link, next, options);
        hosts.end_early(now);
    }

    /// Delivers a packet early. Returns false if the packet needs full processing. `left_trunk` is the time at which
    /// the packet left its trunk (`lookahead/acks.rs`).
    #[inline(always)]
    fn take_in_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        options: &Options,
        left_trunk: Time,
    ) -> bool {
        if !next.packet.has_at_most_stamp() {
            return false;
        }
        let stamp = match next.packet.has_stamp_alone() {
            true => options.stamp(),
            false => MaybeTime::NONE,
        };
        if next.packet.vc().is_back() {
            return self.take_ack_in_order(hosts, next, stamp);
        }
        self.take_data_in_order(hosts, next, stamp, left_trunk);
        true
    }

    /// Delivers data early.
    #[inline(never)]
    pub(super) fn take_data_in_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        stamp: MaybeTime,
        left_trunk: Time,
    ) {
        self.take_data_at_once(hosts, next, stamp, left_trunk);
    }

    /// Like `take_data_in_order`, but inlined.
    #[inline(always)]
    fn take_data_at_once<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, stamp: MaybeTime, left_trunk: Time) {
        let OnWire { arrival, packet } = next;
        self.pass_due_acks(hosts, &packet, left_trunk);
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        state.set_echoed(stamp, packet.sequence());
        let receiver = &mut state.receiver;
        let segment = (packet.sequence(), packet.payload_bytes(stamp));
        let Some(answers) = receiver.take_in_order(arrival, segment, stamp, packet.is_capable()) else {
            return self.take_data_out_of_order(hosts, next, stamp, left_trunk);
        };
        if receiver.delivered() >= state.awaited {
            state.on_awaited(arrival);
        }
        let receiver = &mut state.receiver;
        if !answers {
            if receiver.next_timeout() < state.receiver_armed {
                hosts.arm_receiving_host(self, flow);
            }
            return;
        }
        if receiver.counts_marks() {
            return self.answer_early(hosts, flow, arrival, left_trunk);
        }
        let ack = receiver.answer_in_order();
        let Entry { link, step } = state.way_back;
        let packet = Packet::stamped(Circuit::of_acks(flow), step, (ack.acknowledgement, 0, false), ack.echo);
        let wire = &mut self.wires[link.index()];
        let Some(next_arrival) = wire.send(arrival, packet.bytes(), |_| (0, false)) else {
            return;
        };
        let (ack_lookahead, end) = (wire.ack_lookahead, wire.line.end);
        let next = OnWire {
            arrival: next_arrival,
            packet,
        };
        if self.is_order_proven(ack_lookahead, next_arrival, left_trunk, hosts.clock.until)
            & (next_arrival < hosts.early_delivery.due_acks.earliest())
        {
            self.continue_proven_in_order(hosts, next, ack.echo);
        } else if end != End::Shared || !self.lanes.append_stamped(next, ack.echo) {
            self.set_out_ahead(hosts, link, next, &Options::of_stamp(ack.echo), arrival);
        }
    }

    /// Processes the arrival at a router of data whose only option is a timestamp, and advances them as far as possible.
    /// `left_trunk` is their departure time from the first port of this advance; it may be `UNKNOWN`.
    #[inline(always)]
    pub(super) fn forward_stamped_data<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        stamp: MaybeTime,
        left_trunk: Time,
    ) {
        let reaching = self.travel(hosts, (next.arrival, next.packet), stamp, false, Some(left_trunk));
        if let Some(HostArrival {
            arrival,
            packet,
            left_trunk,
        }) = reaching
        {
            // A port may have marked the packet.
            match packet.is_marked() {
                false => self.take_data_at_once(hosts, OnWire { arrival, packet }, stamp, left_trunk),
                true => self.deliver_marked(hosts, OnWire { arrival, packet }, stamp, left_trunk),
            }
        }
    }

    #[inline(never)]
    fn deliver_marked<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, stamp: MaybeTime, left_trunk: Time) {
        self.deliver_extras_early(hosts, next, &Options::of_stamp(stamp), left_trunk);
    }

    /// Processes the arrival at a router of an ACK of in-order data whose order is proven, and advances it as far as
    /// possible.
    #[inline(never)]
    fn continue_proven_in_order<P: Probe>(&mut self, hosts: &mut Hosts<P>, next: OnWire, echo: MaybeTime) {
        let reaching = self.travel(hosts, (next.arrival, next.packet), echo, false, None);
        let Some(HostArrival { arrival, packet, .. }) = reaching else {
            return;
        };
        if packet.is_ack_without_options() {
            self.take_ack_on_fast_path(hosts, arrival, packet);
        } else if !self.take_ack_in_order(hosts, OnWire { arrival, packet }, echo) {
            self.deliver_extras_early(hosts, OnWire { arrival, packet }, &Options::of_stamp(echo), UNKNOWN);
        }
    }

    /// Passes the delayed ACKs to their port that precede those of data that leave the trunk at `left_trunk` or later.
    #[inline(always)]
    pub(super) fn pass_due_acks<P: Probe>(&mut self, hosts: &mut Hosts<P>, packet: &Packet, left_trunk: Time) {
        let due = &hosts.early_delivery.due_acks;
        if due.earliest().min(self.lanes.first_ack()) < due.end(left_trunk) {
            self.pass_acks_before(hosts, packet, left_trunk);
        }
    }

    /// Processes the timers that may send these ACKs, and passes the ACKs in transit, in the order of their times.
    /// `packet` is the packet that left the trunk at `left_trunk`, or an ACK that left another port.
    #[inline(never)]
    fn pass_acks_before<P: Probe>(&mut self, hosts: &mut Hosts<P>, packet: &Packet, left_trunk: Time) {
        let is_data = !packet.vc().is_back() && packet.has_at_most_stamp() && left_trunk < UNKNOWN;
        if !(is_data && hosts.early_delivery.due_acks.on_data(packet.vc().flow())) {
            return;
        }
        let end = hosts.early_delivery.due_acks.end(left_trunk);
        loop {
            let due = &hosts.early_delivery.due_acks;
            let first = self.lanes.first_ack();
            if due.earliest() <= first {
                if due.earliest() >= end {
                    return;
                }
                let DueTimer { flow, link, time } = due.next();
                if time > hosts.clock.until || self.first_waiting(link).is_some() {
                    return;
                }
                let now = hosts.begin_early(time);
                hosts.on_receiver_timer(self, flow);
                hosts.end_early(now);
            } else {
                let reaches_port = self
                    .lanes
                    .peek_ack()
                    .is_some_and(|next| self.routes.next_link(&next) == due.port);
                if first >= end || first > hosts.clock.until || self.lanes.acks_elsewhere > 0 || !reaches_port {
                    return;
                }
                let first = self.lanes.pop(1);
                let options = self.lanes.pop_options(1, &first);
                self.continue_proven(hosts, first.next, &options);
            }
        }
    }

    /// Delivers data early for which `Receiver::take_in_order` has returned None.
    #[inline(never)]
    fn take_data_out_of_order<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        next: OnWire,
        stamp: MaybeTime,
        left_trunk: Time,
    ) {
        let OnWire { arrival, packet } = next;
        let flow = packet.vc().flow();
        let state = &mut hosts.flows[flow.index()];
        state
            .receiver
            .on_segment(arrival, &packet.segment(&Options::of_stamp(stamp)));
        if state.receiver.delivered() >= state.awaited {
            state.on_awaited(arrival);
        }
        self.answer_early(hosts, flow, arrival, left_trunk);
    }

    /// Delivers an ACK early. Returns false if it needs full processing.
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
        let (mut rest, mut lost) = (None, None);
        let (length, stamp, capable) = (sender.mss_bytes(), sender.stamp(arrival), sender.is_capable(false));
        let burst = sender.begin_burst(arrival);
        // One loop, because a closure for two loops would be called for each packet.
        loop {
            let sequence = match burst {
                Some(end) => sender.poll_burst(arrival, end),
                None => sender.poll_after_ack(arrival),
            };
            let Some(sequence) = sequence else { break };
            let packet = Packet::stamped(Circuit::of_data(flow), step, (sequence, length, capable), stamp);
            let Some(next_arrival) = wire.send(arrival, packet.bytes(), |_| (0, packet.is_capable())) else {
                lost = Some((packet, stamp));
                break;
            };
            let next = OnWire {
                arrival: next_arrival,
                packet,
            };
            if wire.line.end != End::Shared || !self.lanes.append_stamped(next, stamp) {
                rest = Some((next, stamp));
                break;
            }
        }
        let spent = sender.end_in_order(arrival);
        if let Some((next, stamp)) = rest {
            self.send_rest(hosts, (flow, link), next, &Options::of_stamp(stamp), arrival);
        } else if let Some((packet, stamp)) = lost {
            self.lose_and_send_rest(
                hosts,
                (flow, link),
                OnWire { arrival, packet },
                &Options::of_stamp(stamp),
            );
        } else if !spent {
            self.send_on_ahead(hosts, flow, arrival);
        } else if sender.next_timeout() < state.sender_armed {
            hosts.arm_sending_host(self, flow);
        }
        true
    }

    /// Sends the data that a pacer releases at the current time. Returns false, without any effect, if the sender's
    /// timer needs full processing.
    #[inline(never)]
    pub(super) fn send_paced_in_order<P: Probe>(&mut self, hosts: &mut Hosts<P>, flow: Flow) -> bool {
        let now = hosts.clock.now;
        if !(hosts.early_delivery.in_order && hosts.flows[flow.index()].sender.resume_in_order(now)) {
            return false;
        }
        let state = &hosts.flows[flow.index()];
        let (Entry { link, step }, base, sender) = (state.way, state.base, &state.sender);
        let (length, stamp, capable) = (sender.mss_bytes(), sender.stamp(now), sender.is_capable(false));
        let mut sends = false;
        while let Some(sequence) = hosts.flows[flow.index()].sender.poll_after_ack(now) {
            sends = true;
            let own = (base + sequence, length, capable);
            let packet = Packet::stamped(Circuit::of_data(flow), step, own, stamp);
            let wire = &mut self.wires[link.index()];
            let circuit_and_ecn = |_| (self.routes.local(&self.topology, packet), packet.is_capable());
            let Some(arrival) = wire.send(now, packet.bytes(), circuit_and_ecn) else {
                self.transmit_by_queue(hosts, (link, now), packet, &Options::of_stamp(stamp));
                continue;
            };
            let next = OnWire { arrival, packet };
            if wire.line.end != End::Shared {
                self.set_out_elsewhere(hosts, link, next, stamp);
            } else if !self.lanes.append_stamped(next, stamp) {
                self.wait_out_of_order(hosts, link, next, stamp);
            }
        }
        let sender = &mut hosts.flows[flow.index()].sender;
        let spent = if sends {
            sender.end_in_order(now)
        } else {
            sender.has_full_segment()
        };
        if spent {
            hosts.arm_sending_host(self, flow);
        } else {
            hosts.send_data(self, flow);
        }
        true
    }

    /// Forwards a packet over its first link, if that link does not end at a lane.
    #[inline(never)]
    fn set_out_elsewhere<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, next: OnWire, stamp: MaybeTime) {
        self.set_out(hosts, link, next, stamp);
    }
}
