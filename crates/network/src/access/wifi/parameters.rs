//! Parameters of Wi-Fi, and the checks of the links of a cell.

use super::phy::{Phy, Standard, Width, SLOT_PS};
use super::Wifi;
use crate::access::{AccessConfig, NewStation, Parameters};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Wi-Fi: the nodes of a cell contend for one radio channel (CSMA/CA), in both directions.
///
/// The rate of the link is the data rate of its frames, which the standard lists for the width and the streams. Links of
/// a cell that begin at one node, the access point, share its queue for the channel.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Wi-Fi", draws, fact("has_rates", true))]
pub struct WifiConfig {
    /// Name of the channel that the links with this name share; a channel for this link alone if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(pattern = "^[A-Za-z0-9_.-]{1,64}$", later)]
    pub cell: Option<String>,
    /// Amendment of IEEE 802.11: a and g without aggregation, n, ac or ax.
    #[field(default = "ax")]
    pub standard: Standard,
    /// Width of the channel.
    #[field(default = "20 MHz")]
    pub width: Width,
    /// Spatial streams.
    #[field(range = "[1, 4]", default = 1)]
    pub streams: u32,
    /// Maximum number of frames in an A-MPDU; 64 with n and ac, 256 with ax, and 1 with a and g.
    #[field(range = "[1, 256]")]
    pub max_frames: Option<u32>,
    /// Maximum duration of an A-MPDU with its preamble [time]; IEEE 802.11-2016 section 9.4.2.56.
    #[field(range = "[100 us, 5484 us]", default = "5484 us")]
    pub max_duration_ps: u64,
    /// Probability that noise corrupts a frame, independently of its length.
    #[field(range = "[0, 1]", default = 0.0)]
    pub frame_error: f64,
    /// Transmissions of a frame before it is discarded; dot11ShortRetryLimit.
    #[field(range = "[1, 255]", default = 7)]
    pub retry_limit: u32,
    /// Minimum contention window [slots]: back-offs are 0 to this number of slots.
    #[field(range = "[0, 1023]", default = 15)]
    pub cw_min: u32,
    /// Maximum contention window [slots], up to which each failure doubles it.
    #[field(range = "[0, 32_767]", default = 1023)]
    pub cw_max: u32,
    /// Slots after SIFS until an idle channel counts as idle (AIFSN); 3, as for best effort, or 2 (DIFS) with a and g.
    #[field(range = "[1, 15]")]
    pub aifsn: Option<u32>,
    /// Whether a busy period counts as a slot of back-off for stations that do not transmit in it (EDCA, IEEE 802.11-2016
    /// section 10.22.2.4); not with a and g (DCF, section 10.3.4.3).
    pub counts_busy_slots: Option<bool>,
    /// Order in which a node serves its links: equal airtime (Linux's mac80211), or a transmission of each in turn.
    #[field(default = "airtime")]
    pub scheduler: Scheduler,
    /// Airtime that the scheduler adds to the credit of a link in each round [time]; Høiland-Jørgensen et al. 2017.
    #[field(range = "[1 us, 100 ms]", default = "300 us")]
    pub quantum_ps: u64,
    /// Period of suspensions of the link, such as scans or power save [time]; none if absent.
    #[field(range = "[1 ms, 1000 s]")]
    pub suspend_every_ps: Option<u64>,
    /// Duration of each suspension, the first of which begins after a period [time].
    #[field(range = "[0 s, 100 s]", default = "0 s")]
    pub suspend_for_ps: u64,
}

/// Orders in which a node serves its links.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Deficit round robin by airtime.
    Airtime,
    /// Round robin by transmissions, so that links without aggregation have equal packet rates.
    Frames,
}

/// Largest relative difference between the rate of a link and a data rate, which standards round to 0.1 Mbit/s.
const RATE_TOLERANCE: f64 = 0.0035;

impl WifiConfig {
    /// Returns the maximum number of frames in an A-MPDU.
    pub(super) fn max_frames(&self) -> u32 {
        self.max_frames.unwrap_or(self.standard.max_frames())
    }

    pub(super) fn aifsn(&self) -> u32 {
        self.aifsn.unwrap_or(self.standard.aifsn())
    }

    pub(super) fn counts_busy_slots(&self) -> bool {
        self.counts_busy_slots.unwrap_or(self.standard.aggregates())
    }

    /// Returns the time [ps] from the end of a frame exchange until an idle channel counts as idle.
    pub(super) fn aifs_ps(&self) -> u64 {
        self.standard.sifs_ps() + u64::from(self.aifsn()) * SLOT_PS
    }

    /// Returns the data rates [bit/s] of the standard, with the durations of frames.
    fn phys(&self) -> Vec<(u64, Phy)> {
        self.standard.rates(self.width, self.streams.into(), self.max_frames())
    }

