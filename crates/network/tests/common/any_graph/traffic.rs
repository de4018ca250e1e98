//! Random traffic: files of one byte, of whole segments or of any length, greedy sources, writes over time, arriving
//! flows, requests, or chunks of a video. The start time can be any time, and some traffic has a stop time.

use super::pace::{any_packets, part, Pace, Packets};
use crate::common::SECOND;
use longpipe_network::scenario::web::{CycleFrom, PoissonCut, WebConfig};
use longpipe_network::scenario::{
    AdaptiveVideoConfig, ArrivalTimesConfig, ArrivalsConfig, BitrateRule, BurstsConfig, CbrConfig, FlowArrivalsConfig,
    FlowConfig, Framing, OnOffDatagramsConfig, PoissonConfig, SizesConfig, StartConfig, StopConfig, StreamConfig,
    Times, TrafficConfig, VideoConfig,
};
use longpipe_network::traffic::self_similar::SelfSimilarConfig;
use longpipe_tcp::congestion::CarefulResumeConfig;
use proptest::prelude::*;

/// Traffic of an application.
#[derive(Clone, Debug)]
pub enum TrafficDraft {
    Greedy,
    /// A number of whole segments, and additional bytes.
    File(u64, u64),
    Stream(StreamDraft),
    Arriving(ArrivingDraft),
    Web(WebDraft),
    Chunks(ChunksDraft),
    Datagrams(DatagramsDraft),
}

/// Flows that arrive some packet times apart, at random or regularly; their sizes are some segments and bytes.
#[derive(Clone, Debug)]
pub struct ArrivingDraft {
    apart: Packets,
    kind: u8,
    size: (u64, u64),
    places: u32,
    most_flows: Option<u64>,
}

/// Writes at intervals of some packet times; each has the given length or the length of a segment, and some writes come
/// in bursts.
#[derive(Clone, Debug)]
pub struct StreamDraft {
    apart: Packets,
    write: Option<u32>,
    /// On times and off times, as multiples of an eighth of an interval, and their distribution.
    bursts: Option<(u8, u8, u16)>,
}

/// Datagrams of any kind and payload, at intervals of a few packet times; parameters are from 1 to 1000.
#[derive(Clone, Debug)]
pub struct DatagramsDraft {
    kind: u8,
    payload: u32,
    apart: Packets,
    numbers: [u16; 3],
}

/// Parameters of a web client.
#[derive(Clone, Debug)]
pub struct WebDraft {
    cycle: Packets,
    request: u32,
    spacing: [Packets; 2],
    requests: (u16, u32),
    size: u16,
    classes: usize,
    choices: u8,
}

/// Chunks of one byte, or of some segments at the lowest bitrate, and a buffer for some chunks.
#[derive(Clone, Debug)]
pub struct ChunksDraft {
    bytes: u32,
    bitrates: u64,
    buffer: u64,
    request: u32,
    /// Either the reservoir and the cushion, in eighths of a chunk, or a number of chunks and eighths of the mean
    /// throughput.
    rule: (bool, u16, u16),
}

/// Start time, as a fraction of the run.
#[derive(Clone, Debug)]
pub enum StartDraft {
    AtOnce,
    Share(u16),
    Packets(Packets),
    Random(u16, u16),
    /// A time at or after the end of the run.
    Late(u64),
}

/// Time at which an application stops writing, as a fraction of the run or in packet times.
#[derive(Clone, Debug)]
pub enum StopDraft {
    At(u16),
    After(u16),
    AfterPackets(Packets),
}

/// Strategy: traffic, usually greedy.
pub fn any_traffic() -> impl Strategy<Value = TrafficDraft> {
    prop_oneof![
        8 => Just(TrafficDraft::Greedy),
        1 => Just(TrafficDraft::File(0, 1)),
        2 => (1u64..60).prop_map(|segments| TrafficDraft::File(segments, 0)),
        1 => (0u64..60, 1u64..1500).prop_map(|(segments, bytes)| TrafficDraft::File(segments, bytes)),
        2 => any_stream().prop_map(TrafficDraft::Stream),
        2 => any_arriving().prop_map(TrafficDraft::Arriving),
        1 => any_web().prop_map(TrafficDraft::Web),
        1 => any_chunks().prop_map(TrafficDraft::Chunks),
        1 => any_datagrams().prop_map(TrafficDraft::Datagrams),
    ]
}

