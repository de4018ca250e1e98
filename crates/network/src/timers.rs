//! The timers of end points, of which the agenda is told the earliest: it looks again when that has moved. A host that
//! packets reach ahead of time may look first.

use crate::probe::Probe;
use crate::simulation::{Simulation, TIMER};
use longpipe_events::{Entity, MaybeTime};

impl<P: Probe> Simulation<P> {
    #[inline(never)]
    pub(crate) fn on_sender_timer(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        state.sender_armed = MaybeTime::NONE;
        if state.sender.next_timeout() <= self.now.into() {
            state.sender.on_timeout(self.now);
            self.send_data(flow);
        } else {
            self.arm_sending_host(flow);
        }
        self.on_server_timer(flow);
        if self.flows[flow].sender_armed == MaybeTime::NONE {
            self.agenda.cancel(self.entity(flow, TIMER));
            self.foresee_nothing(2 * flow);
        }
    }

    #[inline(never)]
    pub(crate) fn on_receiver_timer(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        state.receiver_armed = MaybeTime::NONE;
        state.receiver.on_timeout(self.now);
        self.send_ack(flow);
        self.on_client_timer(flow);
        if self.flows[flow].receiver_armed == MaybeTime::NONE {
            self.agenda.cancel(self.receiver_entity(flow));
            self.foresee_nothing(2 * flow + 1);
        }
    }

    /// Has the agenda look at the timers of a flow's sending host in time.
    #[inline(always)]
    pub(crate) fn arm_sending_host(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let deadline = state.sending_host_timeout();
        if deadline < state.sender_armed {
            state.sender_armed = deadline;
            self.set_sender_timer(flow, deadline);
        }
    }

    /// Has the agenda look at the timers of a flow's receiving host in time.
    #[inline(always)]
    pub(crate) fn arm_receiving_host(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let deadline = state.receiving_host_timeout();
        if deadline < state.receiver_armed {
            state.receiver_armed = deadline;
            self.set_receiver_timer(flow, deadline);
        }
    }

    #[inline(never)]
    fn set_sender_timer(&mut self, flow: usize, deadline: MaybeTime) {
        if let Some(deadline) = deadline.get() {
            self.agenda.set(self.entity(flow, TIMER), deadline, TIMER);
            self.foresee(2 * flow, deadline, TIMER);
        }
    }

    #[inline(never)]
    fn set_receiver_timer(&mut self, flow: usize, deadline: MaybeTime) {
        if let Some(deadline) = deadline.get() {
            self.agenda.set(self.receiver_entity(flow), deadline, TIMER);
            self.foresee(2 * flow + 1, deadline, TIMER);
        }
    }

    fn receiver_entity(&self, flow: usize) -> Entity {
        (self.links.len() + self.flows.len() + flow) as Entity
    }
}
