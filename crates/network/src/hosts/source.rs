//! Times and sizes of an application's datagrams, or of its writes into a TCP socket: at a constant rate, in bursts, as
//! a Poisson process, in video frames, or from a list.
//!
//! Random numbers come from the flow's own stream, so two networks with the same seed have equal applications. All
//! operations give bit-identical results, so times are equal on all machines.

use crate::packets::contents::DATAGRAM_HEADER_BYTES;
use crate::scenario::{BurstsConfig, StreamConfig, Times, TrafficConfig, VideoConfig};
use longpipe_events::{Stream, Time, PS_PER_SECOND};
use longpipe_tcp::config::TcpConfig;

/// Number of bits of the exponent that `power` uses; this is more than an f64 has.
const POWER_BITS: u32 = 60;

/// Schedule of an application's datagrams or writes.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pattern: Pattern,
    stream: Stream,
    /// Next datagram or write: time [ps] after the start, and length [byte].
    next: Option<(u64, u32)>,
}

/// Fixed-length datagrams or writes at a constant rate.
#[derive(Clone, Copy, Debug)]
struct Even {
    rate_bps: u64,
    /// Length of each datagram or write [byte].
    length: u32,
    /// Bytes of each datagram or write that count towards the rate; for datagrams, they include the headers.
    counted: u32,
}

impl Even {
    fn of_datagrams(rate_bps: u64, payload: u32) -> Even {
        Even {
            rate_bps,
            length: payload,
            counted: payload + DATAGRAM_HEADER_BYTES,
        }
    }

    /// Returns the time [ps] from the first datagram or write to that with number `count`.
    fn at(self, count: u64) -> u64 {
        let bits = 8 * u128::from(self.counted) * u128::from(count);
        (bits * u128::from(PS_PER_SECOND) / u128::from(self.rate_bps)).min(u128::from(u64::MAX)) as u64
    }
}

#[derive(Clone, Debug)]
enum Pattern {
    Even {
        even: Even,
        count: u64,
    },
    OnOff {
        even: Even,
        config: BurstsConfig,
        count: u64,
        /// Start and length [ps] of the current burst.
        burst: (u64, u64),
    },
    Poisson {
        even: Even,
    },
    Video {
        config: VideoConfig,
        /// Send time [ps] of the current frame, and the payload [byte] of the frame that remains to be sent.
        frame: (u64, u64),
    },
    List {
        sent: Vec<(u64, u32)>,
        count: usize,
    },
}

impl Source {
    /// Creates the source of a flow's datagrams; None for TCP traffic.
    pub fn of_datagrams(traffic: &TrafficConfig, stream: Stream) -> Option<Source> {
        let pattern = match traffic {
            TrafficConfig::Greedy {}
            | TrafficConfig::Transfer { .. }
            | TrafficConfig::Stream(_)
            | TrafficConfig::FlowArrivals(_)
            | TrafficConfig::Web(_)
            | TrafficConfig::AdaptiveVideo(_)
            | TrafficConfig::Stack(_)
            | TrafficConfig::StackPath(_) => return None,
            TrafficConfig::Cbr(cbr) => Pattern::Even {
                even: Even::of_datagrams(cbr.rate_bps, cbr.payload_bytes),
                count: 0,
            },
            TrafficConfig::OnOff(config) => Pattern::OnOff {
                even: Even::of_datagrams(config.rate_bps, config.payload_bytes),
                config: config.bursts(),
                count: 0,
                burst: (0, 0),
            },
            TrafficConfig::Poisson(poisson) => Pattern::Poisson {
                even: Even::of_datagrams(poisson.rate_bps, poisson.payload_bytes),
            },
            TrafficConfig::Video(config) => Pattern::Video {
                config: config.clone(),
                frame: (0, 0),
            },
            TrafficConfig::Arrivals(list) => Pattern::List {
                sent: list.sent_ps.clone(),
                count: 0,
            },
        };
        Some(Source::begin(pattern, stream))
    }

    /// Creates the source of writes into a TCP socket.
    pub fn of_writes(config: &StreamConfig, tcp: &TcpConfig, stream: Stream) -> Source {
        let length = config.length(tcp);
        let even = Even {
            rate_bps: config.rate_bps,
            length,
            counted: length,
        };
        let pattern = match config.bursts {
            None => Pattern::Even { even, count: 0 },
            Some(config) => Pattern::OnOff {
                even,
                config,
                count: 0,
                burst: (0, 0),
            },
        };
        Source::begin(pattern, stream)
    }

    /// Returns the time and length [byte] of the next datagram or write of an application that started at `start`;
    /// None after the last datagram or write.
    pub fn due(&self, start: Time) -> Option<(Time, u32)> {
        let (after, length) = self.next?;
        Some((Time(start.0.checked_add(after)?), length))
    }

