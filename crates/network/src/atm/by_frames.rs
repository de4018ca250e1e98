//! Event handling of the train engine: a frame is represented by its first and last cell.

use super::interface::{Accepted, ScheduledFrame};
use super::lanes::Edge;
use super::link::{FedWire, Feed};
use super::port::trains::{First, Last, TrainPort};
use super::Atm;
use crate::clock::{Actor, CELL, UNKNOWN, WHOLE_FRAME};
use crate::hosts::Hosts;
use crate::observe::probe::{Detail, Event, Probe};
use crate::packets::aal5::{frame_cells, CELL_BITS};
use crate::packets::drops::DropCause;
use crate::packets::{Circuit, Link, OnWire, Options, Packet};
use crate::scenario::link_ends::LinkEnd;
use crate::scenario::topology::{Step, Topology};
use crate::ties::TieRule;
use longpipe_events::{Entity, Order, Time};

impl Atm {
    /// Passes a packet to its host's interface as a frame. For an ACK, `left_trunk` is the time at which the
    /// acknowledged data left their trunk (`lookahead/acks.rs`). Returns the packet if the caller must forward it; the
    /// packet is then an ACK whose order is proven.
    #[inline(always)]
    pub(crate) fn send_frame<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        packet: Packet,
        options: &Options,
        left_trunk: Time,
    ) -> Option<ScheduledFrame> {
        let vc = packet.vc();
        let by_edges = self.by_edges[vc.index()];
        let ready = hosts.ready(link);
        let Feed::Nic(nic) = &mut self.links[link.index()].feed else {
            self.send_moving(hosts, link, packet, ready);
            return None;
        };
        let cells = frame_cells(u32::from(packet.bytes()));
        let Some(accepted) = nic.accept(cells, ready) else {
            hosts.lose_frame(ready.min(hosts.clock.end), link, &packet, DropCause::InjectedLoss);
            return None;
        };
        let ack_lookahead = nic.ack_lookahead;
        if by_edges & accepted.soon {
            nic.send(cells);
            self.in_transit.keep_options(&packet, options);
            if vc.is_back() && self.is_order_proven(ack_lookahead, accepted.last, left_trunk, hosts.clock.until) {
                return Some(ScheduledFrame::new(packet, cells, accepted, true));
            }
            self.announce(hosts, packet, cells, accepted);
            return None;
        }
        self.wait_at_host(
            hosts,
            link,
            ScheduledFrame::new(packet, cells, accepted, by_edges),
            options,
        );
        None
    }

    /// Queues a frame at its host's interface.
    #[inline(never)]
    fn wait_at_host<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, frame: ScheduledFrame, options: &Options) {
        let Feed::Nic(nic) = &mut self.links[link.index()].feed else {
            return;
        };
        let first = nic.arrival(frame.slot);
        if first > hosts.clock.end {
            return nic.release_from(frame.slot);
        }
        if frame.by_edges {
            self.in_transit.keep_options(&frame.packet, options);
            self.in_transit.acks_elsewhere += frame.packet.vc().way() as u64;
        }
        if nic.wait(frame) {
            self.schedule(hosts, link);
        }
    }

    /// Announces the cells of a frame, which already have slots, to the frame's port and to the main loop.
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
        if !hosts.probe.is_idle() && hosts.probe.wants(Detail::Queue) {
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
        self.in_transit
            .insert(lane, edge, |first, second| rank(first) < rank(second));
    }

    /// Handles the earliest edge in transit if it precedes all other events and the end of the run. Returns whether it
    /// did so.
    #[inline(always)]
    pub(super) fn advance_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (lane, time, tie) = self.in_transit.first();
        if time > hosts.clock.until {
            return false;
        }
        // Simultaneous arrivals at different ports are independent; only a probe can observe their order.
        let sure = if hosts.probe.is_idle() {
            time <= hosts.clock.queue.lower_bound()
        } else {
            !tie & (time < hosts.clock.queue.lower_bound())
        };
        if !sure {
            return self.advance_tied_edge(hosts);
        }
        match lane {
            0 => self.take_edge_of::<P, 0>(hosts),
            1 => self.take_edge_of::<P, 1>(hosts),
            2 => self.take_edge_of::<P, 2>(hosts),
            _ => self.take_edge_of::<P, 3>(hosts),
        }
        true
    }

    /// Handles the next edge of a lane. Each lane has its own copy of the code, so that the processor predicts its
    /// branches separately.
    #[inline(never)]
    fn take_edge_of<P: Probe, const LANE: usize>(&mut self, hosts: &mut Hosts<P>) {
        self.take_edge(hosts, LANE);
    }

    /// Handles the earliest edge if an event may precede it or be simultaneous with it.
    #[inline(never)]
    fn advance_tied_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        let (_, time, _) = self.in_transit.first();
        let edges = self.in_transit.at(time);
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

    /// Handles an edge in a function that is not inlined; used by code that is rarely executed.
    #[inline(never)]
    pub(crate) fn take_edge_apart<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize) {
        self.take_edge(hosts, lane);
    }

    #[inline(always)]
    fn take_edge<P: Probe>(&mut self, hosts: &mut Hosts<P>, lane: usize) {
        if let Some(edge) = self.in_transit.pop(lane) {
            hosts.clock.begin(edge.arrival);
            self.on_edge(hosts, edge);
        }
    }

    /// Processes the arrival of a frame's first or last cell at its port.
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
            return hosts.probe.observe(Event::Queue(time, link, held));
        }
        let last = Last {
            time,
            batch,
            local,
            cells,
        };
        let lone = port.on_last_alone(last);
        let Some(slot) = lone.or_else(|| port.on_last(last)) else {
            if let Some(loss) = port.take_loss() {
                self.report_lost_frame(hosts, link, &packet, loss);
            }
            if packet.has_options() {
                self.in_transit.take_options(&packet);
            }
            return;
        };
        let left = port.grid.start(slot + 1);
        let left_trunk = if lone.is_some() {
            left
        } else {
            port.as_if_alone(left, last)
        };
        let leaving = (left + port.delay, left_trunk);
        if packet.has_options() {
            return self.leave_with_options(hosts, (link, packet), leaving);
        }
        self.leave(hosts, (link, packet), leaving, &Options::NONE);
    }

    /// Reports that a train port lost a frame, at a time and with a cause as in `TrainPort::take_loss`.
    #[cold]
    #[inline(never)]
    fn report_lost_frame<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        packet: &Packet,
        (time, cause): (Time, DropCause),
    ) {
        let time = match cause {
            // The host discards a merged frame when its last cell arrives.
            DropCause::PartialFrame => self.cross_transit(link, packet.further(), time).2,
            _ => time,
        };
        hosts.lose_frame(time, link, packet, cause);
    }

    /// Reports, at the end of the run, the frames that have lost a cell at a train port which their last cells have not
    /// reached.
    pub(super) fn report_frames_lost_in_part<P: Probe>(&mut self, hosts: &mut Hosts<P>) {
        let end = hosts.clock.end;
        for wire in &mut self.links {
            if let Feed::Trains(port) = &mut wire.feed {
                port.settle(end);
            }
        }
        for edge in self.in_transit.iter().filter(|edge| !edge.first) {
            let local = self.topology.steps[edge.packet.step() as usize].local;
            let first = edge.slot + 1 - u64::from(edge.cells);
            let Feed::Trains(port) = &self.links[edge.link.index()].feed else {
                continue;
            };
            if let Some((time, cause)) = port.loss_so_far(first, local) {
                hosts.lose_frame(time, edge.link, &edge.packet, cause);
            }
        }
    }

    /// Records that a frame departs on a link, whose end it reaches at time `at`. `left_trunk` is the time at which the
    /// frame left its trunk (`lookahead/acks.rs`).
    #[inline(always)]
    fn leave<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        (link, packet): (Link, Packet),
        (at, left_trunk): (Time, Time),
        options: &Options,
    ) {
        let proven = self.pass_on(hosts, link, (packet.further(), at), options, left_trunk);
        if let Some(ack) = proven {
            self.pass_port_at_once(hosts, ack);
        }
    }

    /// Like `leave`, but for a packet with options, which are stored with the frames in transit.
    #[inline(never)]
    pub(crate) fn leave_with_options<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        packet: (Link, Packet),
        leaving: (Time, Time),
    ) {
        let options = self.in_transit.take_options(&packet.1);
        self.leave(hosts, packet, leaving, &options);
    }

    /// Advances a whole frame from the end of a link, where it arrives at time `at`, to its host. `left_trunk` is the
    /// time at which the frame left its trunk (`lookahead/acks.rs`).
    #[inline(always)]
    pub(crate) fn pass_on<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        (packet, at): (Packet, Time),
        options: &Options,
        left_trunk: Time,
    ) -> Option<ScheduledFrame> {
        let (link, packet, at) = self.cross_transit(link, packet, at);
        if at > hosts.clock.end {
            return None;
        }
        self.await_delivery(hosts, link, at, packet, options, left_trunk)
    }

    /// Returns the last link of the path of a frame that reaches the end of a link at time `at`, the packet as it
    /// reaches the host, and the time at which it does so.
    #[inline(always)]
    pub(super) fn cross_transit(&self, mut link: Link, mut packet: Packet, mut at: Time) -> (Link, Packet, Time) {
        while !self.links[link.index()].end.host {
            link = self.topology.steps[packet.step() as usize].link;
            packet = packet.further();
            let Feed::Transit(port) = &self.links[link.index()].feed else {
                unreachable!("ports downstream of a train port have no queue")
            };
            at = port.departure(at) + port.delay;
        }
        (link, packet, at)
    }

    /// Queues a whole frame that arrives at its host at time `at`. `left_trunk` is the time at which the frame left its
    /// trunk (`lookahead/acks.rs`).
    #[inline(always)]
    pub(super) fn await_delivery<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        at: Time,
        packet: Packet,
        options: &Options,
        left_trunk: Time,
    ) -> Option<ScheduledFrame> {
        if self.errors.any() {
            if let Some(corrupting) = self.corrupting_link(&packet) {
                hosts.lose_frame(at, corrupting, &packet, DropCause::BitError);
                return None;
            }
        }
        let wire = &self.links[link.index()];
        let quiet = at <= wire.earliest_event && wire.deliveries.is_empty() && !hosts.early_delivery.delivering_early;
        if quiet || (at > hosts.clock.now && hosts.prepare_for_arrival(self, link, at)) {
            let now = hosts.begin_early(at);
            let proven = if packet.is_ack_without_options() {
                if !self.take_ack_frame_on_fast_path(hosts, packet) {
                    self.deliver_ack(hosts, packet);
                }
                None
            } else if packet.is_data_without_options() {
                let fast = self.take_data_frame_on_fast_path(hosts, packet, left_trunk);
                fast.unwrap_or_else(|| self.deliver_data(hosts, packet, left_trunk))
            } else {
                hosts.receive_in_full(self, packet, options, left_trunk)
            };
            hosts.end_early(now);
            return proven;
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

    /// Delivers data without options to a receiver whose fast path does not apply.
    #[inline(never)]
    fn deliver_data<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        packet: Packet,
        left_trunk: Time,
    ) -> Option<ScheduledFrame> {
        hosts.receive_data(self, packet, left_trunk)
    }

    /// Delivers an ACK without options to a sender whose fast path does not apply.
    #[inline(never)]
    fn deliver_ack<P: Probe>(&mut self, hosts: &mut Hosts<P>, packet: Packet) {
        hosts.receive_ack(self, packet);
    }

    /// Returns the link that corrupted a frame whose cells have all arrived, if any.
    #[cold]
    fn corrupting_link(&mut self, packet: &Packet) -> Option<Link> {
        let cells = frame_cells(u32::from(packet.bytes()));
        let link = self.errors.corrupt(packet.vc(), u32::from(cells) * CELL_BITS as u32);
        link.map(Link::new)
    }

    /// Delivers the first frame due on a link to its host.
    pub(super) fn deliver<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        let mut options = Options::NONE;
        if let Some(next) = self.links[link.index()].deliveries.pop(&mut options) {
            hosts.receive(self, next.packet, &options, UNKNOWN);
        }
    }

    /// Schedules the arrival event of a link's head cell.
    #[inline]
    pub(crate) fn schedule<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        if let Some((time, order)) = self.next_arrival(link) {
            hosts.clock.set(Actor::Link(link), time, order);
        }
    }

    /// Returns the arrival time of a link's head cell, and its rank among simultaneous events.
    #[inline(always)]
    pub(super) fn next_arrival(&self, link: Link) -> Option<(Time, Order)> {
        let wire = &self.links[link.index()];
        let (time, vc) = wire.head()?;
        Some((time, arrival_order(&wire.end, &self.ties, vc, time)))
    }
}

/// Returns the rank, among simultaneous events, of an arrival at the end of a link at `time`.
#[inline(always)]
fn arrival_order(end: &LinkEnd, ties: &TieRule, vc: Circuit, time: Time) -> Order {
    if end.unshared {
        WHOLE_FRAME
    } else {
        CELL | ties.rank(end, time, vc)
    }
}

/// Returns the train port that feeds a link.
#[inline(always)]
pub(crate) fn train_port(links: &mut [FedWire], link: Link) -> &mut TrainPort {
    let Feed::Trains(port) = &mut links[link.index()].feed else {
        unreachable!("the circuits of these frames pass through a train port")
    };
    port
}

/// Returns the rank, among simultaneous events, of a packet's cell that arrives at `time`.
fn rank(topology: &Topology, ties: &TieRule, packet: &Packet, time: Time) -> (Order, Entity) {
    let link = topology.steps[packet.step() as usize - 1].link;
    (
        arrival_order(&topology.ends[link.index()], ties, packet.vc(), time),
        link.0,
    )
}
