//! Random ports, with buffers from one packet to unlimited, every policy, every scheduler and every kind of loss.

use super::pace::part;
use super::queues::{any_queue, QueueDraft};
use crate::common::random::{any_policy, router_policy};
use crate::common::SECOND;
use longpipe_network::aal5::frame_cells;
use longpipe_network::scenario::conditioners::{
    AggregationConfig, ConditionerConfig, DuplicationConfig, Exceed, JitterConfig, PolicerConfig, ReorderingConfig,
    TbfConfig,
};
use longpipe_network::scenario::time_varying::OrderConfig;
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, EpdConfig, FbaConfig, Framing, LinkConfig, LossConfig, NodeKind, PolicyConfig, Scenario,
    SchedulerConfig, SelectiveDropConfig,
};
use proptest::prelude::*;

/// Draft of a port, which does not depend on the lengths of its packets.
#[derive(Clone, Debug)]
pub struct PortDraft {
    /// Multiple of the minimum buffer, and an amount added to it; None for an unlimited buffer.
    buffer: Option<(u64, u64)>,
    /// Whether the buffer is counted in packets instead of bytes; for IP packets.
    packets: bool,
    policy: PolicyConfig,
    /// Queue discipline that is used for IP packets.
    queue: Option<QueueDraft>,
    /// Share of UBR, in thousandths; None if VBR has strict priority.
    share: Option<u16>,
    /// Whether two queues are used even without VBR.
    two_queues: bool,
    policer: Option<BucketDraft>,
    shaper: Option<BucketDraft>,
    jitter: Vec<ConditionerConfig>,
    duplication: Option<(f64, f64)>,
    aggregation: Option<AggregationConfig>,
}

/// A token bucket: its rates, in thousandths of the link's rate; its burst, in packets; and binary choices.
#[derive(Clone, Debug)]
struct BucketDraft {
    rate: u16,
    peak: Option<u16>,
    burst_packets: u16,
    mark: bool,
    per_flow: bool,
}

fn any_bucket() -> impl Strategy<Value = BucketDraft> {
    (
        1u16..1500,
        prop::option::of(1u16..1000),
        1u16..20,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(rate, peak, burst_packets, mark, per_flow)| BucketDraft {
            rate,
            peak,
            burst_packets,
            mark,
            per_flow,
        })
}

/// Jitter, usually below a millisecond, which may reorder packets.
fn any_jitter() -> impl Strategy<Value = Vec<ConditionerConfig>> {
    let times = prop_oneof![Just(0u64), 0u64..1_000_000_000, 0u64..100_000_000_000];
    let table = prop::option::of(prop::collection::vec(any::<i16>(), 1..20));
    let correlation = prop_oneof![Just(0.0), 0.0..1.0f64];
    let order = prop_oneof![Just(OrderConfig::Free), Just(OrderConfig::Fifo)];
    let reordering = prop::option::of((0.0..1.0f64, correlation.clone(), 1u32..10));
    (times.clone(), times, table, correlation, order, reordering).prop_map(
        |(delay_ps, jitter_ps, table, correlation, order, reordering)| {
            let jitter = JitterConfig {
                delay_ps,
                jitter_ps,
                table,
                correlation,
                order,
            };
            let reordering = reordering.map(|(probability, correlation, gap)| {
                ConditionerConfig::Reordering(ReorderingConfig {
                    probability,
                    correlation,
                    gap,
                })
            });
            std::iter::once(ConditionerConfig::Jitter(jitter))
                .chain(reordering)
                .collect()
        },
    )
}

