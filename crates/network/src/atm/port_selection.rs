//! Selects the ports that are simulated without an event per cell, and builds a run's links for either engine.

use crate::atm::interface::Nic;
use crate::atm::link::{Deliveries, FedWire, Feed};
use crate::atm::port::admission::{Admission, AqmOfFrames};
use crate::atm::port::classes::VbrQueue;
use crate::atm::port::dfba::DfbaOfFrames;
use crate::atm::port::per_vc::PerVcPort;
use crate::atm::port::red::RedOfFrames;
use crate::atm::port::time_varying::TimeVaryingCellPort;
use crate::atm::port::trains::{TrainParameters, TrainPort};
use crate::atm::port::transit::Transit;
use crate::atm::port::CellPort;
use crate::impairments::loss::Loss;
use crate::packets::aal5::frame_cells;
use crate::packets::Circuit;
use crate::policies::Policy;
use crate::scenario::topology::Topology;
use crate::scenario::{LinkConfig, LossConfig, NodeKind, PolicyConfig, Scenario};
use crate::schedulers::class::Class;
use crate::schedulers::fair_queueing;
use crate::schedulers::Scheduler;
use crate::ties::TieRule;
use crate::time_varying::TimeVaryingLink;
use longpipe_events::{Span, Time};

/// Builds the links of a scenario.
pub struct Plan<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    seed: u64,
    /// Whether a probe observes every cell.
    by_cells: bool,
    ties: TieRule,
    /// For each link, the links from which cells continue to its port, without duplicates.
    inputs: Vec<Vec<usize>>,
    /// For each link, its circuits that carry packets, and their step at the link.
    circuits: Vec<Vec<(Circuit, u32)>>,
    first_of_vbr: Vec<usize>,
    /// For each link, the earliest possible arrival at its port.
    earliest: Vec<Time>,
    /// Whether the port of each link can never queue.
    transit: Vec<bool>,
}

