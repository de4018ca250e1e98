//! The train engine in a run: frames go by their first and their last cell.

use crate::ip::Packet;
use crate::link::{Feed, Link};
use crate::nic::Accepted;
use crate::port::trains::{First, Last, Late, TrainPort};
use crate::probe::Probe;
use crate::simulation::{arrival_order, Simulation, CELL};
use crate::ties::TieRule;
use crate::topology::{Step, Topology};
use crate::under_way::Edge;
use longpipe_events::{Entity, Order, SlotGrid, Span, Time};

impl<P: Probe> Simulation<P> {
    /// A host begins to send a frame, or will soon: its port and the loop learn when its cells arrive there.
    #[inline(always)]
    pub(crate) fn announce(&mut self, packet: Packet, cells: u16, sent: Accepted) {
        let Step { link, local } = self.topology.steps[packet.step() as usize];
        let port = train_port(&mut self.links, link);
        port.expect(First {
            time: sent.first,
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
        if !P::IDLE && self.probe.wants_queue() {
            let first = Edge {
                arrival: sent.first,
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
    pub(crate) fn advance_edge(&mut self) -> bool {
        let (lane, time, tie) = self.under_way.first();
        if time > self.end {
            return false;
        }
        // What ports do at one instant depends on nothing else at that instant; only who watches sees an order.
        let sure = if P::IDLE {
            time <= self.agenda.bound()
        } else {
            !tie & (time < self.agenda.bound())
        };
        if !sure {
            return self.advance_tied_edge();
        }
        match lane {
            0 => self.take_edge_of::<0>(),
            1 => self.take_edge_of::<1>(),
            2 => self.take_edge_of::<2>(),
            _ => self.take_edge_of::<3>(),
        }
        true
    }

    /// Lanes have code of their own, so that the processor foretells the next one rather than wait for its time.
    #[inline(never)]
    fn take_edge_of<const LANE: usize>(&mut self) {
        self.take_edge(LANE);
    }

    /// The same where something else may come at that instant, or before it.
    #[inline(never)]
    fn advance_tied_edge(&mut self) -> bool {
        let (_, time, _) = self.under_way.first();
        let edges = self.under_way.at(time);
        let first = edges
            .map(|(lane, edge)| (rank(&self.topology, &self.ties, &edge.packet, time), lane))
            .min();
        let Some(((order, entity), lane)) = first else {
            return false;
        };
        let first = if P::IDLE {
            self.agenda.would_be_first(0, time, CELL)
        } else {
            self.agenda.would_be_first(entity, time, order)
        };
        if first {
            self.take_edge(lane);
        }
        first
    }

    #[inline(always)]
    pub(crate) fn take_edge(&mut self, lane: usize) {
        if let Some(edge) = self.under_way.pop(lane, &mut self.options) {
            self.now = edge.arrival;
            self.events += 1;
            self.on_edge(edge);
        }
    }

    /// The last cell of a frame reaches its port, or the first one.
    #[inline(always)]
    fn on_edge(&mut self, edge: Edge) {
        let Edge {
            packet,
            slot,
            link,
            cells,
            ..
        } = edge;
        let local = self.topology.steps[packet.step() as usize].local;
        let (time, batch) = (self.now, slot);
        let port = train_port(&mut self.links, link);
        if edge.first {
            let held = port.held_before(First {
                time,
                batch,
                local,
                cells,
            });
            return self.probe.queue(time, link, held);
        }
        let last = Last {
            time,
            batch,
            local,
            cells,
        };
        let lone = port.on_last_alone(last);
        let Some(slot) = lone.or_else(|| port.on_last(last)) else {
            return;
        };
        let left = port.grid.start(slot + 1);
        let leaves = left + port.delay;
        self.left_trunk = match lone {
            Some(_) => left,
            None => port.as_if_alone(left, last),
        };
        self.pass_on(link as usize, packet.further(), leaves);
        if let Some(ack) = self.certain_frame.take() {
            self.go_on_at_once(ack);
        }
    }

    /// A whole frame reaches the end of a link at `at`, and from there its host.
    #[inline(always)]
    pub(crate) fn pass_on(&mut self, mut link: usize, mut packet: Packet, mut at: Time) {
        while !self.links[link].end.host {
            link = self.topology.steps[packet.step() as usize].link as usize;
            packet = packet.further();
            let Feed::Transit(port) = &self.links[link].feed else {
                unreachable!("behind a port that takes trains there are none that hold a queue")
            };
            at = port.departure(at) + port.delay;
        }
        if at <= self.end {
            self.await_delivery(link, at, packet);
        }
    }

    /// Brings the counters of the ports of trains, and of those before and behind them, to the end of the run.
    pub(crate) fn settle_trains(&mut self) {
        let now = self.now;
        for edge in self.under_way.iter().filter(|edge| !edge.first) {
            let link = self.topology.steps[edge.packet.step() as usize - 1].link as usize;
            if let Feed::Nic(nic) = &mut self.links[link].feed {
                nic.hold(edge.slot, edge.cells, now);
            }
        }
        for link in 0..self.links.len() {
            let feed = std::mem::replace(&mut self.links[link].feed, Feed::Packets);
            let Feed::Trains(mut port) = feed else {
                self.links[link].feed = feed;
                continue;
            };
            port.settle(now);
            let mut late = vec![Vec::new(); self.topology.vcs_of_link[link][0] as usize];
            for &cells in port.late() {
                late[cells.local as usize].push(cells);
            }
            for &first in &self.topology.first_step[..2 * self.flows.len()] {
                let Some((step, _)) = self.topology.route(first).find(|&(_, on_route)| on_route == link) else {
                    continue;
                };
                let local = self.topology.steps[step as usize].local as usize;
                let late = std::mem::take(&mut late[local]);
                settle_path(&port, late, &self.topology, &mut self.links, step, now);
            }
            self.links[link].feed = Feed::Trains(port);
        }
    }
}

/// The port of trains that feeds a link.
#[inline(always)]
pub(crate) fn train_port(links: &mut [Link], link: u32) -> &mut TrainPort {
    let Feed::Trains(port) = &mut links[link as usize].feed else {
        unreachable!("the circuits of these frames pass through such a port")
    };
    port
}

/// Place of a packet's cell that arrives at `time` among the events of that instant.
fn rank(topology: &Topology, ties: &TieRule, packet: &Packet, time: Time) -> (Order, Entity) {
    let link = topology.steps[packet.step() as usize - 1].link;
    (
        arrival_order(&topology.ends[link as usize], ties, packet.vc(), time),
        link,
    )
}

/// Counts what a VC has brought to the ports behind the one of `step`.
fn settle_path(port: &TrainPort, mut late: Vec<Late>, topology: &Topology, links: &mut [Link], step: u32, now: Time) {
    let local = topology.steps[step as usize].local as usize;
    let (mut cells, mut frames) = port.passed_on(local);
    // The slots and wires between that port and the next one.
    let mut passed: Vec<(SlotGrid, Span)> = Vec::new();
    for (step, link) in topology.route(step + 1) {
        let Feed::Transit(transit) = &mut links[link].feed else {
            unreachable!("behind a port that takes trains there are none that hold a queue")
        };
        let arrives = |slot: u64| {
            let at = port.grid.start(slot + 1) + port.delay;
            passed.iter().fold(at, |at, (grid, delay)| grid.end_after(at) + *delay)
        };
        let mut held = 0;
        late.retain_mut(|late| {
            let arrived = until(late, |slot| arrives(slot) > now);
            cells -= late.cells - arrived;
            frames -= u64::from(late.begins && arrived == 0);
            late.cells = arrived;
            held += arrived - until(late, |slot| transit.departure(arrives(slot)) > now);
            arrived > 0
        });
        transit.cells_in += cells;
        transit.frames_in += frames;
        transit.held[topology.steps[step as usize].local as usize] = held;
        transit.cells_out += cells - held;
        passed.push((transit.grid, transit.delay));
    }
}

/// How many cells there are before the first one of which this holds: of all that follow it, too.
fn until(late: &Late, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, late.cells);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(late.slot + middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}
