//! Invariants of every run: no link exceeds its rate, no queue's mean length exceeds its maximum, no packet is faster
//! than the propagation delay allows, ports conserve packets, and sequence numbers never decrease.

use super::compare::Finding;
use super::SECOND;
use longpipe_events::Time;
use longpipe_network::observe::probe::{Event, Probe};
use longpipe_network::queues::subqueues::SubqueueCounters;
use longpipe_network::report::packets::PacketReport;
use longpipe_network::report::{PortReport, QueueReport};
use longpipe_network::scenario::conditioners::ConditionerConfig;
use longpipe_network::scenario::time_varying::ServiceConfig;
use longpipe_network::scenario::{LinkConfig, Scenario, TrafficConfig};
use longpipe_network::{Flow, Report, REQUEST};
use longpipe_tcp::segment::Opening;
use longpipe_tcp::{AckSegment, DataSegment};
use std::collections::HashMap;

fn holds(holds: bool, kind: &str, detail: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds {
        return Ok(());
    }
    Err(Finding {
        kind: kind.to_owned(),
        detail: detail(),
    })
}

/// Checks the results for links, queues and flows.
pub fn check_report(scenario: &Scenario, report: &Report) -> Result<(), Finding> {
    for (index, port) in report.packet_ports.iter().enumerate() {
        check_packet_port(&scenario.links[index], port, scenario.duration_ps)?;
    }
    for (index, port) in report.packet_ports.iter().enumerate() {
        let queues: Vec<&QueueReport> = report.queues.iter().filter(|queue| queue.port == index).collect();
        if !queues.is_empty() {
            check_queues(&scenario.links[index], port, &queues)?;
        }
    }
    for port in &report.ports {
        check_port(port)?;
    }
    for class in &report.classes {
        let peak = class.counters.peak_queue as f64;
        check_mean(class.mean_queue, peak, || format!("{class:?}"))?;
    }
    for proxy in &report.proxies {
        // The mean of arriving flows is that of all connections together, and the peak is that of a single one.
        let peak = match scenario.flows[proxy.flow].traffic {
            TrafficConfig::FlowArrivals(_) => f64::INFINITY,
            _ => proxy.peak_bytes as f64,
        };
        check_mean(Some(proxy.mean_bytes), peak, || format!("{proxy:?}"))?;
    }
    check_goodput(scenario, report)?;
    for (source, config) in report.sources.iter().zip(&scenario.vbr) {
        let propagation: u64 = config.route.iter().map(|&link| scenario.links[link].delay_ps).sum();
        let possible = source.delays.is_none_or(|(min, _)| min.0 >= propagation);
        holds(possible, "cells faster than light", || format!("{source:?}"))?;
    }
    let mut flows = report.flows.iter();
    holds(
        flows.all(|flow| flow.delivered_bytes <= flow.highest_sequence_bytes),
        "more was delivered than arrived",
        || format!("{:?}", report.flows),
    )
}

fn check_mean(mean: Option<f64>, peak: f64, detail: impl FnOnce() -> String) -> Result<(), Finding> {
    // The mean may contain a rounding error.
    let possible = mean.is_none_or(|mean| (0.0..=peak * (1.0 + 1e-12)).contains(&mean));
    holds(possible, "mean queue above its peak", detail)
}

fn check_packet_port(link: &LinkConfig, port: &PacketReport, duration_ps: u64) -> Result<(), Finding> {
    let detail = || format!("{port:?}");
    let moving = port.motion.map_or(0, |motion| motion.lost_outage + motion.lost_on_wire);
    let lost = port.lost_overflow + port.lost_aqm + port.lost_injected + port.lost_policer + port.lost_access + moving;
    let packets = port.packets_in + port.packets_duplicated == port.packets_out + lost + port.packets_held;
    let bytes = port.bytes_in + port.bytes_duplicated == port.bytes_out + port.bytes_lost + port.bytes_held;
    holds(packets && bytes, "a port loses count", detail)?;
    holds((0.0..=1.0).contains(&port.utilization), "utilization above 1", detail)?;
    let sent = 8 * u128::from(port.bytes_out) * u128::from(SECOND);
    let is_nominal = link.access.as_ref().is_some_and(|access| !access.keeps_rate());
    let possible = is_nominal || sent <= capacity(link, duration_ps);
    holds(possible, "more left than the line carries", detail)?;
    let access = port.access.unwrap_or_default();
    let counted = access.requests_lost <= access.requests && access.used <= access.granted;
    holds(
        counted,
        "more requests lost than sent, or grants used than given",
        detail,
    )?;
    holds(access.waiting.0 <= duration_ps, "a wait longer than the run", detail)?;
    if port.host {
        return Ok(());
    }
    check_mean(port.mean_packets, port.peak_packets as f64, detail)?;
    let held = port.packets_held <= port.peak_packets && port.bytes_held <= port.peak_bytes;
    holds(held, "more is held than the peak", detail)
}

