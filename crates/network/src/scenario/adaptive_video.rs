//! Traffic of video players that request chunks over TCP, each chunk at a bitrate that the player selects.

use crate::bounds::refuse_unless;
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Maximum number of bitrates.
const MAX_BITRATES: usize = 50;
/// Maximum number of chunks over which the throughput is averaged.
const MAX_CHUNKS: u32 = 1000;

/// A video and the player that requests its chunks.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveVideoConfig {
    /// Bitrates [bit/s] of the video, in ascending order.
    pub ladder_bps: Vec<u64>,
    /// Playing time [ps] of a chunk.
    pub chunk_ps: u64,
    /// Maximum playing time [ps] in the player's buffer.
    pub buffer_ps: u64,
    /// Payload [byte] of a request.
    pub request_bytes: u32,
    /// Selection of the bitrate of the next chunk.
    pub rule: BitrateRule,
}

/// Rules that select the bitrate of the next chunk.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BitrateRule {
    /// Buffer-based selection: BBA-0 (Huang et al., SIGCOMM 2014, algorithm 1).
    Buffer {
        /// Reservoir [ps]: buffered playing time up to which the lowest bitrate is requested.
        reservoir_ps: u64,
        /// Range [ps] of playing time above the reservoir over which the bitrate rises to the highest.
        cushion_ps: u64,
    },
    /// Throughput-based selection: harmonic mean of the throughput of the latest chunks (Yin et al., SIGCOMM 2015,
    /// section 7).
    Throughput {
        /// Number of recent chunks over which the throughput is averaged.
        chunks: u32,
        /// Maximum bitrate, as a multiple of the mean throughput.
        safety: f64,
    },
}

impl AdaptiveVideoConfig {
    /// Returns the length [byte] of a chunk at a bitrate, rounded up.
    pub fn chunk_bytes(&self, rate_bps: u64) -> u64 {
        let bits = u128::from(rate_bps) * u128::from(self.chunk_ps);
        bits.div_ceil(8 * u128::from(PS_PER_SECOND)) as u64
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        let second = PS_PER_SECOND;
        let ladder = &self.ladder_bps;
        let ascending = ladder.windows(2).all(|pair| pair[0] < pair[1]);
        let rates = ladder.iter().all(|rate| (1_000..=10_000_000_000).contains(rate));
        let fits = (1..=MAX_BITRATES).contains(&ladder.len()) && ascending && rates;
        let accepted = "needs 1 to 50 ascending rates of 1 kbit/s to 10 Gbit/s, in bit/s";
        refuse_unless(fits, "ladder", format!("{ladder:?}"), accepted)
            .or_else(|| {
                let fits = (second / 10..=100 * second).contains(&self.chunk_ps);
                refuse_unless(fits, "chunk", self.chunk_ps, "needs 100 ms to 100 s, in ps")
            })
            .or_else(|| {
                let fits = (self.chunk_ps..=100_000 * second).contains(&self.buffer_ps);
                let accepted = "needs at least one chunk and at most 100 000 s, in ps";
                refuse_unless(fits, "buffer", self.buffer_ps, accepted)
            })
            .or_else(|| {
                let fits = (1..=65_000).contains(&self.request_bytes);
                refuse_unless(fits, "request", self.request_bytes, "needs 1 to 65 000 bytes")
            })
            .or_else(|| self.rule.problem().map(|problem| problem.within("rule")))
    }
}

impl BitrateRule {
    fn problem(&self) -> Option<Problem> {
        match *self {
            BitrateRule::Buffer {
                reservoir_ps,
                cushion_ps,
            } => {
                let max = 100_000 * PS_PER_SECOND;
                let accepted = "needs at most 100 000 s, in ps";
                refuse_unless(reservoir_ps <= max, "reservoir", reservoir_ps, accepted)
                    .or_else(|| refuse_unless(cushion_ps <= max, "cushion", cushion_ps, accepted))
            }
            BitrateRule::Throughput { chunks, safety } => {
                let fits = (1..=MAX_CHUNKS).contains(&chunks);
                refuse_unless(fits, "chunks", chunks, "needs 1 to 1000 chunks").or_else(|| {
                    let fits = safety > 0.0 && safety <= 10.0;
                    refuse_unless(fits, "safety", safety, "needs a factor above 0 and up to 10")
                })
            }
        }
    }
}
