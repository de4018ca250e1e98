//! Video players that request chunks over TCP: a player selects the bitrate of each chunk, and tracks the playing time in
//! its buffer.
//!
//! The player requests one chunk at a time, as soon as the buffer has room for it. Playback begins with the first
//! chunk, stops when the buffer is empty, and continues with the next chunk.

use super::client::{Client, Playback, Request};
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use longpipe_events::{MaybeTime, Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;
use std::collections::VecDeque;

/// A server of video chunks and, at the flow's receiving end, a player that requests one chunk at a time.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(
    fact("in_lab", false),
    fact("repeats", "chunk"),
    rule("buffer", "buffer < chunk", "{buffer}; needs at least chunk, {chunk}")
)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveVideoConfig {
    /// Bitrates of the video, ascending [bit/s] (Mao et al., SIGCOMM 2017).
    #[field(
        range = "[1 kbit/s, 10 Gbit/s]",
        len = "[1, 50]",
        increasing,
        default = ["300 kbit/s", "750 kbit/s", "1200 kbit/s", "1850 kbit/s", "2850 kbit/s", "4300 kbit/s"]
    )]
    pub ladder_bps: Vec<u64>,
    /// Playing time of a chunk [time] (Mao et al., SIGCOMM 2017).
    #[field(range = "[100 ms, 100 s]", default = "4 s")]
    pub chunk_ps: u64,
    /// Maximum playing time in the player's buffer [time] (Mao et al., SIGCOMM 2017).
    #[field(range = "[0 s, 100000 s]", default = "60 s")]
    pub buffer_ps: u64,
    /// Payload of a request [bytes].
    #[field(range = "[1 B, 65000 B]", default = "300 B")]
    pub request_bytes: u32,
    /// Rule that selects the bitrate of a chunk: buffer or throughput.
    #[field(default = "buffer")]
    pub rule: BitrateRule,
}

/// Rules that select the bitrate of the next chunk.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BitrateRule {
    /// Selects the bitrate by the playing time in the buffer: BBA-0 (Huang et al., SIGCOMM 2014, algorithm 1).
    #[described(name = "BufferRule")]
    Buffer {
        /// Playing time in the buffer up to which the lowest bitrate is requested [time]; Pensieve's bb.py.
        #[field(range = "[0 s, 100000 s]", default = "5 s")]
        reservoir_ps: u64,
        /// Additional playing time in the buffer over which the bitrate rises to the highest one [time]; Pensieve's
        /// bb.py.
        #[field(range = "[0 s, 100000 s]", default = "10 s")]
        cushion_ps: u64,
    },
    /// Selects the highest bitrate of at most a given part of the harmonic mean of the latest chunks' throughput.
    #[described(name = "ThroughputRule")]
    Throughput {
        /// Number of chunks in the mean (Yin et al., SIGCOMM 2015, section 7).
        #[field(range = "[1, 1000]", default = 5)]
        chunks: u32,
        /// Part of the mean throughput that the bitrate may use; dash.js, bandwidthSafetyFactor.
        #[field(range = "(0, 10]", default = 0.9)]
        safety: f64,
    },
}

impl AdaptiveVideoConfig {
    /// Returns the length [byte] of a chunk at a bitrate, rounded up.
    pub fn chunk_bytes(&self, rate_bps: u64) -> u64 {
        let bits = u128::from(rate_bps) * u128::from(self.chunk_ps);
        bits.div_ceil(8 * u128::from(PS_PER_SECOND)) as u64
    }
}

impl Parameters for AdaptiveVideoConfig {
    const FACTS: Facts = Facts {
        has_requests: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid()
    }

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Client(Box::new(Player::new(self)))
    }

    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        Some(("chunk", Span(self.chunk_ps)))
    }
}

/// State of a player.
#[derive(Clone, Debug)]
struct Player {
    config: AdaptiveVideoConfig,
    /// Playing time [ps] in the buffer at `updated`.
    buffered_ps: u64,
    updated: Time,
    /// Index in the ladder of the latest request; None before the first request.
    rung: Option<usize>,
    /// Seconds per bit for each of the latest chunks; the throughput rule averages them.
    recent: VecDeque<f64>,
    /// Time of the next request; None while a chunk that was requested has not arrived.
    next: MaybeTime,
    phase: Phase,
    /// Whether playback has stopped because the buffer is empty.
    is_stalled: bool,
    playback: Playback,
}

/// Phases of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No chunk has arrived.
    Starting,
    /// Chunks are requested and played.
    Playing,
    /// The player has stopped requesting chunks, and plays those in its buffer.
    Ending,
}

impl Player {
    /// Creates a player that has not requested anything.
    fn new(config: &AdaptiveVideoConfig) -> Player {
        Player {
            config: config.clone(),
            buffered_ps: 0,
            updated: Time::ZERO,
            rung: None,
            recent: VecDeque::new(),
            next: MaybeTime::NONE,
            phase: Phase::Starting,
            is_stalled: false,
            playback: Playback::default(),
        }
    }

