//! Parameters of CAKE, their bounds, and the facts that they determine.

use super::Cake;
use crate::policies::parameters::{Decides, Facts, Marks, Parameters};
use crate::queues::tin::TinShare;
use crate::queues::{AnyDisc, Discipline, NewPort, Queued};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// CAKE: a shaper, DiffServ tins, and fair queueing of hosts and flows with COBALT, as in Linux (sch_cake).
///
/// A flow's DSCP is its field 'class'. ECN-capable packets are marked instead of dropped, except by BLUE. A full buffer
/// drops from the longest queue.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct CakeConfig {
    /// Rate of the shaper, which counts packet lengths with overhead and framing; unlimited if absent; sch_cake
    /// bandwidth.
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    pub rate_bps: Option<u64>,
    /// Bytes added to the length of each IP packet [bytes]; sch_cake overhead.
    #[field(range = "[-64, 256]", default = 0)]
    pub overhead: i32,
    /// Framing of the line: 'atm', 53-byte cells of 48 bytes of payload, or 'ptm', one more byte for each 64; sch_cake.
    #[field(default = "none")]
    pub framing: CakeFraming,
    /// Minimum length of a packet with its overhead [bytes]; sch_cake mpu.
    #[field(range = "[0, 256]", default = 0)]
    pub mpu: u32,
    /// RTT for which COBALT is configured: its interval, and 20 times its target [time]; sch_cake rtt.
    #[field(range = "[1 us, 1000 s]", default = "100 ms")]
    pub rtt_ps: u64,
    /// Priority tins, selected by DSCP; each has priority up to its share of the rate; sch_cake.
    #[field(default = "diffserv3")]
    pub tins: CakeTins,
    /// Entities among which a tin's rate is shared: flows, hosts, or hosts and then their flows; sch_cake.
    #[field(default = "triple-isolate")]
    pub isolation: CakeIsolation,
    /// Remove ACKs that later ones in the queue make redundant; sch_cake ack-filter.
    #[field(default = "off")]
    pub ack_filter: CakeAckFilter,
    /// Count dropped packets as sent, for a bottleneck upstream of this queue; sch_cake ingress.
    #[field(default = false)]
    pub ingress: bool,
}

/// Encapsulation of packets on the wire.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CakeFraming {
    /// No encapsulation.
    None,
    /// ATM cells: 53 bytes each, which carry 48 bytes of payload.
    Atm,
    /// One additional byte per 64 bytes or part thereof (64b/65b).
    Ptm,
}

/// Mappings of DSCPs to tins.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CakeTins {
    /// One tin.
    Besteffort,
    /// Best effort, bulk and voice.
    Diffserv3,
    /// Best effort, bulk, video and voice.
    Diffserv4,
    /// Eight tins.
    Diffserv8,
    /// Eight tins, selected by the IP precedence (the upper three bits of the DSCP).
    Precedence,
}

/// Entities among which a tin's rate is shared equally.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CakeIsolation {
    /// No isolation: one queue.
    Flowblind,
    /// Sending hosts.
    Srchost,
    /// Receiving hosts.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Sending hosts, then the flows of each host.
    DualSrchost,
    /// Receiving hosts, then the flows of each host.
    DualDsthost,
    /// Sending and receiving hosts, then the flows of each host.
    TripleIsolate,
}

/// ACK filter.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CakeAckFilter {
    /// No filter.
    Off,
    /// Keeps one redundant ACK in addition to the latest ACK.
    On,
    /// Drops the redundant ACK that directly precedes the latest ACK.
    Aggressive,
}

impl CakeConfig {
    /// Returns the length [byte] of a packet on the wire, including overhead and framing.
    pub fn line_bytes(&self, bytes: u64) -> u64 {
        let length = (bytes as i64 + i64::from(self.overhead)).max(i64::from(self.mpu)) as u64;
        match self.framing {
            CakeFraming::None => length,
            CakeFraming::Atm => length.div_ceil(48) * 53,
            CakeFraming::Ptm => length + length.div_ceil(64),
        }
    }
}

impl Parameters for CakeConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue)
        .random()
        .marking(Marks::Capable)
        .costing(220);

    fn is_inert_without_queue(&self) -> bool {
        !self.shapes()
    }

    fn shapes(&self) -> bool {
        self.rate_bps.is_some()
    }

    fn queue_names(&self) -> Vec<String> {
        self.tins.names()
    }
}

