//! Parameters of a recorded cellular link.

use super::fifo::{Fifo, HeavyQueue, Limits};
use super::{CellReplay, Heavy, Light, Replay, Train, MS};
use crate::access::{AccessConfig, AccessReport, NewStation, Parameters};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;
use std::collections::VecDeque;

/// A recorded cellular link, replayed as by CellReplay (Sentosa et al., NSDI 2025); packets have at most 1400 bytes.
///
/// The delay of the link is added to that of the recording, and its rate is only nominal. The queue of a saturated link
/// belongs to the replay, so that a queue discipline in front never holds packets.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "CellReplay")]
pub struct CellReplayConfig {
    /// A path to the file of packet trains: lines of time, base delay, and offsets of the packets, in milliseconds.
    #[serde(default)]
    #[field(written("light", "[1, 4096]"))]
    pub light_ms: Vec<Vec<u64>>,
    /// A path to the file of the saturated link: a time in milliseconds for each opportunity of 1400 bytes.
    #[serde(default)]
    #[field(written("heavy", "[1, 4096]"))]
    pub heavy_ms: Vec<u64>,
    /// A path to the file of offsets by size: lines of 100, 200, ... and the offset in milliseconds; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(written("size_offsets", "[1, 4096]"))]
    pub size_offsets_ms: Option<Vec<f64>>,
    /// Begin of both recordings that is left out [time]; CellReplay.
    #[field(range = "[0 s, 1000 s]", default = "2 s")]
    pub skip_ps: u64,
    /// Time after the last release for which packets belong to the present train [time]; CellReplay.
    #[field(range = "[0 s, 100 s]", default = "0 s")]
    pub long_to_short_ps: u64,
    /// Queue of the saturated link: infinite, drop-tail, drop-head or codel; CellReplay.
    #[serde(default, skip_serializing_if = "HeavyQueue::is_infinite")]
    #[field(default = "infinite", later)]
    pub queue: HeavyQueue,
    /// Maximum number of packets in this queue, except one that has begun to leave; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1, 1_000_000]", later)]
    pub queue_packets: Option<u64>,
    /// Maximum size of this queue [bytes], except a packet that has begun to leave; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 B, 1 GB]", later)]
    pub queue_size_bytes: Option<u64>,
    /// Delay in this queue above which codel drops packets, in whole milliseconds [time]; RFC 8289 if absent: 5 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 ms, 100 s]", later)]
    pub codel_target_ps: Option<u64>,
    /// Time for which the delay is above the target before codel drops packets [time]; RFC 8289 if absent: 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 ms, 100 s]", later)]
    pub codel_interval_ps: Option<u64>,
}

/// Target and interval [ms] of CoDel (RFC 8289 sections 4.2 and 4.3).
const CODEL_MS: (u64, u64) = (5, 100);

/// Maximum time and delay [ms] of a recording, more than 11 days.
const LATEST: u64 = 1_000_000_000;
/// Maximum offset [ms] by size.
const MAX_OFFSET: f64 = 1e6;

impl CellReplayConfig {
    fn trains(&self) -> Vec<Train> {
        let skipped = self.skip_ps / MS;
        let lines = self.light_ms.iter().filter(|line| line.len() > 2 && line[0] >= skipped);
        lines
            .map(|line| Train {
                time: line[0] - skipped,
                base: line[1],
                offsets: line[2..].to_vec(),
            })
            .collect()
    }

    fn opportunities(&self) -> Vec<u64> {
        let skipped = self.skip_ps / MS;
        let times = self.heavy_ms.iter().filter(|&&time| time >= skipped);
        times.map(|time| time - skipped).collect()
    }

    fn limits(&self) -> Limits {
        let ms = |ps: Option<u64>, default: u64| ps.map_or(default, |ps| ps / MS);
        Limits {
            kind: self.queue,
            packets: self.queue_packets.unwrap_or(u64::MAX),
            bytes: self.queue_size_bytes.unwrap_or(u64::MAX),
            target: ms(self.codel_target_ps, CODEL_MS.0),
            interval: ms(self.codel_interval_ps, CODEL_MS.1),
        }
    }

