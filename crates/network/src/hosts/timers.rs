//! Timers of end points. The event queue contains the earliest timer of a host. It is not updated when that timer moves
//! to a later time; instead, the event reschedules itself. A host with early delivery may process timers before their
//! events.

use super::{proxy, request_response, Hosts};
use crate::clock::{Actor, TIMER, UNKNOWN};
use crate::hosts::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Flow};
use longpipe_events::MaybeTime;

impl<P: Probe> Hosts<P> {
    #[inline(never)]
    pub fn on_sender_timer<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        let now = self.clock.now;
        let state = &mut self.flows[flow.index()];
        state.sender_armed = MaybeTime::NONE;
        if state.sender.next_timeout() <= now.into() {
            if !medium.send_paced(self, flow) {
                self.flows[flow.index()].sender.on_timeout(now);
                self.send_data(medium, flow);
            }
        } else {
            self.arm_sending_host(medium, flow);
        }
        proxy::on_timer(self, medium, flow);
        request_response::on_server_timer(self, medium, flow);
        if self.flows[flow.index()].sender_armed == MaybeTime::NONE {
            self.clock.cancel(Actor::Sender(flow));
            self.clear_next_action(Circuit::of_data(flow));
        }
    }

    #[inline(never)]
    pub fn on_receiver_timer<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        let state = &mut self.flows[flow.index()];
        state.receiver_armed = MaybeTime::NONE;
        if state.receiver.next_timeout() <= self.clock.now.into() {
            state.receiver.on_timeout(self.clock.now);
            self.send_ack(medium, flow, UNKNOWN);
        } else {
            self.arm_receiving_host(medium, flow);
        }
        request_response::on_client_timer(self, medium, flow);
        if self.flows[flow.index()].receiver_armed == MaybeTime::NONE {
            self.clock.cancel(Actor::Receiver(flow));
            self.clear_next_action(Circuit::of_acks(flow));
        }
    }

    /// Schedules the next timer event of a flow's sending host.
    #[inline(always)]
    pub fn arm_sending_host<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        let state = &mut self.flows[flow.index()];
        let deadline = state.sending_host_timeout();
        if deadline < state.sender_armed {
            state.sender_armed = deadline;
            self.set_timer(medium, Actor::Sender(flow), Circuit::of_data(flow), deadline);
        }
    }

    /// Schedules the next timer event of a flow's receiving host.
    #[inline(always)]
    pub fn arm_receiving_host<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        let state = &mut self.flows[flow.index()];
        let deadline = state.receiving_host_timeout();
        if deadline < state.receiver_armed {
            state.receiver_armed = deadline;
            self.set_timer(medium, Actor::Receiver(flow), Circuit::of_acks(flow), deadline);
        }
    }

    #[inline(never)]
    fn set_timer<M: Medium>(&mut self, medium: &mut M, actor: Actor, end: Circuit, deadline: MaybeTime) {
        if let Some(deadline) = deadline.get() {
            self.clock.set(actor, deadline, TIMER);
            self.set_next_action(medium, end, deadline, TIMER);
        }
    }
}
