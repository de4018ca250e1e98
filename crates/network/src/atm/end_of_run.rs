//! Completes, at the end of the run, the counters of ports with trains, and of the ports upstream and downstream
//! of them.

use super::link::{FedWire, Feed};
use super::port::transit::Passed;
use super::Atm;
use crate::scenario::topology::Topology;
use crate::slots::SlotGrid;
use longpipe_events::{Span, Time};

/// Completes the counters of all ports.
pub(super) fn settle(atm: &mut Atm, now: Time) {
    for edge in atm.in_transit.iter().filter(|edge| !edge.first) {
        let link = atm.topology.steps[edge.packet.step() as usize - 1].link;
        if let Feed::Nic(nic) = &mut atm.links[link.index()].feed {
            nic.hold(edge.slot, edge.cells, now);
        }
    }
    for link in 0..atm.links.len() {
        let feed = std::mem::replace(&mut atm.links[link].feed, Feed::Vbr(0));
        let Feed::Trains(mut port) = feed else {
            atm.links[link].feed = feed;
            continue;
        };
        port.settle(now);
        let mut late = vec![Vec::new(); atm.topology.vcs_of_link[link][0] as usize];
        for &cells in port.late() {
            late[cells.local as usize].push(cells);
        }
        for (_, first) in atm.topology.circuits().take(atm.reassemblers.len()) {
            let Some((step, _)) = atm.topology.route(first).find(|&(_, on_route)| on_route == link) else {
                continue;
            };
            let local = atm.topology.steps[step as usize].local as usize;
            let (cells, frames) = port.passed_on(local);
            let passed = Passed {
                grid: port.grid,
                delay: port.delay,
                cells,
                frames,
                late: std::mem::take(&mut late[local]),
            };
            settle_path(passed, &atm.topology, &mut atm.links, step, now);
        }
        atm.links[link].feed = Feed::Trains(port);
    }
}

/// Counts the cells of a VC at the ports downstream of the port at `step`.
fn settle_path(port: Passed, topology: &Topology, links: &mut [FedWire], step: u32, now: Time) {
    let Passed {
        grid,
        delay,
        mut cells,
        mut frames,
        mut late,
    } = port;
    let over = grid.ended_by(now);
    // Slots and delays between that port and the next one.
    let mut passed: Vec<(SlotGrid, Span)> = Vec::new();
    for (step, link) in topology.route(step + 1) {
        let Feed::Transit(transit) = &mut links[link].feed else {
            unreachable!("ports downstream of a train port have no queue")
        };
        let arrives = |slot: u64| {
            let at = grid.start(slot + 1) + delay;
            passed.iter().fold(at, |at, (grid, delay)| grid.end_after(at) + *delay)
        };
        let mut held = 0;
        late.retain_mut(|late| {
            // The departure times of cells that have not left may not be representable, because cells may wait for
            // years.
            let departed = over.saturating_sub(late.slot).min(late.cells);
            let arrived = until(late.slot, departed, |slot| arrives(slot) > now);
            cells -= late.cells - arrived;
            frames -= u64::from(late.begins && arrived == 0);
            late.cells = arrived;
            held += arrived - until(late.slot, arrived, |slot| transit.departure(arrives(slot)) > now);
            arrived > 0
        });
        transit.cells_in += cells;
        transit.frames_in += frames;
        transit.held[topology.steps[step as usize].local as usize] = held;
        transit.cells_out += cells - held;
        passed.push((transit.grid, transit.delay));
    }
}

/// Returns, by bisection, the number of slots that precede the first one for which a monotonic condition holds.
fn until(first: u64, slots: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, slots);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(first + middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}
