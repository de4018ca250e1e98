//! Parameters of cellular access, and the values of presets.

use super::blocks::Rules;
use super::frame::{Frame, Way, SYMBOLS};
use super::user::{rate_of_cqi, Channel, Drx, Presence};
use super::Cellular;
use crate::access::{AccessConfig, NewStation, Parameters};
use longpipe_events::PS_PER_SECOND;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

const MS: u64 = PS_PER_SECOND / 1000;

/// Cellular access (LTE or NR): a base station schedules its users in slots, with HARQ and RLC below IP.
///
/// The rate of the link is that of the user if it had all resource blocks of its direction, with headers of the access.
/// Fields that are absent have the values of the preset.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "cellular access", draws)]
pub struct CellularConfig {
    /// Name of the cell that the links with this name share; a cell for this link alone if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(pattern = "^[A-Za-z0-9_.-]{1,64}$", later)]
    pub cell: Option<String>,
    /// Values of the system: 'nr' (TDD at 30 kHz, defaults of srsRAN Project) or 'lte' (FDD).
    #[field(default = "nr")]
    pub preset: Preset,
    /// Direction of the link: 'up' to the base station, whose users request grants, or 'down' from it.
    #[field(default = "up")]
    pub direction: Direction,
    /// Order in which the base station serves its users.
    #[field(default = "proportional-fair")]
    pub scheduler: Scheduler,
    /// Time constant of the mean rates in proportional fairness [time]; 1000 slots of LTE, Viswanath et al. 2002.
    #[field(range = "[1 ms, 100 s]", default = "1 s")]
    pub fairness_time_ps: u64,
    /// Resource blocks of a slot, which users share; 51 (20 MHz at 30 kHz), or 50 with lte (10 MHz).
    #[field(range = "[1, 275]")]
    pub resource_blocks: Option<u32>,
    /// Duration of a slot [time]; 0.5 ms (30 kHz), or 1 ms with lte.
    #[field(range = "[125 us, 1 ms]")]
    pub slot_ps: Option<u64>,
    /// Downlink slots of a TDD period, which a special slot follows; 6 (srsRAN).
    #[field(range = "[1, 100]")]
    pub downlink_slots: Option<u32>,
    /// Downlink symbols of the special slot; 8 (srsRAN).
    #[field(range = "[0, 14]")]
    pub special_symbols: Option<u32>,
    /// Uplink slots of a TDD period, after the special slot; 3 (srsRAN), or 0 with lte: FDD.
    #[field(range = "[0, 100]")]
    pub uplink_slots: Option<u32>,
    /// Period of a user's scheduling requests [time]; 20 ms (srsRAN), or 10 ms with lte.
    #[field(range = "[1 ms, 640 ms]")]
    pub request_period_ps: Option<u64>,
    /// Size of the grant that answers a scheduling request [bytes]; srsRAN.
    #[field(range = "[1 B, 100 KB]", default = "512 B")]
    pub request_grant_bytes: u64,
    /// Slots from a reception at the base station to the first slot that it can influence; 2, or 4 with lte (3 ms of
    /// decoding, assumed).
    #[field(range = "[1, 40]")]
    pub processing_slots: Option<u32>,
    /// Slots from downlink data to the earliest acknowledgement (k1); srsRAN, and LTE.
    #[field(range = "[1, 40]", default = 4)]
    pub acknowledgement_slots: u32,
    /// Slots from an uplink grant to the earliest data (k2); srsRAN, and LTE.
    #[field(range = "[1, 40]", default = 4)]
    pub grant_slots: u32,
    /// Probability that the first transmission of a block fails; 0.01 (target of srsRAN), or 0.1 with lte (definition of
    /// CQI, TS 36.213 section 7.2.3).
    #[field(range = "[0, 1]")]
    pub block_error: Option<f64>,
    /// Probability that a retransmission fails; that of the first transmission if absent, without a gain of combining.
    #[field(range = "[0, 1]")]
    pub retransmission_error: Option<f64>,
    /// HARQ processes of a user in a direction; 16, or 8 with lte.
    #[field(range = "[1, 32]")]
    pub harq_processes: Option<u32>,
    /// Transmissions of a block before HARQ gives up; srsRAN.
    #[field(range = "[1, 28]", default = 5)]
    pub harq_transmissions: u32,
    /// Mode of RLC: acknowledged ('am'), which repeats what HARQ loses, or unacknowledged ('um').
    #[field(default = "am")]
    pub rlc: Rlc,
    /// Retransmissions by RLC before the packets of a block are lost, with am; srsRAN.
    #[field(range = "[1, 32]", default = 32)]
    pub rlc_retransmissions: u32,
    /// Time for which the receiver waits for a missing block when it has received a later one (t-Reassembly) [time];
    /// srsRAN.
    #[field(range = "[0 s, 200 ms]", default = "20 ms")]
    pub reassembly_ps: u64,
    /// Time after which the sender repeats a block without a later one (t-PollRetransmit) [time]; srsRAN.
    #[field(range = "[0 s, 4 s]", default = "20 ms")]
    pub poll_retransmit_ps: u64,
    /// Minimum time between two status reports of a receiver (t-StatusProhibit) [time]; srsRAN.
    #[field(range = "[0 s, 2400 ms]", default = "10 ms")]
    pub status_prohibit_ps: u64,
    /// Channel quality of the user as times and CQI from there on, as in [['0 s', 12], ['8 s', 7]]; 15 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(each("[0 s, 100000 s]", "[0, 15]"), ascending)]
    pub cqi_ps: Option<Vec<(u64, u32)>>,
    /// Rate of the user relative to that of the link, as times and values from there on, in place of cqi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(each("[0 s, 100000 s]", "[0, 100]"), ascending)]
    pub quality_ps: Option<Vec<(u64, f64)>>,
    /// Coherence time of Rayleigh fading in blocks, with a rate in proportion to the power [time]; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[125 us, 1000 s]")]
    pub fading_ps: Option<u64>,
    /// Time between two handovers of the user, the first of which is after this time [time]; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[100 ms, 100000 s]")]
    pub handover_every_ps: Option<u64>,
    /// Time for which a handover interrupts the link [time]; drive tests report 30 to 80 ms in LTE, and 50 to 150 ms in NR.
    #[field(range = "[0 s, 10 s]", default = "50 ms")]
    pub handover_interruption_ps: u64,
    /// Whether the new base station gets what the old one has not delivered; needs rlc = 'am' for blocks in transmission.
    #[field(default = true)]
    pub forwarding: bool,
    /// Cycle of discontinuous reception (DRX): downlink data for an inactive user wait for its next begin [time]; none if
    /// absent, as in srsRAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[10 ms, 11 s]")]
    pub drx_cycle_ps: Option<u64>,
    /// Time for which an inactive user receives at the start of a cycle [time]; srsRAN.
    #[field(range = "[1 ms, 2 s]", default = "10 ms")]
    pub drx_on_ps: u64,
    /// Time after the last data after which a user is inactive [time]; assumed.
    #[field(range = "[0 s, 3 s]", default = "100 ms")]
    pub drx_inactivity_ps: u64,
    /// Time until a user that is released (RRC idle) can send or receive [time]; none, always connected, if absent.
    /// 341 ms (NR standalone) and 1440 ms (non-standalone) were measured in 2021.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[0 s, 10 s]")]
    pub promotion_ps: Option<u64>,
    /// Time after the last data after which a user is released [time]; most operators in 2021. Users begin released.
    #[field(range = "[100 ms, 1000 s]", default = "10 s")]
    pub release_after_ps: u64,
}

