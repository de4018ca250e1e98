//! Parameters of DOCSIS, and the checks of the modems of a channel.

use super::Docsis;
use crate::access::{AccessConfig, NewStation, Parameters};
use longpipe_events::PS_PER_SECOND;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Minimum time between a modem's receipt of a MAP and the interval that it describes, without the part that depends on
/// the frame [ps]; MULPI annex B.
const MAP_DEADLINE_PS: u64 = 600_000_000;
/// Frames for which a modem prepares a burst, and for which the CMTS decodes it (docsis-ns3).
pub(super) const PIPELINE: u64 = 1;
/// Mean payload of a packet [byte] by which the CMTS increases shaped rates for MAC headers (docsis-ns3).
const MEAN_PACKET_BYTES: u64 = 200;
/// Bytes that the peak rate adds to each interval: those of a long packet (assumed).
pub(super) const PEAK_BURST_BYTES: u64 = 1522;

/// Upstream channel of DOCSIS 3.1: cable modems request capacity, and the CMTS grants it in MAPs.
///
/// The rate of the link is that of the channel, whose frames consist of whole minislots. All times have the values of
/// CableLabs' docsis-ns3.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(
    label = "DOCSIS",
    draws,
    fact("remedy", "max_rate"),
    rule(
        "map_interval",
        "map_interval < frame",
        "{map_interval}; needs at least the frame, {frame}"
    )
)]
pub struct DocsisConfig {
    /// Name of the channel that the links with this name share; a channel for this link alone if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(pattern = "^[A-Za-z0-9_.-]{1,64}$", later)]
    pub cell: Option<String>,
    /// Time between MAPs, rounded to whole frames [time]; docsis-ns3.
    #[field(range = "[100 us, 100 ms]", default = "2 ms")]
    pub map_interval_ps: u64,
    /// Duration of an OFDMA frame [time]; docsis-ns3 (6 symbols of 22.5 us).
    #[field(range = "[10 us, 1 ms]", default = "135 us")]
    pub frame_ps: u64,
    /// Symbols of a frame; docsis-ns3.
    #[field(range = "[6, 36]", default = 6)]
    pub frame_symbols: u32,
    /// Capacity of a minislot [bytes]; docsis-ns3 (8 subcarriers of 50 kHz, 6 symbols, 10 bits).
    #[field(range = "[1 B, 10 KB]", default = "60 B")]
    pub minislot_bytes: u64,
    /// Time for which the CMTS computes a MAP [time]; docsis-ns3.
    #[field(range = "[0 s, 10 ms]", default = "200 us")]
    pub processing_ps: u64,
    /// Time for which a MAP is interleaved, sent and decoded [time]; docsis-ns3 (5 symbols of 22.5 us).
    #[field(range = "[0 s, 10 ms]", default = "112.5 us")]
    pub downstream_ps: u64,
    /// Header of each packet [bytes]; docsis-ns3.
    #[field(range = "[0 B, 246 B]", default = "10 B")]
    pub mac_header_bytes: u64,
    /// Maximum sustained traffic rate [bit/s]; not shaped if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[10 kbit/s, 10 Tbit/s]", later)]
    pub max_rate_bps: Option<u64>,
    /// Maximum traffic burst above max_rate [bytes]; two long packets (assumed).
    #[field(range = "[1522 B, 1 GiB]", default = "3044 B")]
    pub max_burst_bytes: u64,
    /// Peak traffic rate [bit/s]; not limited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[10 kbit/s, 10 Tbit/s]", later)]
    pub peak_rate_bps: Option<u64>,
    /// Rate of proactive grants, which need no request, as of a low-latency service flow [bit/s].
    #[field(range = "[0 bit/s, 10 Tbit/s]", default = "0 bit/s")]
    pub proactive_rate_bps: u64,
    /// Time between proactive grants, rounded down to whole frames [time]; the MAP interval if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[10 us, 100 ms]", later)]
    pub proactive_interval_ps: Option<u64>,
    /// Mean share of the channel that other modems leave to those of the scenario.
    #[field(range = "(0, 1]", default = 1.0)]
    pub free_share: f64,
    /// Variation of this share: it is uniform within the mean times 1 ± this value, drawn for each MAP.
    #[field(range = "[0, 1]", default = 0.0)]
    pub free_variation: f64,
}

/// Times and capacities of a channel, as whole frames and minislots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub frame_ps: u64,
    /// Frames of a MAP interval.
    pub frames: u64,
    /// Minislots of a frame.
    pub minislots: u64,
    pub minislot_bytes: u64,
    /// Time from the arrival of a MAP to the start of its interval.
    pub deadline_ps: u64,
    /// Time from the generation of a MAP to the start of its interval.
    pub lead_ps: u64,
}

impl Channel {
    /// Returns the duration [ps] of a MAP interval.
    pub fn interval_ps(&self) -> u64 {
        self.frames * self.frame_ps
    }

    /// Returns the time [ps] from the preparation of a burst until the CMTS has decoded its first frame, without
    /// propagation.
    pub fn burst_ps(&self) -> u64 {
        self.frame_ps * (2 * PIPELINE + 1)
    }
}

impl DocsisConfig {
    /// Returns the channel of links of a rate whose farthest modem is `delay_ps` away.
    pub(super) fn channel(&self, rate_bps: u64, delay_ps: u64) -> Channel {
        let frame_bits = u128::from(rate_bps) * u128::from(self.frame_ps) / u128::from(PS_PER_SECOND);
        let symbols = u64::from(self.frame_symbols);
        let deadline_ps = MAP_DEADLINE_PS + self.frame_ps * (symbols + 1) / symbols;
        Channel {
            frame_ps: self.frame_ps,
            frames: ((self.map_interval_ps + self.frame_ps / 2) / self.frame_ps).max(1),
            minislots: (frame_bits / u128::from(8 * self.minislot_bytes)) as u64,
            minislot_bytes: self.minislot_bytes,
            deadline_ps,
            lead_ps: deadline_ps + self.downstream_ps + delay_ps + self.processing_ps,
        }
    }

