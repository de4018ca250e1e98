//! PIE in the variant that estimates the delay from departure times, and BLUE whose probability reaches 1.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::{
    BlueConfig, BufferUnit, PieConfig, PieDelay, PieRules, PolicyConfig, Scenario, StartConfig,
};
use longpipe_tcp::config::{EcnConfig, RecoveryKind, TcpConfig};

const MS: u64 = SECOND / 1000;

pub fn add_all(book: &mut Book) {
    for (name, rules) in [
        ("rfc-8033", PieRules::Rfc8033),
        ("linux", PieRules::Linux),
        ("ns-3", PieRules::Ns3),
    ] {
        for ecn in [false, true] {
            let pie = PolicyConfig::Pie(PieConfig {
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
            book.add(&format!("pie/departure-time/{name}/{marks}"), &trunk(pie, 200, ecn));
        }
    }
    for (name, increment) in [("gradual", 0.02), ("at-once", 1.0)] {
        let blue = PolicyConfig::Blue(BlueConfig {
            increment,
            decrement: 0.05,
            freeze_ps: 10 * MS,
            ecn: false,
        });
        book.add(&format!("blue/{name}"), &trunk(blue, 20, false));
    }
}

/// Returns three SACK senders over a trunk with a policy and a buffer [packet].
fn trunk(policy_of_trunk: PolicyConfig, buffer: u64, ecn: bool) -> Scenario {
    let mut config: TcpConfig = tcp(RecoveryKind::Sack, 65_535);
    if ecn {
        config.ecn = EcnConfig::Classic { abe: false };
    }
    let mut scenario = slower(dumbbell(3, 4 * MS, 300, policy("tail-drop"), 4, &config), 40);
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed { at_ps: at * 10 * MS };
    }
    let mut scenario = ip(scenario, BufferUnit::Packets, buffer);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].policy = policy_of_trunk;
    scenario
}