    /// Creates the idle link.
    pub(super) fn replay(&self) -> Replay {
        Replay {
            light: Light {
                trains: self.trains(),
                sizes: self.size_offsets_ms.clone().unwrap_or_default(),
                timer: self.long_to_short_ps / MS,
                number: 0,
                began: 0,
                present: None,
                opportunity: 0,
                left: 0,
                last: 0,
                released: 0,
            },
            heavy: Heavy {
                opportunities: self.opportunities(),
                next: 0,
                began: 0,
                rest: 0,
                fifo: Fifo::new(self.limits()),
                completed: None,
            },
            origin: None,
            released: VecDeque::new(),
            taken: 0,
            left: 0,
            dropped: 0,
            waits_since: None,
            report: AccessReport::default(),
        }
    }

    fn problem(&self) -> Option<Problem> {
        let refused = |field, value: String, accepted| Some(Problem::new(field, value, accepted));
        for line in &self.light_ms {
            if line.len() < 3 {
                let accepted = "needs lines of time, base delay and offsets";
                return refused("light", format!("a line of {} numbers", line.len()), accepted);
            }
            if let Some(offset) = descending(line[2..].iter().copied()) {
                return refused(
                    "light",
                    format!("offset {offset}"),
                    "needs nondecreasing offsets, up to 11 days",
                );
            }
            if line[1] > LATEST {
                return refused("light", format!("base delay {}", line[1]), "needs at most 11 days");
            }
        }
        if let Some(time) = descending(self.light_ms.iter().map(|line| line[0])) {
            return refused(
                "light",
                format!("time {time}"),
                "needs nondecreasing times, up to 11 days",
            );
        }
        if let Some(time) = descending(self.heavy_ms.iter().copied()) {
            return refused(
                "heavy",
                format!("time {time}"),
                "needs nondecreasing times, up to 11 days",
            );
        }
        let is_limited = self.queue_packets.is_some() || self.queue_size_bytes.is_some();
        if is_limited == self.queue.is_infinite() {
            return match is_limited {
                true => refused(
                    "queue",
                    "infinite".to_owned(),
                    "needs a kind that has limits, such as drop-tail",
                ),
                false => refused(
                    "queue_packets",
                    "absent".to_owned(),
                    "needs a limit of packets or bytes",
                ),
            };
        }
        if self.queue != HeavyQueue::Codel && (self.codel_target_ps.is_some() || self.codel_interval_ps.is_some()) {
            return refused(
                "queue",
                "without codel".to_owned(),
                "needs codel for its target and interval",
            );
        }
        let trains = self.trains();
        if trains.len() < 3 || trains.last().is_some_and(|train| train.time == 0) {
            let accepted = "needs at least 3 after skip, at different times";
            return refused("light", format!("{} trains", trains.len()), accepted);
        }
        if self.opportunities().last().is_none_or(|&time| time == 0) {
            return refused("heavy", "no opportunity".to_owned(), "needs one after skip");
        }
        let sizes = self.size_offsets_ms.as_deref().unwrap_or_default();
        let odd = sizes.iter().find(|offset| offset.is_nan() || offset.abs() > MAX_OFFSET);
        odd.and_then(|offset| refused("size_offsets", format!("{offset} ms"), "needs at most 1000 s"))
    }
}

/// Returns the first time [ms] that is less than the one before it, or too late.
fn descending(mut times: impl Iterator<Item = u64>) -> Option<u64> {
    let mut last = 0;
    times.find(|&time| std::mem::replace(&mut last, time) > time || time > LATEST)
}

/// Returns the parameters of a link.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a CellReplayConfig {
    let AccessConfig::Cellreplay(config) = station.config else {
        unreachable!("the stations of a cell have one kind")
    };
    config
}

impl Parameters for CellReplayConfig {
    type Cell = CellReplay;
    const CONTENDS: bool = false;
    const RETRANSMITS: bool = false;
    const MAX_PACKET_BYTES: u64 = super::OPPORTUNITY;
    const KEEPS_RATE: bool = false;

    fn cell(&self) -> Option<&str> {
        None
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let numbered = stations.iter().enumerate();
        numbered
            .filter_map(|(number, station)| Some((number, config(station).problem()?)))
            .next()
    }

    fn cell_of(stations: &[NewStation<'_>], _seed: u64) -> CellReplay {
        CellReplay::new(stations)
    }
}