    /// Returns a shaped rate [bit/s], increased for the headers of packets.
    pub(super) fn with_headers(&self, rate_bps: u64) -> u64 {
        let bits = u128::from(rate_bps) * u128::from(MEAN_PACKET_BYTES + self.mac_header_bytes);
        (bits / u128::from(MEAN_PACKET_BYTES)) as u64
    }

    /// Returns the frames between proactive grants, and the minislots of each; None without such grants.
    pub(super) fn proactive(&self, channel: &Channel) -> Option<(u64, u64)> {
        if self.proactive_rate_bps == 0 {
            return None;
        }
        let every = self
            .proactive_interval_ps
            .map_or(channel.frames, |interval| (interval / self.frame_ps).max(1));
        let bits = u128::from(self.proactive_rate_bps) * u128::from(every * self.frame_ps);
        let bytes = bits.div_ceil(8 * u128::from(PS_PER_SECOND)) as u64;
        Some((every, bytes.div_ceil(self.minislot_bytes)))
    }

    /// Returns the first field of the channel that differs from that of another modem, with both values.
    fn difference(&self, other: &DocsisConfig) -> Option<Problem> {
        let fields = |config: &DocsisConfig| {
            [
                ("map_interval", format!("{} us", config.map_interval_ps / 1_000_000)),
                ("frame", format!("{} ns", config.frame_ps / 1000)),
                ("frame_symbols", config.frame_symbols.to_string()),
                ("minislot", format!("{} B", config.minislot_bytes)),
                ("processing", format!("{} ns", config.processing_ps / 1000)),
                ("downstream", format!("{} ns", config.downstream_ps / 1000)),
                ("free_share", config.free_share.to_string()),
                ("free_variation", config.free_variation.to_string()),
            ]
        };
        let mut pairs = fields(self).into_iter().zip(fields(other));
        pairs.find(|(own, other)| own != other).map(|(own, other)| {
            let accepted = format!("needs {}, as the first link of its cell", other.1);
            Problem::new(own.0, own.1, accepted)
        })
    }

    /// Returns the problem of the parameters of one link.
    fn problem(&self, rate_bps: u64, channel: &Channel) -> Option<Problem> {
        let free = self.free_share * (1.0 - self.free_variation / 2.0) * (channel.minislots * channel.frames) as f64;
        if channel.minislots == 0 {
            let bits = u128::from(8 * self.minislot_bytes) * u128::from(PS_PER_SECOND);
            let least = bits.div_ceil(u128::from(self.frame_ps));
            let accepted = format!("needs a link of at least {least} bit/s, one minislot per frame, not of {rate_bps}");
            return Some(Problem::new("minislot", format!("{} B", self.minislot_bytes), accepted));
        }
        if free < 1.0 {
            let accepted = "needs at least one free minislot per MAP interval in the mean";
            return Some(Problem::new("free_share", self.free_share.to_string(), accepted));
        }
        if self
            .proactive(channel)
            .is_some_and(|(_, minislots)| minislots > channel.minislots)
        {
            let accepted = format!("needs grants of at most a frame, {} minislots", channel.minislots);
            return Some(Problem::new(
                "proactive_rate",
                format!("{} bit/s", self.proactive_rate_bps),
                accepted,
            ));
        }
        None
    }
}

/// Returns the parameters of a modem.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a DocsisConfig {
    match station.config {
        AccessConfig::Docsis(config) => config,
        other => unreachable!("stations of a cell have one kind of access, not {other:?}"),
    }
}

/// Returns the channel of the modems of a cell.
pub(super) fn channel(stations: &[NewStation<'_>]) -> Channel {
    let farthest_ps = stations.iter().map(|station| station.delay.0).max().unwrap_or(0);
    config(&stations[0]).channel(stations[0].rate_bps, farthest_ps)
}

impl Parameters for DocsisConfig {
    type Cell = Docsis;
    const CONTENDS: bool = false;
    const RETRANSMITS: bool = false;

    fn cell(&self) -> Option<&str> {
        self.cell.as_deref()
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let (first, channel) = (config(&stations[0]), channel(stations));
        let mut proactive_share = 0.0;
        for (number, station) in stations.iter().enumerate() {
            let own = config(station);
            if let Some(problem) = own
                .difference(first)
                .or_else(|| own.problem(station.rate_bps, &channel))
            {
                return Some((number, problem));
            }
            if station.rate_bps != stations[0].rate_bps {
                let accepted = "needs equal rates of all links of a cell: the rate of the channel";
                let value = format!("{} bit/s", station.rate_bps);
                return Some((number, Problem::new("cell", value, accepted)));
            }
            let share = |(every, minislots): (u64, u64)| minislots as f64 / (every * channel.minislots) as f64;
            proactive_share += own.proactive(&channel).map_or(0.0, share);
            if proactive_share > 1.0 {
                let accepted = "needs proactive grants that fit into the channel with those of its other links";
                let value = format!("{} bit/s", own.proactive_rate_bps);
                return Some((number, Problem::new("proactive_rate", value, accepted)));
            }
        }
        None
    }

    fn cell_of(stations: &[NewStation<'_>], seed: u64) -> Docsis {
        Docsis::new(stations, seed)
    }
}
