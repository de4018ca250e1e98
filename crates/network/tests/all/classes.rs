//! Two classes at a port: the scheduler's guarantees, and bounds on the delay of VBR.

use crate::common::{add_vbr, dumbbell, policy, tcp, Builder, LAN, SECOND, WAN};
use longpipe_events::{Rate, Span, Stream, Time};
use longpipe_network::atm::port::classes::{Feeder, VbrQueue};
use longpipe_network::atm::vbr::on_off::OnOff;
use longpipe_network::report::{ClassReport, Report};
use longpipe_network::scenario::{NodeKind, OnOffConfig, Scenario, SchedulerConfig, Times};
use longpipe_network::schedulers::class::Class;
use longpipe_network::schedulers::Scheduler;
use longpipe_network::slots::SlotGrid;
use longpipe_network::{Circuit, Simulation};
use longpipe_tcp::config::RecoveryKind;
use proptest::prelude::*;

const MS: u64 = SECOND / 1000;
const RATE: u64 = 155_520_000;

fn run(scenario: &Scenario) -> Report {
    let mut simulation = Simulation::new(scenario, 1).expect("a valid scenario");
    simulation.run();
    simulation.report().expect("cells and bytes are conserved")
}

fn share(share_ppb: u64) -> SchedulerConfig {
    SchedulerConfig::GuaranteedRate { share_ppb }
}

fn with_vbr(scheduler: SchedulerConfig, period: u64, name: &str) -> Scenario {
    let plain = dumbbell(3, LAN, 1000, policy(name), 1, &tcp(RecoveryKind::Reno, 65_536));
    add_vbr(plain, scheduler, period)
}

/// Returns the results of a class at the trunk.
fn of_trunk(report: &Report, class: Class) -> ClassReport {
    *report
        .classes
        .iter()
        .find(|row| row.port == 0 && row.class == class)
        .expect("a queue")
}

#[test]
fn under_strict_priority_vbr_waits_at_most_for_the_cell_in_service() {
    let report = run(&with_vbr(SchedulerConfig::Priority {}, 50 * MS, "epd"));
    let cell = 2_726_338;
    let source = report.sources[0];
    assert_eq!(source.lost, 0);
    let (min, max) = source.delays.expect("cells arrived");
    let spread = max.0 - min.0;
    assert!(spread <= cell + 1, "{spread} ps");
    assert!(of_trunk(&report, Class::Ubr).counters.cells_out > 10_000);
}

#[test]
fn vbr_cell_delay_is_propagation_plus_slot_wait() {
    let report = run(&with_vbr(SchedulerConfig::Priority {}, 50 * MS, "epd"));
    let min = report.sources[0].delays.expect("cells arrived").0 .0 as f64 / 1e6;
    let cell = 424.0 / RATE as f64 * 1e6;
    // The delay consists of three propagation delays of 5 us, three cell times, and half a cell up to the next slot at
    // each switch.
    assert!((min - (15.0 + 3.0 * cell)).abs() <= cell + 0.01, "{min} us");
}

#[test]
fn ubr_gets_its_guaranteed_share_during_vbr_bursts() {
    // VBR never pauses and UBR always has waiting cells, so both compete for every slot once the windows are open.
    for ppb in [100_000_000u64, 500_000_000, 900_000_000] {
        let report = run(&with_vbr(share(ppb), 10 * SECOND, "tail-drop"));
        let (ubr, vbr) = (of_trunk(&report, Class::Ubr), of_trunk(&report, Class::Vbr));
        let out = ubr.counters.cells_out + vbr.counters.cells_out;
        let slots = (SECOND as f64 * RATE as f64 / 424e12) as u64;
        assert!(slots - out < 20, "{out} of {slots} slots used");
        assert!(ubr.counters.cells_out * 1_000_000_000 <= (out + 1) * ppb);
        assert!(vbr.held > 0 && vbr.counters.lost() == 0);
    }
}