    fn begin(mut pattern: Pattern, mut stream: Stream) -> Source {
        let next = match &mut pattern {
            Pattern::Even { even, .. } => Some((0, even.length)),
            Pattern::OnOff {
                even, config, burst, ..
            } => {
                burst.1 = time(config.times, config.on_ps, &mut stream);
                Some((0, even.length))
            }
            Pattern::Poisson { even } => {
                let first = stream.exponential(even.at(1));
                Some((first, even.length))
            }
            Pattern::Video { config, frame } => {
                frame.1 = frame_bytes(config, &mut stream);
                Some(next_of_frame(config, frame))
            }
            Pattern::List { sent, .. } => sent.first().copied(),
        };
        Source { pattern, stream, next }
    }

    /// Advances to the next datagram or write.
    pub fn step(&mut self) {
        let Some((before, _)) = self.next else { return };
        self.next = match &mut self.pattern {
            Pattern::Even { even, count } => {
                *count += 1;
                Some((even.at(*count), even.length))
            }
            Pattern::OnOff {
                even,
                config,
                count,
                burst,
            } => {
                *count += 1;
                if even.at(*count) >= burst.1 {
                    let off = time(config.times, config.off_ps, &mut self.stream);
                    let begins = burst.0.saturating_add(burst.1).saturating_add(off);
                    // A burst of length 0 would never advance the time.
                    *burst = (begins, time(config.times, config.on_ps, &mut self.stream).max(1));
                    *count = 0;
                }
                Some((burst.0.saturating_add(even.at(*count)), even.length))
            }
            Pattern::Poisson { even } => {
                let gap = self.stream.exponential(even.at(1));
                Some((before.saturating_add(gap), even.length))
            }
            Pattern::Video { config, frame } => {
                if frame.1 == 0 {
                    let gap = deviate(config.frame_ps, config.time_spread, &mut self.stream);
                    *frame = (
                        frame.0.saturating_add(gap.max(1)),
                        frame_bytes(config, &mut self.stream),
                    );
                }
                Some(next_of_frame(config, frame))
            }
            Pattern::List { sent, count } => {
                *count += 1;
                sent.get(*count).copied()
            }
        };
    }
}

/// Draws a time [ps] from a distribution.
fn time(times: Times, mean: u64, stream: &mut Stream) -> u64 {
    match times {
        Times::Fixed {} => mean,
        Times::Exponential {} => stream.exponential(mean),
        Times::Pareto { shape } => pareto(mean as f64, shape, stream),
    }
}

/// Draws from a Pareto distribution, and rounds down.
pub(super) fn pareto(mean: f64, shape: f64, stream: &mut Stream) -> u64 {
    // The value drawn is the minimum times u^(-1/shape), with u in (0, 1].
    let min = mean * ((shape - 1.0) / shape);
    (min / power(1.0 - stream.fraction(), 1.0 / shape)) as u64
}

/// Raises `base` to an exponent in [0, 1) by square roots alone, because IEEE 754 requires their rounding to be the
/// same on all machines.
fn power(base: f64, exponent: f64) -> f64 {
    let mut bits = (exponent * (1u64 << POWER_BITS) as f64) as u64;
    let (mut root, mut product) = (base, 1.0);
    for _ in 0..POWER_BITS {
        root = root.sqrt();
        bits <<= 1;
        if bits >> POWER_BITS & 1 == 1 {
            product *= root;
        }
    }
    product
}

/// Draws the payload [byte] of a frame.
fn frame_bytes(config: &VideoConfig, stream: &mut Stream) -> u64 {
    let mean = u128::from(config.rate_bps) * u128::from(config.frame_ps) / (8 * u128::from(PS_PER_SECOND));
    deviate(mean as u64, config.size_spread, stream).max(1)
}

/// Returns the next datagram of a frame, and subtracts its payload from the remaining payload.
fn next_of_frame(config: &VideoConfig, frame: &mut (u64, u64)) -> (u64, u32) {
    let payload = frame.1.min(u64::from(config.payload_bytes));
    frame.1 -= payload;
    (frame.0, payload as u32)
}

