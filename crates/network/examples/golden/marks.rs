//! Connections with Accurate ECN, whose ACKs count marks only in the header or also in an option; and connections with
//! Prague.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::{
    BufferUnit, DualPi2Config, LossConfig, LowLatencyMarking, PolicyConfig, QueueUnit, Scenario, StartConfig,
    StepMarkingConfig, TwoQueues,
};
use longpipe_tcp::config::{AckConfig, CongestionConfig, EcnConfig, RecoveryKind};
use longpipe_tcp::congestion::{DctcpConfig, PragueConfig};

const MS: u64 = SECOND / 1000;

pub fn add_all(book: &mut Book) {
    for (name, kind) in [
        ("reno", RecoveryKind::Reno),
        ("sack", RecoveryKind::Sack),
        ("rack", RecoveryKind::Rack),
    ] {
        for (ack_name, segments) in [("each", 1), ("delayed", 2), ("stretched", 12)] {
            for (feedback, option) in [("accurate", false), ("accurate-option", true)] {
                for shares in [false, true] {
                    let control = if shares { "dctcp" } else { "aimd" };
                    let scenario = connections(kind, segments, shares, option);
                    book.add(&format!("marks/{feedback}/{name}/{control}/{ack_name}"), &scenario);
                }
            }
        }
    }
    for (feedback, option) in [("accurate", false), ("accurate-option", true)] {
        book.add(&format!("marks/{feedback}/prague"), &prague(option));
    }
}

/// Returns Prague competing with a connection that uses classic ECN, over DualPI2.
fn prague(option: bool) -> Scenario {
    let mut config = tcp(RecoveryKind::Rack, 131_072);
    config.ecn = EcnConfig::Classic { abe: false };
    let mut scenario = slower(dumbbell(2, 4 * MS, 300, policy("tail-drop"), 3, &config), 20);
    let low = &mut scenario.flows[0];
    low.scalable = true;
    low.tcp.ecn = EcnConfig::Accurate { abe: false, option };
    low.tcp.congestion = CongestionConfig::Prague(PragueConfig {
        rtt_target_ps: 25 * MS,
        transition: 4,
    });
    let mut scenario = ip(scenario, BufferUnit::Packets, 200);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].policy = PolicyConfig::DualPi2(DualPi2Config {
        target_ps: 15 * MS,
        update_ps: 16 * MS,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        marking: LowLatencyMarking::Step { threshold_ps: MS },
        least_packets: 1,
        scheduler: TwoQueues::TimeShifted { shift_ps: 50 * MS },
        ecn: true,
        nqb: false,
        protection: Default::default(),
    });
    scenario
}

fn connections(kind: RecoveryKind, segments: u32, shares: bool, option: bool) -> Scenario {
    let mut config = tcp(kind, 65_535);
    config.ecn = EcnConfig::Accurate { abe: !shares, option };
    config.ack = AckConfig::Delayed {
        segments,
        timeout_ps: 40 * MS,
        quick: 0,
    };
    if shares {
        config.congestion = CongestionConfig::Dctcp(DctcpConfig {
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
        });
    }
    let mut scenario = slower(dumbbell(3, 4 * MS, 300, policy("tail-drop"), 2, &config), 40);
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed { at_ps: at * 10 * MS };
    }
    let mut scenario = ip(scenario, BufferUnit::Packets, 40);
    let (trunk, back) = (scenario.flows[0].route[1], scenario.flows[0].return_route[1]);
    scenario.links[trunk].policy = PolicyConfig::StepMarking(StepMarkingConfig {
        threshold: 8,
        unit: QueueUnit::Packets,
    });
    scenario.links[trunk].loss = LossConfig::Bernoulli { probability: 0.002 };
    // Some ACKs are lost as well.
    scenario.links[back].loss = LossConfig::Bernoulli { probability: 0.05 };
    scenario
}