/// Batches of up to 40 packets, usually shorter than 20 ms; the interval may be fixed.
fn any_aggregation() -> impl Strategy<Value = AggregationConfig> {
    let time = || prop_oneof![1_000_000u64..1_000_000_000, 1_000_000u64..20_000_000_000];
    (
        prop::option::of(time()),
        prop_oneof![Just(0), time()],
        0u32..100,
        prop_oneof![3 => 1u32..40, 1 => Just(1_000_000)],
        prop::option::of(1u64..20_000),
        prop::option::of(time()),
    )
        .prop_map(
            |(interval_ps, overhead_ps, packet_overhead_bytes, max_packets, max_size_bytes, max_duration_ps)| {
                AggregationConfig {
                    interval_ps: interval_ps.map(|interval| interval + overhead_ps),
                    overhead_ps,
                    packet_overhead_bytes,
                    max_packets,
                    max_size_bytes,
                    max_duration_ps,
                }
            },
        )
}

impl BucketDraft {
    /// Returns the rate and the peak rate [bit/s], and the burst [byte].
    fn sizes(&self, link_bps: u64, packet_bytes: u32) -> (u64, Option<u64>, u64) {
        let share = |thousandths: u16| u128::from(link_bps) * u128::from(thousandths) / 1000;
        let rate_bps = share(self.rate).clamp(1_000, 900_000_000_000) as u64;
        let peak = |peak| rate_bps + 1 + share(peak).min(90_000_000_000) as u64;
        let burst_bytes = u64::from(self.burst_packets) * u64::from(packet_bytes);
        (rate_bps, self.peak.map(peak), burst_bytes)
    }

    fn police(&self, link_bps: u64, packet_bytes: u32) -> ConditionerConfig {
        let (rate_bps, peak_bps, burst_bytes) = self.sizes(link_bps, packet_bytes);
        ConditionerConfig::Policer(PolicerConfig {
            rate_bps,
            burst_bytes,
            peak_bps,
            mtu_bytes: peak_bps.map(|_| packet_bytes.min(65_000)),
            exceed: if self.mark { Exceed::Mark } else { Exceed::Drop },
            per_flow: self.per_flow,
        })
    }

    fn shape(&self, link_bps: u64, packet_bytes: u32) -> ConditionerConfig {
        let (rate_bps, peak_bps, burst_bytes) = self.sizes(link_bps, packet_bytes);
        ConditionerConfig::Tbf(TbfConfig {
            rate_bps,
            burst_bytes: burst_bytes as u32,
            peak_bps,
            mtu_bytes: peak_bps.map(|_| packet_bytes.min(65_000)),
        })
    }
}

/// Losses of a link.
#[derive(Clone, Debug)]
pub enum LossDraft {
    Indices(Vec<u64>),
    Instants(Vec<u16>),
    Periodic(u64, u64),
    Bernoulli(u16),
    GilbertElliott([u16; 4]),
    /// Bit error rate [10⁻⁶].
    BitErrors(u16),
}

/// Strategy: a port.
pub fn any_port() -> impl Strategy<Value = PortDraft> {
    let buffer = prop_oneof![
        2 => Just(None),
        4 => (1u64..4, 0u64..30).prop_map(Some),
        3 => (1u64..12, Just(0)).prop_map(Some),
        1 => (12u64..60, Just(0)).prop_map(Some),
    ];
    // Multiples of 1/1000 do not change if they are converted to text and back.
    let policy = any_policy().prop_map(in_thousandths);
    let share = prop::option::of(prop_oneof![Just(0u16), Just(1000), 0u16..=1000]);
    let queue = prop::option::weighted(0.4, any_queue());
    let policer = prop::option::weighted(0.1, any_bucket());
    let shaper = prop::option::weighted(0.1, any_bucket());
    let jitter = prop::option::weighted(0.1, any_jitter()).prop_map(Option::unwrap_or_default);
    let duplication = prop::option::weighted(0.1, (0.0..=1.0f64, prop_oneof![Just(0.0), 0.0..1.0f64]));
    let aggregation = prop::option::weighted(0.15, any_aggregation());
    (
        buffer,
        any::<bool>(),
        policy,
        queue,
        share,
        prop::bool::weighted(0.1),
        (policer, shaper, jitter, duplication, aggregation),
    )
        .prop_map(
            |(
                buffer,
                packets,
                policy,
                queue,
                share,
                two_queues,
                (policer, shaper, jitter, duplication, aggregation),
            )| PortDraft {
                buffer,
                packets,
                policy,
                queue,
                share,
                two_queues,
                policer,
                shaper,
                jitter,
                duplication,
                aggregation,
            },
        )
}