fn any_stream() -> impl Strategy<Value = StreamDraft> {
    let write = prop_oneof![2 => Just(None), 1 => Just(Some(1)), 2 => (1u32..20_000).prop_map(Some)];
    let bursts = prop::option::of((any::<u8>(), any::<u8>(), 1u16..=1000));
    (any_packets(40), write, bursts).prop_map(|(apart, write, bursts)| StreamDraft { apart, write, bursts })
}

fn any_arriving() -> impl Strategy<Value = ArrivingDraft> {
    let size = prop_oneof![1 => (Just(0u64), Just(1u64)), 3 => (1u64..12, Just(0)), 1 => (0u64..12, 1u64..1500)];
    let places = prop_oneof![1 => Just(1u32), 3 => 2u32..6];
    (any_packets(60), 0u8..4, size, places, prop::option::of(0u64..20)).prop_map(
        |(apart, kind, size, places, most_flows)| ArrivingDraft {
            apart,
            kind,
            size,
            places,
            most_flows,
        },
    )
}

/// Strategy: a stop at a fraction of the run, after some packets, or at or after the end of the run.
pub fn any_stop() -> impl Strategy<Value = StopDraft> {
    prop_oneof![
        2 => any::<u16>().prop_map(StopDraft::At),
        1 => any::<u16>().prop_map(StopDraft::After),
        2 => any_packets(60).prop_map(StopDraft::AfterPackets),
    ]
}

fn any_datagrams() -> impl Strategy<Value = DatagramsDraft> {
    let payload = prop_oneof![2 => Just(172u32), 1 => Just(1), 2 => 1u32..1472, 1 => Just(9000)];
    (0u8..8, payload, any_packets(40), prop::array::uniform3(1u16..=1000)).prop_map(
        |(kind, payload, apart, numbers)| DatagramsDraft {
            kind,
            payload,
            apart,
            numbers,
        },
    )
}

fn any_web() -> impl Strategy<Value = WebDraft> {
    let span = || prop_oneof![1 => Just((0, 0)), 3 => any_packets(100)];
    let request = prop_oneof![2 => Just(128u32), 1 => Just(1), 1 => 1u32..3000, 1 => Just(65_000)];
    (
        span(),
        request,
        [span(), span()],
        (0u16..1000, prop_oneof![3 => 1u32..10, 1 => 10u32..200]),
        0u16..2000,
        1usize..6,
        any::<u8>(),
    )
        .prop_map(|(cycle, request, spacing, requests, size, classes, choices)| WebDraft {
            cycle,
            request,
            spacing,
            requests,
            size,
            classes,
            choices,
        })
}

fn any_chunks() -> impl Strategy<Value = ChunksDraft> {
    let bytes = prop_oneof![1 => Just(1u32), 4 => 100u32..40_000];
    let rule = (any::<bool>(), 0u16..32, 0u16..32);
    (bytes, 1u64..6, 1u64..6, 1u32..3000, rule).prop_map(|(bytes, bitrates, buffer, request, rule)| ChunksDraft {
        bytes,
        bitrates,
        buffer,
        request,
        rule,
    })
}

/// Strategy: a start time, usually zero.
pub fn any_start() -> impl Strategy<Value = StartDraft> {
    prop_oneof![
        6 => Just(StartDraft::AtOnce),
        2 => any_packets(30).prop_map(StartDraft::Packets),
        1 => Just(StartDraft::Share(1 << 12)),
        1 => (0u16..1 << 15).prop_map(StartDraft::Share),
        2 => (0u16..1 << 12, 0u16..1 << 14).prop_map(|(from, over)| StartDraft::Random(from, over)),
        1 => (0u64..3).prop_map(StartDraft::Late),
    ]
}

impl TrafficDraft {
    /// Returns the traffic of a connection with segments of `mss` bytes.
    pub fn build(&self, pace: Pace, mss: u32) -> TrafficConfig {
        match self {
            TrafficDraft::Greedy => TrafficConfig::GREEDY,
            TrafficDraft::File(segments, bytes) => TrafficConfig::transfer(segments * u64::from(mss) + bytes),
            TrafficDraft::Stream(draft) => TrafficConfig::Stream(draft.build(pace, mss)),
            TrafficDraft::Arriving(draft) => TrafficConfig::FlowArrivals(draft.build(pace, mss)),
            TrafficDraft::Web(draft) => TrafficConfig::Web(draft.build(pace)),
            TrafficDraft::Chunks(draft) => TrafficConfig::AdaptiveVideo(draft.build()),
            TrafficDraft::Datagrams(draft) => draft.build(pace),
        }
    }
}

