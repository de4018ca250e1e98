//! VBR sources in a run: the port at the end of each one's link knows its cells ahead, so they need few events.

use crate::aal5::Cell;
use crate::link::Feed;
use crate::on_off::{Meter, OnOff};
use crate::port::classes::Feeder;
use crate::probe::Probe;
use crate::scenario::OnOffConfig;
use crate::simulation::Simulation;
use crate::topology::Step;
use longpipe_events::{Entity, Order, Span, Time};

/// After everything else of an instant.
const VBR: Order = 4 << 32;

/// Times of a cell between two looks at a VBR source's circuit, which nothing else waits for.
const VBR_CELLS: u64 = 4096;

impl<P: Probe> Simulation<P> {
    /// Puts a VBR source into the hands of the port at the end of its link.
    pub(crate) fn add_source(&mut self, config: &OnOffConfig) {
        let index = self.meters.len();
        let vc = (2 * self.flows.len() + index) as u32;
        let step = self.topology.first_step[vc as usize];
        let link = config.route[0];
        let Feed::Nic(nic) = &self.links[link].feed else {
            unreachable!("circuits begin at hosts, and a source's link carries nothing else")
        };
        let source = OnOff::new(config, self.topology.grids[link], nic.delay());
        self.links[link].feed = Feed::Vbr(index);
        self.meters.push(Meter::new(source.clone()));
        let Step { link: port, local } = self.topology.steps[step as usize + 1];
        let queue = match &mut self.links[port as usize].feed {
            Feed::Port(port) => port.vbr_mut(),
            Feed::Trains(port) => port.vbr_mut(),
            _ => None,
        };
        if let Some(queue) = queue {
            queue.add(Feeder {
                source,
                vc,
                step: step + 2,
                local,
            });
        }
        self.on_vbr(index);
    }

    /// Time to look after a VBR source again.
    pub(crate) fn on_vbr(&mut self, source: usize) {
        self.carry_vbr(source);
        let cell = self.topology.ends.iter().map(|end| end.cell).min().unwrap_or(1);
        let entity = (self.links.len() + 3 * self.flows.len() + source) as Entity;
        self.agenda.set(entity, self.now + Span(VBR_CELLS * cell), VBR);
    }

    /// Carries the VBR cells that have left their first port by now to their sinks.
    pub(crate) fn carry_vbr(&mut self, source: usize) {
        let first = self.topology.first_step[2 * self.flows.len() + source] as usize;
        let link = self.topology.steps[first + 1].link as usize;
        if let Feed::Trains(port) = &mut self.links[link].feed {
            port.settle(self.now);
        }
        while let Some((at, cell)) = self.pop_vbr(link) {
            if at <= self.end {
                self.carry_on(link, at, cell);
            }
        }
    }

    /// A VBR cell reaches the end of a link at `at`.
    #[inline]
    fn carry_on(&mut self, mut link: usize, mut at: Time, mut cell: Cell) {
        while !self.links[link].end.host {
            let Step { link: next, local } = self.topology.steps[cell.step as usize];
            let Feed::Transit(port) = &mut self.links[next as usize].feed else {
                return self.carry(link, at, cell);
            };
            at = port.pass(at, local, self.end) + port.delay;
            if at > self.end {
                return;
            }
            link = next as usize;
            cell.step += 1;
        }
        self.on_host_cell(link, at, cell);
    }

    /// The next VBR cell that has left a port by now, and when it arrives downstream.
    fn pop_vbr(&mut self, link: usize) -> Option<(Time, Cell)> {
        match &mut self.links[link].feed {
            Feed::Port(port) => port.pop_vbr(self.now),
            Feed::Trains(port) => port.pop_vbr(self.now),
            _ => None,
        }
    }
}
