//! Parameters of the return link of DVB-RCS2, and the values of presets.

use super::allocation::{Account, Capacity, Division};
use super::frame::{Slots, BURST_BYTES, FIRST_WAVEFORM};
use super::random_access::{OwnRules, Rules};
use super::requests::{Limits, Rule};
use super::DvbRcs2;
use crate::access::{AccessConfig, NewStation, Parameters};
use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;
use std::collections::VecDeque;

const MS: u64 = PS_PER_SECOND / 1000;
/// Maximum two-way delay [ps] for which SNS3 plans.
const SNS3_ROUND_TRIP_PS: u64 = 560 * MS;

/// Return link of DVB-RCS2: terminals of a beam request capacity, and send in bursts that the gateway grants.
///
/// The rate of the link is that of a carrier whose bursts are all used. Fields that are absent have the values of the
/// preset.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DVB-RCS2", draws, fact("remedy", "free_rate"))]
pub struct DvbRcs2Config {
    /// Name of the beam whose capacity the links with this name share; a beam for this link alone if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(pattern = "^[A-Za-z0-9_.-]{1,64}$", later)]
    pub cell: Option<String>,
    /// Rules and values of the system: 'sns3' and 'opensand' as in these emulators, or 'typical', the rules of SNS3 with
    /// requests on demand.
    #[field(default = "typical")]
    pub preset: Preset,
    /// Duration of a superframe [time]; 100 ms (SNS3), or 26.5 ms with opensand.
    #[field(range = "[1 ms, 10 s]")]
    pub superframe_ps: Option<u64>,
    /// Carriers that the terminals share; each terminal sends on one of them at a time.
    #[field(range = "[1, 10_000]", default = 1)]
    pub carriers: u32,
    /// Waveform, which determines the bytes of a burst: 38 with 3 to 599 with 22; EN 301 545-2.
    #[field(range = "[3, 22]", default = 3)]
    pub waveform: u32,
    /// Rate that is granted without a request (CRA) [bit/s].
    #[field(range = "[0 bit/s, 1 Gbit/s]", default = "0 bit/s")]
    pub constant_rate_bps: u64,
    /// What the terminal requests: rates (rbdc), volumes (vbdc) or nothing (none).
    #[field(default = "vbdc")]
    pub requests: Category,
    /// Maximum requested rate, with the constant rate [bit/s]; 9216 kbit/s (SNS3), or 16320 kbit/s with opensand.
    #[field(range = "[1 kbit/s, 1 Gbit/s]")]
    pub max_rate_bps: Option<u64>,
    /// Maximum volume that is requested and not granted [bytes]; 393216 B (SNS3), or 510000 B with opensand.
    #[field(range = "[1 B, 1 GB]")]
    pub max_volume_bytes: Option<u64>,
    /// Maximum rate of capacity that no terminal has requested (FCA) [bit/s].
    #[field(range = "[0 bit/s, 1 Gbit/s]", default = "0 bit/s")]
    pub free_rate_bps: u64,
    /// Time between two evaluations of requests [time]; 100 ms (SNS3), or 1 s with opensand.
    #[field(range = "[1 ms, 1000 s]")]
    pub request_interval_ps: Option<u64>,
    /// Whether a packet that finds the queue empty causes a request at once; only with typical if absent.
    pub on_demand: Option<bool>,
    /// Probability that a request does not reach the gateway.
    #[field(range = "[0, 1]", default = 0.0)]
    pub request_loss: f64,
    /// Time from the decision on a plan until it has been sent [time]; 100 ms (SNS3), or 0 s with opensand.
    #[field(range = "[0 s, 10 s]")]
    pub processing_ps: Option<u64>,
    /// Bytes that RLE adds to each packet, in addition to fragment headers [bytes]; 3 B (protocol type and sequence
    /// number), or 0 B with sns3.
    #[field(range = "[0 B, 100 B]")]
    pub alpdu_overhead_bytes: Option<u64>,
    /// How a terminal without granted bursts sends requests, first packets and small bursts: 'none' (requests have
    /// control slots of their own), 'slotted-aloha', or 'crdsa' with interference cancellation.
    #[serde(default, skip_serializing_if = "RandomAccess::is_none")]
    #[field(default = "none", later)]
    pub random_access: RandomAccess,
    /// Slots of a superframe for random access, on a carrier of its own; those of a carrier, at most 2047, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[2, 2047]", later)]
    pub random_access_slots: Option<u32>,
    /// Copies that crdsa sends of each burst, in different slots; SNS3.
    #[serde(default = "replicas", skip_serializing_if = "are_usual")]
    #[field(range = "[2, 8]", default = 3, later)]
    pub replicas: u32,
    /// Maximum number of bursts that the terminal sends by random access in a superframe; SNS3.
    #[serde(default = "replicas", skip_serializing_if = "are_usual")]
    #[field(range = "[1, 16]", default = 3, later)]
    pub random_access_bursts: u32,
    /// Mean number of bursts of terminals outside the scenario in a slot for random access, each counted once.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[field(range = "[0, 3]", default = 0.0, later)]
    pub random_access_load: f64,
    /// Probability that a terminal waits for backoff before it begins to use random access; 0, or 10000/65535 with sns3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[0, 1]", later)]
    pub backoff_probability: Option<f64>,
    /// Time for which a terminal waits before random access, in whole superframes [time]; SNS3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[0 s, 100 s]", later)]
    pub backoff_ps: Option<u64>,
}

