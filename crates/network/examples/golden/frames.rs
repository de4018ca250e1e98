//! Datagrams as cells, alone and with TCP, and as packets that are reordered and duplicated; RED for frames; Linux's fair queueing.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::conditioners::{ConditionerConfig, DuplicationConfig, JitterConfig};
use longpipe_network::scenario::time_varying::OrderConfig;
use longpipe_network::scenario::{
    ArrivalsConfig, BufferUnit, CbrConfig, FqConfig, OnOffDatagramsConfig, PoissonConfig, PolicyConfig, QueueUnit,
    RedConfig, RedGap, Scenario, Times, TrafficConfig, VideoConfig,
};
use longpipe_tcp::config::RecoveryKind;

const MS: u64 = SECOND / 1000;
const RATE_BPS: u64 = 1_500_000;
const PAYLOAD: u32 = 1_000;

fn kinds() -> Vec<(&'static str, TrafficConfig)> {
    vec![
        (
            "cbr",
            TrafficConfig::Cbr(CbrConfig {
                rate_bps: RATE_BPS,
                payload_bytes: PAYLOAD,
            }),
        ),
        (
            "poisson",
            TrafficConfig::Poisson(PoissonConfig {
                rate_bps: RATE_BPS,
                payload_bytes: PAYLOAD,
            }),
        ),
        (
            "on-off",
            TrafficConfig::OnOff(OnOffDatagramsConfig {
                rate_bps: 2 * RATE_BPS,
                payload_bytes: 172,
                on_ps: 50 * MS,
                off_ps: 50 * MS,
                times: Times::Pareto { shape: 1.5 },
            }),
        ),
        (
            "video",
            TrafficConfig::Video(VideoConfig {
                rate_bps: RATE_BPS,
                frame_ps: 33 * MS,
                payload_bytes: 1_200,
                size_spread: 0.15,
                time_spread: 0.15,
            }),
        ),
        (
            "arrivals",
            TrafficConfig::Arrivals(ArrivalsConfig {
                sent_ps: (0..200).map(|k| (k / 3 * 7 * MS, 100 + k as u32)).collect(),
            }),
        ),
    ]
}

/// Returns three sources that send at about 4 Mbit/s over a trunk whose port holds 300 cells.
fn small(policy: PolicyConfig) -> Scenario {
    let config = tcp(RecoveryKind::Newreno, 32_768);
    slower(dumbbell(3, 4 * MS, 300, policy, 2, &config), 40)
}

fn red(per_vc: bool, gap: RedGap) -> PolicyConfig {
    let plain = gap == RedGap::Drawn;
    PolicyConfig::Red(RedConfig {
        min: 40.0,
        max: 160.0,
        unit: QueueUnit::Cells,
        weight: 0.02,
        max_p: 0.1,
        gentle: !plain,
        adaptive: !plain && !per_vc,
        gap,
        mean_packet_bytes: 552,
        ecn: false,
        per_vc,
    })
}

pub fn add_all(book: &mut Book) {
    for (name, traffic) in kinds() {
        let mut scenario = small(policy("tail-drop"));
        scenario
            .flows
            .iter_mut()
            .for_each(|flow| flow.traffic = traffic.clone());
        book.add(&format!("datagrams/{name}/alone/cells"), &scenario);
        let mut scenario = small(policy("epd"));
        scenario.flows[1].traffic = traffic;
        book.add(&format!("datagrams/{name}/beside-tcp/cells"), &scenario);
        let mut scenario = ip(scenario, BufferUnit::Packets, 5);
        let trunk = scenario.flows[0].route[1];
        scenario
            .links
            .iter_mut()
            .for_each(|link| link.policy = policy("tail-drop"));
        scenario.links[trunk].conditioners = vec![
            ConditionerConfig::Duplication(DuplicationConfig {
                probability: 0.1,
                correlation: 0.0,
            }),
            ConditionerConfig::Jitter(JitterConfig {
                delay_ps: 20 * MS,
                jitter_ps: 10 * MS,
                table: None,
                correlation: 0.0,
                order: OrderConfig::Free,
            }),
        ];
        book.add(&format!("datagrams/{name}/disordered/packets"), &scenario);
    }
    for (name, initial_quantum_bytes, flow_limit) in [("linux", 15_140, 100), ("short", 600, 3)] {
        let mut scenario = ip(small(policy("tail-drop")), BufferUnit::Packets, 25);
        let trunk = scenario.flows[0].route[1];
        scenario.links[trunk].policy = PolicyConfig::Fq(FqConfig {
            quantum_bytes: 3_028,
            initial_quantum_bytes,
            flow_limit,
            refill_delay_ps: 40 * MS,
            ce_threshold_ps: None,
        });
        scenario.flows[1].traffic = kinds().swap_remove(2).1;
        book.add(&format!("fq/{name}/packets"), &scenario);
    }
    for (form, per_vc) in [("port", false), ("vc", true)] {
        for (gap_name, gap) in [
            ("uniform", RedGap::Uniform),
            ("wait", RedGap::Wait),
            ("drawn", RedGap::Drawn),
        ] {
            let mut scenario = small(red(per_vc, gap));
            scenario.flows[1].traffic = kinds().swap_remove(1).1;
            book.add(&format!("red-of-frames/{form}/{gap_name}"), &scenario);
        }
    }
}