    /// Advances playback from the latest update to `now`.
    fn play_until(&mut self, now: Time) {
        let elapsed = now.since(self.updated).0;
        self.updated = now;
        let played = elapsed.min(self.buffered_ps);
        self.buffered_ps -= played;
        self.playback.played.0 += played;
        if self.phase == Phase::Playing && played < elapsed {
            self.playback.stalled.0 += elapsed - played;
            self.playback.stalls += u64::from(!self.is_stalled);
            self.is_stalled = true;
        }
    }

    /// Returns the index of the bitrate that BBA-0 selects. Its map f rises linearly from the lowest bitrate at the
    /// reservoir to the highest one at the end of the cushion; rates are compared as multiples of 1/`cushion_ps`.
    fn rung_by_buffer(&self, reservoir_ps: u64, cushion_ps: u64) -> usize {
        let ladder = &self.config.ladder_bps;
        let (last, cushion) = (ladder.len() - 1, u128::from(cushion_ps));
        if self.buffered_ps <= reservoir_ps {
            return 0;
        }
        if self.buffered_ps >= reservoir_ps + cushion_ps {
            return last;
        }
        let above = u128::from(self.buffered_ps - reservoir_ps);
        let map = u128::from(ladder[0]) * cushion + u128::from(ladder[last] - ladder[0]) * above;
        let rate = |rung: usize| u128::from(ladder[rung]) * cushion;
        let previous = self.rung.unwrap_or(0);
        if map >= rate((previous + 1).min(last)) {
            (0..=last).rfind(|&rung| rate(rung) < map).unwrap_or(0)
        } else if map <= rate(previous.saturating_sub(1)) {
            (0..=last).find(|&rung| rate(rung) > map).unwrap_or(last)
        } else {
            previous
        }
    }

    /// Returns the highest bitrate that is at most `safety` times the mean throughput; before the first chunk, the
    /// lowest bitrate.
    fn rung_by_throughput(&self, safety: f64) -> usize {
        if self.recent.is_empty() {
            return 0;
        }
        let mean_bps = self.recent.len() as f64 / self.recent.iter().sum::<f64>();
        let ladder = &self.config.ladder_bps;
        let fits = ladder.iter().rposition(|&rate| rate as f64 <= safety * mean_bps);
        fits.unwrap_or(0)
    }
}

impl Client for Player {
    fn request_bytes(&self) -> u32 {
        self.config.request_bytes
    }

    /// Returns the request for a chunk; the request's class is the index of the chunk's bitrate in the ladder.
    fn request(&mut self, now: Time) -> (Request, MaybeTime) {
        self.play_until(now);
        self.next = MaybeTime::NONE;
        let rung = match self.config.rule {
            BitrateRule::Buffer {
                reservoir_ps,
                cushion_ps,
            } => self.rung_by_buffer(reservoir_ps, cushion_ps),
            BitrateRule::Throughput { safety, .. } => self.rung_by_throughput(safety),
        };
        self.rung = Some(rung);
        let request = Request {
            class: rung as u32,
            bytes: self.config.chunk_bytes(self.config.ladder_bps[rung]),
        };
        (request, MaybeTime::NONE)
    }

    fn waits_for_files(&self) -> bool {
        true
    }

    fn on_file(&mut self, now: Time, requested: Time, bytes: u64) {
        self.play_until(now);
        if let BitrateRule::Throughput { chunks, .. } = self.config.rule {
            self.recent.truncate(chunks as usize - 1);
            self.recent
                .push_front(now.since(requested).as_seconds() / (8 * bytes) as f64);
        }
        if self.phase == Phase::Starting {
            self.phase = Phase::Playing;
            self.playback.began = Some(now);
        }
        self.buffered_ps += self.config.chunk_ps;
        self.is_stalled = false;
        let room_in = (self.buffered_ps + self.config.chunk_ps).saturating_sub(self.config.buffer_ps);
        self.next = (now + Span(room_in)).into();
    }

    fn next_request(&self) -> MaybeTime {
        self.next
    }

    fn stop(&mut self, now: Time) {
        self.play_until(now);
        self.next = MaybeTime::NONE;
        self.phase = Phase::Ending;
    }