fn replicas() -> u32 {
    3
}

fn are_usual(number: &u32) -> bool {
    *number == replicas()
}

fn is_zero(load: &f64) -> bool {
    *load == 0.0
}

/// Kinds of random access.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum RandomAccess {
    /// None.
    #[default]
    None,
    /// Slotted ALOHA: each burst in one slot.
    SlottedAloha,
    /// CRDSA: copies of each burst in several slots, and interference cancellation.
    Crdsa,
}

impl RandomAccess {
    fn is_none(&self) -> bool {
        *self == RandomAccess::None
    }
}

/// Systems whose rules and values a beam has.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The rules of SNS3, with requests on demand, and plans that lead by no more than they must.
    Typical,
    /// SNS3 (sns3-satellite e543342).
    Sns3,
    /// OpenSAND (9fff1c0).
    Opensand,
}

/// Categories of capacity that a terminal requests.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Nothing.
    None,
    /// Rates (RBDC).
    Rbdc,
    /// Volumes (VBDC and AVBDC).
    Vbdc,
}

impl DvbRcs2Config {
    pub(super) fn is_of_opensand(&self) -> bool {
        self.preset == Preset::Opensand
    }

    fn by_preset<T>(&self, own: Option<T>, sns3: T, opensand: T) -> T {
        own.unwrap_or(if self.is_of_opensand() { opensand } else { sns3 })
    }

    pub(super) fn superframe_ps(&self) -> u64 {
        self.by_preset(self.superframe_ps, 100 * MS, 26_500_000_000)
    }

    fn max_kbps(&self) -> u64 {
        self.by_preset(self.max_rate_bps, 9_216_000, 16_320_000) / 1000
    }

    fn max_bytes(&self) -> u64 {
        self.by_preset(self.max_volume_bytes, 384 << 10, 510_000)
    }

    pub(super) fn processing_ps(&self) -> u64 {
        self.by_preset(self.processing_ps, 100 * MS, 0)
    }

    pub(super) fn overhead_bytes(&self) -> u64 {
        let default = if self.preset == Preset::Sns3 { 0 } else { 3 };
        self.alpdu_overhead_bytes.unwrap_or(default)
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand.unwrap_or(self.preset == Preset::Typical)
    }

    /// Returns the time [ps] between two evaluations; OpenSAND's is a number of superframes.
    pub(super) fn interval_ps(&self) -> u64 {
        let interval = self.by_preset(self.request_interval_ps, 100 * MS, 1000 * MS);
        match self.is_of_opensand() {
            true => self.sync_frames() * self.superframe_ps(),
            false => interval,
        }
    }

    fn sync_frames(&self) -> u64 {
        let interval = self.by_preset(self.request_interval_ps, 100 * MS, 1000 * MS);
        let superframe = self.superframe_ps();
        ((interval + superframe / 2) / superframe).max(1)
    }

    /// Returns the time [ps] from the NCC's decision on a plan to the reception of the superframe at the gateway, for
    /// terminals at delays of at most `delay_ps`.
    pub(super) fn lead_ps(&self, delay_ps: u64) -> u64 {
        let (superframe, processing) = (self.superframe_ps(), self.processing_ps());
        match self.preset {
            Preset::Typical => processing + 2 * delay_ps,
            Preset::Sns3 => ((SNS3_ROUND_TRIP_PS + processing) / superframe + 1) * superframe,
            Preset::Opensand => processing + 2 * delay_ps + superframe,
        }
    }

