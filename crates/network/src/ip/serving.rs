//! Packets at ports whose queue is served: held until the line asks for them, and on their way from then on.

use super::forward::Reaching;
use super::port::line::End;
use super::port::prompt::{Begun, Event};
use super::wire::Port;
use super::Ip;
use crate::clock::Actor;
use crate::drops::Drops;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::observe::watch;
use crate::packets::{Link, OnWire, Options, Packet};
use longpipe_events::Time;

impl Ip {
    /// A packet comes to a port whose queue is served, after all that leaves before; if it begins to leave, when it arrives
    /// downstream.
    pub(super) fn hold<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        now: Time,
        packet: Packet,
        options: &Options,
    ) -> Option<(Time, Packet)> {
        self.begin_before(hosts, link, now);
        let wire = &mut self.wires[link.index()];
        let Port::Served(port) = &mut wire.port else {
            return None;
        };
        let begun = port.arrive(&mut wire.line, now, packet, options);
        report(hosts, link, now, port.drops(), begun.as_ref());
        let delay = wire.line.delay();
        self.await_next(hosts, link);
        begun.map(|(held, departure)| (departure + delay, held.packet))
    }

    /// Packets held by a port when another one comes.
    pub(super) fn held<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) -> u64 {
        if matches!(self.wires[link.index()].port, Port::Served(_)) {
            self.serve(hosts, link, now);
        }
        self.wires[link.index()].held(now)
    }

    /// What begins to leave a port whose queue is served by `now` does so.
    pub(super) fn serve<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) {
        self.begin_before(hosts, link, now);
        self.await_next(hosts, link);
    }

    fn begin_before<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, now: Time) {
        loop {
            let wire = &mut self.wires[link.index()];
            let Port::Served(port) = &mut wire.port else { return };
            let begins = wire.line.free();
            let begun = port.next(&mut wire.line, now);
            report(hosts, link, begins, port.drops(), begun.as_ref());
            let Some(begun) = begun else { return };
            self.leave(hosts, link, begun);
        }
    }

    /// A packet begins to leave a port whose queue is served, and all that follows.
    fn leave<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, (held, departure): Begun) {
        let (packet, options) = (held.packet, held.options());
        watch::packet(&mut hosts.probe, link, Some(held.arrival), departure, packet, options);
        let line = &self.wires[link.index()].line;
        let arrival = departure + line.delay();
        let busy = hosts.ahead.busy;
        match line.end {
            End::Through if arrival <= hosts.clock.end => {
                self.forward_since(hosts, (arrival, packet), options, busy, departure);
            }
            End::Host if (arrival <= line.quiet_until) & !busy => {
                let since = departure;
                self.reach_quiet_host(hosts, Reaching { arrival, packet, since }, options);
            }
            _ => self.stop(hosts, link, OnWire { arrival, packet }, options, departure),
        }
    }

    /// What waits at a port has an event for when it may leave.
    fn await_next<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let wire = &mut self.wires[link.index()];
        let Port::Served(port) = &mut wire.port else { return };
        match port.event(&wire.line) {
            Event::At(time) => hosts.clock.set_departure(link, time),
            Event::Never => hosts.clock.cancel(Actor::Port(link.index())),
            Event::AsBefore => {}
        }
    }
}

/// Reports the packets that a port has lost, and that it marked the one that begins to leave at `now`.
fn report<P: Probe>(hosts: &mut Hosts<P>, link: Link, now: Time, drops: &mut Drops, begun: Option<&Begun>) {
    if !drops.is_empty() {
        hosts.lose_all(link, &drops.take());
    }
    if let Some((held, _)) = begun.filter(|(held, _)| held.was_marked()) {
        hosts.probe.marked(now, link, held.packet.vc().flow());
    }
}