    fn playback(&self, now: Time) -> Option<Playback> {
        let mut player = self.clone();
        player.play_until(now);
        Some(player.playback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::PS_PER_SECOND;

    const SECOND: u64 = PS_PER_SECOND;

    fn player(rule: BitrateRule) -> Player {
        Player::new(&AdaptiveVideoConfig {
            ladder_bps: vec![1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000],
            chunk_ps: 4 * SECOND,
            buffer_ps: 20 * SECOND,
            request_bytes: 100,
            rule,
        })
    }

    fn by_buffer() -> Player {
        player(BitrateRule::Buffer {
            reservoir_ps: 4 * SECOND,
            cushion_ps: 8 * SECOND,
        })
    }

    fn at(tenths: u64) -> Time {
        Time(tenths * SECOND / 10)
    }

    /// Requests a chunk, which is received `tenths` later. Returns the index of its bitrate in the ladder, and the
    /// time.
    fn next_chunk(player: &mut Player, now: Time, tenths: u64) -> (u32, Time) {
        let (request, _) = player.request(now);
        let arrival = now + Span(tenths * SECOND / 10);
        player.on_file(arrival, now, request.bytes);
        (request.class, arrival)
    }

    /// The map of BBA-0 is 1 Mbit/s at 4 s and 5 Mbit/s at 12 s, that is (B - 2 s) / 2 s · 1 Mbit/s. Chunks that are
    /// delivered instantly find 0, 4, 8, 12 and 16 s in the buffer: at 8 s, the highest bitrate below 3 Mbit/s is
    /// selected, and from 12 s on, the highest bitrate.
    #[test]
    fn chunks_delivered_instantly_fill_the_buffer() {
        let mut player = by_buffer();
        let rungs: Vec<u32> = (0..5).map(|_| next_chunk(&mut player, at(0), 0).0).collect();
        assert_eq!(rungs, [0, 0, 1, 4, 4]);
        // The buffer of 20 s is full. After the playing time of one chunk, it has room for another.
        assert_eq!(player.next_request(), at(40).into());
    }

    #[test]
    fn the_buffer_rule_is_algorithm_1_of_bba_0() {
        for (tenths, previous, next) in [
            // f = 2.05 Mbit/s exceeds the next higher bitrate, so the highest bitrate below f is selected.
            (61, 0, 1),
            // f = 1.95 Mbit/s lies between the bitrates next to 1 Mbit/s, and between those next to 2 Mbit/s, so either
            // bitrate is kept.
            (59, 0, 0),
            (59, 1, 1),
            // The next lower bitrate than 3 Mbit/s is 2 Mbit/s. f = 1.95 Mbit/s is below it, so the lowest bitrate
            // above f is selected, which is 2 Mbit/s.
            (59, 2, 1),
            // f is 4.95, 4.05 and 3.95 Mbit/s; the previous bitrate is the highest.
            (119, 4, 4),
            (101, 4, 4),
            (99, 4, 3),
            // Reservoir, and end of the cushion.
            (40, 4, 0),
            (120, 0, 4),
        ] {
            let mut player = by_buffer();
            (player.buffered_ps, player.rung) = (tenths * SECOND / 10, Some(previous));
            assert_eq!(player.request(at(0)).0.class, next, "{tenths}, {previous}");
        }
    }

    /// Chunks of 4 Mbit in 2 s, 4 Mbit in 1 s and 8 Mbit in 1 s arrive at 2, 4 and 8 Mbit/s. The harmonic means are 2,
    /// 2.67 and 3.43 Mbit/s; that of the latest two chunks is 5.33 Mbit/s.
    #[test]
    fn the_throughput_rule_averages_the_latest_chunks() {
        for (chunks, places) in [(5, [0, 0, 1, 2]), (2, [0, 0, 1, 3])] {
            let mut player = player(BitrateRule::Throughput { chunks, safety: 0.9 });
            let mut found = vec![];
            for (bits, tenths) in [(4_000_000, 20), (4_000_000, 10), (8_000_000, 10)] {
                found.push(player.request(at(0)).0.class);
                player.updated = at(0);
                player.on_file(at(tenths), at(0), bits / 8);
                player.updated = at(0);
            }
            found.push(player.request(at(0)).0.class);
            assert_eq!(found, places);
        }
    }

    /// Chunks of 4 s arrive at 1, 7 and 11 s: playback runs from 1 to 5 s and from 7 s on, and no further chunk arrives
    /// after 11 s.
    #[test]
    fn stalls_are_times_without_data_after_playback_start() {
        let mut player = by_buffer();
        let mut now = at(0);
        for tenths in [10, 60, 40] {
            now = next_chunk(&mut player, now, tenths).1;
        }
        let account = |played: u64, stalled: u64, stalls| Playback {
            played: at(10 * played).since(at(0)),
            stalled: at(10 * stalled).since(at(0)),
            stalls,
            began: Some(at(10)),
        };
        assert_eq!(player.playback(at(110)), Some(account(8, 2, 1)));
        assert_eq!(player.playback(at(200)), Some(account(12, 7, 2)));
        player.stop(at(110));
        assert_eq!(player.playback(at(200)), Some(account(12, 2, 1)));
        assert_eq!(player.next_request(), MaybeTime::NONE);
    }

    /// A chunk that lasts 100 ms + 1 ps at 1 Mbit/s has 12 500 bytes and a fraction of a byte.
    #[test]
    fn chunks_have_whole_bytes() {
        let mut config = by_buffer().config;
        config.chunk_ps = SECOND / 10 + 1;
        assert_eq!(config.chunk_bytes(1_000_000), 12_501);
    }
}
