//! Ports of access lines: CAKE with its framings, tins and ACK filter; drops at the head of the queue; and batches of
//! packets.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::queues::cake::{CakeAckFilter, CakeConfig, CakeFraming, CakeIsolation, CakeTins};
use longpipe_network::scenario::conditioners::{AggregationConfig, ConditionerConfig};
use longpipe_network::scenario::{BufferUnit, HeadDropConfig, PolicyConfig, Scenario, StartConfig};
use longpipe_tcp::config::{EcnConfig, RecoveryKind};

const MS: u64 = SECOND / 1000;

pub fn add_all(book: &mut Book) {
    let shaped = CakeConfig {
        rate_bps: Some(3_000_000),
        overhead: 0,
        framing: CakeFraming::None,
        mpu: 0,
        rtt_ps: 100 * MS,
        tins: CakeTins::Besteffort,
        isolation: CakeIsolation::TripleIsolate,
        ack_filter: CakeAckFilter::Off,
        ingress: false,
    };
    for (name, cake) in [
        ("shaped", shaped.clone()),
        (
            "unlimited",
            CakeConfig {
                rate_bps: None,
                ..shaped.clone()
            },
        ),
        (
            "atm-diffserv4",
            CakeConfig {
                overhead: 40,
                framing: CakeFraming::Atm,
                mpu: 64,
                tins: CakeTins::Diffserv4,
                ..shaped.clone()
            },
        ),
        (
            "ptm-diffserv8-ingress",
            CakeConfig {
                overhead: 30,
                framing: CakeFraming::Ptm,
                tins: CakeTins::Diffserv8,
                isolation: CakeIsolation::DualDsthost,
                ingress: true,
                ..shaped.clone()
            },
        ),
        (
            "flowblind",
            CakeConfig {
                isolation: CakeIsolation::Flowblind,
                ..shaped.clone()
            },
        ),
    ] {
        for ecn in [false, true] {
            let mut scenario = flows(ecn);
            let trunk = scenario.flows[0].route[1];
            scenario.links[trunk].policy = PolicyConfig::Cake(cake.clone());
            let marks = if ecn { "marks" } else { "drops" };
            book.add(&format!("lines/cake/{name}/{marks}"), &scenario);
        }
    }
    for (name, ack_filter) in [
        ("ack-filter", CakeAckFilter::On),
        ("aggressive-ack-filter", CakeAckFilter::Aggressive),
    ] {
        let mut scenario = flows(false);
        let back = scenario.flows[0].return_route[1];
        scenario.links[back].policy = PolicyConfig::Cake(CakeConfig {
            rate_bps: Some(60_000),
            ack_filter,
            ..shaped.clone()
        });
        book.add(&format!("lines/cake/{name}"), &scenario);
    }
    let mut scenario = flows(false);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].policy = PolicyConfig::HeadDrop(HeadDropConfig { limit_ps: None });
    book.add("lines/head-drop", &scenario);
    for (name, interval_ps, max_packets) in [("slotted", Some(5 * MS), 16), ("free", None, 4)] {
        let mut scenario = flows(false);
        scenario.links[trunk].conditioners = vec![ConditionerConfig::Aggregation(AggregationConfig {
            interval_ps,
            overhead_ps: MS / 2,
            packet_overhead_bytes: 8,
            max_packets,
            max_size_bytes: Some(20_000),
            max_duration_ps: None,
        })];
        book.add(&format!("lines/aggregation/{name}"), &scenario);
    }
}

/// Returns three connections that send at about 4 Mbit/s.
fn flows(ecn: bool) -> Scenario {
    let mut config = tcp(RecoveryKind::Sack, 65_535);
    if ecn {
        config.ecn = EcnConfig::Classic { abe: false };
    }
    let mut scenario = slower(dumbbell(3, 4 * MS, 300, policy("tail-drop"), 3, &config), 40);
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed { at_ps: at * 10 * MS };
        flow.class = at as u32;
    }
    ip(scenario, BufferUnit::Packets, 60)
}
