//! End points ahead of time: a packet whose arrival at its host is certain is handed over at once.
//!
//! What begins to leave a port over wires that meet no other arrives in a known order at known times. If such a host has
//! one way in, nothing but its timers and its applications' starts can come between. So its packets are handed to TCP
//! as soon as they leave the last shared port, each with its own time of arrival, and what comes before one of them
//! happens first. Results are those of events in order; a probe would see them out of order, so this is for runs that
//! nobody watches.

use crate::clock::{Actor, START};
use crate::hosts::Hosts;
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Link};
use longpipe_events::{Key, Order, Time};

impl<P: Probe> Hosts<P> {
    /// Something will reach the host at the end of a link at `time`; true if it may be handed over ahead of time.
    #[inline(never)]
    pub(crate) fn approach<M: Medium>(&mut self, medium: &mut M, link: Link, time: Time) -> bool {
        let known = self.ahead.hosts.get(link.index()).is_some_and(Option::is_some);
        if !known || self.ahead.busy || time > self.clock.end {
            return false;
        }
        if medium.first_waiting(link).is_some() {
            self.catch_up(medium, link);
        }
        self.act_before(medium, link, time);
        true
    }

    /// Hands over what waits for its event.
    fn catch_up<M: Medium>(&mut self, medium: &mut M, link: Link) {
        self.clock.cancel(Actor::Link(link));
        while let Some(time) = medium.first_waiting(link) {
            self.act_before(medium, link, time);
            let now = self.begin_ahead(time);
            medium.deliver_first(self, link);
            self.end_ahead(now);
        }
    }

    /// The end points at the end of a link do what they do before `time`.
    fn act_before<M: Medium>(&mut self, medium: &mut M, link: Link, time: Time) {
        while let Some(host) = &self.ahead.hosts[link.index()] {
            let next = host.next.first();
            if next.time() >= time {
                let quiet_until = medium.quiet_until(link).filter(|_| host.sends_at_once);
                if let Some(quiet_until) = quiet_until {
                    *quiet_until = next.time().min(self.clock.end);
                }
                return;
            }
            let end = host.ends[next.entity() as usize];
            let flow = end.flow();
            let now = self.begin_ahead(next.time());
            if next.order() == START {
                self.clock.cancel(Actor::Start(flow));
                self.on_start(medium, flow);
            } else if !end.is_back() {
                self.on_sender_timer(medium, flow);
            } else {
                self.on_receiver_timer(medium, flow);
            }
            self.end_ahead(now);
        }
    }

    /// The end point that sends on circuit `end` will do something by itself at `time`, and not before.
    pub(crate) fn foresee<M: Medium>(&mut self, medium: &mut M, end: Circuit, time: Time, order: Order) {
        let Some(&Some((link, number))) = self.ahead.places.get(end.index()) else {
            return;
        };
        if let Some(host) = &mut self.ahead.hosts[link.index()] {
            host.next.set(number, Key::new(time, order, number));
            if let Some(quiet_until) = medium.quiet_until(link) {
                *quiet_until = time.min(*quiet_until);
            }
        }
    }

    /// That end point will do nothing by itself.
    pub(crate) fn foresee_nothing(&mut self, end: Circuit) {
        if let Some(&Some((link, number))) = self.ahead.places.get(end.index()) {
            if let Some(host) = &mut self.ahead.hosts[link.index()] {
                host.next.set(number, Key::NEVER);
            }
        }
    }

    /// What follows happens at a host, at a time that is still to come; the time it is.
    #[inline(always)]
    pub(crate) fn begin_ahead(&mut self, time: Time) -> Time {
        self.ahead.busy = true;
        std::mem::replace(&mut self.clock.now, time)
    }

    /// What follows happens at `now` again.
    #[inline(always)]
    pub(crate) fn end_ahead(&mut self, now: Time) {
        self.ahead.busy = false;
        self.clock.now = now;
    }
}
