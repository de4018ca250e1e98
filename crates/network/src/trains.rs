//! The train engine in a run: frames go by their first and their last cell.

use crate::link::{Feed, Link};
use crate::nic::FrameEdge;
use crate::port::trains::{Edge, Late, TrainPort};
use crate::port::transit::Transit;
use crate::probe::Probe;
use crate::simulation::Simulation;
use crate::topology::{Step, Topology};
use longpipe_events::Time;

impl<P: Probe> Simulation<P> {
    /// The first or the last cell of a frame reaches a port that takes trains.
    #[inline]
    pub(crate) fn on_edge(&mut self, link: usize, edge: FrameEdge) {
        let FrameEdge { cell, slot, cells } = edge;
        let Step { link: next, local } = self.topology.steps[cell.step as usize];
        let edge = Edge {
            time: self.now,
            batch: slot,
            rank: (self.ties.rank(&self.links[link].end, self.now, cell.vc), link as u32),
            local,
            cells,
        };
        let Feed::Trains(port) = &mut self.links[next as usize].feed else {
            unreachable!("the circuits of these frames pass through such a port")
        };
        if cell.left > 0 {
            if let Some(held) = port.on_first(edge, self.probe.wants_queue()) {
                self.probe.queue(self.now, next, held);
            }
        } else if let Some(slot) = port.on_last(edge) {
            let leaves = port.grid.start(slot + 1) + port.delay;
            self.pass_on(next as usize, cell.step + 1, leaves, cell.vc, cell.frame);
        }
    }

    /// A whole frame reaches the end of a link at `at`, and from there its host.
    fn pass_on(&mut self, mut link: usize, mut step: u32, mut at: Time, vc: u32, frame: u32) {
        while !self.links[link].end.host {
            link = self.topology.steps[step as usize].link as usize;
            step += 1;
            let Feed::Transit(port) = &self.links[link].feed else {
                unreachable!("behind a port that takes trains there are none that hold a queue")
            };
            at = port.departure(at) + port.delay;
        }
        if at <= self.end {
            self.await_delivery(link, at, vc, frame);
        }
    }

    /// Brings the counters of the ports of trains, and of those behind them, to the end of the run.
    pub(crate) fn settle_trains(&mut self) {
        let now = self.now;
        for link in 0..self.links.len() {
            let Feed::Trains(port) = &mut self.links[link].feed else {
                continue;
            };
            port.settle(now);
            let port = port.clone();
            let mut late = vec![Vec::new(); self.topology.vcs_of_link[link][0] as usize];
            for &cell in port.late() {
                late[cell.local as usize].push(cell);
            }
            for &first in &self.topology.first_step[..2 * self.flows.len()] {
                let Some((step, _)) = self.topology.route(first).find(|&(_, on_route)| on_route == link) else {
                    continue;
                };
                let local = self.topology.steps[step as usize].local as usize;
                settle_path(&port, &late[local], &self.topology, &mut self.links, step, now);
            }
        }
    }
}

/// Counts what a VC has brought to the ports behind the one of `step`.
fn settle_path(port: &TrainPort, late: &[Late], topology: &Topology, links: &mut [Link], step: u32, now: Time) {
    let local = topology.steps[step as usize].local as usize;
    let (mut cells, mut frames) = port.passed_on(local);
    let mut under_way: Vec<(Time, bool)> = late
        .iter()
        .map(|late| (port.grid.start(late.slot + 1) + port.delay, late.begins))
        .collect();
    for (step, link) in topology.route(step + 1) {
        let Feed::Transit(Transit { .. }) = &links[link].feed else {
            unreachable!("behind a port that takes trains there are none that hold a queue")
        };
        let Feed::Transit(port) = &mut links[link].feed else {
            continue;
        };
        let absent = under_way.iter().filter(|(at, _)| *at > now);
        frames -= absent.clone().filter(|(_, begins)| *begins).count() as u64;
        cells -= absent.count() as u64;
        under_way.retain(|(at, _)| *at <= now);
        port.cells_in += cells;
        port.frames_in += frames;
        let leaves: Vec<(Time, bool)> = under_way
            .iter()
            .map(|&(at, begins)| (port.departure(at), begins))
            .collect();
        let held = leaves.iter().filter(|(leaves, _)| *leaves > now).count() as u64;
        port.held[topology.steps[step as usize].local as usize] = held;
        port.cells_out += cells - held;
        under_way = leaves
            .into_iter()
            .map(|(leaves, begins)| (leaves + port.delay, begins))
            .collect();
    }
}