/// Checks the counters of the queues of a port against the counters of the port.
fn check_queues(link: &LinkConfig, port: &PacketReport, queues: &[&QueueReport]) -> Result<(), Finding> {
    let detail = || format!("{queues:?} of {port:?}");
    let sum = |count: fn(&SubqueueCounters) -> u64| queues.iter().map(|queue| count(&queue.counters)).sum::<u64>();
    for queue in queues {
        check_mean(Some(queue.mean_packets), queue.counters.peak_packets as f64, detail)?;
        let held = queue.counters.packets_held() <= queue.counters.peak_packets;
        holds(held, "a queue holds more than its peak", detail)?;
    }
    // The port's losses also include packets that an outage, a policer or the link's losses dropped before the queue,
    // and its marks those of a policer.
    let possible = sum(|queue| queue.lost_aqm) == port.lost_aqm
        && sum(|queue| queue.lost_overflow) <= port.lost_overflow
        && sum(|queue| queue.packets_marked) <= port.packets_marked
        && sum(|queue| queue.bytes_lost) <= port.bytes_lost
        && sum(|queue| queue.packets_in) <= port.packets_in + port.packets_duplicated
        && sum(SubqueueCounters::packets_held) <= port.packets_held
        && sum(SubqueueCounters::bytes_held) <= port.bytes_held;
    holds(possible, "queues count more than their port", detail)?;
    if link.motion.is_some() || !link.conditioners.is_empty() {
        return Ok(());
    }
    // A host's port also holds its packets on the wire.
    let in_service = port.packets_held - sum(SubqueueCounters::packets_held);
    let equal = sum(|queue| queue.packets_in) == port.packets_in - port.lost_injected
        // A medium access loses packets that it has taken from their queue.
        && sum(|queue| queue.packets_out) == port.packets_out + port.lost_access + in_service
        && sum(|queue| queue.lost_overflow) == port.lost_overflow
        && sum(|queue| queue.lost_outage) == 0
        && sum(|queue| queue.packets_marked) == port.packets_marked
        // A transmission of a medium access carries several packets.
        && (port.host || in_service <= 1 || link.access.is_some());
    holds(equal, "queues and their port count differently", detail)
}

fn check_port(port: &PortReport) -> Result<(), Finding> {
    let detail = || format!("{port:?}");
    let at_port = port.lost_overflow + port.lost_aqm + port.lost_discarded + port.lost_injected;
    let lost = at_port + port.lost_outage + port.lost_on_wire;
    holds(
        port.cells_in == port.cells_out + lost + port.held,
        "a port loses count",
        detail,
    )?;
    holds((0.0..=1.0).contains(&port.utilization), "utilization above 1", detail)?;
    check_mean(port.mean_queue, port.peak_queue as f64, detail)
}

/// Returns whether packets may arrive more than once.
fn duplicates(scenario: &Scenario) -> bool {
    let mut conditioners = scenario.links.iter().flat_map(|link| &link.conditioners);
    conditioners.any(|config| matches!(config, ConditionerConfig::Duplication(_)))
}

