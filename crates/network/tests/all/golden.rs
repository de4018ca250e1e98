//! Results of all golden scenarios, compared bit by bit with those recorded for the current engine number.

use crate::common::golden::{difference, entries, results, run_all};
use longpipe_network::ENGINE;

#[test]
fn golden_scenarios_have_their_recorded_results() {
    let (entries, kept) = (entries(), results());
    assert!(entries.len() >= 500, "{} entries: some are gone", entries.len());
    assert_eq!(
        kept.engine, ENGINE,
        "tests/golden/results.jsonl is of engine {}, this is engine {ENGINE}: run `make golden`",
        kept.engine
    );
    let found: Vec<String> = run_all(&entries)
        .into_iter()
        .zip(&entries)
        .filter_map(|(outcome, entry)| match (outcome, kept.pinned.get(&entry.name)) {
            (Err(differ), _) => Some(differ),
            (Ok(_), None) => Some(format!("{}: has no results yet", entry.name)),
            (Ok(now), Some(before)) => difference(before, &now).map(|what| format!("{}: {what}", entry.name)),
        })
        .collect();
    assert!(
        found.is_empty(),
        "{} of {} entries differ:\n  {}\nA defect, unless results were meant to change: then raise `ENGINE` in \
         crates/network/src/lib.rs from {ENGINE} to {}, so that stored runs are run again, and run `make golden`.",
        found.len(),
        entries.len(),
        found.iter().take(20).cloned().collect::<Vec<_>>().join("\n  "),
        ENGINE + 1
    );
}
