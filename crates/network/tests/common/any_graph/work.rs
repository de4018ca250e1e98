//! Duration of a run in which a given number of cells or packets is sent.

use crate::common::SECOND;
use longpipe_network::aal5::{frame_cells, CELL_BITS};
use longpipe_network::scenario::{ArrivalTimesConfig, FlowConfig, Framing, Scenario, TrafficConfig};
use longpipe_tcp::config::TimerConfig;
use longpipe_tcp::sender::retransmission_timer::MAX_BACKOFF;

/// Returns a duration [ps] within which about `max` cells or packets traverse links.
pub fn duration_ps(scenario: &Scenario, max: u64) -> u64 {
    let mut loads = vec![0.0; scenario.links.len()];
    // End points spend computing time on packets even if a link drops them.
    let at_hosts: f64 = scenario
        .flows
        .iter()
        .map(|flow| add_load(scenario, flow, &mut loads))
        .sum();
    for source in &scenario.vbr {
        let bursts = SECOND as f64 / (source.on_ps + source.off_ps) as f64;
        let cells = (source.peak_bps as f64 / CELL_BITS as f64).max(bursts);
        source.route.iter().for_each(|&link| loads[link] += cells);
    }
    let least_bits = match scenario.framing {
        Framing::Aal5 => CELL_BITS as f64,
        Framing::Ip => 8.0 * 40.0,
    };
    let rates = || scenario.links.iter().map(|link| link.rate_bps as f64);
    let load: f64 = loads
        .iter()
        .zip(rates())
        .map(|(load, rate)| load.min(rate / least_bits))
        .sum();
    let duration = max as f64 / (load + at_hosts) * SECOND as f64;
    (duration as u64).clamp(1, 100 * 86_400 * SECOND)
}

/// Adds up the rates [1/s] at which a flow may send cells or packets over its links. Returns the rate of the flow's
/// timeouts and requests.
fn add_load(scenario: &Scenario, flow: &FlowConfig, loads: &mut [f64]) -> f64 {
    let rate = |&link: &usize| scenario.links[link].rate_bps as f64;
    let first = rate(&flow.route[0]);
    let slowest = flow.route.iter().map(rate).fold(f64::INFINITY, f64::min);
    let (data, ack) = flow.tcp.largest_packets_bytes();
    let (units, ack_units, bits) = match scenario.framing {
        Framing::Aal5 => {
            let units = f64::from(frame_cells(data));
            (units, f64::from(frame_cells(ack)), units * CELL_BITS as f64)
        }
        Framing::Ip => (1.0, 1.0, 8.0 * f64::from(data)),
    };
    let window = (flow.tcp.receiver_window_bytes / u64::from(flow.tcp.mss_bytes)) as f64;
    let seconds = |ps: u64| ps as f64 / SECOND as f64;
    let links = || flow.route.iter().chain(&flow.return_route);
    let propagation: f64 = links().map(|&link| seconds(scenario.links[link].delay_ps)).sum();
    let round_trip = propagation + bits / slowest;
    // In slow start, every second packet is lost at the slowest link.
    let sent = (first / bits).min(2.0 * slowest / bits).min(window / round_trip);
    // The timer backs off to more than an RTT, if it is allowed to. Before the first RTT sample, the factor is at most
    // 64.
    let (min, first, max) = rto_ps(&flow.tcp.timer);
    let longest = seconds(max.min(first.saturating_mul(1 << MAX_BACKOFF)));
    let timeouts = 1.0 / round_trip.max(seconds(min)).min(longest);
    let requests = match &flow.traffic {
        TrafficConfig::Web(web) => web.requests_mean.min(f64::from(web.requests_most)) / seconds(web.cycle_ps),
        // One chunk at a time.
        TrafficConfig::AdaptiveVideo(_) => 1.0 / round_trip,
        TrafficConfig::Stream(stream) => {
            let write = stream.write_bytes.unwrap_or(flow.tcp.mss_bytes);
            let bursts = stream
                .bursts
                .map_or(0.0, |bursts| 1.0 / seconds(bursts.on_ps + bursts.off_ps));
            stream.rate_bps as f64 / (8.0 * f64::from(write)) + bursts
        }
        TrafficConfig::FlowArrivals(arriving) => match arriving.arrivals {
            ArrivalTimesConfig::Poisson { gap_ps, .. } => 1.0 / seconds(gap_ps),
            ArrivalTimesConfig::List { .. } => 0.0,
        },
        _ => 0.0,
    };
    if let Some(packets) = datagrams_per_second(&flow.traffic) {
        flow.route.iter().for_each(|&link| loads[link] += packets);
        return packets;
    }
    let connections = match &flow.traffic {
        TrafficConfig::FlowArrivals(arriving) => f64::from(arriving.most_active),
        _ => 1.0,
    };
    let packets = connections * (sent + timeouts) + requests;
    flow.route.iter().for_each(|&link| loads[link] += packets * units);
    flow.return_route
        .iter()
        .for_each(|&link| loads[link] += packets * ack_units);
    connections * timeouts + requests
}

/// Returns the maximum rate of an application's datagrams [1/s]; None for other traffic.
fn datagrams_per_second(traffic: &TrafficConfig) -> Option<f64> {
    let packets = |rate_bps: u64, payload: u32| rate_bps as f64 / (8.0 * f64::from(payload + 28));
    match traffic {
        TrafficConfig::Cbr(cbr) => Some(packets(cbr.rate_bps, cbr.payload_bytes)),
        TrafficConfig::Poisson(poisson) => Some(packets(poisson.rate_bps, poisson.payload_bytes)),
        // A burst has at least one packet.
        TrafficConfig::OnOff(config) => {
            let bursts = SECOND as f64 / (config.on_ps + config.off_ps) as f64;
            Some(packets(config.rate_bps, config.payload_bytes) + bursts)
        }
        TrafficConfig::SelfSimilar(config) => {
            let bursts = SECOND as f64 / (config.on_ps + config.off_ps) as f64;
            let each = packets(config.rate_bps, config.payload_bytes) + bursts;
            Some(f64::from(config.sources) * each)
        }
        TrafficConfig::Video(video) => {
            Some(packets(video.rate_bps, video.payload_bytes) * 2.0 + SECOND as f64 / video.frame_ps as f64)
        }
        TrafficConfig::Arrivals(list) => {
            let last = list.sent_ps.last().map_or(1, |last| last.0.max(1));
            Some(list.sent_ps.len() as f64 * SECOND as f64 / last as f64)
        }
        _ => None,
    }
}

/// Returns the minimum, initial and maximum RTO [ps].
fn rto_ps(timer: &TimerConfig) -> (u64, u64, u64) {
    match *timer {
        TimerConfig::Coarse {
            tick_ps,
            min_rto_ticks,
            max_rto_ticks,
            initial_rto_ticks,
            ..
        } => {
            let ticks = |count: u32| tick_ps.saturating_mul(u64::from(count));
            (ticks(min_rto_ticks), ticks(initial_rto_ticks), ticks(max_rto_ticks))
        }
        TimerConfig::Fine {
            min_rto_ps,
            max_rto_ps,
            initial_rto_ps,
            ..
        } => (min_rto_ps, initial_rto_ps, max_rto_ps),
    }
}
