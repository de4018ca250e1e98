//! Scenarios in which some values are the largest that the checks accept.

use crate::common::SECOND;
use longpipe_network::scenario::web::WebConfig;
use longpipe_network::scenario::{LinkConfig, LossConfig, PolicyConfig, Scenario, StartConfig, TrafficConfig};
use longpipe_tcp::config::{AckConfig, CongestionConfig, TimerConfig};
use proptest::prelude::*;

/// Number that selects the value to change, and index of the flow, link or node.
pub type Extreme = (usize, usize);

/// Number of values that an `Extreme` can select.
const KINDS: usize = 18;

/// Strategy: one extreme value, or a few.
pub fn any_extremes() -> impl Strategy<Value = Vec<Extreme>> {
    prop::collection::vec((0..KINDS, 0usize..60), 1..4)
}

/// Sets a value to its maximum, without changing the length of the run.
pub fn set(scenario: &mut Scenario, (kind, index): Extreme) {
    let flow = index % scenario.flows.len();
    let host = scenario.links[scenario.flows[flow].route[0]].from;
    let flow = &mut scenario.flows[flow];
    let link = index % scenario.links.len();
    match kind {
        0 => flow.start = StartConfig::Fixed { at_ps: u64::MAX },
        1 => {
            flow.start = StartConfig::Random {
                from_ps: 0,
                over_ps: u64::MAX,
            }
        }
        2 => flow.traffic = TrafficConfig::transfer(u64::MAX),
        3 => flow.tcp.initial_window_segments = 1_000_000,
        4 => flow.tcp.initial_ssthresh_bytes = Some(u64::MAX),
        5 => flow.tcp.fast_retransmit_interval_ps = u64::MAX,
        6 => {
            if let CongestionConfig::Vegas(vegas) = &mut flow.tcp.congestion {
                (vegas.alpha, vegas.beta, vegas.gamma) = (1e6, 1e6, 1e6);
            }
        }
        7 => set_longest(&mut flow.tcp.timer),
        8 => {
            if let TimerConfig::Fine { granularity_ps, .. } = &mut flow.tcp.timer {
                *granularity_ps = u64::MAX;
            }
        }
        9 => {
            if let AckConfig::Delayed { timeout_ps, .. } = &mut flow.tcp.ack {
                *timeout_ps = 1_000 * SECOND;
            }
        }
        10 => {
            if let TrafficConfig::Web(web) = &mut flow.traffic {
                set_largest(web);
            }
        }
        11 => {
            let has_queue = |link: &&LinkConfig| {
                link.from == host
                    && (link.buffer.is_some()
                        || link.policy != (PolicyConfig::TAIL_DROP)
                        || !link.conditioners.is_empty())
            };
            if !scenario.links.iter().any(|link| has_queue(&link)) {
                scenario.nodes[host].send_jitter_ps = 1_000 * SECOND;
            }
        }
        12 => {
            if let Some(buffer) = &mut scenario.links[link].buffer {
                buffer.limit = u64::MAX;
            }
        }
        13 => {
            scenario.links[link].loss = LossConfig::Packets {
                indices: vec![0, (1 << 63) - 1],
            }
        }
        14 => {
            scenario.links[link].loss = LossConfig::AtTimes {
                instants_ps: vec![0, 100_000 * SECOND],
            }
        }
        15 => scenario.links[link].delay_ps = 1_000 * SECOND,
        16 => scenario.traces.vc_queue_interval_ps = u64::MAX,
        _ => {
            for source in &mut scenario.vbr {
                (source.off_ps, source.start_ps) = (1_000_000 * SECOND, (index as u64 % 2) * 1_000_000 * SECOND);
            }
        }
    }
}

fn set_largest(web: &mut WebConfig) {
    (web.spacing_to_ps, web.cycle_ps) = (1_000 * SECOND, 100_000 * SECOND);
    (web.requests_mean, web.size_mean, web.request_bytes) = (100.0, 100.0, 65_000);
    web.class_shares_ppb = vec![0, 0, 0, 0, 0, 0, 0, 0, 1_000_000_000];
}

fn set_longest(timer: &mut TimerConfig) {
    match timer {
        TimerConfig::Coarse {
            tick_ps,
            min_rto_ticks,
            max_rto_ticks,
            initial_rto_ticks,
            ..
        } => {
            *tick_ps = 100 * SECOND;
            (*min_rto_ticks, *max_rto_ticks, *initial_rto_ticks) = (1_000, 1_000, 1_000);
        }
        TimerConfig::Fine {
            min_rto_ps,
            max_rto_ps,
            initial_rto_ps,
            ..
        } => {
            let max = 100_000 * SECOND;
            (*min_rto_ps, *max_rto_ps, *initial_rto_ps) = (max, max, max);
        }
    }
}
