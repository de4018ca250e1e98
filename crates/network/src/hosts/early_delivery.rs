//! Early delivery: a packet whose arrival at its host is certain is delivered at once.
//!
//! Packets that leave a port over links without further shared ports arrive in a known order at known times. If the
//! host has a single input, only its timers and the starts of its applications can occur before the arrival. Its
//! packets are therefore delivered to TCP when they leave the last shared port, each with its arrival time, after the
//! host's earlier timers and starts. The results are equal to those of processing the events in order. Probes would see
//! events out of order, so only untraced runs use early delivery. No packet is delivered early beyond the time up to
//! which a caller advances the run, because the caller may act then.

use super::due_acks::DueAcks;
use super::Hosts;
use crate::clock::{Actor, START};
use crate::hosts::medium::Medium;
use crate::lookahead::early::{EarlyHost, EarlyHosts};
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Link};
use longpipe_events::{Entity, Key, Order, Time, Tournament};

/// Hosts to which packets may be delivered early, and the next spontaneous actions (timers and starts) of the hosts'
/// end points.
#[derive(Clone, Debug)]
pub struct EarlyDelivery {
    /// For each link, the host with early delivery whose only input is this link, if any.
    hosts: Vec<Option<Host>>,
    /// For each circuit on which an end point sends: the link into the end point's host, and the number of the end
    /// point there. None for hosts without early delivery.
    places: Vec<Option<(Link, Entity)>>,
    /// Whether an early delivery is in progress; packets sent in response are then not delivered early.
    pub delivering_early: bool,
    /// Whether in-order data have a fast path in addition to that for packets without options.
    pub in_order: bool,
    /// Delayed ACKs that pass a port without an event.
    pub(crate) due_acks: DueAcks,
}

/// A host to which packets may be delivered early.
#[derive(Clone, Debug)]
struct Host {
    /// The circuits on which its end points send, senders first.
    ends: Vec<Circuit>,
    /// Whether packets reach the host's interface without jitter.
    sends_at_once: bool,
    /// For each end point, a lower bound on the time of its next timer or start.
    next: Tournament,
}

impl EarlyDelivery {
    /// Returns the state of the given hosts before their end points start.
    pub(crate) fn new(early: EarlyHosts) -> EarlyDelivery {
        let host = |host: EarlyHost| Host {
            next: Tournament::new(host.ends.len()),
            ends: host.ends,
            sends_at_once: host.sends_at_once,
        };
        EarlyDelivery {
            hosts: early.hosts.into_iter().map(|of_link| of_link.map(host)).collect(),
            places: early.places,
            delivering_early: false,
            in_order: early.in_order,
            due_acks: DueAcks::new(early.delayed_acks),
        }
    }
}

impl<P: Probe> Hosts<P> {
    /// Prepares a host for a packet that arrives over `link` at `time`. Returns whether the packet may be delivered
    /// early.
    #[inline(never)]
    pub(crate) fn prepare_for_arrival<M: Medium>(&mut self, medium: &mut M, link: Link, time: Time) -> bool {
        let is_candidate = self.early_delivery.hosts.get(link.index()).is_some_and(Option::is_some);
        if !is_candidate || self.early_delivery.delivering_early || time > self.clock.until {
            return false;
        }
        if medium.first_waiting(link).is_some() {
            self.deliver_waiting(medium, link);
        }
        self.run_events_before(medium, link, time);
        true
    }

    /// Delivers the packets that still wait for their arrival events.
    fn deliver_waiting<M: Medium>(&mut self, medium: &mut M, link: Link) {
        self.clock.cancel(Actor::Link(link));
        while let Some(time) = medium.first_waiting(link) {
            self.run_events_before(medium, link, time);
            let now = self.begin_early(time);
            medium.deliver_first(self, link);
            self.end_early(now);
        }
    }

    /// Processes those timers and starts at the host at the end of a link that are due before `time`.
    fn run_events_before<M: Medium>(&mut self, medium: &mut M, link: Link, time: Time) {
        while let Some(host) = &self.early_delivery.hosts[link.index()] {
            let next = host.next.first();
            if next.time() >= time {
                let earliest_event = medium.earliest_event(link).filter(|_| host.sends_at_once);
                if let Some(earliest_event) = earliest_event {
                    *earliest_event = next.time().min(self.clock.until);
                }
                return;
            }
            let end = host.ends[next.entity() as usize];
            let flow = end.flow();
            let now = self.begin_early(next.time());
            if next.order() == START {
                self.clock.cancel(Actor::Start(flow));
                self.on_clock(medium, flow);
            } else if !end.is_back() {
                self.on_sender_timer(medium, flow);
            } else {
                self.on_receiver_timer(medium, flow);
            }
            self.end_early(now);
        }
    }

    /// Records that the next timer or start of the end point that sends on circuit `end` is at `time`.
    pub(crate) fn set_next_action<M: Medium>(&mut self, medium: &mut M, end: Circuit, time: Time, order: Order) {
        let Some(&Some((link, number))) = self.early_delivery.places.get(end.index()) else {
            return;
        };
        if let Some(host) = &mut self.early_delivery.hosts[link.index()] {
            host.next.set(number, Key::new(time, order, number));
            if end.is_back() {
                self.early_delivery.due_acks.set(end.flow(), Some(time));
            }
            if let Some(earliest_event) = medium.earliest_event(link) {
                *earliest_event = time.min(*earliest_event);
            }
        }
    }

    /// Records that the end point that sends on circuit `end` has no timer or start.
    pub(crate) fn clear_next_action(&mut self, end: Circuit) {
        if let Some(&Some((link, number))) = self.early_delivery.places.get(end.index()) {
            if let Some(host) = &mut self.early_delivery.hosts[link.index()] {
                host.next.set(number, Key::NEVER);
            }
            if end.is_back() {
                self.early_delivery.due_acks.set(end.flow(), None);
            }
        }
    }

    /// Sets the clock to a future time for early processing at a host. Returns the time before the change.
    #[inline(always)]
    pub(crate) fn begin_early(&mut self, time: Time) -> Time {
        self.early_delivery.delivering_early = true;
        std::mem::replace(&mut self.clock.now, time)
    }

    /// Sets the clock back to `now` after early processing.
    #[inline(always)]
    pub(crate) fn end_early(&mut self, now: Time) {
        self.early_delivery.delivering_early = false;
        self.clock.now = now;
    }
}