/// Strategy: the losses of one link.
pub fn any_loss() -> impl Strategy<Value = LossDraft> {
    prop_oneof![
        prop::collection::btree_set(0u64..60, 1..5)
            .prop_map(|indices| LossDraft::Indices(indices.into_iter().collect())),
        prop::collection::btree_set(any::<u16>(), 1..5)
            .prop_map(|instants| LossDraft::Instants(instants.into_iter().collect())),
        (1u64..40, 1u64..4).prop_map(|(interval, burst)| LossDraft::Periodic(interval, burst)),
        (0u16..300).prop_map(LossDraft::Bernoulli),
        Just(LossDraft::Bernoulli(1000)),
        prop::array::uniform4(0u16..=1000).prop_map(LossDraft::GilbertElliott),
        (0u16..200).prop_map(LossDraft::BitErrors),
        Just(LossDraft::BitErrors(10_000)),
    ]
}

fn in_thousandths(policy: PolicyConfig) -> PolicyConfig {
    let round = |value: f64| (value * 1000.0).round().max(1.0) / 1000.0;
    match policy {
        PolicyConfig::Epd(EpdConfig { threshold, keep_last }) => PolicyConfig::Epd(EpdConfig {
            threshold: round(threshold),
            keep_last,
        }),
        PolicyConfig::SelectiveDrop(SelectiveDropConfig {
            threshold,
            z,
            keep_last,
        }) => PolicyConfig::SelectiveDrop(SelectiveDropConfig {
            threshold: round(threshold),
            z: round(z),
            keep_last,
        }),
        PolicyConfig::Fba(FbaConfig {
            threshold,
            z,
            keep_last,
        }) => PolicyConfig::Fba(FbaConfig {
            threshold: round(threshold),
            z: round(z),
            keep_last,
        }),
        other => other,
    }
}

/// Returns a link with an unlimited port.
pub fn plain_link(from: usize, to: usize, rate_bps: u64, delay_ps: u64) -> LinkConfig {
    LinkConfig {
        from,
        to,
        rate_bps,
        delay_ps,
        buffer: None,
        policy: PolicyConfig::TAIL_DROP,
        scheduler: SchedulerConfig::Fifo {},
        loss: LossConfig::None {},
        motion: None,
        conditioners: vec![],
    }
}

impl LossDraft {
    /// Returns the losses for a run of the given length.
    pub fn build(&self, duration_ps: u64) -> LossConfig {
        let probability = |thousandths: u16| f64::from(thousandths) / 1000.0;
        match self {
            LossDraft::Indices(indices) => LossConfig::Packets {
                indices: indices.clone(),
            },
            LossDraft::Instants(shares) => {
                let instant = |&share: &u16| part(duration_ps, share).min(100_000 * SECOND);
                let mut instants_ps: Vec<u64> = shares.iter().map(instant).collect();
                instants_ps.dedup();
                LossConfig::AtTimes { instants_ps }
            }
            LossDraft::Periodic(interval, burst) => LossConfig::Periodic {
                interval: *interval,
                burst: *burst,
            },
            LossDraft::Bernoulli(thousandths) => LossConfig::Bernoulli {
                probability: probability(*thousandths),
            },
            LossDraft::BitErrors(millionths) => LossConfig::BitErrors {
                rate: f64::from(*millionths) / 1e6,
            },
            LossDraft::GilbertElliott(thousandths) => {
                let [good_to_bad, bad_to_good, loss_in_good, loss_in_bad] = *thousandths;
                LossConfig::GilbertElliott {
                    good_to_bad: probability(good_to_bad / 8),
                    bad_to_good: probability(bad_to_good),
                    loss_in_good: probability(loss_in_good / 8),
                    loss_in_bad: probability(loss_in_bad),
                }
            }
        }
    }
}

