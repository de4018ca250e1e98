//! The train engine in a run: frames go by their first and their last cell.

use super::aal5::{frame_cells, CELL_BITS};
use super::by_sweeps;
use super::interface::{Accepted, Frame};
use super::lanes::Edge;
use super::link::{FedWire, Feed};
use super::port::trains::{First, Last, TrainPort};
use super::Atm;
use crate::clock::{Actor, CELL, WHOLE_FRAME};
use crate::drops::DropCause;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Link, OnWire, Options, Packet};
use crate::scenario::ends::LinkEnd;
use crate::scenario::topology::{Step, Topology};
use crate::ties::TieRule;
use longpipe_events::{Entity, Order, Time};

impl Atm {
    /// Hands a packet of this circuit to its host's interface as a frame, in answer to one that left its trunk at `since`; an
    /// ACK whose place is certain has yet to go on.
    #[inline(always)]
    pub(crate) fn send_frame<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        packet: Packet,
        options: &Options,
        since: Time,
    ) -> Option<Frame> {
        let vc = packet.vc();
        let by_edges = self.by_edges[vc.index()];
        let ready = hosts.ready(link);
        let Feed::Nic(nic) = &mut self.links[link.index()].feed else {
            self.send_moving(hosts, link, packet, ready);
            return None;
        };
        let cells = frame_cells(u32::from(packet.bytes()));
        let Some(accepted) = nic.accept(cells, ready) else {
            hosts.lose(ready.min(hosts.clock.end), link, &packet, DropCause::InjectedLoss);
            return None;
        };
        let lead = nic.lead;
        if by_edges & accepted.soon {
            nic.send(cells);
            self.under_way.keep_options(&packet, options);
            if vc.is_back() && self.is_certain(lead, accepted.last, since, hosts.clock.end) {
                return Some(Frame::new(packet, cells, accepted, true));
            }
            self.announce(hosts, packet, cells, accepted);
            return None;
        }
        self.wait_at_host(hosts, link, Frame::new(packet, cells, accepted, by_edges), options);
        None
    }

    /// A frame waits for its turn at its host's interface, or goes to ports that sweep.
    #[inline(never)]
    fn wait_at_host<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, frame: Frame, options: &Options) {
        let Feed::Nic(nic) = &mut self.links[link.index()].feed else {
            return;
        };
        let first = nic.arrival(frame.slot);
        if first > hosts.clock.end {
            return nic.take_back(frame.slot);
        }
        if self.sweeps.carry(frame.packet.vc()) {
            nic.send(frame.cells);
            return by_sweeps::send(self, hosts, frame, first, options);
        }
        if frame.by_edges {
            self.under_way.keep_options(&frame.packet, options);
            self.under_way.astray += frame.packet.vc().way() as u64;
        }
        if let Feed::Nic(nic) = &mut self.links[link.index()].feed {
            if nic.wait(frame) {
                self.schedule(hosts, link);
            }
        }
    }

    /// A host begins to send a frame, or will soon: its port and the loop learn when its cells arrive there.
    #[inline(always)]
    pub(crate) fn announce<P: Probe>(&mut self, hosts: &Hosts<P>, packet: Packet, cells: u16, sent: Accepted) {
        let Step { link, local } = self.topology.steps[packet.step() as usize];
        let port = train_port(&mut self.links, link);
        port.expect(First {
            batch: sent.slot,
            local,
            cells,
        });
        let lane = port.lane;
        let last = Edge {
            arrival: sent.last,
            slot: sent.slot + u64::from(cells) - 1,
            packet,
            link,
            cells,
            first: false,
        };
        self.add_edge(lane, last);
        if !hosts.probe.is_idle() && hosts.probe.wants_queue() {
            let first = Edge {
                arrival: train_port(&mut self.links, link).arrival(sent.slot),
                slot: sent.slot,
                first: true,
                ..last
            };
            self.add_edge(lane, first);
        }
    }

    #[inline(always)]
    fn add_edge(&mut self, lane: usize, edge: Edge) {
        let (topology, ties, arrival) = (&self.topology, &self.ties, edge.arrival);
        let rank = |packet: &Packet| rank(topology, ties, packet, arrival);
        self.under_way.insert(lane, edge, |one, other| rank(one) < rank(other));
    }

    /// Handles the first edge under way, if it comes before all other events and not after the end.
    #[inline(always)]
    pub(super) fn advance_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (lane, time, tie) = self.under_way.first();
        if time > hosts.clock.until {
            return false;
        }
        // What ports do at one instant depends on nothing else at that instant; only who watches sees an order.
        let sure = if hosts.probe.is_idle() {
            time <= hosts.clock.queue.lower_bound()
        } else {
            !tie & (time < hosts.clock.queue.lower_bound())
        };
        if !sure {
            return self.advance_tied_edge(hosts);
        }
        match lane {
            // In a browser what is small counts, too.
            _ if cfg!(target_family = "wasm") => self.take_edge_apart(hosts, lane),
            0 => self.take_edge_of::<P, 0>(hosts),
            1 => self.take_edge_of::<P, 1>(hosts),
            2 => self.take_edge_of::<P, 2>(hosts),
            _ => self.take_edge_of::<P, 3>(hosts),
        }
        true
    }

    /// Lanes have code of their own, so that the processor foretells the next one rather than wait for its time.
    #[inline(never)]
    fn take_edge_of<P: Probe, const LANE: usize>(&mut self, hosts: &mut Hosts<P>) {
        self.take_edge(hosts, LANE);
    }

    /// The same where something else may come at that instant, or before it.
    #[inline(never)]
    fn advance_tied_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (_, time, _) = self.under_way.first();
        let edges = self.under_way.at(time);
        let first = edges
            .map(|(lane, edge)| (rank(&self.topology, &self.ties, &edge.packet, time), lane))
            .min();
        let Some(((order, entity), lane)) = first else {
            return false;
        };
        let queue = &mut hosts.clock.queue;
        let first = if hosts.probe.is_idle() {
            queue.would_be_first(0, time, CELL)
        } else {
            queue.would_be_first(entity, time, order)
        };
        if first {
            self.take_edge_apart(hosts, lane);
        }
        first
    }

    /// The same in a function of its own, for who comes seldom.
    #[inline(never)]
    pub(crate) fn take_edge_apart<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize) {
        self.take_edge(hosts, lane);
    }

    #[inline(always)]
    fn take_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize) {
        if let Some(edge) = self.under_way.pop(lane) {
            hosts.clock.begin(edge.arrival);
            self.on_edge(hosts, edge);
        }
    }

    /// The last cell of a frame reaches its port, or the first one.
    #[inline(always)]
    fn on_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>, edge: Edge) {
        let Edge {
            packet,
            slot,
            link,
            cells,
            ..
        } = edge;
        let local = self.topology.steps[packet.step() as usize].local;
        let (time, batch) = (hosts.clock.now, slot);
        let port = train_port(&mut self.links, link);
        if edge.first {
            let held = port.held_before(First { batch, local, cells });
            return hosts.probe.queue(time, link, held);
        }
        let last = Last {
            time,
            batch,
            local,
            cells,
        };
        let lone = port.on_last_alone(last);
        let Some(slot) = lone.or_else(|| port.on_last(last)) else {
            if let Some(cause) = port.take_loss() {
                hosts.lose(time, link, &packet, cause);
            }
            if packet.has_options() {
                self.under_way.take_options(&packet);
            }
            return;
        };
        let left = port.grid.start(slot + 1);
        let since = if lone.is_some() {
            left
        } else {
            port.as_if_alone(left, last)
        };
        let leaving = (left + port.delay, since);
        if packet.has_options() {
            return self.leave_with_options(hosts, (link, packet), leaving);
        }
        self.leave(hosts, (link, packet), leaving, &Options::NONE);
    }

    /// A frame has its place on a link, at whose end it arrives at `at`; for what answers it, it left at `since`.
    #[inline(always)]
    fn leave<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (link, packet): (Link, Packet),
        (at, since): (Time, Time),
        options: &Options,
    ) {
        let certain = self.pass_on(hosts, link, (packet.further(), at), options, since);
        if let Some(ack) = certain {
            self.go_on_at_once(hosts, ack);
        }
    }

    /// The same of a packet that has options, which wait with the frames under way.
    #[inline(never)]
    pub(crate) fn leave_with_options<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        packet: (Link, Packet),
        leaving: (Time, Time),
    ) {
        let options = self.under_way.take_options(&packet.1);
        self.leave(hosts, packet, leaving, &options);
    }

    /// A whole frame reaches the end of a link at `at`, and from there its host; it left its trunk at `since`.
    #[inline(always)]
    pub(crate) fn pass_on<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        mut link: Link,
        (mut packet, mut at): (Packet, Time),
        options: &Options,
        since: Time,
    ) -> Option<Frame> {
        while !self.links[link.index()].end.host {
            link = self.topology.steps[packet.step() as usize].link;
            packet = packet.further();
            let Feed::Transit(port) = &self.links[link.index()].feed else {
                unreachable!("behind a port that takes trains there are none that hold a queue")
            };
            at = port.departure(at) + port.delay;
        }
        if at > hosts.clock.end {
            return None;
        }
        self.await_delivery(hosts, link, at, packet, options, since)
    }

    /// A whole frame will have reached a host at `at`; it left its trunk at `since`. In a browser what is small counts, too.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    pub(super) fn await_delivery<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        at: Time,
        packet: Packet,
        options: &Options,
        since: Time,
    ) -> Option<Frame> {
        if self.errors.any() {
            if let Some(corrupting) = self.corrupting_link(&packet) {
                hosts.lose(at, corrupting, &packet, DropCause::BitError);
                return None;
            }
        }
        let wire = &self.links[link.index()];
        let quiet = at <= wire.quiet_until && wire.deliveries.is_empty() && !hosts.ahead.busy;
        if quiet || (at > hosts.clock.now && hosts.approach(self, link, at)) {
            let now = hosts.begin_ahead(at);
            if packet.is_plain_ack() && self.take_plain_ack_frame(hosts, packet) {
                hosts.end_ahead(now);
                return None;
            }
            let certain = hosts.receive(self, packet, options, since);
            hosts.end_ahead(now);
            return certain;
        }
        let wire = &mut self.links[link.index()];
        wire.deliveries.push(OnWire { arrival: at, packet }, options);
        if at == hosts.clock.now {
            self.deliver(hosts, link);
        } else if wire.deliveries.len() == 1 {
            self.schedule(hosts, link);
        }
        None
    }

    /// The link that corrupted a frame whose cells have all come, if any did.
    #[cold]
    fn corrupting_link(&mut self, packet: &Packet) -> Option<Link> {
        let cells = frame_cells(u32::from(packet.bytes()));
        let link = self.errors.spoil(packet.vc(), u32::from(cells) * CELL_BITS as u32);
        link.map(Link::new)
    }

    /// The first frame due on a link reaches its host.
    pub(super) fn deliver<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let mut options = Options::NONE;
        if let Some(next) = self.links[link.index()].deliveries.pop(&mut options) {
            hosts.receive_apart(self, next.packet, &options);
        }
    }

    /// Puts the arrival of a link's head cell on the event queue.
    #[inline]
    pub(crate) fn schedule<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if let Some((time, order)) = self.next_arrival(link) {
            hosts.clock.set(Actor::Link(link), time, order);
        }
    }

    /// When a link's head cell arrives, and its rank among the events of that instant.
    #[inline(always)]
    pub(super) fn next_arrival(&self, link: Link) -> Option<(Time, Order)> {
        let wire = &self.links[link.index()];
        let (time, vc) = wire.head()?;
        Some((time, arrival_order(&wire.end, &self.ties, vc, time)))
    }
}

/// Rank of what reaches the end of a link at `time` among the events of that instant.
#[inline(always)]
fn arrival_order(end: &LinkEnd, ties: &TieRule, vc: Circuit, time: Time) -> Order {
    if end.unshared {
        WHOLE_FRAME
    } else {
        CELL | ties.rank(end, time, vc)
    }
}

/// The port of trains that feeds a link.
#[inline(always)]
pub(crate) fn train_port(links: &mut [FedWire], link: Link) -> &mut TrainPort {
    let Feed::Trains(port) = &mut links[link.index()].feed else {
        unreachable!("the circuits of these frames pass through such a port")
    };
    port
}

/// Place of a packet's cell that arrives at `time` among the events of that instant.
fn rank(topology: &Topology, ties: &TieRule, packet: &Packet, time: Time) -> (Order, Entity) {
    let link = topology.steps[packet.step() as usize - 1].link;
    (
        arrival_order(&topology.ends[link.index()], ties, packet.vc(), time),
        link.0,
    )
}