/// Checks that the payload that flows delivered over each link does not exceed its rate.
fn check_goodput(scenario: &Scenario, report: &Report) -> Result<(), Finding> {
    let mut delivered = vec![0u128; scenario.links.len()];
    for (flow, config) in report.flows.iter().zip(&scenario.flows) {
        if config.rerouting.is_none() {
            config
                .route
                .iter()
                .for_each(|&link| delivered[link] += u128::from(flow.delivered_bytes));
        }
    }
    for (link, bytes) in scenario.links.iter().zip(delivered) {
        // A datagram that is duplicated downstream of the link is counted twice, and the rate of some access is only nominal.
        let is_bounded = !duplicates(scenario) && link.access.as_ref().is_none_or(|access| access.keeps_rate());
        let fits = !is_bounded || 8 * bytes * u128::from(SECOND) <= capacity(link, scenario.duration_ps);
        holds(fits, "efficiency above 1", || format!("{bytes} bytes over {link:?}"))?;
    }
    Ok(())
}

/// Returns the number of bits that a link can send in a run without outages, times the number of picoseconds in a
/// second.
fn capacity(link: &LinkConfig, duration_ps: u64) -> u128 {
    // One picosecond is added because departures are rounded down.
    let until = duration_ps + 1;
    match link.motion.as_ref().and_then(|motion| motion.service.as_ref()) {
        None => u128::from(link.rate_bps) * u128::from(until),
        Some(ServiceConfig::Steps { steps, cycle_ps }) => {
            let sent = |until: u64| -> u128 {
                let ends = steps[1..].iter().map(|step| step[0]).chain([until]);
                let spans = steps.iter().zip(ends);
                spans
                    .map(|(&[at, rate], end)| u128::from(rate) * u128::from(end.min(until).saturating_sub(at)))
                    .sum()
            };
            let cycle = cycle_ps.unwrap_or(u64::MAX);
            let turns = until / cycle;
            let whole = if turns > 0 { sent(cycle) } else { 0 };
            u128::from(turns) * whole + sent(until % cycle)
        }
        Some(ServiceConfig::Opportunities { instants_ps, bytes, .. }) => {
            let cycle = *instants_ps.last().expect("a schedule has instants");
            let in_part = instants_ps.iter().filter(|&&at| at <= until % cycle).count();
            let count = u128::from(until / cycle) * instants_ps.len() as u128 + in_part as u128;
            8 * count * u128::from(*bytes) * u128::from(SECOND)
        }
    }
}

/// Payload of a flow in one direction, which is either data or requests.
#[derive(Clone, Debug, Default)]
struct Sequence {
    /// End of the sent data.
    end: u64,
    /// Highest acknowledgement received (SND.UNA).
    acknowledged: u64,
    /// Highest acknowledgement sent (RCV.NXT).
    answered: u64,
}

/// A probe that follows every packet from end to end.
#[derive(Clone, Debug)]
pub struct Trail {
    /// Minimum propagation delay [ps] of each flow, in both directions.
    propagation: Vec<[u64; 2]>,
    sequences: Vec<[Sequence; 2]>,
    /// For each flow, whether its sender may probe a closed window with the last acknowledged byte (RFC 9293 section
    /// 3.8.6.1).
    probes: Vec<bool>,
    /// Send times of the packets in flight, indexed by flow, direction (data or ACKs) and packet number.
    sent: HashMap<(usize, bool, u32), Time>,
    /// Whether packets may arrive more than once.
    duplicates: bool,
    /// The first violated invariant.
    pub broken: Result<(), Finding>,
}

impl Trail {
    /// Creates a probe for a scenario.
    pub fn new(scenario: &Scenario) -> Trail {
        let min = |&link: &usize| {
            let link = &scenario.links[link];
            let delay = link.motion.as_ref().and_then(|motion| motion.delay.as_ref());
            delay.map_or(link.delay_ps, |delay| {
                delay.knots_ps.iter().map(|knot| knot[1]).min().unwrap_or(0)
            })
        };
        let propagation = scenario.flows.iter().map(|flow| match flow.rerouting {
            // If the route changes while a packet is in flight, the packet may use a part of each route.
            Some(_) => [0, 0],
            None => [&flow.route, &flow.return_route].map(|route| route.iter().map(min).sum()),
        });
        Trail {
            propagation: propagation.collect(),
            sequences: scenario.flows.iter().map(|_| Default::default()).collect(),
            probes: scenario.flows.iter().map(|flow| flow.onward.is_some()).collect(),
            sent: HashMap::new(),
            duplicates: duplicates(scenario),
            broken: Ok(()),
        }
    }