impl<'a> Plan<'a> {
    /// Classifies every port. If a probe observes individual cells (`by_cells`), no port uses trains.
    pub fn new(scenario: &'a Scenario, topology: &'a Topology, seed: u64, by_cells: bool) -> Plan<'a> {
        let mut inputs = vec![Vec::new(); scenario.links.len()];
        let mut circuits = vec![Vec::new(); scenario.links.len()];
        let mut earliest = vec![Time(u64::MAX); scenario.links.len()];
        for (vc, first) in topology.circuits() {
            let (mut before, mut at) = (None, Time::ZERO);
            let carries_packets = vc.index() < Circuit::of_flows(scenario.flows.len());
            for (step, link) in topology.route(first) {
                earliest[link] = earliest[link].min(at);
                let config = &scenario.links[link];
                // At a varying rate, a cell may take less time.
                let cell = if config.motion.is_none() {
                    topology.ends[link].cell
                } else {
                    0
                };
                at += Span(cell + config.guarantees().min_delay);
                circuits[link].extend(carries_packets.then_some((vc, step)));
                let sources: &mut Vec<usize> = &mut inputs[link];
                sources.extend(before.filter(|before| sources.last() != Some(before)));
                before = Some(link);
            }
        }
        for sources in &mut inputs {
            sources.sort_unstable();
            sources.dedup();
        }
        let first_of_vbr = scenario.vbr.iter().filter_map(|source| source.route.get(1).copied());
        let mut plan = Plan {
            scenario,
            topology,
            seed,
            by_cells,
            ties: TieRule::new(scenario.ties, seed),
            inputs,
            circuits,
            first_of_vbr: first_of_vbr.collect(),
            earliest,
            transit: Vec::new(),
        };
        plan.transit = (0..scenario.links.len()).map(|link| plan.is_transit(link)).collect();
        plan
    }

    fn is_port(&self, link: usize) -> bool {
        self.scenario.nodes[self.scenario.links[link].from].kind == NodeKind::Switch
    }

    /// Returns whether a port already has slots when the first cell arrives.
    fn runs_in_time(&self, link: usize) -> bool {
        self.topology.grids[link].start(0) <= self.earliest[link]
    }

    /// Returns whether a link is static.
    fn is_static(&self, link: usize) -> bool {
        self.scenario.links[link].motion.is_none()
    }

    fn policy(&self, link: usize) -> Policy {
        let config = &self.scenario.links[link];
        config
            .policy
            .buffer_policy(config.buffer.map_or(u64::MAX, |buffer| buffer.limit))
    }

    /// Returns whether a port has a single input, from a port that is not faster, so that an arriving cell finds at
    /// most one cell in service.
    fn is_transit(&self, link: usize) -> bool {
        let (config, grids) = (&self.scenario.links[link], &self.topology.grids);
        let &[input] = &self.inputs[link][..] else {
            return false;
        };
        let delay = Span(self.scenario.links[input].delay_ps);
        let no_faster =
            grids[input].contains(&grids[link]).0 > 0 || grids[input].alignment(delay, &grids[link]).is_some();
        no_faster
            && self.is_static(link)
            && self.is_static(input)
            && self.runs_in_time(link)
            && self.is_port(link)
            && self.is_port(input)
            && !self.has_queue_per_vc(link)
            && !self.acts(link)
            && (self.carries_vbr(link)
                || matches!(config.loss, LossConfig::None {} | LossConfig::BitErrors { .. })
                    && config.buffer.is_none_or(|buffer| buffer.limit > 1)
                    && self.policy(link).decides(0, 1) == Some(false))
    }

    /// Returns whether each frame of a VC has at least two cells.
    fn has_two_ends(&self, vc: Circuit) -> bool {
        let traffic = &self.scenario.flows[vc.flow().index()].traffic;
        traffic
            .datagram_bytes()
            .is_none_or(|[shortest, _]| frame_cells(shortest) > 1)
    }

    /// Returns whether a port must decide on each frame individually, because its policy keeps state or draws random
    /// numbers, or because its frames may be tagged.
    fn acts(&self, link: usize) -> bool {
        let policy = &self.scenario.links[link].policy;
        matches!(policy, PolicyConfig::Red(_) | PolicyConfig::Dfba(_)) || self.carries_guarantees(link)
    }

    /// Returns whether a VC with a guaranteed rate passes a link.
    fn carries_guarantees(&self, link: usize) -> bool {
        self.mcrs(link).any(|mcr| mcr > 0)
    }

    /// Returns the minimum cell rate of each VC of a link that carries packets, in the order of their numbers at the port.
    fn mcrs(&self, link: usize) -> impl Iterator<Item = u64> + '_ {
        self.circuits[link].iter().map(|(vc, _)| {
            let flow = &self.scenario.flows[vc.flow().index()];
            if vc.is_back() {
                0
            } else {
                flow.service.mcr()
            }
        })
    }

    fn weights(&self, link: usize) -> Vec<u128> {
        let mcrs: Vec<u64> = self.mcrs(link).collect();
        fair_queueing::weights(self.scenario.links[link].rate_bps, &mcrs)
    }

    /// Returns whether a port has a queue per VC.
    fn has_queue_per_vc(&self, link: usize) -> bool {
        self.is_port(link) && self.scenario.has_queue_per_vc(link, self.topology.vcs_of_link[link])
    }

    fn carries_vbr(&self, link: usize) -> bool {
        self.topology.vcs_of_link[link][Class::Vbr as usize] > 0
    }

    /// Returns the links from which packets continue to this link.
    fn packets_from(&self, link: usize) -> impl Iterator<Item = usize> + '_ {
        let with_packets = |&input: &usize| self.topology.vcs_of_link[input][Class::Ubr as usize] > 0;
        self.inputs[link].iter().copied().filter(with_packets)
    }

    /// Returns whether a port may use trains: its inputs must share one slot grid and one delay, and no downstream port
    /// may queue.
    fn takes_trains(&self, link: usize) -> bool {
        let (links, grids) = (&self.scenario.links, &self.topology.grids);
        let Some(first) = self.packets_from(link).next() else {
            return false;
        };
        let alike = |input: usize| {
            !self.is_port(input)
                && self.is_static(input)
                && grids[input] == grids[first]
                && links[input].delay_ps == links[first].delay_ps
        };
        let behind = |&(_, step): &(Circuit, u32)| self.topology.route(step + 1).all(|(_, next)| self.transit[next]);
        self.scenario.takes_shortcuts()
            && !self.by_cells
            && self.is_port(link)
            && self.is_static(link)
            && !self.has_queue_per_vc(link)
            && !self.acts(link)
            && self.runs_in_time(link)
            && self.packets_from(link).all(alike)
            && self.circuits[link].iter().all(|&(vc, _)| self.has_two_ends(vc))
            && self.circuits[link].iter().all(behind)
    }

    /// Returns, for each link, whether its port can never queue.
    pub fn transit(&self) -> Vec<bool> {
        self.transit.clone()
    }

    /// Builds all links in the idle state. The links of VBR sources have interfaces.
    pub fn links(&self) -> Vec<FedWire> {
        let trains: Vec<bool> = (0..self.scenario.links.len())
            .map(|link| self.takes_trains(link))
            .collect();
        let mut behind = vec![false; trains.len()];
        for link in (0..trains.len()).filter(|&link| trains[link]) {
            for &(_, step) in &self.circuits[link] {
                self.topology.route(step + 1).for_each(|(_, next)| behind[next] = true);
            }
        }
        for source in &self.scenario.vbr {
            let Some((first, past)) = source.route[1..].split_first() else {
                continue;
            };
            if trains[*first] && past.iter().all(|&link| self.transit[link]) {
                past.iter().for_each(|&link| behind[link] = true);
            }
        }
        let mut lanes = 0..;
        let feeds = (0..trains.len()).map(|link| match (trains[link], behind[link]) {
            (true, _) => Feed::Trains(Box::new(self.train_port(link, lanes.next().unwrap_or(0)))),
            (_, true) => Feed::Transit(self.transit_port(link)),
            _ => self.plain(link),
        });
        let links = feeds.zip(&self.topology.ends).map(|(feed, &end)| FedWire {
            end,
            feed,
            earliest_event: Time::ZERO,
            deliveries: Deliveries::default(),
        });
        links.collect()
    }

    fn plain(&self, link: usize) -> Feed {
        let time_varying = TimeVaryingLink::of_cells(&self.scenario.links[link], self.topology.grids[link].start(0));
        if self.has_queue_per_vc(link) {
            Feed::PerVc(Box::new(self.per_vc_port(link, time_varying)))
        } else if let Some(motion) = time_varying {
            Feed::TimeVarying(Box::new(self.time_varying(link, motion)))
        } else if self.is_port(link) {
            Feed::Port(self.port(link))
        } else {
            Feed::Nic(self.nic(link))
        }
    }

    fn loss(&self, link: usize) -> Option<Box<Loss>> {
        Loss::new(&self.scenario.links[link].loss, self.seed, link as u64)
    }

    fn nic(&self, link: usize) -> Nic {
        Nic::new(
            self.topology.grids[link],
            Span(self.scenario.links[link].delay_ps),
            self.loss(link),
        )
    }

    /// Builds an interface or port of a time-varying link; a host's interface is unlimited and has no policy.
    fn time_varying(&self, link: usize, motion: TimeVaryingLink) -> TimeVaryingCellPort {
        let vcs = self.topology.vcs_of_link[link][Class::Ubr as usize] as usize;
        let admission = match self.is_port(link) {
            true => self.admission(link),
            false => Admission::new(None, Policy::TAIL_DROP, self.loss(link), vcs),
        };
        let end = Time(self.scenario.duration_ps);
        TimeVaryingCellPort::new(!self.is_port(link), motion, admission, end)
    }

    /// Builds a switch port. The port of a VBR source's first switch has a separate queue for VBR. The source's later
    /// ports carry only VBR, and their queues are unlimited.
    fn port(&self, index: usize) -> CellPort {
        let link: &LinkConfig = &self.scenario.links[index];
        let vbr = self.topology.vcs_of_link[index][Class::Vbr as usize] as usize;
        let (grid, delay) = (self.topology.grids[index], Span(link.delay_ps));
        let first_of_vbr = self.first_of_vbr.contains(&index);
        if vbr > 0 && !first_of_vbr {
            return CellPort::new(grid, delay, Admission::new(None, Policy::TAIL_DROP, None, vbr), None);
        }
        CellPort::new(grid, delay, self.admission(index), self.vbr_queue(index).map(Box::new))
    }

    fn per_vc_port(&self, index: usize, time_varying: Option<TimeVaryingLink>) -> PerVcPort {
        let link = &self.scenario.links[index];
        let unit = link.scheduler.unit_of_vcs().expect("a port with a queue per VC");
        let (admission, weights) = (self.admission(index), self.weights(index));
        match time_varying {
            Some(motion) => PerVcPort::time_varying(motion, admission, unit, &weights),
            None => {
                let (grid, delay) = (self.topology.grids[index], Span(link.delay_ps));
                PerVcPort::new(grid, delay, admission, unit, &weights)
            }
        }
    }

    /// Builds the admission of cells to a port's queues, except that of VBR.
    fn admission(&self, index: usize) -> Admission {
        let link = &self.scenario.links[index];
        let ubr = self.topology.vcs_of_link[index][Class::Ubr as usize] as usize;
        let red = || RedOfFrames::new(link, self.seed, index as u64, ubr).map(AqmOfFrames::Red);
        let dfba = || DfbaOfFrames::new(link, self.seed, index as u64, &self.weights(index)).map(AqmOfFrames::Dfba);
        Admission::new(
            link.buffer.map(|buffer| buffer.limit),
            self.policy(index),
            self.loss(index),
            ubr,
        )
        .with_aqm(red().or_else(dfba))
    }

    /// Builds the VBR queue at the first port of a VBR source.
    fn vbr_queue(&self, link: usize) -> Option<VbrQueue> {
        let scheduler = Scheduler::new(&self.scenario.links[link].scheduler)?;
        let end = Time(self.scenario.duration_ps);
        self.first_of_vbr.contains(&link).then(|| VbrQueue::new(scheduler, end))
    }

    fn transit_port(&self, link: usize) -> Transit {
        let vcs = self.topology.vcs_of_link[link].iter().sum::<u32>() as usize;
        Transit::new(self.topology.grids[link], Span(self.scenario.links[link].delay_ps), vcs)
    }

    fn train_port(&self, link: usize, lane: usize) -> TrainPort {
        let config = &self.scenario.links[link];
        let input = self
            .packets_from(link)
            .next()
            .expect("a port that takes trains has inputs");
        let grid = self.topology.grids[link];
        let circuits = self.circuits[link].iter().map(|&(vc, step)| {
            let from = self.topology.steps[step as usize - 1].link;
            (vc, from, self.topology.ends[from.index()])
        });
        let parts = TrainParameters {
            lane,
            input: self.topology.grids[input],
            input_delay: Span(self.scenario.links[input].delay_ps),
            grid,
            delay: Span(config.delay_ps),
            capacity: config.buffer.map(|buffer| buffer.limit),
            policy: self.policy(link),
            loss: self.loss(link),
            ties: self.ties,
            circuits: circuits.collect(),
            horizon: self.horizon(link),
            over: grid.ended_by(Time(self.scenario.duration_ps)),
            vbr: self.vbr_queue(link),
        };
        parts.port()
    }

    /// Returns the first slot at a port whose cell has not left the path by the end of the run.
    fn horizon(&self, link: usize) -> u64 {
        let end = Time(self.scenario.duration_ps);
        let out = |slot: u64| {
            let leaves = self.topology.grids[link].start(slot + 1);
            leaves <= end
                && self.circuits[link]
                    .iter()
                    .all(|&(_, step)| self.leaves_path(step, leaves) <= end)
        };
        let (mut low, mut high) = (0, self.topology.grids[link].ended_by(end));
        while low < high {
            let middle = low + (high - low) / 2;
            if out(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the time at which a cell that leaves the port of `step` at `leaves` has left the last port of its
    /// circuit.
    fn leaves_path(&self, step: u32, leaves: Time) -> Time {
        let mut delay = Span(self.scenario.links[self.topology.steps[step as usize].link.index()].delay_ps);
        let mut leaves = leaves;
        for (_, next) in self.topology.route(step + 1) {
            let grid = &self.topology.grids[next];
            leaves = grid.start(grid.at_or_after(leaves + delay) + 1);
            delay = Span(self.scenario.links[next].delay_ps);
        }
        leaves
    }
}

/// Returns, for each VC, whether its frames are simulated by their edges (first and last cells), because its first port
/// uses trains.
pub fn by_edges(topology: &Topology, links: &[FedWire]) -> Vec<bool> {
    let takes_trains = |(_, first)| {
        let port = topology.route(first).nth(1);
        port.is_some_and(|(_, link)| matches!(links[link].feed, Feed::Trains(_)))
    };
    topology.circuits().map(takes_trains).collect()
}