impl Discipline for CakeConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        let mut random = port.random();
        let salt = random.below(u64::MAX);
        AnyDisc::Cake(Box::new(Cake::new(self, (port.endpoints)().into_iter(), salt, random)))
    }
}

impl CakeTins {
    /// Returns the index of the tin for a DSCP, as in sch_cake's tables (`precedence`, `diffserv3` and so on). Unknown
    /// codepoints are treated as best effort.
    pub(crate) fn of(self, dscp: u32) -> usize {
        match (self, dscp) {
            (CakeTins::Besteffort, _) => 0,
            (CakeTins::Precedence, 0..64) => (dscp >> 3) as usize,
            (CakeTins::Diffserv3 | CakeTins::Diffserv4, 1 | 8) => 1,
            (CakeTins::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (CakeTins::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (CakeTins::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            (CakeTins::Diffserv8, 1) => 0,
            (CakeTins::Diffserv8, 2 | 8 | 10 | 12 | 14) => 1,
            (CakeTins::Diffserv8, 24 | 26 | 28 | 30 | 34 | 36 | 38) => 3,
            (CakeTins::Diffserv8, 4 | 18 | 20 | 22) => 4,
            (CakeTins::Diffserv8, 16) => 5,
            (CakeTins::Diffserv8, 32 | 40 | 44 | 46) => 6,
            (CakeTins::Diffserv8, 48 | 56) => 7,
            (CakeTins::Diffserv8, _) => 2,
            (CakeTins::Precedence | CakeTins::Diffserv3 | CakeTins::Diffserv4, _) => 0,
        }
    }

    /// Returns the names of the tins, in the order of their indices.
    pub(crate) fn names(self) -> Vec<String> {
        let names: &[&str] = match self {
            CakeTins::Besteffort => &["best-effort"],
            CakeTins::Diffserv3 => &["best-effort", "bulk", "voice"],
            CakeTins::Diffserv4 => &["best-effort", "bulk", "video", "voice"],
            CakeTins::Diffserv8 | CakeTins::Precedence => return (0..8).map(|tin| format!("tin{tin}")).collect(),
        };
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Returns the share of each tin, as in sch_cake (`cake_config_diffserv3` and so on): shares halve with each shift; those
    /// of eight tins decrease by 7/8 from tin to tin.
    pub(crate) fn shares(self, rate: u64) -> Vec<TinShare> {
        let shifted = |shifts: &[u32]| {
            let share = |&shift: &u32| TinShare {
                rate: rate >> shift,
                quantum: 1024_i64 >> shift,
            };
            shifts.iter().map(share).collect()
        };
        match self {
            CakeTins::Besteffort => vec![TinShare { rate, quantum: 65_535 }],
            CakeTins::Diffserv3 => shifted(&[0, 4, 2]),
            CakeTins::Diffserv4 => shifted(&[0, 4, 1, 2]),
            CakeTins::Diffserv8 | CakeTins::Precedence => {
                let next = |share: &TinShare| {
                    Some(TinShare {
                        rate: (share.rate * 7) >> 3,
                        quantum: (share.quantum * 7) >> 3,
                    })
                };
                let first = TinShare { rate, quantum: 256 };
                std::iter::successors(Some(first), next).take(8).collect()
            }
        }
    }
}

impl CakeIsolation {
    /// Returns whether the hash that selects a packet's queue is that of its flow; otherwise it is that of the hosts that
    /// `hashes_hosts` selects.
    pub(crate) fn hashes_flow(self) -> bool {
        match self {
            CakeIsolation::Flowblind | CakeIsolation::Srchost | CakeIsolation::Dsthost | CakeIsolation::Hosts => false,
            CakeIsolation::Flows
            | CakeIsolation::DualSrchost
            | CakeIsolation::DualDsthost
            | CakeIsolation::TripleIsolate => true,
        }
    }

    /// Returns whether the hash that selects a packet's queue includes the sending host, and the receiving host.
    pub(crate) fn hashes_hosts(self) -> [bool; 2] {
        match self {
            CakeIsolation::Srchost => [true, false],
            CakeIsolation::Dsthost => [false, true],
            CakeIsolation::Hosts => [true, true],
            _ => [false, false],
        }
    }

    /// Returns whether a queue's quantum is divided by the number of bulk flows of its sending host, and of its
    /// receiving host.
    pub(crate) fn isolates(self) -> [bool; 2] {
        match self {
            CakeIsolation::DualSrchost => [true, false],
            CakeIsolation::DualDsthost => [false, true],
            CakeIsolation::TripleIsolate => [true, true],
            _ => [false, false],
        }
    }
}
