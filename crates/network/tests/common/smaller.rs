//! Reduces a failing scenario: removes unneeded parts, and simplifies the others.

use super::kept::Kept;
use super::{recovery, tcp};
use longpipe_network::scenario::topology::Topology;
use longpipe_network::scenario::{
    LossConfig, PolicyConfig, Scenario, SchedulerConfig, StartConfig, Ties, TraceConfig, TrafficConfig,
};
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

/// Maximum number of events of a reduced scenario.
pub const FEW_EVENTS: u64 = 400_000;

/// Returns the smallest scenario found for which `fails` returns true, after at most `looks` attempts.
pub fn smaller(kept: &Kept, looks: usize, fails: &mut dyn FnMut(&Kept) -> bool) -> Kept {
    let mut min = kept.clone();
    let mut left = looks;
    loop {
        let mut better = false;
        let mut number = 0;
        while let Some(changed) = change(&min, number) {
            let valid = changed.line() != min.line() && Topology::new(&changed.scenario).is_ok();
            if left == 0 {
                return min;
            }
            left -= usize::from(valid);
            // If a change was kept, the same number now refers to the next change.
            if valid && fails(&changed) {
                (min, better) = (changed, true);
            } else {
                number += 1;
            }
        }
        if !better {
            return min;
        }
    }
}

/// Returns the scenario after change `number`; None if there is no such change.
fn change(kept: &Kept, number: usize) -> Option<Kept> {
    let mut changed = kept.clone();
    let scenario = &mut changed.scenario;
    let mut left = number;
    // Returns the index of the change if it is one of the next `count` changes.
    let mut among = |count: usize| {
        let here = (left < count).then_some(left);
        left = left.wrapping_sub(count);
        if here.is_some() {
            left = usize::MAX;
        }
        here
    };
    if let Some(flow) = among(scenario.flows.len()) {
        scenario.flows.remove(flow);
        for onward in scenario.flows.iter_mut().filter_map(|flow| flow.onward.as_mut()) {
            onward.flow -= usize::from(onward.flow > flow);
        }
    } else if let Some(source) = among(scenario.vbr.len()) {
        scenario.vbr.remove(source);
    } else if let Some(part) = among(6) {
        let share = [2, 4, 8, 12, 14, 15][part];
        scenario.duration_ps = (u128::from(scenario.duration_ps) * share / 16).max(1) as u64;
    } else if among(1).is_some() {
        drop_unused(scenario);
    } else if let Some(field) = among(7) {
        plain_run(&mut changed, field);
    } else if let Some(at) = among(6 * scenario.links.len()) {
        plain_link(scenario, at / 6, at % 6);
    } else if let Some(field) = among(4) {
        for link in 0..scenario.links.len() {
            plain_link(scenario, link, field);
        }
    } else if let Some(node) = among(scenario.nodes.len()) {
        scenario.nodes[node].send_jitter_ps = 0;
    } else if let Some(at) = among(7 * scenario.flows.len()) {
        plain_flow(scenario, at / 7, at % 7);
    } else if let Some(field) = among(TCP_FIELDS) {
        scenario
            .flows
            .iter_mut()
            .for_each(|flow| plain_tcp(&mut flow.tcp, field));
    } else if let Some(at) = among(TCP_FIELDS * scenario.flows.len()) {
        plain_tcp(&mut scenario.flows[at / TCP_FIELDS].tcp, at % TCP_FIELDS);
    } else {
        return None;
    }
    Some(changed)
}

fn plain_run(kept: &mut Kept, field: usize) {
    let scenario = &mut kept.scenario;
    match field {
        0 => {
            scenario.traces = TraceConfig {
                vc_queue_interval_ps: 1,
                ..TraceConfig::default()
            }
        }
        1 => scenario.ties = Ties::PortOrder,
        2 => scenario.slot_phase = 0.5,
        3 => scenario.slot_phase = 0.0,
        4 => kept.seed &= 1,
        5 => scenario.traces.vc_queue = false,
        _ => scenario.traces.queue = false,
    }
}

fn plain_link(scenario: &mut Scenario, link: usize, field: usize) {
    let first = scenario.links[0].clone();
    let vbr = scenario.vbr.iter().any(|source| source.route.contains(&link));
    let link = &mut scenario.links[link];
    match field {
        0 => link.loss = LossConfig::None {},
        1 => link.buffer = None,
        2 => link.policy = PolicyConfig::TAIL_DROP,
        3 if vbr => link.scheduler = SchedulerConfig::Priority {},
        3 => link.scheduler = SchedulerConfig::Fifo {},
        4 => {
            link.delay_ps = if link.delay_ps == first.delay_ps {
                0
            } else {
                first.delay_ps
            }
        }
        _ => link.rate_bps = first.rate_bps,
    }
}