/// Adapts a flow to its framing and its traffic: arriving flows need IP, and their parameters of Careful Resume must
/// not come from earlier flows.
pub fn adapt(flow: &mut FlowConfig, framing: Framing) {
    if let TrafficConfig::FlowArrivals(_) = flow.traffic {
        if framing == Framing::Aal5 {
            flow.traffic = TrafficConfig::GREEDY;
        } else if flow.tcp.careful_resume.uses_earlier_connections() {
            flow.tcp.careful_resume = CarefulResumeConfig::default();
        }
    }
}

impl ArrivingDraft {
    fn build(&self, pace: Pace, mss: u32) -> FlowArrivalsConfig {
        let gap_ps = pace.packets(self.apart).clamp(1, 100_000 * SECOND);
        let (segments, bytes) = self.size;
        let size_bytes = (segments * u64::from(mss) + bytes).max(1);
        let sizes = match self.kind {
            0 => SizesConfig::Fixed { size_bytes },
            1 => SizesConfig::Pareto {
                mean_bytes: size_bytes,
                shape: 1.5,
            },
            _ => SizesConfig::Cumulative {
                points: vec![
                    (1, 200_000_000),
                    (size_bytes, 700_000_000),
                    (2 * size_bytes, 1_000_000_000),
                ],
            },
        };
        // Every second flow in the list arrives together with the previous one.
        let gap_ps = gap_ps.min(SECOND);
        let listed = |number: u64| (gap_ps * (number / 2 * 2), 1 + number * size_bytes / 4);
        FlowArrivalsConfig {
            arrivals: match self.kind {
                3 => ArrivalTimesConfig::List {
                    flows_ps: (0..9).map(listed).collect(),
                },
                _ => ArrivalTimesConfig::Poisson { gap_ps, sizes },
            },
            most_active: self.places,
            most_flows: self.most_flows,
        }
    }
}

impl StreamDraft {
    fn build(&self, pace: Pace, mss: u32) -> StreamConfig {
        let apart_ps = pace.packets(self.apart).clamp(1, SECOND);
        let bits = u128::from(8 * self.write.unwrap_or(mss)) * u128::from(SECOND);
        let rate_bps = (bits / u128::from(apart_ps)).clamp(1_000, 10_000_000_000_000) as u64;
        let write_ps = (bits / u128::from(rate_bps)) as u64;
        let bursts = self.bursts.map(|(on, off, number)| {
            let on_ps = (write_ps * u64::from(on) / 8).clamp(1_000_000, 1_000 * SECOND);
            BurstsConfig {
                on_ps,
                off_ps: (write_ps * u64::from(off) / 8).max(write_ps.saturating_sub(on_ps)),
                times: times(u64::from(number)),
            }
        });
        StreamConfig {
            rate_bps,
            write_bytes: self.write,
            bursts: bursts.filter(|bursts| bursts.off_ps <= 1_000 * SECOND),
        }
    }
}

/// Returns a distribution of times that a number from 1 to 1000 selects.
fn times(number: u64) -> Times {
    match number % 3 {
        0 => Times::Fixed {},
        1 => Times::Exponential {},
        _ => Times::Pareto {
            shape: 1.05 + number as f64 / 300.0,
        },
    }
}

impl WebDraft {
    fn build(&self, pace: Pace) -> WebConfig {
        let [a, b] = self.spacing.map(|spacing| pace.packets(spacing).min(1_000 * SECOND));
        let mut shares = vec![1_000_000_000 / self.classes as u64; self.classes];
        shares[0] += 1_000_000_000 % self.classes as u64;
        let (mean, max) = self.requests;
        let mean_of = |sixtyfourths: u16| (f64::from(sixtyfourths) + 1.0) / 64.0;
        WebConfig {
            cycle_ps: pace.packets(self.cycle).clamp(SECOND / 1000, 100_000 * SECOND),
            cycle_from: match self.choices & 1 {
                0 => CycleFrom::FirstRequest,
                _ => CycleFrom::LastRequest,
            },
            request_bytes: self.request,
            spacing_from_ps: a.min(b),
            spacing_to_ps: a.max(b),
            requests_mean: mean_of(mean),
            requests_most: max,
            size_mean: mean_of(self.size),
            cut: match self.choices & 2 {
                0 => PoissonCut::Rejection,
                _ => PoissonCut::Clamping,
            },
            class_shares_ppb: shares,
            kilobyte_bytes: if self.choices & 4 == 0 { 1000 } else { 1024 },
        }
    }
}

