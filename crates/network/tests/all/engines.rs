//! Bit-identical results of the engines for random scenarios.

use crate::common::chains::any_chain;
use crate::common::compare::{compare, compare_engines};
use crate::common::random::{any_dumbbell, any_parking_lot, cases, with_web};
use crate::common::{add_vbr, SECOND};
use longpipe_network::scenario::{Scenario, SchedulerConfig};
use proptest::prelude::*;

/// Checks that all engines give equal results, with and without a probe, and that their traces are equal.
fn agree(mut scenario: Scenario, seed: u64, traced: bool) -> Result<(), TestCaseError> {
    if !traced {
        return compare_engines(&scenario, seed);
    }
    scenario.traces.cwnd = true;
    scenario.traces.queue = true;
    scenario.traces.sequence = true;
    compare(&scenario, seed)
}

proptest! {
    #![proptest_config(cases(900))]
    #[test]
    fn engines_agree_over_a_dumbbell(scenario in any_dumbbell(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        agree(scenario, seed, traced)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn engines_agree_with_web_traffic(scenario in any_dumbbell(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        agree(with_web(scenario), seed, traced)?;
    }

    #[test]
    fn engines_agree_beside_vbr(
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
        agree(add_vbr(scenario, scheduler, period), seed, traced)?;
    }
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn engines_agree_over_a_parking_lot(scenario in any_parking_lot(), seed in any::<u64>(), traced in prop::bool::weighted(0.2)) {
        agree(scenario, seed, traced)?;
    }
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn engines_agree_over_a_chain(scenario in any_chain(), seed in any::<u64>(), traced in prop::bool::weighted(0.1)) {
        agree(scenario, seed, traced)?;
    }

    #[test]
    fn engines_agree_with_web_traffic_over_a_chain(scenario in any_chain(), seed in any::<u64>()) {
        agree(with_web(scenario), seed, false)?;
    }
}
