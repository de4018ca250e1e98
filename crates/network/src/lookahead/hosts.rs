//! Early delivery: a packet whose arrival at its host is certain is delivered at once.
//!
//! Packets that leave a port over links without further shared ports arrive in a known order at known times. If the host has
//! a single input, only its timers and the starts of its applications can come in between. Its packets are therefore
//! delivered to TCP when they leave the last shared port, each with its arrival time, after the host's earlier timers and
//! starts. Results equal those of events in order. Probes would see events out of order, so only untraced runs use this.

use crate::clock::{Actor, START};
use crate::hosts::Hosts;
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Link};
use longpipe_events::{Key, Order, Time};

impl<P: Probe> Hosts<P> {
    /// Prepares a host for a packet that arrives over `link` at `time`. Returns whether the packet may be delivered early.
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

    /// Delivers the packets that still wait for their events.
    fn catch_up<M: Medium>(&mut self, medium: &mut M, link: Link) {
        self.clock.cancel(Actor::Link(link));
        while let Some(time) = medium.first_waiting(link) {
            self.act_before(medium, link, time);
            let now = self.begin_ahead(time);
            medium.deliver_first(self, link);
            self.end_ahead(now);
        }
    }

    /// Processes the timers and starts at the end of a link that are due before `time`.
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

    /// Records that the end point that sends on circuit `end` acts by itself at `time`, and not earlier.
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

    /// Records that the end point that sends on circuit `end` does not act by itself.
    pub(crate) fn foresee_nothing(&mut self, end: Circuit) {
        if let Some(&Some((link, number))) = self.ahead.places.get(end.index()) {
            if let Some(host) = &mut self.ahead.hosts[link.index()] {
                host.next.set(number, Key::NEVER);
            }
        }
    }

    /// Sets the clock to a future time for early processing at a host. Returns the present time.
    #[inline(always)]
    pub(crate) fn begin_ahead(&mut self, time: Time) -> Time {
        self.ahead.busy = true;
        std::mem::replace(&mut self.clock.now, time)
    }

    /// Sets the clock back to `now` after early processing.
    #[inline(always)]
    pub(crate) fn end_ahead(&mut self, now: Time) {
        self.ahead.busy = false;
        self.clock.now = now;
    }
}