impl ChunksDraft {
    fn build(&self) -> AdaptiveVideoConfig {
        let chunk_ps = SECOND / 10;
        let least_bps = (80 * u64::from(self.bytes)).max(1_000);
        let (by_buffer, a, b) = self.rule;
        AdaptiveVideoConfig {
            ladder_bps: (1..=self.bitrates).map(|factor| factor * least_bps).collect(),
            chunk_ps,
            buffer_ps: self.buffer * chunk_ps,
            request_bytes: self.request,
            rule: if by_buffer {
                BitrateRule::Buffer {
                    reservoir_ps: u64::from(a) * chunk_ps / 8,
                    cushion_ps: u64::from(b) * chunk_ps / 8,
                }
            } else {
                BitrateRule::Throughput {
                    chunks: 1 + u32::from(a),
                    safety: (f64::from(b) + 1.0) / 8.0,
                }
            },
        }
    }
}

impl DatagramsDraft {
    fn build(&self, pace: Pace) -> TrafficConfig {
        let payload_bytes = self.payload;
        let apart_ps = pace.packets(self.apart).clamp(1, SECOND);
        let bits = u128::from(8 * (payload_bytes + 28)) * u128::from(SECOND);
        let rate_bps = (bits / u128::from(apart_ps)).clamp(1_000, 10_000_000_000_000) as u64;
        let [a, b, c] = self.numbers.map(u64::from);
        let shares = [a, b].map(|share| share as f64 / 1000.0);
        match self.kind {
            0 | 1 => TrafficConfig::Cbr(CbrConfig {
                rate_bps,
                payload_bytes,
            }),
            2 => TrafficConfig::Poisson(PoissonConfig {
                rate_bps,
                payload_bytes,
            }),
            3 | 4 => {
                let on_ps = (apart_ps * a / 30).clamp(1_000_000, 1_000 * SECOND);
                // If bursts consist of one packet each, their interval is at least the interval of packets.
                let packet_ps = (bits / u128::from(rate_bps)) as u64;
                TrafficConfig::OnOff(OnOffDatagramsConfig {
                    rate_bps,
                    payload_bytes,
                    on_ps,
                    off_ps: (apart_ps * b / 30)
                        .max(packet_ps.saturating_sub(on_ps))
                        .min(1_000 * SECOND),
                    times: times(c),
                })
            }
            6 => TrafficConfig::SelfSimilar(SelfSimilarConfig {
                sources: 1 + c as u32 % 5,
                rate_bps,
                payload_bytes,
                on_ps: (apart_ps * a / 30).clamp(1_000_000, 1_000 * SECOND),
                off_ps: (apart_ps * b / 30).clamp((bits / u128::from(rate_bps)) as u64, 1_000 * SECOND),
                times: times(c),
            }),
            5 => TrafficConfig::Video(VideoConfig {
                rate_bps,
                frame_ps: (apart_ps * c / 100).clamp(SECOND / 10_000, 1_000 * SECOND),
                payload_bytes,
                size_spread: shares[0],
                time_spread: shares[1],
            }),
            _ => TrafficConfig::Arrivals(ArrivalsConfig {
                sent_ps: (0..c)
                    .map(|k| (k / (1 + a % 5) * apart_ps, 1 + (k * b % 1400) as u32))
                    .collect(),
            }),
        }
    }
}

impl StopDraft {
    /// Returns the stop time in a run of the given length.
    pub fn build(&self, pace: Pace, duration_ps: u64) -> StopConfig {
        match *self {
            StopDraft::At(share) => StopConfig::At {
                at_ps: part(duration_ps, share),
            },
            StopDraft::After(share) => StopConfig::After {
                after_ps: part(duration_ps, share),
            },
            StopDraft::AfterPackets(packets) => StopConfig::After {
                after_ps: pace.packets(packets),
            },
        }
    }
}

impl StartDraft {
    /// Returns the start time in a run of the given length.
    pub fn build(&self, pace: Pace, duration_ps: u64) -> StartConfig {
        let part = |share: u16| part(duration_ps, share);
        match *self {
            StartDraft::AtOnce => StartConfig::Fixed { at_ps: 0 },
            StartDraft::Share(share) => StartConfig::Fixed { at_ps: part(share) },
            StartDraft::Packets(packets) => StartConfig::Fixed {
                at_ps: pace.packets(packets),
            },
            StartDraft::Random(from, over) => StartConfig::Random {
                from_ps: part(from),
                over_ps: part(over),
            },
            StartDraft::Late(runs) => StartConfig::Fixed {
                at_ps: duration_ps * (1 + runs * runs),
            },
        }
    }
}
