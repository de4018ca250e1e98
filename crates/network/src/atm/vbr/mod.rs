//! VBR sources during a run. The port at the end of a source's link computes the source's cells in advance, so they
//! need few events.

pub mod on_off;

use super::link::Feed;
use super::port::classes::Feeder;
use super::Atm;
use crate::clock::{Actor, Clock, VBR};
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::aal5::Cell;
use crate::packets::{Circuit, Link};
use crate::scenario::topology::Step;
use crate::scenario::OnOffConfig;
use longpipe_events::{Span, Stream, Time};
use on_off::{Meter, OnOff};

/// Interval between two updates of a VBR source's circuit, in cell times at the source's peak rate.
const VBR_CELLS: u64 = 4096;

/// Assigns each VBR source to the port at the end of its link, before any port looks ahead.
pub(crate) fn add_sources<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, sources: &[OnOffConfig], seed: u64) {
    sources.iter().for_each(|source| add_source(atm, source, seed));
    (0..sources.len()).for_each(|source| on_vbr(atm, hosts, source));
}

/// Returns the circuit of a source; circuits of sources follow those of flows.
fn circuit(atm: &Atm, source: usize) -> Circuit {
    Circuit((atm.reassemblers.len() + source) as u32)
}

fn add_source(atm: &mut Atm, config: &OnOffConfig, seed: u64) {
    let index = atm.meters.len();
    let vc = circuit(atm, index);
    let step = atm.topology.first_step(vc);
    let link = config.route[0];
    let Feed::Nic(nic) = &atm.links[link].feed else {
        unreachable!("circuits begin at hosts, and a source's link carries nothing else")
    };
    let stream = Stream::new(seed, "vbr", index as u64);
    let source = OnOff::new(config, atm.topology.grids[link], nic.delay(), stream);
    atm.links[link].feed = Feed::Vbr(index);
    atm.meters.push(Meter::new(source.clone()));
    let Step { link: port, local } = atm.topology.steps[step as usize + 1];
    if let Some(queue) = atm.links[port.index()].feed.vbr_mut() {
        queue.add(Feeder {
            source,
            vc,
            step: step + 2,
            local,
        });
    }
}

/// Handles the timer of a VBR source.
pub(super) fn on_vbr<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, source: usize) {
    carry_vbr(atm, hosts, source);
    let next = hosts.clock.now + Span(VBR_CELLS * atm.meters[source].cell_ps());
    hosts.clock.set(Actor::Source(source), next, VBR);
}

/// Carries the VBR cells that have left their first port by now to their sinks.
pub(super) fn carry_vbr<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, source: usize) {
    let Clock { now, end, .. } = hosts.clock;
    let first = atm.topology.first_step(circuit(atm, source)) as usize;
    let link = atm.topology.steps[first + 1].link;
    if let Feed::Trains(port) = &mut atm.links[link.index()].feed {
        port.settle(now);
    }
    while let Some((at, cell)) = pop_vbr(atm, link, now) {
        if at <= end {
            carry_on(atm, hosts, link, at, cell);
        }
    }
}

/// Processes the arrival of a VBR cell at the end of a link at time `at`.
#[inline]
fn carry_on<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, mut link: Link, mut at: Time, mut cell: Cell) {
    while !atm.links[link.index()].end.host {
        let Step { link: next, local } = atm.topology.steps[cell.step as usize];
        let Feed::Transit(port) = &mut atm.links[next.index()].feed else {
            return atm.carry(hosts, link, at, cell);
        };
        at = port.pass(at, local, hosts.clock.end) + port.delay;
        if at > hosts.clock.end {
            return;
        }
        link = next;
        cell.step += 1;
    }
    atm.reach_host(hosts, link, at, cell);
}

/// Removes and returns the next VBR cell that has left a port by now, with its arrival time downstream.
fn pop_vbr(atm: &mut Atm, link: Link, now: Time) -> Option<(Time, Cell)> {
    match &mut atm.links[link.index()].feed {
        Feed::Port(port) => port.pop_vbr(now),
        Feed::Trains(port) => port.pop_vbr(now),
        _ => None,
    }
}