/// Systems whose values a cell has.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// NR with TDD at 30 kHz, as srsRAN Project configures it by default.
    Nr,
    /// LTE with FDD.
    Lte,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the user to the base station.
    Up,
    /// From the base station to the user.
    Down,
}

/// Orders in which a base station serves its users.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The user whose present rate is highest relative to its mean rate.
    ProportionalFair,
    /// Each user in turn.
    RoundRobin,
    /// The user whose present rate is highest.
    MaximumRate,
}

/// Modes of RLC.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Rlc {
    /// Acknowledged mode.
    Am,
    /// Unacknowledged mode.
    Um,
}

impl CellularConfig {
    fn by_preset<T>(&self, own: Option<T>, nr: T, lte: T) -> T {
        own.unwrap_or(match self.preset {
            Preset::Nr => nr,
            Preset::Lte => lte,
        })
    }

    pub(super) fn frame(&self) -> Frame {
        Frame {
            slot_ps: self.by_preset(self.slot_ps, MS / 2, MS),
            down: self.by_preset(self.downlink_slots, 6, 6).into(),
            special_symbols: self.by_preset(self.special_symbols, 8, 8).into(),
            up: self.by_preset(self.uplink_slots, 3, 0).into(),
        }
    }

    pub(super) fn way(&self) -> Way {
        match self.direction {
            Direction::Up => Way::Up,
            Direction::Down => Way::Down,
        }
    }

