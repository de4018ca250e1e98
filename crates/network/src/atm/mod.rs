//! ATM: hosts' interfaces and switches' ports that carry AAL5 frames, cell by cell or by their first and last cells.

mod by_cells;
pub(crate) mod by_frames;
mod conformance;
mod end_of_run;
mod frame_errors;
pub mod interface;
pub(crate) mod lanes;
pub mod link;
mod lost_frames;
pub mod port;
pub(crate) mod port_selection;
mod report;
mod shortcut;
pub mod vbr;

use crate::hosts::medium::Medium;
use crate::hosts::Hosts;
use crate::lookahead::acks;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::observe::probe::Probe;
use crate::packets::aal5::Reassembler;
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Link, Options, Packet};
use crate::report::state_hash::StateHash;
use crate::report::{InvariantError, MediumReport};
use crate::scenario::topology::{usual_interval, Entry, Topology};
use crate::scenario::Scenario;
use crate::ties::TieRule;
use conformance::Conformance;
use frame_errors::FrameErrors;
use interface::ScheduledFrame;
use lanes::EdgesInTransit;
use link::{FedWire, Feed};
use longpipe_events::{Span, Time};
use lost_frames::LostFrames;
use port_selection::Plan;
use vbr::on_off::Meter;

/// Switches and links of a run, for cell-by-cell simulation and for trains.
#[derive(Clone, Debug)]
pub(crate) struct Atm {
    pub links: Vec<FedWire>,
    pub topology: Topology,
    pub ties: TieRule,
    /// Frames, represented by their edges, that have not reached their ports.
    pub in_transit: EdgesInTransit,
    /// For each VC, whether its frames are represented by their edges.
    pub by_edges: Vec<bool>,
    /// For each VC of a flow, the reassembly state at the receiving host.
    pub reassemblers: Vec<Reassembler>,
    /// Frames that have lost a cell, in cell-by-cell simulation.
    lost_frames: LostFrames,
    pub errors: FrameErrors,
    /// For each link, whether its port can never queue.
    pub transit: Vec<bool>,
    /// Guarantees of VCs, with the conformance of their frames.
    conformance: Conformance,
    /// Sinks of the VBR circuits.
    pub meters: Vec<Meter>,
}

impl Atm {
    /// Creates the switches and links of a scenario, all idle. `every_cell` states whether a probe observes every cell.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        (guarantees, early): (&Guarantees, &EarlyHosts),
        seed: u64,
        every_cell: bool,
    ) -> Atm {
        let plan = Plan::new(scenario, topology, seed, every_cell);
        let mut links = plan.links();
        let trains = |link: &&FedWire| matches!(link.feed, Feed::Trains(_));
        if links.iter().filter(trains).count() <= lanes::LANES {
            let ack_lookaheads = acks::ack_lookaheads(scenario, topology, guarantees, early);
            for (link, ack_lookahead) in links.iter_mut().zip(ack_lookaheads) {
                if let Feed::Nic(nic) = &mut link.feed {
                    nic.ack_lookahead = ack_lookahead;
                }
            }
        }
        let circuits = Circuit::of_flows(scenario.flows.len());
        let by_edges = port_selection::by_edges(topology, &links);
        Atm {
            by_edges,
            links,
            topology: topology.clone(),
            ties: TieRule::new(scenario.ties, seed),
            in_transit: EdgesInTransit::new(circuits),
            reassemblers: vec![Reassembler::default(); circuits],
            lost_frames: LostFrames::default(),
            errors: FrameErrors::new(scenario, seed),
            transit: plan.transit(),
            conformance: Conformance::new(scenario),
            meters: Vec::with_capacity(scenario.vbr.len()),
        }
    }

    /// Returns the typical time between the scheduling of an event and its occurrence.
    pub fn interval(&self, scenario: &Scenario) -> Span {
        let cell_by_cell = self
            .links
            .iter()
            .any(|link| matches!(link.feed, Feed::Port(_) | Feed::PerVc(_) | Feed::TimeVarying(_)));
        usual_interval(scenario, &self.topology, cell_by_cell)
    }
}

impl Medium for Atm {
    type Proven = Option<ScheduledFrame>;

    #[inline(always)]
    fn travels(&self, vc: Circuit) -> bool {
        self.by_edges[vc.index()]
    }

    #[inline(always)]
    fn send<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        vc: Circuit,
        frame: u32,
        payload: &impl Payload,
        left_trunk: Time,
    ) -> Option<ScheduledFrame> {
        let Entry { link, step } = hosts.flows[vc.flow().index()].entry(vc);
        let packet = Packet::of(vc, frame, step, payload);
        let options = payload.options().unwrap_or(Options::NONE);
        self.send_frame(hosts, link, packet, &options, left_trunk)
    }

    #[inline(always)]
    fn advance<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool {
        self.advance_edge(hosts)
    }

    fn next_due(&self) -> Option<Time> {
        Some(self.in_transit.first().1)
    }

    fn on_arrival<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        self.arrive(hosts, link);
    }

    fn on_source<P: Probe>(&mut self, hosts: &mut Hosts<P>, source: usize) {
        vbr::on_vbr(self, hosts, source);
    }

    fn on_port<P: Probe>(&mut self, hosts: &mut Hosts<P>, port: usize) {
        self.depart(hosts, Link::new(port));
    }

    fn finish<P: Probe>(&mut self, hosts: &mut Hosts<P>) {
        (0..self.meters.len()).for_each(|source| vbr::carry_vbr(self, hosts, source));
        self.watch_wires(hosts);
        self.report_frames_lost_in_part(hosts);
    }

    #[inline(always)]
    fn earliest_event(&mut self, link: Link) -> Option<&mut Time> {
        Some(&mut self.links[link.index()].earliest_event)
    }

    fn first_waiting(&self, link: Link) -> Option<Time> {
        self.links[link.index()].deliveries.first().map(|next| next.arrival)
    }

    fn deliver_first<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link) {
        self.deliver(hosts, link);
    }

    fn report(&mut self, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError> {
        end_of_run::settle(self, now);
        report::reports(self, now, hash)
    }
}