    pub(super) fn capacity(&self, rate_bps: u64) -> Capacity {
        let slots = Slots::new(rate_bps, self.burst_bytes());
        Capacity {
            bursts: slots.within(self.superframe_ps()),
            carriers: u64::from(self.carriers),
            burst_bytes: self.burst_bytes(),
            superframe_ps: self.superframe_ps(),
        }
    }

    pub(super) fn burst_bytes(&self) -> u64 {
        BURST_BYTES[(self.waveform - FIRST_WAVEFORM) as usize]
    }

    pub(super) fn division(&self) -> Division {
        Division {
            // OpenSAND: one period of requests, and one frame.
            rate_persistence: self.by_preset(None, 5, self.sync_frames() + 1),
            volume_persistence: self.by_preset(None, Some(VOLUME_PERSISTENCE), None),
            largest_volume_first: self.is_of_opensand(),
        }
    }

    /// Returns the rules of random access in the beam, if there is any.
    pub(super) fn random_access(&self, capacity: Capacity) -> Option<Rules> {
        let (replicas, signaling_bytes) = match self.random_access {
            RandomAccess::None => return None,
            RandomAccess::SlottedAloha => (1, ALOHA_SIGNALING_BYTES),
            RandomAccess::Crdsa => (u64::from(self.replicas), CRDSA_SIGNALING_BYTES),
        };
        Some(Rules {
            slots: self
                .random_access_slots
                .map_or(capacity.bursts.min(MAX_SLOTS), u64::from),
            replicas,
            burst_bytes: self.burst_bytes() - signaling_bytes,
            load: self.random_access_load,
        })
    }

    /// Returns the rules of random access of this terminal, which sends one burst at a time.
    pub(super) fn own_random_access(&self, capacity: Capacity) -> OwnRules {
        let fitting = |rules: Rules| (rules.slots / rules.replicas).min(capacity.bursts);
        let sns3 = if self.preset == Preset::Sns3 {
            SNS3_BACKOFF_PROBABILITY
        } else {
            0.0
        };
        OwnRules {
            bursts: u64::from(self.random_access_bursts).min(self.random_access(capacity).map_or(0, fitting)),
            backoff_probability: self.backoff_probability.unwrap_or(sns3),
            backoff: Span(self.backoff_ps.unwrap_or(SNS3_BACKOFF_PS)),
        }
    }

    /// Returns the number of bursts that a rate needs in each superframe.
    fn bursts(&self, rate_bps: u64) -> u64 {
        let bits = u128::from(rate_bps) * u128::from(self.superframe_ps());
        bits.div_ceil(8 * u128::from(self.burst_bytes()) * u128::from(PS_PER_SECOND)) as u64
    }

    pub(super) fn account(&self) -> Account {
        let max = (self.max_kbps(), self.max_bytes());
        Account::new(
            self.bursts(self.constant_rate_bps),
            self.bursts(self.free_rate_bps),
            max,
        )
    }

    pub(super) fn rule(&self) -> Rule {
        match (self.requests, self.is_of_opensand()) {
            (Category::None, _) => Rule::None,
            (Category::Rbdc, false) => Rule::Sns3Rate(VecDeque::new()),
            (Category::Rbdc, true) => Rule::OpenSandRate {
                last_frame: 0,
                arrived_bits: 0,
                sent_kbps: VecDeque::new(),
            },
            (Category::Vbdc, false) => Rule::Sns3Volume {
                pending_bytes: 0,
                last: Time::ZERO,
            },
            (Category::Vbdc, true) => Rule::OpenSandVolume,
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            superframe_ps: self.superframe_ps(),
            constant_kbps: self.constant_rate_bps / 1000,
            max_kbps: self.max_kbps(),
            max_bytes: self.max_bytes(),
            volume_persistence: VOLUME_PERSISTENCE,
            sync_frames: self.sync_frames(),
        }
    }