/// Returns the length [byte] of the longest packet on each link.
fn longest_packets(scenario: &Scenario) -> Vec<u32> {
    let mut longest = vec![40; scenario.links.len()];
    for flow in &scenario.flows {
        let (data, mut ack) = flow.tcp.largest_packets_bytes();
        if flow.traffic.facts().has_requests {
            ack = data;
        }
        // Datagrams may still replace the flow's TCP traffic.
        let data = data.max(flow.traffic.datagram_bytes().map_or(0, |[_, longest]| longest));
        for (route, bytes) in [(&flow.route, data), (&flow.return_route, ack)] {
            route.iter().for_each(|&link| longest[link] = longest[link].max(bytes));
        }
    }
    longest
}

/// Configures every port of a switch: most ports according to the first draft, and some ports, including some
/// interfaces of hosts, according to the other drafts.
pub fn furnish(scenario: &mut Scenario, ports: &[PortDraft], odd: &[(usize, usize)]) {
    let (longest, links) = (longest_packets(scenario), scenario.links.len());
    for (index, link) in scenario.links.iter_mut().enumerate() {
        let odd = odd.iter().find(|(at, _)| at % links == index);
        let node = &scenario.nodes[link.from];
        let plain = scenario.framing == Framing::Aal5 || odd.is_none() || node.send_jitter_ps > 0;
        if node.kind == NodeKind::Host && plain {
            continue;
        }
        let port = &ports[odd.map_or(0, |(_, port)| port % ports.len())];
        let bytes = longest[index];
        let unit = match (scenario.framing, port.packets) {
            (Framing::Aal5, _) => BufferUnit::Cells,
            (Framing::Ip, true) => BufferUnit::Packets,
            (Framing::Ip, false) => BufferUnit::Bytes,
        };
        let min = match unit {
            BufferUnit::Cells => u64::from(frame_cells(bytes)),
            BufferUnit::Packets => 1,
            BufferUnit::Bytes => u64::from(bytes),
        };
        link.buffer = port.buffer.map(|(times, beyond)| BufferConfig {
            unit,
            limit: times * min + beyond,
        });
        link.policy = match scenario.framing {
            Framing::Aal5 => match port.queue.as_ref().filter(|queue| queue.is_red()) {
                Some(queue) => queue.red_of_frames(frame_cells(bytes), bytes),
                None => port.policy.clone(),
            },
            Framing::Ip => match &port.queue {
                Some(queue) => {
                    let packet_ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(link.rate_bps);
                    queue.build(packet_ps as u64, bytes, scenario.duration_ps)
                }
                None => router_policy(port.policy.clone()),
            },
        };
        if scenario.framing == Framing::Ip {
            let policer = port.policer.iter().map(|draft| draft.police(link.rate_bps, bytes));
            let shaper = match &port.aggregation {
                Some(aggregation) => Some(ConditionerConfig::Aggregation(*aggregation)),
                None => port.shaper.as_ref().map(|draft| draft.shape(link.rate_bps, bytes)),
            };
            let duplication = port.duplication.iter().map(|&(probability, correlation)| {
                ConditionerConfig::Duplication(DuplicationConfig {
                    probability,
                    correlation,
                })
            });
            let jitter = port.jitter.iter().cloned();
            link.conditioners = policer.chain(shaper).chain(jitter).chain(duplication).collect();
        }
        let vbr = scenario.vbr.iter().any(|source| source.route[1..].contains(&index));
        if vbr || (port.two_queues && scenario.framing == Framing::Aal5) {
            link.scheduler = port.scheduler();
        }
    }
}

impl PortDraft {
    /// Returns the scheduler that serves VBR and UBR.
    fn scheduler(&self) -> SchedulerConfig {
        match self.share {
            None => SchedulerConfig::Priority {},
            Some(thousandths) => SchedulerConfig::GuaranteedRate {
                share_ppb: u64::from(thousandths) * 1_000_000,
            },
        }
    }
}
