//! Scenarios for which the engines once differed or a run failed. Each file contains a scenario and its seed.

use crate::common::compare::{findings, MANY_EVENTS};
use crate::common::kept::Kept;
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

/// Returns all scenarios of this folder.
pub fn kept_scenarios() -> Vec<Kept> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let entries = std::fs::read_dir(folder).expect("a folder beside this file");
    entries
        .map(|entry| Kept::read(&entry.expect("a file").path()))
        .collect()
}

#[test]
fn a_scenario_is_restored_from_its_file() {
    for kept in kept_scenarios() {
        assert_eq!(Kept::parse(&kept.line()).line(), kept.line());
    }
}