    pub(super) fn resource_blocks(&self) -> u64 {
        self.by_preset(self.resource_blocks, 51, 50).into()
    }

    pub(super) fn processing_slots(&self) -> u64 {
        self.by_preset(self.processing_slots, 2, 4).into()
    }

    /// Returns the period of scheduling requests as a number of slots.
    pub(super) fn request_period(&self) -> u64 {
        let period = self.by_preset(self.request_period_ps, 20 * MS, 10 * MS);
        self.frame().slots(period)
    }

    /// Returns the bytes of a slot in which all symbols belong to the direction, at the rate of the link.
    pub(super) fn slot_bytes(&self, rate_bps: u64) -> f64 {
        let frame = self.frame();
        let symbols = frame.symbols_of_period(self.way()) as f64 / frame.period() as f64;
        let bits = rate_bps as f64 * (frame.slot_ps as f64 / PS_PER_SECOND as f64);
        bits / 8.0 * (SYMBOLS as f64 / symbols)
    }

    pub(super) fn rules(&self) -> Rules {
        let frame = self.frame();
        let first_error = self.by_preset(self.block_error, 0.01, 0.1);
        Rules {
            rlc: self.rlc,
            first_error,
            further_error: self.retransmission_error.unwrap_or(first_error),
            processes: self.by_preset(self.harq_processes, 16, 8).into(),
            transmissions: self.harq_transmissions,
            rlc_retransmissions: self.rlc_retransmissions,
            reassembly: frame.slots(self.reassembly_ps),
            poll_retransmit: frame.slots(self.poll_retransmit_ps),
            status_prohibit: frame.slots(self.status_prohibit_ps),
        }
    }

    /// Returns when the user of a link can send and receive.
    pub(super) fn presence(&self) -> Presence {
        let frame = self.frame();
        let slots = |ps: u64| frame.slots(ps);
        Presence {
            handover: self
                .handover_every_ps
                .map(|every| (slots(every), slots(self.handover_interruption_ps))),
            forwards: self.forwarding,
            drx: self.drx_cycle_ps.map(|cycle| Drx {
                cycle: slots(cycle),
                on: slots(self.drx_on_ps),
                inactivity: slots(self.drx_inactivity_ps),
            }),
            promotion: self
                .promotion_ps
                .map(|promotion| (slots(promotion), slots(self.release_after_ps))),
        }
    }

    /// Returns the channel of the user of a link.
    pub(super) fn channel(&self, seed: u64, link: usize) -> Channel {
        let of_cqi = |&(time, cqi): &(u64, u32)| (time, rate_of_cqi(cqi));
        let steps = match (&self.cqi_ps, &self.quality_ps) {
            (Some(cqi), _) => cqi.iter().map(of_cqi).collect(),
            (None, Some(quality)) => quality.clone(),
            (None, None) => vec![],
        };
        Channel::new(steps, self.fading_ps, seed, link as u64)
    }

