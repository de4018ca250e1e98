//! Sending and receiving applications of a datagram flow.

use crate::clock::{Actor, START};
use crate::hosts::medium::Medium;
use crate::hosts::Hosts;
use crate::observe::probe::{Event, Probe};
use crate::packets::contents::Datagram;
use crate::packets::{Circuit, Flow};
use longpipe_events::{MaybeTime, Time};

/// Sends the datagrams that are due now.
pub(in crate::hosts) fn send<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let (travels, now) = (medium.travels(Circuit::of_data(flow)), hosts.clock.now);
    loop {
        let state = &mut hosts.flows[flow.index()];
        let (start, stop) = (state.start, state.stop);
        let Some(datagrams) = state.application.try_as_datagrams_mut() else {
            return;
        };
        let last = |at: Time| at <= hosts.clock.end && MaybeTime::from(at) < stop;
        let Some((at, length)) = datagrams.schedule.due(start).filter(|due| last(due.0)) else {
            return;
        };
        if at > now {
            return hosts.clock.set(Actor::Start(flow), at, START);
        }
        datagrams.schedule.step();
        datagrams.sent.0 += 1;
        datagrams.sent.1 += u64::from(length);
        let datagram = Datagram { sent: now, length };
        let frame = datagrams.way.number(travels, datagram);
        hosts.probe.observe(Event::SentDatagram(now, flow, frame, &datagram));
        medium.send_unsolicited(hosts, Circuit::of_data(flow), frame, &datagram);
    }
}

/// Delivers a datagram to its application.
pub(in crate::hosts) fn arrive<P: Probe>(hosts: &mut Hosts<P>, flow: Flow, frame: u32, datagram: &Datagram) {
    let now = hosts.clock.now;
    if let Some(datagrams) = hosts.flows[flow.index()].application.try_as_datagrams_mut() {
        let first = datagrams.take(now, frame, datagram);
        hosts
            .probe
            .observe(Event::ReceivedDatagram(now, flow, frame, datagram, first));
    }
}
