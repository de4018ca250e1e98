//! Random scenarios that transfer a moderate amount of data.

use crate::common::any_graph::any_scenario;
use crate::common::any_graph::rerouting::any_rerouted;
use crate::common::any_graph::time_varying::any_time_varying;
use crate::common::random::{any_dumbbell, any_parking_lot, any_parking_lot_of_packets, as_packets, with_web};
use crate::common::{add_vbr, run, SECOND};
use crate::Book;
use longpipe_events::mix;
use longpipe_network::scenario::{Engine, Framing, Scenario, SchedulerConfig};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Range of the number of events in the reference engine for which a random scenario is accepted.
const EVENTS: std::ops::Range<u64> = 300..100_000;
/// Maximum length of a scenario as JSON [byte].
const MAX_TEXT: usize = 24_000;

/// Returns the random scenario with this number.
fn drawn(strategy: &impl Strategy<Value = Scenario>, number: u64) -> Scenario {
    let mut bytes = [0; 32];
    for (word, bytes) in bytes.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&mix(mix(number ^ 0x601d) ^ word as u64).to_le_bytes());
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let tree = strategy.new_tree(&mut runner);
    tree.expect("nothing that is drawn is refused").current()
}

/// Adds `count` scenarios in which some data arrive and the reference engine processes few events.
fn add(book: &mut Book, name: &str, count: usize, strategy: impl Strategy<Value = Scenario>) {
    // Scenarios kept from earlier versions may have been drawn with other numbers.
    let mut left = count.saturating_sub(book.beginning(&format!("{name}/")));
    let mut numbers = 0u64..;
    while left > 0 {
        let number = numbers.next().expect("numbers enough");
        let mut scenario = drawn(&strategy, number);
        if serde_json::to_string(&scenario).map_or(true, |text| text.len() > MAX_TEXT) {
            continue;
        }
        scenario.engine = Engine::Reference;
        let report = run(&scenario, 1);
        let arrived = report.flows.iter().any(|flow| flow.delivered_bytes > 0);
        if !arrived || !EVENTS.contains(&report.events) {
            continue;
        }
        scenario.engine = Engine::Trains;
        left -= usize::from(book.add(&format!("{name}/{number}"), &scenario));
    }
}

/// Shortens a run in which links have the papers' rate.
fn short(mut scenario: Scenario) -> Scenario {
    scenario.duration_ps = scenario.duration_ps.min(SECOND / 20);
    scenario
}

fn with_vbr() -> impl Strategy<Value = Scenario> {
    let drawn = (
        any_dumbbell(),
        prop::option::of(0u64..1_000_000_000),
        SECOND / 1000..SECOND / 50,
    );
    drawn.prop_map(|(scenario, share, period)| {
        let scheduler = match share {
            None => SchedulerConfig::Priority {},
            Some(share_ppb) => SchedulerConfig::GuaranteedRate { share_ppb },
        };
        add_vbr(short(scenario), scheduler, period)
    })
}

pub fn add_all(book: &mut Book) {
    add(book, "graph-of-switches", 120, any_scenario(Framing::Aal5));
    add(book, "graph-of-routers", 80, any_scenario(Framing::Ip));
    add(book, "graph-of-changing-routes", 24, any_rerouted());
    add(book, "any-dumbbell/cells", 40, any_dumbbell().prop_map(short));
    add(
        book,
        "any-dumbbell/packets",
        20,
        any_dumbbell().prop_map(short).prop_map(as_packets),
    );
    add(
        book,
        "any-dumbbell/web",
        12,
        any_dumbbell().prop_map(with_web).prop_map(short),
    );
    add(book, "any-dumbbell/vbr", 16, with_vbr());
    add(book, "any-parking-lot/cells", 16, any_parking_lot());
    add(book, "graph-of-moving-cells", 24, any_time_varying(Framing::Aal5));
    add(book, "any-parking-lot/packets", 16, any_parking_lot_of_packets());
}
