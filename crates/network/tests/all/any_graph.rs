//! Random graphs: the results of a run are bit-identical in every engine, with and without traces.

use crate::common::any_graph::access::with_access;
use crate::common::any_graph::rerouting::any_rerouted;
use crate::common::any_graph::time_varying::any_time_varying;
use crate::common::any_graph::{any_scenario, with_ends};
use crate::common::compare::{compare, findings, MANY_EVENTS};
use crate::common::kept::Kept;
use crate::common::random::cases;
use crate::common::smaller::{smaller, FEW_EVENTS};
use crate::common::thread_time::ThreadTime;
use longpipe_network::scenario::{Framing, Scenario};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Maximum CPU time of a case, which, unlike its real time, depends little on the load of the machine; a case that takes
/// longer is considered endless.
const PATIENCE: Duration = Duration::from_secs(300);

/// The case in progress, and the time since its start.
type Current = Mutex<Option<(ThreadTime, Kept)>>;

/// Watches the current case. If the case does not end, prints it and terminates the test program. The watch ends when
/// the returned value is dropped.
fn watch() -> Arc<Current> {
    let current = Arc::new(Current::default());
    let watched = Arc::downgrade(&current);
    thread::spawn(move || {
        while let Some(current) = watched.upgrade() {
            let case = current.lock().expect("no holder of the lock panics");
            if let Some((since, kept)) = case.as_ref().filter(|(since, _)| since.elapsed() > PATIENCE) {
                // `eprintln` is not used because the test harness captures its output.
                let shown = writeln!(
                    std::io::stderr(),
                    "no end after {:.0?}:\n{}",
                    since.elapsed(),
                    kept.line()
                );
                shown.expect("standard error takes it");
                std::process::exit(1);
            }
            drop(case);
            thread::sleep(Duration::from_secs(1));
        }
    });
    current
}

/// Compares the engines on random scenarios. A scenario that fails is reduced and printed as a file to keep.
fn every_way_to_run_agrees(any: impl Strategy<Value = Scenario>) {
    let mut runner = TestRunner::new(ProptestConfig {
        // Shrinking is disabled because failing scenarios are reduced below.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..cases(1000)
    });
    let drawn = (with_ends(any), proptest::arbitrary::any::<u64>());
    let current = watch();
    let ran = runner.run(&drawn, |(scenario, seed)| {
        let kept = Kept { seed, scenario };
        *current.lock().expect("no holder of the lock panics") = Some((ThreadTime::start(), kept.clone()));
        compare(&kept.scenario, seed)
    });
    drop(current);
    let Err(failed) = ran else { return };
    let TestError::Fail(_, (scenario, seed)) = failed else {
        panic!("{failed}");
    };
    let kept = Kept { seed, scenario };
    let min = smaller(&kept, 2000, &mut |kept| {
        !findings(&kept.scenario, kept.seed, FEW_EVENTS).is_empty()
    });
    let found = findings(&min.scenario, min.seed, MANY_EVENTS);
    panic!("{found:#?}\ntests/regressions/NAME.json:\n{}", min.line());
}

#[test]
fn over_any_graph_of_switches() {
    every_way_to_run_agrees(any_scenario(Framing::Aal5));
}

#[test]
fn over_any_graph_of_routers() {
    every_way_to_run_agrees(any_scenario(Framing::Ip));
}

#[test]
fn over_any_graph_of_time_varying_links() {
    every_way_to_run_agrees(any_time_varying(Framing::Ip));
}

#[test]
fn over_any_graph_of_time_varying_cell_links() {
    every_way_to_run_agrees(any_time_varying(Framing::Aal5));
}

#[test]
fn over_any_graph_of_links_with_medium_access() {
    every_way_to_run_agrees(with_access(any_scenario(Framing::Ip)));
}

#[test]
fn over_any_graph_with_route_changes() {
    every_way_to_run_agrees(any_rerouted());
}
