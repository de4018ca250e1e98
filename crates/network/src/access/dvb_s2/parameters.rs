//! Parameters of the forward link of DVB-S2.

use super::modcods::{modcods, names, Frames, Modcod};
use super::DvbS2;
use crate::access::{AccessConfig, NewStation, Parameters};
use longpipe_events::PS_PER_SECOND;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Forward link of DVB-S2: the terminals of a beam share a carrier, in the MODCODs that they can receive.
///
/// The rate of the link is that of the carrier if all frames are full and have the fastest MODCOD, without headers of
/// GSE.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DVB-S2", fact("remedy", "rate"))]
pub struct DvbS2Config {
    /// Name of the carrier that the links with this name share; a carrier for this link alone if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(pattern = "^[A-Za-z0-9_.-]{1,64}$", later)]
    pub cell: Option<String>,
    /// Fastest MODCOD of the carrier, as in 'QPSK 1/2'; the only one without es_n0. EN 302 307-1 table 13.
    #[serde(default = "modcod")]
    #[field(default = "8PSK 3/4")]
    pub modcod: String,
    /// Length of the frames: 64800 (normal) or 16200 (short) coded bits.
    #[field(default = "normal")]
    pub frames: FecFrame,
    /// Whether frames have pilots, 36 symbols after each 16 slots.
    #[field(default = false)]
    pub pilots: bool,
    /// Whether the carrier also has the MODCODs of DVB-S2X (EN 302 307-2), with normal frames.
    #[field(default = false)]
    pub extended: bool,
    /// Length of the label of each GSE packet: 0, 3 or 6 bytes [bytes]; SNS3 has 3.
    #[field(range = "[0 B, 6 B]", default = "3 B")]
    pub gse_label_bytes: u64,
    /// Time after which a frame begins although waiting data do not fill it [time]; OpenSAND schedules every 10 ms.
    #[field(range = "[0 s, 10 s]", default = "10 ms")]
    pub fill_timeout_ps: u64,
    /// Points of the terminal's Es/N0 [dB], linear between, as in [['0 s', 12.5], ['60 s', 3.0]]; they adapt its MODCOD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(each("[0 s, 100000 s]", "[-100, 100]"), ascending)]
    pub es_n0_ps: Option<Vec<(u64, f64)>>,
    /// Time between two reports of Es/N0 [time], each of which arrives after the delay of the link; OpenSAND.
    #[field(range = "[1 ms, 1000 s]", default = "1 s")]
    pub report_interval_ps: u64,
    /// Increase of all thresholds when the gateway selects a MODCOD [dB].
    #[field(range = "[0, 30]", default = 0.0)]
    pub margin: f64,
    /// Further increase of a threshold for a change to a faster MODCOD [dB].
    #[field(range = "[0, 30]", default = 0.0)]
    pub hysteresis: f64,
}

fn modcod() -> String {
    "8PSK 3/4".to_owned()
}

/// Lengths of FECFRAMEs.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum FecFrame {
    /// 64800 coded bits.
    Normal,
    /// 16200 coded bits.
    Short,
}

impl DvbS2Config {
    fn kind_of_frames(&self) -> Frames {
        Frames {
            are_short: self.frames == FecFrame::Short,
            have_pilots: self.pilots,
            are_extended: self.extended,
        }
    }

    /// Returns the MODCODs of the carrier: one without adaptation.
    pub(super) fn modcods(&self) -> Vec<Modcod> {
        modcods(self.kind_of_frames(), &self.modcod).unwrap_or_default()
    }

    /// Returns the time [ps] of a frame, at the symbol rate that gives the fastest MODCOD the rate of the link.
    pub(super) fn frame_ps(&self, modcod: &Modcod, rate_bps: u64) -> u64 {
        let fastest = self
            .modcods()
            .last()
            .map_or((1, 1), |last| (8 * last.data_bytes, last.symbols));
        let bits = u128::from(modcod.symbols) * u128::from(fastest.0) * u128::from(PS_PER_SECOND);
        bits.div_ceil(u128::from(fastest.1) * u128::from(rate_bps)) as u64
    }

    /// Returns the first field of the carrier that differs from that of another terminal, with both values.
    fn difference(&self, other: &DvbS2Config) -> Option<Problem> {
        let fields = |config: &DvbS2Config| {
            [
                ("modcod", config.modcod.clone()),
                ("frames", format!("{:?}", config.frames).to_lowercase()),
                ("pilots", config.pilots.to_string()),
                ("extended", config.extended.to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        pairs.into_iter().find(|(own, other)| own != other).map(|(own, other)| {
            let accepted = format!("needs {}, as the first link of its cell", other.1);
            Problem::new(own.0, own.1, accepted)
        })
    }
}

/// Returns the parameters of a terminal.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a DvbS2Config {
    match station.config {
        AccessConfig::DvbS2(config) => config,
        other => unreachable!("stations of a cell have one kind of access, not {other:?}"),
    }
}

impl Parameters for DvbS2Config {
    type Cell = DvbS2;
    const CONTENDS: bool = false;
    const RETRANSMITS: bool = false;

    fn cell(&self) -> Option<&str> {
        self.cell.as_deref()
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let first = config(&stations[0]);
        for (number, station) in stations.iter().enumerate() {
            let own = config(station);
            if own.modcods().is_empty() {
                let accepted = format!("accepts {}", names(own.kind_of_frames()).join(", "));
                return Some((number, Problem::new("modcod", own.modcod.clone(), accepted)));
            }
            if let Some(problem) = own.difference(first) {
                return Some((number, problem));
            }
            if !matches!(own.gse_label_bytes, 0 | 3 | 6) {
                return Some((
                    number,
                    Problem::new("gse_label", format!("{} B", own.gse_label_bytes), "needs 0, 3 or 6 B"),
                ));
            }
            if station.rate_bps != stations[0].rate_bps {
                let accepted = "needs equal rates of all links of a cell: the rate of the carrier";
                return Some((
                    number,
                    Problem::new("cell", format!("{} bit/s", station.rate_bps), accepted),
                ));
            }
        }
        None
    }

    fn cell_of(stations: &[NewStation<'_>], _seed: u64) -> DvbS2 {
        DvbS2::new(stations)
    }
}
