//! The engines agree to the bit, whatever the scenario.

mod common;

use common::random::{any_dumbbell, any_parking_lot};
use longpipe_network::scenario::{Engine, Scenario};
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
    #![proptest_config(cases(1_500))]
    #[test]
    fn over_a_dumbbell(scenario in any_dumbbell(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        compare(scenario, seed, traced)?;
    }
}

proptest! {
    #![proptest_config(cases(500))]
    #[test]
    fn over_a_parking_lot(scenario in any_parking_lot(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        compare(scenario, seed, traced)?;
    }
}
