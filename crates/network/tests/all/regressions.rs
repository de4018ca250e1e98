//! Scenarios for which the engines once differed or a run failed. Each file contains a scenario and its seed.

use crate::common::compare::{findings, MANY_EVENTS};
use crate::common::kept::Kept;
use longpipe_network::scenario::Engine;
use longpipe_network::Simulation;
use std::path::{Path, PathBuf};

#[test]
fn scenarios_that_once_failed_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let entries = std::fs::read_dir(folder).expect("a folder beside this file");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let failed: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let kept = Kept::read(path);
            let finding = findings(&kept.scenario, kept.seed, MANY_EVENTS).into_iter().next()?;
            Some(format!(
                "{}: {}: {}",
                path.file_name().unwrap_or_default().display(),
                finding.kind,
                finding.detail
            ))
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} fail:\n{}",
        failed.len(),
        paths.len(),
        failed.join("\n")
    );
}

/// `findings` compares reductions over IP only, because over cells the engines still name different causes in rare
/// scenarios.
#[test]
fn reductions_over_cells_that_once_differed_agree() {
    for name in ["lost_at_the_end", "merged_frame"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
        let kept = Kept::read(&folder.join(format!("{name}.json")));
        let reductions = |engine| {
            let mut scenario = kept.scenario.clone();
            scenario.engine = engine;
            let mut simulation = Simulation::new(&scenario, kept.seed, ()).expect("a valid scenario");
            simulation.run();
            simulation.report().expect("counters that agree");
            simulation.reductions()
        };
        let by_cell = reductions(Engine::Reference);
        assert!(
            by_cell.iter().any(|totals| *totals != Default::default()),
            "{name}: no reduction"
        );
        assert_eq!(by_cell, reductions(Engine::Trains), "{name}");
    }
}

#[test]
fn a_scenario_is_restored_from_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    for entry in std::fs::read_dir(folder).expect("a folder beside this file") {
        let kept = Kept::read(&entry.expect("a file").path());
        assert_eq!(Kept::parse(&kept.line()).line(), kept.line());
    }
}
