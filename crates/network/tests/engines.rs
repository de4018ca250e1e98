//! The engines agree to the bit, whatever the scenario.

mod common;

use common::random::{any_dumbbell, any_parking_lot};
use common::{add_vbr, web, SECOND};
use longpipe_network::scenario::{Engine, Scenario, SchedulerConfig, TrafficConfig};
use longpipe_network::web::WebConfig;
use longpipe_network::{Probe, Recorder, Report, Simulation};
use proptest::prelude::*;

fn run<P: Probe>(scenario: &Scenario, engine: Engine, seed: u64, probe: P) -> (Report, P) {
    let mut scenario = scenario.clone();
    scenario.engine = engine;
    let mut simulation = Simulation::new(&scenario, seed, probe).expect("a valid scenario");
    simulation.run();
    let mut report = simulation.report().expect("cells and bytes are conserved");
    report.events = 0;
    (report, simulation.into_probe())
}

/// The engines leave the same behind, watched or not, and show the same to who watches.
fn compare(mut scenario: Scenario, seed: u64, traced: bool) -> Result<(), TestCaseError> {
    scenario.traces.cwnd = traced;
    scenario.traces.queue = traced;
    scenario.traces.sequence = traced;
    let (cells, _) = run(&scenario, Engine::Reference, seed, ());
    let (trains, _) = run(&scenario, Engine::Trains, seed, ());
    for (port, (cells, trains)) in cells.ports.iter().zip(&trains.ports).enumerate() {
        prop_assert_eq!(cells, trains, "port {}", port);
    }
    prop_assert_eq!(&cells, &trains);
    if traced {
        let recorder = || Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
        let (watched, by_cell) = run(&scenario, Engine::Reference, seed, recorder());
        prop_assert_eq!(&watched, &cells);
        let (watched, by_train) = run(&scenario, Engine::Trains, seed, recorder());
        prop_assert_eq!(&watched, &cells);
        prop_assert!(by_cell.queues == by_train.queues, "queues differ over time");
        prop_assert!(by_cell.windows == by_train.windows, "windows differ over time");
        prop_assert!(
            by_cell.sequences == by_train.sequences,
            "sequence numbers differ over time"
        );
    }
    Ok(())
}

/// PROPTEST_CASES where it is set, else `usual`.
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: usual, ..config },
    }
}

proptest! {
    #![proptest_config(cases(900))]
    #[test]
    fn over_a_dumbbell(scenario in any_dumbbell(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        compare(scenario, seed, traced)?;
    }
}

/// Every second flow becomes web traffic.
fn with_web(mut scenario: Scenario) -> Scenario {
    for flow in scenario.flows.iter_mut().skip(1).step_by(2) {
        flow.traffic = TrafficConfig::Web(WebConfig {
            cycle_ps: SECOND / 10,
            spacing_from_ps: SECOND / 1000,
            spacing_to_ps: SECOND / 100,
            ..web()
        });
    }
    scenario
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn with_web_traffic(scenario in any_dumbbell(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        compare(with_web(scenario), seed, traced)?;
    }

    #[test]
    fn beside_vbr(
        scenario in any_dumbbell(),
        share in prop::option::of(0u64..1_000_000_000),
        period in SECOND / 1000..SECOND / 10,
        seed in any::<u64>(),
        traced in prop::bool::weighted(0.2),
    ) {
        let scheduler = match share {
            None => SchedulerConfig::Priority {},
            Some(share_ppb) => SchedulerConfig::GuaranteedRate { share_ppb },
        };
        compare(add_vbr(scenario, scheduler, period), seed, traced)?;
    }
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn over_a_parking_lot(scenario in any_parking_lot(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        compare(scenario, seed, traced)?;
    }
}