    fn expect(&mut self, possible: bool, kind: &str, detail: impl FnOnce() -> String) {
        if self.broken.is_ok() {
            self.broken = holds(possible, kind, detail);
        }
    }

    fn leaves(&mut self, now: Time, flow: Flow, is_ack: bool, frame: u32) {
        self.sent.insert((flow.index(), is_ack, frame), now);
    }

    fn arrives(&mut self, now: Time, flow: Flow, is_ack: bool, frame: u32) {
        let key = (flow.index(), is_ack, frame);
        let sent = match self.duplicates {
            true => self.sent.get(&key).copied(),
            false => self.sent.remove(&key),
        };
        let Some(sent) = sent else {
            return self.expect(false, "a packet arrives that did not leave", || format!("{key:?}"));
        };
        let back = is_ack ^ (frame & REQUEST != 0);
        let min = self.propagation[flow.index()][usize::from(back)];
        let possible = now.0 >= sent.0 && now.0 - sent.0 >= min;
        self.expect(possible, "a packet faster than light", || {
            format!("{key:?} from {sent:?} to {now:?}")
        });
    }

    fn sequence(&mut self, flow: Flow, frame: u32) -> &mut Sequence {
        &mut self.sequences[flow.index()][usize::from(frame & REQUEST != 0)]
    }

    fn sent(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        self.leaves(now, flow, false, frame);
        if segment.opening != Opening::Over {
            return;
        }
        let sequence = self.sequence(flow, frame);
        let before = sequence.clone();
        sequence.end = before.end.max(segment.sequence + u64::from(segment.length));
        let detail = || format!("{segment:?} after {before:?}");
        self.expect(segment.sequence <= before.end, "a segment leaves a gap", detail);
        let probe = segment.length == 1 && segment.sequence + 1 == before.acknowledged;
        let forward = segment.sequence >= before.acknowledged || (probe && self.probes[flow.index()]);
        self.expect(forward, "sequence space goes backwards", detail);
    }

    fn answered(&mut self, now: Time, flow: Flow, frame: u32, ack: &AckSegment) {
        self.leaves(now, flow, true, frame);
        let sequence = self.sequence(flow, frame);
        let before = std::mem::replace(&mut sequence.answered, ack.acknowledgement);
        let forward = ack.acknowledgement >= before;
        self.expect(forward, "acknowledgements go backwards", || {
            format!("{ack:?} after {before}")
        });
    }

    fn acknowledged(&mut self, now: Time, flow: Flow, frame: u32, ack: &AckSegment) {
        self.arrives(now, flow, true, frame);
        let sequence = self.sequence(flow, frame);
        sequence.acknowledged = sequence.acknowledged.max(ack.acknowledgement);
        let end = sequence.end;
        let possible = ack.opening != Opening::Over || ack.acknowledgement <= end;
        self.expect(possible, "an acknowledgement of what was not sent", || {
            format!("{ack:?} of {end}")
        });
    }
}

impl Probe for Trail {
    fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::ConnectionSlots(owner, count) => {
                let flows = self.sequences.len() + count;
                self.propagation.resize(flows, self.propagation[owner.index()]);
                self.sequences.resize(flows, Default::default());
                self.probes.resize(flows, self.probes[owner.index()]);
            }
            Event::Renewed(flow) => self.sequences[flow.index()] = Default::default(),
            Event::Sent(now, flow, frame, segment) => self.sent(now, flow, frame, segment),
            Event::Answered(now, flow, frame, ack) => self.answered(now, flow, frame, ack),
            Event::Acknowledged(now, flow, frame, ack) => self.acknowledged(now, flow, frame, ack),
            Event::Received(now, flow, frame, _) | Event::ReceivedDatagram(now, flow, frame, ..) => {
                self.arrives(now, flow, false, frame);
            }
            Event::SentDatagram(now, flow, frame, _) => self.leaves(now, flow, false, frame),
            _ => {}
        }
    }
}