    /// Returns the first field of the beam that differs from that of another terminal, with both values.
    fn difference(&self, other: &DvbRcs2Config) -> Option<Problem> {
        let fields = |config: &DvbRcs2Config| {
            let preset = format!("{:?}", config.preset).to_lowercase();
            [
                ("preset", preset),
                ("superframe", time(config.superframe_ps())),
                ("carriers", config.carriers.to_string()),
                ("waveform", config.waveform.to_string()),
                ("processing", time(config.processing_ps())),
                ("request_interval", time(config.interval_ps())),
                ("random_access", format!("{:?}", config.random_access)),
                ("random_access_slots", format!("{:?}", config.random_access_slots)),
                ("replicas", config.replicas.to_string()),
                ("random_access_load", config.random_access_load.to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        pairs.into_iter().find(|(own, other)| own != other).map(|(own, other)| {
            let accepted = format!("needs {}, as the first link of its cell", other.1);
            Problem::new(own.0, own.1, accepted)
        })
    }
}

/// Bytes of each burst that identify the terminal, and with CRDSA the slots of the copies (SNS3).
const ALOHA_SIGNALING_BYTES: u64 = 3;
const CRDSA_SIGNALING_BYTES: u64 = 5;
/// Maximum number of slots of a frame (EN 301 545-2 section 7.5.1.3).
const MAX_SLOTS: u64 = 2047;
/// Probability and duration [ps] of SNS3's back-off at low load.
const SNS3_BACKOFF_PROBABILITY: f64 = 10_000.0 / 65_535.0;
const SNS3_BACKOFF_PS: u64 = 250 * MS;
/// Maximum number of plans that are in effect later.
const MAX_PLANS: u64 = 1000;
/// Superframes after which the NCC of SNS3 forgets a volume (VolumeBacklogPersistence).
const VOLUME_PERSISTENCE: u64 = 7;

/// Returns a time for messages.
fn time(ps: u64) -> String {
    format!("{} ms", ps as f64 / MS as f64)
}

/// Returns the parameters of a terminal.
pub(super) fn config<'a>(station: &NewStation<'a>) -> &'a DvbRcs2Config {
    let AccessConfig::DvbRcs2(config) = station.config else {
        unreachable!("the stations of a cell have one kind")
    };
    config
}

impl Parameters for DvbRcs2Config {
    const CONTENDS: bool = false;
    const RETRANSMITS: bool = false;
    type Cell = DvbRcs2;

    fn cell(&self) -> Option<&str> {
        self.cell.as_deref()
    }

    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
        let first = config(&stations[0]);
        let capacity = first.capacity(stations[0].rate_bps);
        let mut constant = 0;
        for (number, station) in stations.iter().enumerate() {
            let own = config(station);
            if let Some(problem) = own.difference(first) {
                return Some((number, problem));
            }
            if station.rate_bps != stations[0].rate_bps {
                let accepted = "needs equal rates of all links of a cell: the rate of a carrier";
                return Some((
                    number,
                    Problem::new("cell", format!("{} bit/s", station.rate_bps), accepted),
                ));
            }
            if capacity.bursts == 0 {
                let accepted = "needs at least the duration of a burst at the rate of the link";
                let value = time(first.superframe_ps());
                return Some((number, Problem::new("superframe", value, accepted)));
            }
            let lead_ps = own.lead_ps(station.delay.0);
            let max_delay_ps = lead_ps.saturating_sub(own.processing_ps()) / 2;
            if station.delay.0 > max_delay_ps {
                let accepted = format!(
                    "needs a link delay of at most {}, not {}",
                    time(max_delay_ps),
                    time(station.delay.0)
                );
                return Some((number, Problem::new("preset", "sns3", accepted)));
            }
            if lead_ps / own.superframe_ps() > MAX_PLANS {
                let accepted = format!(
                    "needs at least {}, so that at most {MAX_PLANS} superframes are planned in advance",
                    time(lead_ps / MAX_PLANS)
                );
                return Some((number, Problem::new("superframe", time(own.superframe_ps()), accepted)));
            }
            if let Some(rules) = own.random_access(capacity) {
                if rules.slots > capacity.bursts || rules.slots < rules.replicas {
                    let accepted = format!(
                        "needs at least {}, the copies of a burst, and at most {}, the bursts of a superframe",
                        rules.replicas, capacity.bursts
                    );
                    return Some((
                        number,
                        Problem::new("random_access_slots", rules.slots.to_string(), accepted),
                    ));
                }
            }
            constant += own.account().constant_bursts;
            if own.account().constant_bursts > capacity.bursts || constant > capacity.bursts * capacity.carriers {
                let accepted = "needs constant rates that fit into the superframes of a carrier and of the beam";
                let value = format!("{} bit/s", own.constant_rate_bps);
                return Some((number, Problem::new("constant_rate", value, accepted)));
            }
            if own.constant_rate_bps == 0
                && own.free_rate_bps == 0
                && own.requests == Category::None
                && own.random_access.is_none()
            {
                let accepted = "needs rbdc or vbdc if there is no constant rate, free rate or random access";
                return Some((number, Problem::new("requests", "none", accepted)));
            }
        }
        None
    }

    fn cell_of(stations: &[NewStation<'_>], seed: u64) -> DvbRcs2 {
        DvbRcs2::new(stations, seed)
    }
}
