//! Runs on several threads: their results are those of a run on one thread.

use crate::common::any_graph::rerouting::any_rerouted;
use crate::common::any_graph::time_varying::any_time_varying;
use crate::common::any_graph::{any_scenario, with_ends};
use crate::common::compare::compare_threads;
use crate::common::golden::entries;
use crate::common::random::cases;
use crate::regressions::kept_scenarios;
use longpipe_network::scenario::{Engine, Framing, Scenario, TrafficConfig};
use longpipe_network::simulation::Threads;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Numbers of runs, by the reason why they ran on one thread.
type Reasons = BTreeMap<String, u32>;

/// Returns the reason without its numbers.
fn kind(reason: Option<String>) -> String {
    let reason = reason.unwrap_or_else(|| "several parts".to_owned());
    reason.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[test]
fn golden_scenarios_have_their_results_on_several_threads() {
    let (mut reasons, mut failed) = (Reasons::new(), vec![]);
    for (number, entry) in entries().into_iter().enumerate() {
        let scenario = entry.scenario(Engine::Trains);
        let most = 2 + number % 3;
        // Threads wait for each other at the end of each window, which takes long on a busy machine.
        let concurrent = Some(Threads::UpTo(most)).filter(|_| number % 16 == 0);
        for threads in [Threads::InTurn(2), Threads::InTurn(4)].into_iter().chain(concurrent) {
            match compare_threads(&scenario, entry.seed, threads) {
                Ok(reason) => *reasons.entry(kind(reason)).or_default() += 1,
                Err(error) => failed.push(format!("{}: {error}", entry.name)),
            }
        }
    }
    println!("{reasons:#?}");
    assert!(failed.is_empty(), "{} runs:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn scenarios_that_once_failed_agree_on_several_threads() {
    let kept = kept_scenarios()
        .into_iter()
        .filter(|kept| kept.scenario.framing == Framing::Ip);
    let failed = kept.filter_map(|kept| {
        let compared = compare_threads(&kept.scenario, kept.seed, Threads::InTurn(4));
        compared.err().map(|error| error.to_string())
    });
    assert_eq!(failed.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Replaces arriving flows by transfers, and delays of 0 by `least` [ps], so that most scenarios have several parts.
fn divisible(mut scenario: Scenario, least: u64) -> Scenario {
    for flow in &mut scenario.flows {
        if flow.traffic.facts().many_connections {
            flow.traffic = TrafficConfig::transfer(100_000);
        }
    }
    for link in scenario.links.iter_mut().filter(|link| link.delay_ps == 0) {
        link.delay_ps = least;
    }
    scenario
}

/// Compares runs of random scenarios on 2 and 4 threads with those on one; at least half of them must have several parts.
fn threads_agree(any: impl Strategy<Value = Scenario>) {
    let reasons = RefCell::new(Reasons::new());
    let mut runner = TestRunner::new(ProptestConfig {
        max_shrink_iters: 0,
        failure_persistence: None,
        ..cases(300)
    });
    let drawn = (with_ends(any), proptest::arbitrary::any::<u64>());
    let ran = runner.run(&drawn, |(scenario, seed)| {
        // Windows of 30 us have few events each, so these scenarios take longer than others.
        let least = [0, 30_000_000]
            .get((seed % 8) as usize)
            .copied()
            .unwrap_or(1_000_000_000);
        let scenario = divisible(scenario, least);
        for threads in [Threads::InTurn(2), Threads::InTurn(4)] {
            let reason = compare_threads(&scenario, seed, threads)?;
            *reasons.borrow_mut().entry(kind(reason)).or_default() += 1;
        }
        Ok(())
    });
    let reasons = reasons.into_inner();
    println!("{reasons:#?}");
    ran.unwrap_or_else(|error| panic!("{error}"));
    let (divided, all) = (reasons["several parts"], reasons.values().sum::<u32>());
    assert!(2 * divided >= all, "{reasons:?}");
}

#[test]
fn over_any_graph_of_routers_on_several_threads() {
    threads_agree(any_scenario(Framing::Ip));
}

#[test]
fn over_any_graph_of_time_varying_links_on_several_threads() {
    threads_agree(any_time_varying(Framing::Ip));
}

#[test]
fn over_any_graph_with_route_changes_on_several_threads() {
    threads_agree(any_rerouted());
}
