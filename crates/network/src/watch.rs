//! What a probe is told of cells and packets on their way.

use crate::aal5::Cell;
use crate::flow::Flow;
use crate::ip::{Options, Packet};
use crate::link::Feed;
use crate::nic::Off;
use crate::probe::{Contents, Probe, Slot};
use crate::requests::REQUEST;
use crate::simulation::Simulation;
use longpipe_events::Time;

/// The packet that a frame carries.
pub(crate) fn contents(flows: &[Flow], vc: u32, frame: u32) -> Contents {
    let (flow, on_data_circuit) = (&flows[(vc / 2) as usize], vc.is_multiple_of(2));
    match &flow.requests {
        Some(requests) if frame & REQUEST != 0 => {
            if on_data_circuit {
                Contents::Ack(*requests.acks.get(frame & !REQUEST))
            } else {
                Contents::Data(*requests.segments.get(frame & !REQUEST))
            }
        }
        _ if on_data_circuit => Contents::Data(*flow.data.get(frame)),
        _ => Contents::Ack(*flow.acks.get(frame)),
    }
}

/// A cell was given its slot on a link.
#[inline(always)]
pub(crate) fn cell<P: Probe>(
    probe: &mut P,
    flows: &[Flow],
    link: u32,
    arrival: Option<Time>,
    departure: Time,
    cell: Cell,
) {
    if (cell.vc as usize) < 2 * flows.len() && probe.wants_cells() {
        let slot = Slot {
            link,
            arrival,
            departure,
        };
        probe.cell(slot, &cell, || contents(flows, cell.vc, cell.frame));
    }
}

/// A packet was given its place on a link.
#[inline(always)]
pub(crate) fn packet<P: Probe>(
    probe: &mut P,
    link: u32,
    arrival: Option<Time>,
    departure: Time,
    packet: Packet,
    options: &Options,
) {
    if !P::IDLE {
        let slot = Slot {
            link,
            arrival,
            departure,
        };
        probe.packet(slot, packet.vc(), packet.frame(), || packet.contents(options));
    }
}

impl<P: Probe> Simulation<P> {
    /// After what may have moved a sender's timer.
    #[inline(always)]
    pub(crate) fn watch_timer(&mut self, flow: usize) {
        if !P::IDLE {
            let sender = &mut self.flows[flow].sender;
            let measured = sender.take_measured();
            let timer = sender.timer();
            self.probe
                .timer(self.now, flow as u32, measured, timer.srtt(), timer.rto());
        }
    }

    /// A cell that has just arrived over a host's link was given its slot by the host's interface.
    #[inline(always)]
    pub(crate) fn watch_interface(&mut self, link: usize, passed: Cell) {
        if let (false, Feed::Nic(nic)) = (P::IDLE, &self.links[link].feed) {
            let departure = self.now - nic.delay();
            cell(&mut self.probe, &self.flows, link as u32, None, departure, passed);
        }
    }

    /// At the end of the run, the same of cells that have left a host and not arrived.
    pub(crate) fn watch_wires(&mut self) {
        if P::IDLE || !self.probe.wants_cells() {
            return;
        }
        for (link, wire) in self.links.iter().enumerate() {
            let Feed::Nic(nic) = &wire.feed else { continue };
            let mut nic = nic.clone();
            while let Some((arrival, _)) = nic.head().filter(|(arrival, _)| *arrival - nic.delay() <= self.end) {
                let departure = arrival - nic.delay();
                let Some(Off::Cell(passed)) = nic.pop() else { break };
                cell(&mut self.probe, &self.flows, link as u32, None, departure, passed);
            }
        }
    }
}
