//! Ports with a queue per VC, and guaranteed rates.

use crate::common::{both, policy, run, tcp, Builder, LAN, SECOND, WAN};
use longpipe_events::{Rate, Span, Time};
use longpipe_network::aal5::Cell;
use longpipe_network::atm::port::admission::Admission;
use longpipe_network::atm::port::per_vc::PerVcPort;
use longpipe_network::policies::Policy;
use longpipe_network::scenario::{NodeKind, Scenario, SchedulerConfig, ServiceCategory, ServiceUnit};
use longpipe_network::schedulers::fair_queueing::FairQueueing;
use longpipe_network::slots::SlotGrid;
use longpipe_network::{Circuit, Simulation};
use longpipe_tcp::config::RecoveryKind;
use proptest::prelude::*;
use std::collections::VecDeque;

const RATE: u64 = 155_520_000;

/// A cell of a VC, and whether it is the last of its frame.
type Arrival = (u64, usize, bool);

/// Reference implementation, which serves the VCs slot by slot. Returns the VC and the end [ps] of each used slot.
fn plain_slots(
    arrivals: &[Arrival],
    weights: &[u128],
    unit: ServiceUnit,
    grid: &SlotGrid,
    end: u64,
) -> Vec<(usize, u64)> {
    let mut scheduler = FairQueueing::new(weights);
    let mut units = vec![VecDeque::new(); weights.len()];
    let mut open = vec![0u32; weights.len()];
    let (mut current, mut sent, mut arrived) = ((0, 0), vec![], 0);
    for slot in 0.. {
        let start = grid.start(slot).0;
        if start >= end {
            return sent;
        }
        while arrivals.get(arrived).is_some_and(|arrival| arrival.0 <= start) {
            let (_, vc, last) = arrivals[arrived];
            arrived += 1;
            open[vc] += 1;
            if last || unit == ServiceUnit::Cells {
                units[vc].push_back(std::mem::take(&mut open[vc]));
                if units[vc].len() == 1 && (current.1 == 0 || current.0 != vc) {
                    scheduler.offer(vc, units[vc][0]);
                }
            }
        }
        if current.1 == 0 {
            let Some(vc) = scheduler.serve() else { continue };
            current = (vc, units[vc].pop_front().expect("a unit was offered"));
        }
        current.1 -= 1;
        sent.push((current.0, grid.start(slot + 1).0));
        if let (0, Some(&cells)) = (current.1, units[current.0].front()) {
            scheduler.offer(current.0, cells);
        }
    }
    sent
}

proptest! {
    #[test]
    fn departures_equal_those_of_slot_by_slot_service(
        weights in prop::collection::vec(1u128..100, 1..5),
        frames in prop_oneof![Just(ServiceUnit::Cells), Just(ServiceUnit::Frames)],
        phase in 0u64..2_726_337,
        cells in prop::collection::vec((0usize..5, prop::bool::weighted(0.3), prop_oneof![
            4 => 0u64..2_000_000, 1 => 0u64..60_000_000, 1 => Just(0)
        ]), 1..300),
    ) {
        let grid = SlotGrid::new(Time(phase), 424, Rate(RATE));
        let admission = Admission::new(None, Policy::TAIL_DROP, None, weights.len());
        let mut port = PerVcPort::new(grid, Span(0), admission, frames, &weights);
        let (mut now, mut arrivals, mut departures) = (0, vec![], vec![]);
        let mut collect = |port: &mut PerVcPort, until: u64| {
            // Departures are events.
            while let Some(at) = port.next_departure().filter(|at| at.0 <= until) {
                let cell = port.depart(at).expect("a departure is due");
                departures.push((cell.cell.vc.index(), cell.departure().expect("the cell left").0));
            }
        };
        for (vc, last, gap) in cells {
            now += gap;
            let vc = vc % weights.len();
            arrivals.push((now, vc, last));
            collect(&mut port, now);
            let cell = Cell { vc: Circuit(vc as u32), left: u16::from(!last), ..Cell::default() };
            prop_assert_eq!(port.on_cell(Time(now), cell, vc as u32, |_| {}), None);
        }
        let end = now + SECOND / 100;
        collect(&mut port, end);
        let mut expected = plain_slots(&arrivals, &weights, frames, &grid, end);
        expected.retain(|&(_, departure)| departure <= end);
        prop_assert_eq!(departures, expected);
    }
}

/// Five flows from their own hosts over a trunk with a queue per VC and a WAN delay, with guarantees in cells/s.
fn guaranteed(unit: ServiceUnit, mcrs: [u64; 5], segments: [u32; 5]) -> Scenario {
    let mut build = Builder::new(1, 12_000, policy("selective-drop"));
    let [left, right] = [build.node(NodeKind::Switch), build.node(NodeKind::Switch)];
    let trunk = build.link(left, right, RATE, WAN);
    for (mcr, mss) in mcrs.into_iter().zip(segments) {
        let [from, to] = [build.node(NodeKind::Host), build.node(NodeKind::Host)];
        let route = vec![
            build.link(from, left, RATE, LAN),
            trunk,
            build.link(right, to, RATE, LAN),
        ];
        let mut tcp = tcp(RecoveryKind::Sack, 600_000);
        tcp.mss_bytes = mss;
        build.flow(route, tcp);
        build.scenario.flows.last_mut().expect("a flow was added").service = ServiceCategory::Gfr {
            mcr,
            mbs: 386,
            tagging: true,
        };
    }
    for link in &mut build.scenario.links {
        link.scheduler = SchedulerConfig::Wfq { unit };
    }
    build.scenario.duration_ps = 5 * SECOND;
    build.scenario
}

#[test]
fn vcs_get_their_guaranteed_cells_and_share_the_rest() {
    // The guarantees are 10, 14, 18, 22 and 26 % of the link.
    let link = RATE / 424;
    let mcrs = [10, 14, 18, 22, 26].map(|percent| link * percent / 100);
    for unit in [ServiceUnit::Cells, ServiceUnit::Frames] {
        let report = run(&guaranteed(unit, mcrs, [512; 5]), 1);
        let total: u64 = report.guaranteed.iter().map(|row| row.cells_delivered).sum();
        assert!(total > link * 5 * 90 / 100, "{total} of {} slots", link * 5);
        for (row, mcr) in report.guaranteed.iter().zip(mcrs) {
            assert!(row.cells_delivered > mcr * 5 * 95 / 100, "{row:?} of {mcr} cells/s");
            assert!(
                row.cells_ineligible > 0 && row.cells_ineligible < row.cells_in,
                "{row:?}"
            );
        }
    }
}

#[test]
fn both_engines_and_traced_runs_agree_on_guaranteed_vcs() {
    for unit in [ServiceUnit::Cells, ServiceUnit::Frames] {
        let mut scenario = guaranteed(unit, [1000, 2000, 3000, 4000, 5000], [512, 1024, 2048, 4096, 9180]);
        scenario.duration_ps = SECOND / 4;
        both(&scenario);
    }
}

#[test]
fn a_guarantee_above_the_rate_of_a_link_is_rejected() {
    let scenario = guaranteed(ServiceUnit::Cells, [80_000; 5], [512; 5]);
    let refused = Simulation::new(&scenario, 1).expect_err("too much").to_string();
    assert_eq!(
        refused,
        "flows[0].service.mcr: 400000 cells/s in total over n0->n1; needs at most the 366792 cells/s of the link"
    );
}