fn plain_flow(scenario: &mut Scenario, flow: usize, field: usize) {
    let first = scenario.flows[0].clone();
    let duration = scenario.duration_ps;
    let flow = &mut scenario.flows[flow];
    let mss = u64::from(flow.tcp.mss_bytes);
    match field {
        0 => flow.start = StartConfig::Fixed { at_ps: 0 },
        1 => flow.traffic = TrafficConfig::GREEDY,
        2 => flow.traffic = TrafficConfig::transfer(mss),
        3 => flow.tcp = first.tcp,
        4 => flow.tcp = tcp(RecoveryKind::Reno, 65_536),
        5 => flow.start = StartConfig::Fixed { at_ps: duration },
        _ => flow.start = first.start,
    }
}

const TCP_FIELDS: usize = 15;

fn plain_tcp(config: &mut TcpConfig, field: usize) {
    let plain = tcp(RecoveryKind::Reno, 65_536);
    let mss = u64::from(config.mss_bytes);
    let segments = config.receiver_window_bytes / mss;
    match field {
        0 => config.timer = plain.timer,
        1 => config.ack = plain.ack,
        2 => config.recovery = recovery(RecoveryKind::Vanilla),
        3 => config.congestion = plain.congestion,
        4 => config.initial_window_segments = 1,
        5 => config.initial_ssthresh_bytes = None,
        6 => {
            config.duplicate_ack_threshold = 3;
            config.fast_retransmit_interval_ps = 0;
            config.fast_retransmit_restarts_timer = true;
        }
        7 => config.recovery = recovery(config.recovery.kind()),
        8 => config.window_scale = TcpConfig::least_window_scale(config.receiver_window_bytes),
        9 => config.estimate_ssthresh = false,
        10 => config.idle_restart = false,
        11 => config.silly_window_avoidance = true,
        12 => {
            config.mss_bytes = plain.mss_bytes;
            config.receiver_window_bytes = (segments * u64::from(plain.mss_bytes)).min(1 << 30);
            config.window_scale = TcpConfig::least_window_scale(config.receiver_window_bytes);
        }
        13 => {
            config.receiver_window_bytes = (segments / 2).max(1) * mss;
            config.window_scale = TcpConfig::least_window_scale(config.receiver_window_bytes);
        }
        _ => {
            config.receiver_window_bytes = segments.saturating_sub(1).max(1) * mss;
            config.window_scale = TcpConfig::least_window_scale(config.receiver_window_bytes);
        }
    }
}

/// Removes links that no route uses, and nodes without links.
fn drop_unused(scenario: &mut Scenario) {
    let mut used = vec![false; scenario.links.len()];
    let routes = scenario.flows.iter().flat_map(|flow| [&flow.route, &flow.return_route]);
    let vbr = scenario.vbr.iter().map(|source| &source.route);
    routes.chain(vbr).flatten().for_each(|&link| used[link] = true);
    let links = kept_places(&used);
    let mut ends = vec![false; scenario.nodes.len()];
    for (link, _) in scenario.links.iter().zip(&used).filter(|(_, used)| **used) {
        (ends[link.from], ends[link.to]) = (true, true);
    }
    let nodes = kept_places(&ends);
    let mut at = 0..;
    scenario
        .links
        .retain(|_| at.next().is_some_and(|link: usize| used[link]));
    let mut at = 0..;
    scenario
        .nodes
        .retain(|_| at.next().is_some_and(|node: usize| ends[node]));
    for link in &mut scenario.links {
        (link.from, link.to) = (nodes[link.from], nodes[link.to]);
    }
    let routes = scenario
        .flows
        .iter_mut()
        .flat_map(|flow| [&mut flow.route, &mut flow.return_route]);
    let vbr = scenario.vbr.iter_mut().map(|source| &mut source.route);
    for link in routes.chain(vbr).flatten() {
        *link = links[*link];
    }
}

/// Returns the new index of each kept item.
fn kept_places(kept: &[bool]) -> Vec<usize> {
    let places = kept.iter().scan(0, |next, &kept| {
        let place = *next;
        *next += usize::from(kept);
        Some(place)
    });
    places.collect()
}