/// Draws from a Laplace distribution whose mean absolute deviation is `spread` times the mean; the result is limited to
/// the range from 0 to twice the mean.
fn deviate(mean: u64, spread: f64, stream: &mut Stream) -> u64 {
    let scale = (mean as f64 * spread) as u64;
    if scale == 0 {
        return mean;
    }
    let deviation = stream.exponential(scale).min(mean);
    if stream.below(2) == 0 {
        mean - deviation
    } else {
        mean + deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ArrivalsConfig, CbrConfig, OnOffDatagramsConfig};

    fn first(traffic: &TrafficConfig, count: usize) -> Vec<(u64, u32)> {
        let mut source = Source::of_datagrams(traffic, Stream::new(1, "test", 0)).expect("of datagrams");
        let mut next = || {
            let due = source.due(Time(0)).map(|(at, bytes)| (at.0, bytes));
            source.step();
            due
        };
        (0..count).map_while(|_| next()).collect()
    }

    /// Checks the times of 200-byte packets: at 80 kbit/s their interval is 20 ms, and at 3 bit/s packet k is sent at
    /// k·1600/3 s, rounded down.
    #[test]
    fn a_constant_rate_is_exact_to_the_picosecond() {
        let cbr = |rate_bps| {
            TrafficConfig::Cbr(CbrConfig {
                rate_bps,
                payload_bytes: 172,
            })
        };
        assert!((0..)
            .zip(first(&cbr(80_000), 1000))
            .all(|(k, (at, _))| at == k * PS_PER_SECOND / 50));
        let expected = |k: u64| (u128::from(k) * 1600 * 1_000_000_000_000 / 3) as u64;
        assert!((0..).zip(first(&cbr(3), 1000)).all(|(k, (at, _))| at == expected(k)));
    }

    #[test]
    fn powers_by_roots() {
        for (base, exponent) in [(0.5, 0.5), (0.001, 2.0 / 3.0), (0.9, 0.01), (1e-9, 0.95), (1.0, 0.3)] {
            let (found, expected) = (power(base, exponent), f64::powf(base, exponent));
            assert!(
                (found / expected - 1.0).abs() < 1e-13,
                "{base}^{exponent}: {found} {expected}"
            );
        }
    }

    #[test]
    fn times_have_the_configured_mean_and_tail() {
        let mut stream = Stream::new(1, "test", 0);
        let shape = 2.5;
        let drawn: Vec<f64> = (0..1_000_000)
            .map(|_| time(Times::Pareto { shape }, 1_000_000, &mut stream) as f64 / 1e6)
            .collect();
        let mean = drawn.iter().sum::<f64>() / 1e6;
        // The variance is x² a/((a - 1)² (a - 2)) with x = 0.6, so the standard deviation is 0.9 for one value and
        // 0.0009 for the mean.
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
        for at in [1.0f64, 2.0, 5.0] {
            let above = drawn.iter().filter(|&&one| one > at).count() as f64 / 1e6;
            let expected = (0.6 / at).powf(shape);
            let deviation = (expected * (1.0 - expected) / 1e6).sqrt();
            assert!((above - expected).abs() < 3.5 * deviation, "{at}: {above}");
        }
    }

    /// Checks that a burst of 50 ms contains 5 packets at intervals of 10 ms, and that a burst of 51 ms contains 6.
    #[test]
    fn bursts_of_a_fixed_length_have_a_known_number_of_packets() {
        let bursts = |on_ps| {
            TrafficConfig::OnOff(OnOffDatagramsConfig {
                rate_bps: 80_000,
                payload_bytes: 72,
                on_ps,
                off_ps: PS_PER_SECOND / 20,
                times: Times::Fixed {},
            })
        };
        let ms = |sent: Vec<(u64, u32)>| -> Vec<u64> { sent.iter().map(|one| one.0 / 1_000_000_000).collect() };
        assert_eq!(ms(first(&bursts(PS_PER_SECOND / 20), 7)), [0, 10, 20, 30, 40, 100, 110]);
        let longer = bursts(51 * PS_PER_SECOND / 1000);
        assert_eq!(ms(first(&longer, 8)), [0, 10, 20, 30, 40, 50, 101, 111]);
    }

    #[test]
    fn video_frames_have_the_configured_rate_and_are_split_into_datagrams() {
        let video = TrafficConfig::Video(VideoConfig {
            rate_bps: 1_500_000,
            frame_ps: PS_PER_SECOND / 30,
            payload_bytes: 1200,
            size_spread: 0.15,
            time_spread: 0.15,
        });
        let sent = first(&video, 300_000);
        let bytes: u64 = sent.iter().map(|one| u64::from(one.1)).sum();
        let rate = 8.0 * bytes as f64 / (sent[sent.len() - 1].0 as f64 / 1e12);
        assert!((rate / 1.5e6 - 1.0).abs() < 0.01, "{rate}");
        let frames: std::collections::BTreeSet<u64> = sent.iter().map(|one| one.0).collect();
        // 6250 bytes fill 5 datagrams of 1200 bytes and one of 250 bytes.
        let in_frame = sent.len() as f64 / frames.len() as f64;
        assert!((5.5..6.0).contains(&in_frame), "{in_frame}");
    }

    #[test]
    fn a_list_is_sent_unchanged() {
        let sent_ps = vec![(5, 100), (5, 200), (9, 1)];
        let list = TrafficConfig::Arrivals(ArrivalsConfig {
            sent_ps: sent_ps.clone(),
        });
        assert_eq!(first(&list, 10), sent_ps);
    }
}