    /// Returns the problem of the parameters of one link.
    fn problem(&self, station: &NewStation<'_>) -> Option<Problem> {
        if self.cqi_ps.is_some() && self.quality_ps.is_some() {
            return Some(Problem::new(
                "quality",
                "beside cqi",
                "needs only one of quality and cqi",
            ));
        }
        if self
            .handover_every_ps
            .is_some_and(|every| self.handover_interruption_ps >= every)
        {
            let value = format!("{} ms", self.handover_interruption_ps as f64 / MS as f64);
            return Some(Problem::new(
                "handover_interruption",
                value,
                "needs less than handover_every",
            ));
        }
        if self.drx_cycle_ps.is_some_and(|cycle| self.drx_on_ps > cycle) {
            let value = format!("{} ms", self.drx_on_ps as f64 / MS as f64);
            return Some(Problem::new("drx_on", value, "needs at most drx_cycle"));
        }
        let bytes = self.slot_bytes(station.rate_bps) / self.resource_blocks() as f64;
        if bytes < LEAST_BYTES {
            let accepted = format!(
                "needs at most {}, so that a resource block of the link carries {LEAST_BYTES} B",
                (self.slot_bytes(station.rate_bps) / LEAST_BYTES) as u64
            );
            return Some(Problem::new("resource_blocks", self.resource_blocks(), accepted));
        }
        None
    }

    /// Returns the first field of the cell that differs from that of another link, with both values.
    fn difference(&self, other: &CellularConfig) -> Option<Problem> {
        let fields = |config: &CellularConfig| {
            let frame = config.frame();
            [
                ("slot", format!("{} ms", frame.slot_ps as f64 / MS as f64)),
                ("downlink_slots", frame.down.to_string()),
                ("special_symbols", frame.special_symbols.to_string()),
                ("uplink_slots", frame.up.to_string()),
                ("resource_blocks", config.resource_blocks().to_string()),
                ("processing_slots", config.processing_slots().to_string()),
                ("acknowledgement_slots", config.acknowledgement_slots.to_string()),
                ("grant_slots", config.grant_slots.to_string()),
                ("scheduler", format!("{:?}", config.scheduler)),
                (
                    "fairness_time",
                    format!("{} ms", config.fairness_time_ps as f64 / MS as f64),
                ),
            ]
        };
        let mut pairs = fields(self).into_iter().zip(fields(other));
        pairs.find(|(own, other)| own != other).map(|(own, other)| {
            let accepted = format!("needs {}, as the first link of its cell", other.1);
            Problem::new(own.0, own.1, accepted)
        })
    }
}

/// Minimum bytes of a resource block, so that each block carries data beside its headers.
const LEAST_BYTES: f64 = 16.0;

/// Returns the parameters of a link.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a CellularConfig {
    let AccessConfig::Cellular(config) = station.config else {
        unreachable!("the stations of a cell have one kind")
    };
    config
}

impl Parameters for CellularConfig {
    type Cell = Cellular;
    const CONTENDS: bool = false;
    const RETRANSMITS: bool = true;
    // Blocks end with their slots, and the quality of a channel may exceed its mean.
    const KEEPS_RATE: bool = false;

    fn cell(&self) -> Option<&str> {
        self.cell.as_deref()
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let first = config(&stations[0]);
        stations.iter().enumerate().find_map(|(number, station)| {
            let own = config(station);
            let problem = own.problem(station).or_else(|| own.difference(first));
            problem.map(|problem| (number, problem))
        })
    }

    fn cell_of(stations: &[NewStation<'_>], seed: u64) -> Cellular {
        Cellular::new(stations, seed)
    }
}
