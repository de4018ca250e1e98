//! Bounds on repeated events that occur even if no packet is sent, so that every run ends.

use super::refusal::{accept, refuse, ScenarioError};
use super::{FlowConfig, LinkConfig, LossConfig, OnOffConfig, Scenario};
use crate::bounds::refuse_unless;
use crate::packets::aal5::CELL_BITS;
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::config::TimerConfig;
use longpipe_tcp::sender::retransmission_timer::MAX_BACKOFF;
use longpipe_tcp::Problem;

/// Maximum number of repetitions of one activity in a run: updates of a controller, timeouts, changes of a loss state,
/// batches of requests, frames of video or samples of a queue. PIE's default interval of 15 ms allows 173 days.
pub const MAX_REPETITIONS: u64 = 1_000_000_000;

/// Rejects intervals that are so short that more than [`MAX_REPETITIONS`] of them fit into the run, and bursts of
/// VBR cells at intervals that are too short. The scenario must have passed all other checks.
pub(super) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let min = scenario.duration_ps.div_ceil(MAX_REPETITIONS);
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
    }
    for (index, source) in scenario.vbr.iter().enumerate() {
        let link_bps = scenario.links[source.route[0]].rate_bps;
        accept(|| format!("vbr[{index}]"), vbr_problem(source, link_bps))?;
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

fn intervals_of_flow(flow: &FlowConfig) -> impl Iterator<Item = (String, u64)> {
    let of_traffic = flow.traffic.interval(&flow.tcp);
    let of_traffic = of_traffic.map(|(name, interval)| (format!("traffic.{name}"), interval.0));
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
    let timeout = (!flow.traffic.is_datagrams()).then_some((rto.0.to_string(), rto.1));
    of_traffic.into_iter().chain(timeout)
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