    /// Returns the data rates [bit/s] that a link may have.
    pub fn rates(&self) -> Vec<u64> {
        self.phys().into_iter().map(|(rate_bps, _)| rate_bps).collect()
    }

    /// Returns the durations of frames at the data rate of a link; None if the standard does not have the rate.
    pub(super) fn phy(&self, rate_bps: u64) -> Option<Phy> {
        let is_rate = |&(own, _): &(u64, Phy)| (own as f64 - rate_bps as f64).abs() <= RATE_TOLERANCE * own as f64;
        self.phys().into_iter().find(is_rate).map(|(_, phy)| phy)
    }

    /// Returns the problem of the parameters of one link at `rate_bps`.
    fn problem(&self, rate_bps: u64) -> Option<Problem> {
        let standard = self.standard.name();
        let refused = |field, value: String, accepted: String| Some(Problem::new(field, value, accepted));
        if self.width as usize > self.standard.widest() as usize {
            let accepted = format!("needs at most {} with {standard}", self.standard.widest().name());
            return refused("width", self.width.name().to_owned(), accepted);
        }
        if self.streams > 1 && !self.standard.aggregates() {
            return refused("streams", self.streams.to_string(), format!("needs 1 with {standard}"));
        }
        if self.max_frames() > self.standard.max_frames() {
            let accepted = format!("needs at most {} with {standard}", self.standard.max_frames());
            return refused("max_frames", self.max_frames().to_string(), accepted);
        }
        for (field, window) in [("cw_min", self.cw_min), ("cw_max", self.cw_max)] {
            if !(window + 1).is_power_of_two() {
                let accepted = "needs a power of 2, less 1, such as 15".to_owned();
                return refused(field, window.to_string(), accepted);
            }
        }
        if self.cw_max < self.cw_min {
            let accepted = format!("needs at least cw_min, {}", self.cw_min);
            return refused("cw_max", self.cw_max.to_string(), accepted);
        }
        if self.suspend_every_ps.is_some_and(|every| self.suspend_for_ps >= every) {
            let accepted = "needs less than suspend_every".to_owned();
            return refused("suspend_for", milliseconds(self.suspend_for_ps), accepted);
        }
        if self.phy(rate_bps).is_none() {
            let rates: Vec<String> = self.rates().into_iter().map(megabits).collect();
            let accepted = format!(
                "needs a link rate of {} Mbit/s at {} with streams = {}, not {}",
                rates.join(", "),
                self.width.name(),
                self.streams,
                megabits(rate_bps)
            );
            return refused("standard", standard.to_owned(), accepted);
        }
        None
    }

    /// Returns the first field of the cell that differs from that of another link, with both values.
    fn difference(&self, other: &WifiConfig) -> Option<Problem> {
        let fields = |config: &WifiConfig| {
            [
                ("standard", config.standard.name().to_owned()),
                ("aifsn", config.aifsn().to_string()),
                ("counts_busy_slots", config.counts_busy_slots().to_string()),
                ("cw_min", config.cw_min.to_string()),
                ("cw_max", config.cw_max.to_string()),
                ("scheduler", format!("{:?}", config.scheduler).to_lowercase()),
                ("quantum", milliseconds(config.quantum_ps)),
            ]
        };
        let mut pairs = fields(self).into_iter().zip(fields(other));
        pairs.find(|(own, other)| own != other).map(|(own, other)| {
            let accepted = format!("needs {}, as the first link of its cell", other.1);
            Problem::new(own.0, own.1, accepted)
        })
    }
}

/// Returns a rate for messages, in Mbit/s.
fn megabits(rate_bps: u64) -> String {
    format!("{:.1}", rate_bps as f64 / 1e6)
}

/// Returns a time for messages.
fn milliseconds(ps: u64) -> String {
    format!("{} ms", ps as f64 / 1e9)
}

/// Returns the parameters of a link.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a WifiConfig {
    let AccessConfig::Wifi(config) = station.config else {
        unreachable!("the stations of a cell have one kind")
    };
    config
}

impl Parameters for WifiConfig {
    const CONTENDS: bool = true;
    const RETRANSMITS: bool = true;
    type Cell = Wifi;

    fn cell(&self) -> Option<&str> {
        self.cell.as_deref()
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let configs: Vec<_> = stations.iter().map(config).collect();
        stations
            .iter()
            .zip(&configs)
            .enumerate()
            .find_map(|(number, (station, own))| {
                let problem = own.problem(station.rate_bps).or_else(|| own.difference(configs[0]));
                problem.map(|problem| (number, problem))
            })
    }

    fn cell_of(stations: &[NewStation<'_>], seed: u64) -> Wifi {
        Wifi::new(stations, seed)
    }
}