#[test]
fn half_of_the_slots_empties_the_vbr_queue_between_bursts() {
    let report = run(&with_vbr(share(500_000_000), 100 * MS, "selective-drop"));
    let vbr = of_trunk(&report, Class::Vbr);
    let burst = 100 * MS / 2_726_337;
    assert!(vbr.counters.peak_queue <= burst / 2 + 10, "{}", vbr.counters.peak_queue);
    assert!(report.sources[0].delays.expect("cells arrived").1 .0 < 101 * MS);
}

#[test]
fn a_rate_of_zero_is_strict_priority() {
    for name in ["tail-drop", "selective-drop"] {
        let (zero, strict) = (
            with_vbr(share(0), 50 * MS, name),
            with_vbr(SchedulerConfig::Priority {}, 50 * MS, name),
        );
        assert_eq!(run(&zero), run(&strict));
    }
}

#[test]
fn without_vbr_cells_two_queues_equal_one() {
    for scheduler in [SchedulerConfig::Priority {}, share(300_000_000)] {
        let plain = dumbbell(5, WAN, 3000, policy("epd"), 2, &tcp(RecoveryKind::Sack, 600_000));
        let mut silent = add_vbr(plain.clone(), scheduler, 50 * MS);
        silent.vbr[0].start_ps = 100 * SECOND;
        let (alone, beside) = (run(&plain), run(&silent));
        assert_eq!(beside.flows, alone.flows);
        assert_eq!(beside.ports[..alone.ports.len()], alone.ports[..]);
    }
}

/// Reference implementation, which serves UBR and VBR slot by slot. Returns the ends [ps] of the slots of UBR and of
/// VBR.
fn plain_slots(ubr: &[u64], vbr: &[u64], ppb: u64, grid: &SlotGrid, end: u64) -> (Vec<u64>, Vec<u64>) {
    let (mut sent, mut credit) = ((Vec::new(), Vec::new()), 0);
    for slot in 0.. {
        let (start, after) = (grid.start(slot).0, grid.start(slot + 1).0);
        if start >= end {
            return sent;
        }
        let waits = |queue: &[u64], gone: &Vec<u64>| queue.get(gone.len()).is_some_and(|&at| at <= start);
        let (both, owed) = ((waits(ubr, &sent.0), waits(vbr, &sent.1)), credit + ppb);
        credit = if both == (true, true) {
            owed % 1_000_000_000
        } else {
            credit
        };
        match both {
            (true, true) if owed >= 1_000_000_000 => sent.0.push(after),
            (_, true) => sent.1.push(after),
            (true, false) => sent.0.push(after),
            (false, false) => {}
        }
    }
    sent
}

proptest! {
    #[test]
    fn slots_computed_in_advance_equal_those_computed_one_by_one(
        ppb in prop_oneof![Just(0u64), Just(1_000_000_000), 0u64..=1_000_000_000],
        (on, off, start) in (1u64..400, 0u64..400, 0u64..200),
        times in prop_oneof![Just(Times::Fixed {}), Just(Times::Exponential {})],
        phase in 0u64..2_726_337,
        gaps in prop::collection::vec(prop_oneof![3 => 0u64..6_000_000, 1 => 0u64..600_000_000], 1..200),
        end in 1u64..2_000,
    ) {
        const US: u64 = 1_000_000;
        let grid = SlotGrid::new(Time(phase), 424, Rate(RATE));
        let config = OnOffConfig {
            name: "vbr".to_owned(), route: vec![], peak_bps: RATE, on_ps: on * US, off_ps: off * US, times,
            start_ps: start * US,
        };
        let stream = Stream::new(1, "vbr", 0);
        let source = OnOff::new(&config, SlotGrid::new(Time(0), 424, Rate(RATE)), Span(5 * US), stream);
        let scheduler = Scheduler::new(&share(ppb)).expect("two classes");
        let end = Time(end * US);
        let mut queue = VbrQueue::new(scheduler, end);
        queue.add(Feeder { source: source.clone(), vc: Circuit(0), step: 0, local: 0 });
        let (mut next, mut now) = (grid.cursor(0), 0);
        let (mut arrivals, mut found) = (vec![], vec![]);
        for gap in gaps {
            now += gap;
            if now < end.0 {
                arrivals.push(now);
                found.extend(queue.slot_for_ubr(&grid, &mut next, Time(now)).map(|departure| departure.0));
            }
        }
        queue.serve_until(&grid, &mut next, end);
        let vbr: Vec<u64> = std::iter::from_fn(|| queue.pop(Time(u64::MAX)).map(|(at, _)| at.0)).collect();
        let mut source = source;
        let mut sent = vec![];
        while source.arrival() <= end {
            sent.push(source.arrival().0);
            source.advance();
        }
        let expected = plain_slots(&arrivals, &sent, ppb, &grid, end.0);
        prop_assert_eq!(found, expected.0);
        prop_assert_eq!(vbr, expected.1);
    }
}

