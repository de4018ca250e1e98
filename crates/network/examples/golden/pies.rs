//! PIE in the variant that estimates the delay from departure times.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::{BufferUnit, PieConfig, PieDelay, PieRules, PolicyConfig, StartConfig};
use longpipe_tcp::config::{EcnConfig, RecoveryKind};

const MS: u64 = SECOND / 1000;

pub fn add_all(book: &mut Book) {
    for (name, rules) in [
        ("rfc-8033", PieRules::Rfc8033),
        ("linux", PieRules::Linux),
        ("ns-3", PieRules::Ns3),
    ] {
        for ecn in [false, true] {
            let mut config = tcp(RecoveryKind::Sack, 65_535);
            if ecn {
                config.ecn = EcnConfig::Classic { abe: false };
            }
            let mut scenario = slower(dumbbell(3, 4 * MS, 300, policy("tail-drop"), 4, &config), 40);
            for (flow, at) in scenario.flows.iter_mut().zip(0..) {
                flow.start = StartConfig::Fixed { at_ps: at * 10 * MS };
            }
            let mut scenario = ip(scenario, BufferUnit::Packets, 200);
            let trunk = scenario.flows[0].route[1];
            scenario.links[trunk].policy = PolicyConfig::Pie(PieConfig {
                target_ps: 15 * MS,
                update_ps: 15 * MS,
                burst_ps: 150 * MS,
                alpha: 0.125,
                beta: 1.25,
                least_backlog_bytes: 1000,
                delay: PieDelay::DepartureTime,
                rules,
                derandomize: true,
                ecn,
            });
            let marks = if ecn { "marks" } else { "drops" };
            book.add(&format!("pie/departure-time/{name}/{marks}"), &scenario);
        }
    }
}
