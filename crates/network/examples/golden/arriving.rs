//! Flows that arrive and leave, alongside a long-lived connection.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::{
    ArrivalTimesConfig, BufferUnit, FlowArrivalsConfig, SizesConfig, StopConfig, TrafficConfig,
};
use longpipe_tcp::config::RecoveryKind;

const MS: u64 = SECOND / 1000;

pub fn add_all(book: &mut Book) {
    let poisson = |sizes| ArrivalTimesConfig::Poisson { gap_ps: 20 * MS, sizes };
    let pareto = SizesConfig::Pareto {
        mean_bytes: 6_000,
        shape: 1.4,
    };
    let steps = SizesConfig::Cumulative {
        points: vec![(200, 300_000_000), (5_000, 900_000_000), (40_000, 1_000_000_000)],
    };
    let list = ArrivalTimesConfig::List {
        flows_ps: (0..60).map(|k| (k / 3 * 90 * MS, 1 + k * 700)).collect(),
    };
    for (name, arrivals, most_active) in [
        ("pareto", poisson(pareto), 50),
        ("steps", poisson(steps), 50),
        ("list", list, 4),
    ] {
        for (of, recovery) in [("reno", RecoveryKind::Reno), ("sack", RecoveryKind::Sack)] {
            let scenario = dumbbell(2, 4 * MS, 300, policy("tail-drop"), 3, &tcp(recovery, 65_535));
            let mut scenario = ip(slower(scenario, 40), BufferUnit::Packets, 20);
            scenario.flows[0].traffic = TrafficConfig::FlowArrivals(FlowArrivalsConfig {
                arrivals: arrivals.clone(),
                most_active,
                most_flows: None,
            });
            scenario.flows[0].stop = Some(StopConfig::At { at_ps: 2_500 * MS });
            book.add(&format!("arriving/{name}/{of}"), &scenario);
        }
    }
}