#[test]
fn vbr_must_not_meet_tcp_after_its_first_switch() {
    let mut build = Builder::new(1, 1000, policy("epd"));
    build.scenario = with_vbr(share(0), 50 * MS, "epd");
    let host = build.node(NodeKind::Host);
    let access = build.link(host, 1, RATE, LAN);
    let exit = build.scenario.vbr[0].route[2];
    build.flow(vec![access, exit], tcp(RecoveryKind::Reno, 65_536));
    let refused = Simulation::new(&build.scenario, 1).expect_err("they meet").to_string();
    assert!(refused.starts_with("vbr[0].route: n0->n1; needs links"), "{refused}");
}

#[test]
fn a_port_without_a_vbr_queue_is_rejected() {
    let scenario = with_vbr(SchedulerConfig::Fifo {}, 50 * MS, "epd");
    let refused = Simulation::new(&scenario, 1).expect_err("no queue").to_string();
    assert_eq!(
        refused,
        "scheduler of n0->n1: fifo; has no queue for VBR; needs priority or guaranteed-rate"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_run_with_vbr_conserves_cells_and_is_repeatable(
        ppb in 0u64..=1_000_000_000,
        on in 1u64..200,
        off in 0u64..200,
        start in 0u64..300,
        peak in 1u64..=20,
        sources in 1usize..6,
        wan in any::<bool>(),
        slot_phase in 0.0f64..1.0,
        name in prop::sample::select(vec!["tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"]),
    ) {
        let plain = dumbbell(sources, if wan { WAN } else { LAN }, 500, policy(name), 1, &tcp(RecoveryKind::Sack, 65_536));
        let mut scenario = add_vbr(plain, share(ppb), 50 * MS);
        scenario.slot_phase = slot_phase;
        scenario.duration_ps = SECOND / 2;
        let vbr = &mut scenario.vbr[0];
        (vbr.on_ps, vbr.off_ps, vbr.start_ps, vbr.peak_bps) = (on * MS, off * MS, start * MS, RATE / 20 * peak);
        let report = run(&scenario);
        prop_assert_eq!(&report, &run(&scenario));
        let (ubr, vbr) = (of_trunk(&report, Class::Ubr), of_trunk(&report, Class::Vbr));
        prop_assert_eq!(vbr.counters.lost(), 0);
        prop_assert_eq!(ubr.counters.cells_in + vbr.counters.cells_in, report.ports[0].cells_in);
        prop_assert_eq!(report.sources[0].lost, 0);
        prop_assert!(report.sources[0].delivered <= report.sources[0].sent);
    }
}

#[test]
fn vbr_without_a_switch_on_its_route_is_rejected() {
    let mut scenario = with_vbr(SchedulerConfig::Priority {}, 50 * MS, "epd");
    let mut build = Builder::new(1, 1000, policy("epd"));
    build.scenario = scenario.clone();
    let (source, sink) = (build.node(NodeKind::Host), build.node(NodeKind::Host));
    let link = build.link(source, sink, RATE, LAN);
    scenario = build.scenario;
    scenario.vbr[0].route = vec![link];
    let refused = Simulation::new(&scenario, 1).expect_err("no port to share");
    assert_eq!(
        refused.to_string(),
        format!("vbr[0].route: n{source}->n{sink}; needs a switch between its two hosts")
    );
}
