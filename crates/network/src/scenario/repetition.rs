//! Bounds on repeated events that occur even if no packet is sent, so that every run ends.

use super::refusal::{refuse, ScenarioError};
use super::{BurstsConfig, FlowConfig, LinkConfig, LossConfig, OnOffConfig, Scenario, Times, TrafficConfig};
use crate::bounds::refuse_unless;
use crate::packets::aal5::CELL_BITS;
use crate::packets::contents::DATAGRAM_HEADER_BYTES;
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::config::TimerConfig;
use longpipe_tcp::sender::retransmission_timer::MAX_BACKOFF;
use longpipe_tcp::Problem;

/// Maximum number of repetitions of one activity in a run: updates of a controller, timeouts, changes of a loss state,
/// batches of requests, frames of video or samples of a queue. PIE's default interval of 15 ms allows 173 days.
pub const MOST_REPETITIONS: u64 = 1_000_000_000;

/// Rejects intervals that are so short that more than [`MOST_REPETITIONS`] of them fit into the run, and bursts at
/// intervals that are too short. The scenario must have passed all other checks.
pub(super) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let min = scenario.duration_ps.div_ceil(MOST_REPETITIONS);
    let at_least = |field: String, interval: u64| {
        if interval >= min {
            return Ok(());
        }
        let value = format!("{interval} ps");
        refuse(
            field,
            value,
            format!("needs at least {min} ps, a billionth of the duration"),
        )
    };
    for (index, link) in scenario.links.iter().enumerate() {
        for (field, interval) in intervals_of_link(link) {
            at_least(format!("links[{index}].{field}"), interval)?;
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        for (field, interval) in intervals_of_flow(flow) {
            at_least(format!("flows[{index}].{field}"), interval)?;
        }
        if let Some(problem) = bursts_problem(flow) {
            let problem = problem.within("traffic");
            return refuse(
                format!("flows[{index}].{}", problem.field),
                problem.value,
                problem.accepted,
            );
        }
    }
    for (index, source) in scenario.vbr.iter().enumerate() {
        let link_bps = scenario.links[source.route[0]].rate_bps;
        if let Some(problem) = vbr_problem(source, link_bps) {
            return refuse(
                format!("vbr[{index}].{}", problem.field),
                problem.value,
                problem.accepted,
            );
        }
    }
    if scenario.traces.vc_queue {
        at_least("traces.vc_queue_interval".into(), scenario.traces.vc_queue_interval_ps)?;
    }
    Ok(())
}

fn intervals_of_link(link: &LinkConfig) -> impl Iterator<Item = (&'static str, u64)> {
    let update = link.policy.update_ps().map(|update_ps| ("policy.update", update_ps));
    let cycle = match link.loss {
        LossConfig::GilbertElliottInTime { good_ps, bad_ps, .. } => {
            Some(("loss.good and bad", good_ps.saturating_add(bad_ps)))
        }
        _ => None,
    };
    update.into_iter().chain(cycle)
}

fn intervals_of_flow(flow: &FlowConfig) -> impl Iterator<Item = (&'static str, u64)> {
    let of_traffic = match &flow.traffic {
        TrafficConfig::Web(web) => Some(("traffic.cycle", web.cycle_ps)),
        TrafficConfig::AdaptiveVideo(video) => Some(("traffic.chunk", video.chunk_ps)),
        TrafficConfig::Video(video) => Some(("traffic.frame", video.frame_ps)),
        TrafficConfig::FlowArrivals(config) => config.mean_gap_ps().map(|gap_ps| ("traffic.arrivals.gap", gap_ps)),
        TrafficConfig::Stream(stream) => {
            Some(("traffic.write", time_of(stream.write_bits(&flow.tcp), stream.rate_bps)))
        }
        _ => None,
    };
    let (initial_rto, max_rto) = match flow.tcp.timer {
        TimerConfig::Coarse {
            tick_ps,
            initial_rto_ticks,
            max_rto_ticks,
            ..
        } => {
            let ticks = |count: u32| tick_ps.saturating_mul(u64::from(count));
            (ticks(initial_rto_ticks), ticks(max_rto_ticks))
        }
        TimerConfig::Fine {
            initial_rto_ps,
            max_rto_ps,
            ..
        } => (initial_rto_ps, max_rto_ps),
    };
    // After the first RTT sample, an RTO is at least one RTT, unless `max_rto` is shorter.
    let backed_off = initial_rto.saturating_mul(1 << MAX_BACKOFF);
    let rto = if backed_off < max_rto {
        ("tcp.timer.initial_rto with its backoff", backed_off)
    } else {
        ("tcp.timer.max_rto", max_rto)
    };
    // Datagram flows have no timer.
    let timeout = (!flow.traffic.is_datagrams()).then_some(rto);
    of_traffic.into_iter().chain(timeout)
}

/// Rejects bursts whose intervals are shorter than those of packets or writes at the peak rate: every burst contains at
/// least one packet or write, so such a source would exceed its own rate.
fn bursts_problem(flow: &FlowConfig) -> Option<Problem> {
    match &flow.traffic {
        TrafficConfig::OnOff(config) => {
            let bits = 8 * u64::from(config.payload_bytes.saturating_add(DATAGRAM_HEADER_BYTES));
            distance_problem(config.bursts(), time_of(bits, config.rate_bps))
        }
        TrafficConfig::Stream(config) => {
            let write_ps = time_of(config.write_bits(&flow.tcp), config.rate_bps);
            let problem = config.bursts.and_then(|bursts| distance_problem(bursts, write_ps));
            problem.map(|problem| problem.within("bursts"))
        }
        _ => None,
    }
}

/// Rejects bursts whose intervals are shorter than `packet_ps`, the interval of packets or writes.
fn distance_problem(bursts: BurstsConfig, packet_ps: u64) -> Option<Problem> {
    let cycle_ps = bursts.on_ps.saturating_add(bursts.off_ps);
    let accepted = "needs, together with off, at least the transmission time of a packet at the rate, in ps";
    refuse_unless(cycle_ps >= packet_ps, "on", bursts.on_ps, accepted).or_else(|| {
        let Times::Pareto { shape } = bursts.times else {
            return None;
        };
        // If the shape is close to 1, nearly all durations equal the shortest one, mean · (shape - 1) / shape.
        let shortest_ps = cycle_ps as f64 * ((shape - 1.0) / shape);
        let accepted =
            "needs a shortest on plus off time of at least a hundredth of a packet's transmission time at the rate";
        refuse_unless(100.0 * shortest_ps >= packet_ps as f64, "times.shape", shape, accepted)
    })
}

/// Rejects bursts of VBR cells whose intervals are shorter than a hundredth of the cell time on the source's own link:
/// every burst contains at least one cell, so the number of waiting cells would grow without limit.
fn vbr_problem(source: &OnOffConfig, link_bps: u64) -> Option<Problem> {
    let cycle_ps = source.on_ps.saturating_add(source.off_ps);
    let accepted = "needs, together with off, at least a hundredth of the cell time of its first link, in ps";
    let fits = cycle_ps.saturating_mul(100) >= time_of(CELL_BITS, link_bps);
    refuse_unless(fits, "on", source.on_ps, accepted)
}

/// Returns the transmission time [ps] of `bits` at a rate, rounded down.
fn time_of(bits: u64, rate_bps: u64) -> u64 {
    (u128::from(bits) * u128::from(PS_PER_SECOND) / u128::from(rate_bps)).min(u128::from(u64::MAX)) as u64
}
