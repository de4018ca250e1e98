//! Parameters of a TCP connection, with all defaults filled in.

mod flat;
mod timer;

use crate::congestion::CarefulResumeConfig;
pub use crate::congestion::{AimdConfig, CongestionConfig, CongestionKind, VegasConfig, DEFAULT_HZ};
use crate::described::is_default;
use crate::problem::Problem;
pub use crate::recovery::{
    NewRenoConfig, PipeStart, RackConfig, RecoveryConfig, RecoveryKind, RenoConfig, Rfc6675Config, SackConfig,
    TahoeConfig, TimerRestart, VanillaConfig,
};
use crate::segment::{header_bytes, AckSegment, ByteCounts, DataSegment, SackBlock, MAX_SACK_BLOCKS};
use crate::variant::MarkFeedback;
use longpipe_events::{Time, PS_PER_SECOND};
use serde::{Deserialize, Serialize};
use strum::VariantNames;
pub use timer::{PhaseConfig, TimerConfig, LONGEST_RTO};

/// Parameters of one connection's sender and receiver.
#[derive(Clone, Debug, Serialize)]
pub struct TcpConfig {
    /// Loss recovery: which segments are retransmitted, and when.
    pub recovery: RecoveryConfig,
    /// Congestion control: how much may be in flight.
    pub congestion: CongestionConfig,
    /// Payload of a full segment [byte].
    pub mss_bytes: u32,
    /// Window that the receiver advertises [byte].
    pub receiver_window_bytes: u64,
    /// Shift of the window field (RFC 7323 section 2); the field itself holds 16 bits.
    pub window_scale: u32,
    /// cwnd at the start of a connection and after an idle restart [segment].
    pub initial_window_segments: u32,
    /// Initial ssthresh [byte]; unlimited if None.
    pub initial_ssthresh_bytes: Option<u64>,
    /// Whether to lower ssthresh to the bandwidth-delay product estimated from the first three ACKs (Hoe 1996).
    pub estimate_ssthresh: bool,
    /// Number of duplicate ACKs that triggers a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// Whether a fast retransmit restarts the retransmission timer (4.4BSD). Otherwise only ACKs of new data do (RFC
    /// 6298 section 5).
    pub fast_retransmit_restarts_timer: bool,
    /// Minimum interval between fast retransmits [ps]; duplicate ACKs that arrive earlier trigger none.
    pub fast_retransmit_interval_ps: u64,
    /// Whether to delay a short segment while more data are waiting (silly window avoidance, RFC 1122 section 4.2.3.4).
    pub silly_window_avoidance: bool,
    /// Whether to reset cwnd to the initial window after an idle period of more than one RTO (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Round-trip time [ps] that is known before the first segment is sent, for example from an earlier handshake; 0 if
    /// unknown.
    #[serde(skip_serializing_if = "is_default")]
    pub initial_rtt_ps: u64,
    /// Idle time [ps] between the establishment of the connection and its first segment.
    #[serde(skip_serializing_if = "is_default")]
    pub preconnect_ps: u64,
    /// Whether to simulate the three-way handshake. The round-trip time is then measured, and `initial_rtt_ps` is 0.
    #[serde(skip_serializing_if = "is_default")]
    pub handshake: bool,
    /// Whether to pace segments at a rate derived from cwnd. A congestion controller that sets a pacing rate paces
    /// regardless of this field.
    #[serde(skip_serializing_if = "is_default")]
    pub pacing: bool,
    /// Maximum burst of a paced sender [segment]; derived from the rate if None.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_burst_segments: Option<u32>,
    /// Ticks per second of the kernel's clock (CONFIG_HZ), for congestion controllers that follow Linux's code.
    #[serde(skip_serializing_if = "is_default_hz")]
    pub hz: u32,
    /// Source of the parameters that an earlier connection has saved (Careful Resume, RFC 9959).
    #[serde(skip_serializing_if = "CarefulResumeConfig::is_off")]
    pub careful_resume: CarefulResumeConfig,
    /// Retransmission timer.
    pub timer: TimerConfig,
    /// Acknowledgement rule of the receiver.
    pub ack: AckConfig,
    /// ECN mode.
    #[serde(skip_serializing_if = "EcnConfig::is_off")]
    pub ecn: EcnConfig,
}

fn is_default_hz(hz: &u32) -> bool {
    *hz == DEFAULT_HZ
}

/// Explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum EcnConfig {
    /// No packet can be marked.
    Off {},
    /// The receiver sets ECE on all ACKs after a mark until the sender signals CWR.
    Classic {
        /// ABE: a mark reduces the window less than a loss does (RFC 8511).
        #[serde(default)]
        abe: bool,
    },
    /// ACKs report for every segment whether it was marked (DCTCP, RFC 8257 section 3.2).
    Dctcp {},
    /// Every ACK carries a three-bit counter of marked packets (Accurate ECN, RFC 9768).
    Accurate {
        /// ABE, as in `Classic`.
        #[serde(default)]
        abe: bool,
        /// ACKs also carry byte counters in the AccECN option (section 3.2.3).
        #[serde(default, skip_serializing_if = "is_default")]
        option: bool,
    },
}

impl Default for EcnConfig {
    fn default() -> EcnConfig {
        EcnConfig::Off {}
    }
}

impl EcnConfig {
    /// Returns whether ACKs carry byte counters in an option.
    pub fn counts_bytes(&self) -> bool {
        matches!(self, EcnConfig::Accurate { option: true, .. })
    }

    /// Returns whether ECN is off.
    pub fn is_off(&self) -> bool {
        matches!(self, EcnConfig::Off {})
    }
}

impl TcpConfig {
    /// Returns the smallest window scale with which the receiver's window fits into the 16-bit field. A window of 1 GiB
    /// exceeds the largest value by one unit and is accepted.
    pub fn least_window_scale(receiver_window_bytes: u64) -> u32 {
        (0..MAX_WINDOW_SCALE)
            .find(|scale| receiver_window_bytes >> scale <= MAX_WINDOW_FIELD)
            .unwrap_or(MAX_WINDOW_SCALE)
    }

    /// Returns whether every segment carries a timestamp option.
    pub fn timestamps(&self) -> bool {
        matches!(self.timer, TimerConfig::Fine { timestamps: true, .. })
    }

    /// Returns whether the sender is paced.
    pub fn paces(&self) -> bool {
        self.pacing || self.congestion.facts().is_model || !self.careful_resume.is_off()
    }

    /// Returns the maximum lengths [byte] of an IP packet with data and of an IP packet with an ACK.
    pub fn largest_packets_bytes(&self) -> (u32, u32) {
        let timestamp = self.timestamps().then_some(Time::ZERO);
        let data = DataSegment {
            length: self.mss_bytes,
            timestamp: timestamp.into(),
            ..DataSegment::default()
        };
        let mut ack = AckSegment {
            echo: timestamp.into(),
            ..AckSegment::default()
        };
        if self.ecn.counts_bytes() {
            ack.counts = ByteCounts::new(0, 0);
        }
        if self.recovery.facts().sack_blocks > 0 {
            ack.blocks[..self.room_for_blocks()].fill(SackBlock::new(1, 2));
        }
        let opening = if self.handshake {
            header_bytes(timestamp) + u32::from(self.syn_bytes())
        } else {
            0
        };
        (data.packet_bytes().max(opening), ack.packet_bytes().max(opening))
    }

    /// Returns the maximum number of SACK blocks in an ACK. With timestamps and byte counters, only two blocks fit.
    pub(crate) fn room_for_blocks(&self) -> usize {
        if self.ecn.counts_bytes() && self.timestamps() {
            2
        } else {
            MAX_SACK_BLOCKS
        }
    }

    /// Returns the option bytes that only a SYN carries: MSS, window scale, and SACK-permitted if it does not fit into
    /// the padding of the timestamp option.
    pub(crate) fn syn_bytes(&self) -> u8 {
        let alone = self.recovery.facts().sack_blocks > 0 && !self.timestamps();
        8 + if alone { 4 } else { 0 }
    }

    /// Returns the receiver window [byte] as the sender sees it: the 16-bit field times 2^window_scale.
    pub fn advertised_window(&self) -> u64 {
        (self.receiver_window_bytes >> self.window_scale).min(MAX_WINDOW_FIELD) << self.window_scale
    }

    /// Returns whether the advertised window grows like Linux's receive buffer.
    pub fn advertises_growth(&self) -> bool {
        matches!(
            self.ack,
            AckConfig::Linux {
                growing_window: true,
                ..
            }
        )
    }

    /// Returns the receiver window [byte] that the sender assumes before the first ACK.
    pub fn first_window(&self) -> u64 {
        if self.advertises_growth() {
            first_window(self.advertised_window(), self.mss_bytes)
        } else {
            self.advertised_window()
        }
    }

    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        if !(1..=65_000).contains(&self.mss_bytes) {
            return Some(Problem::new("mss", self.mss_bytes, "needs 1 to 65 000 bytes"));
        }
        if !(u64::from(self.mss_bytes)..=1 << 30).contains(&self.receiver_window_bytes) {
            return Some(Problem::new(
                "receiver_window",
                self.receiver_window_bytes,
                format!(
                    "needs at least one segment ({} bytes) and at most 1 GiB",
                    self.mss_bytes
                ),
            ));
        }
        let least = TcpConfig::least_window_scale(self.receiver_window_bytes);
        if !(least..=MAX_WINDOW_SCALE).contains(&self.window_scale) {
            return Some(Problem::new(
                "window_scale",
                self.window_scale,
                format!(
                    "needs {least} to {MAX_WINDOW_SCALE} for a window of {} bytes",
                    self.receiver_window_bytes
                ),
            ));
        }
        if let Some(problem) = self.congestion.problem().or_else(|| self.recovery.problem()) {
            return Some(problem);
        }
        let (control, recovery) = (self.congestion.facts(), self.recovery.facts());
        let name = CongestionKind::VARIANTS[self.congestion.kind() as usize];
        if control.is_model && !recovery.detects_each_loss {
            let recovery = RecoveryKind::VARIANTS[self.recovery.kind() as usize];
            let accepted = "needs 'rack' with this congestion control, which requires each loss to be detected";
            return Some(Problem::new("recovery", recovery, accepted));
        }
        if !self.careful_resume.is_off() {
            let has_window = !matches!(self.congestion, CongestionConfig::Module(_)) && !control.is_model;
            if !has_window || !recovery.detects_each_loss {
                let accepted = "needs recovery = rack and a congestion control that sets only a window";
                return Some(Problem::new("careful_resume", "on", accepted));
            }
        }
        if let Some(problem) = self.careful_resume.problem() {
            return Some(problem);
        }
        if control.measures_delay && !self.timestamps() {
            let accepted =
                format!("needs fine, with timestamps, for congestion = {name}, which measures one-way delays");
            return Some(Problem::new("timer", "a timer without timestamps", accepted));
        }
        if !(1..=1_000_000).contains(&self.initial_window_segments) {
            let accepted = "needs 1 to 1 000 000 segments";
            return Some(Problem::new("initial_window", self.initial_window_segments, accepted));
        }
        if self.initial_rtt_ps > LONGEST_RTO {
            let accepted = "needs at most 100 000 s, in ps";
            return Some(Problem::new("initial_rtt", self.initial_rtt_ps, accepted));
        }
        if self.handshake && self.initial_rtt_ps > 0 {
            let accepted = "needs 0 with handshake, which measures it";
            return Some(Problem::new("initial_rtt", self.initial_rtt_ps, accepted));
        }
        if self.handshake && self.preconnect_ps > 0 {
            let accepted = "needs 0 with handshake, because data follow it immediately";
            return Some(Problem::new("preconnect", self.preconnect_ps, accepted));
        }
        if self.preconnect_ps > LONGEST_PRECONNECT {
            let accepted = "needs at most 1000 s, in ps";
            return Some(Problem::new("preconnect", self.preconnect_ps, accepted));
        }
        if !HZ.contains(&self.hz) {
            let accepted = format!("needs {} to {}", HZ.start(), HZ.end());
            return Some(Problem::new("hz", self.hz, accepted));
        }
        if self.pacing_burst_segments == Some(0) {
            return Some(Problem::new("pacing_burst", 0, "needs at least 1 segment"));
        }
        if self.duplicate_ack_threshold == 0 {
            return Some(Problem::new("duplicate_ack_threshold", 0, "needs at least 1"));
        }
        let (count, share) = match self.ecn {
            EcnConfig::Accurate { .. } => (true, true),
            EcnConfig::Dctcp {} => (false, true),
            EcnConfig::Off {} | EcnConfig::Classic { .. } => (false, false),
        };
        let missing = match control.needs_marks {
            MarkFeedback::Count if !count => Some(("a mode without Accurate ECN", "accurate")),
            MarkFeedback::Share if !share => Some(("a mode without feedback for each packet", "dctcp or accurate")),
            _ => None,
        };
        if let Some((mode, modes)) = missing {
            let accepted = format!("needs {modes} for congestion = {name}");
            return Some(Problem::new("ecn", mode, accepted));
        }
        self.ack
            .problem()
            .or_else(|| self.timer.problem().map(|problem| problem.within("timer")))
    }
}

/// Half of a socket's initial buffer [byte] (tcp_rmem). The initial window leaves room for one segment
/// (tcp_init_buffer_space).
pub const INITIAL_BOUND: u64 = 65_536;
/// Returns the window of the SYN-ACK, in whole segments [byte] (tcp_select_initial_window). `most` is the largest
/// window [byte].
pub fn first_window(most: u64, mss: u32) -> u64 {
    let (first, mss) = (INITIAL_BOUND.min(most), u64::from(mss));
    (first / mss * mss).max(mss)
}

/// Values of CONFIG_HZ for which Linux's arithmetic is valid.
const HZ: std::ops::RangeInclusive<u32> = 24..=1024;
/// Largest value of the window field.
pub const MAX_WINDOW_FIELD: u64 = 65_535;
/// Largest shift of the window field (RFC 7323 section 2.3).
pub const MAX_WINDOW_SCALE: u32 = 14;
/// Upper limit [ps] of the idle time between the handshake and the first segment.
const LONGEST_PRECONNECT: u64 = 1_000 * PS_PER_SECOND;
/// Maximum timeout of a delayed ACK [ps].
pub const LONGEST_ACK_DELAY: u64 = 1_000 * PS_PER_SECOND;

/// Rule that determines when ACKs are sent.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum AckConfig {
    /// Each segment is acknowledged at once.
    Immediate {},
    /// An ACK is sent for every `segments`-th segment, or after `timeout_ps` (RFC 1122 section 4.2.3.2).
    Delayed {
        /// Number of segments that trigger an ACK.
        segments: u32,
        /// Longest delay [ps].
        timeout_ps: u64,
        /// Number of segments at the start of the connection that are acknowledged at once (Linux: quick ACKs);
        /// serialized only if it is not 0.
        #[serde(default, skip_serializing_if = "is_default")]
        quick: u32,
    },
    /// Linux's rule: the first segments are acknowledged at once; if timestamps are on, so are all segments while the
    /// receive window grows. Otherwise, every second segment is acknowledged.
    Linux {
        /// Longest delay [ps].
        timeout_ps: u64,
        /// Number of segments at the start of the connection that are acknowledged at once.
        quick: u32,
        /// Maximum delay of an ACK of out-of-order data, after the first three such ACKs [ps] (Linux: SACK
        /// compression); 0 disables compression. Serialized only if it is not 0.
        #[serde(default, skip_serializing_if = "is_default")]
        sack_delay_ps: u64,
        /// Whether the receiver's RTT estimate adopts a shorter RTT immediately, as in Linux 6.1.176. Serialized only
        /// if true.
        #[serde(default, skip_serializing_if = "is_default")]
        least_round_trip: bool,
        /// Interval at which the application fills the sender's buffer [ps]; 0: the application waits until a third of
        /// the buffer is free. Serialized only if it is not 0.
        #[serde(default, skip_serializing_if = "is_default")]
        write_every_ps: u64,
        /// Whether ACKs advertise a window that grows from 64 KiB up to `receiver_window_bytes` (Linux:
        /// tcp_moderate_rcvbuf); otherwise `receiver_window_bytes` is advertised from the start. Serialized only if
        /// true.
        #[serde(default, skip_serializing_if = "is_default")]
        growing_window: bool,
    },
}

impl AckConfig {
    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        match *self {
            AckConfig::Delayed {
                segments, timeout_ps, ..
            } if segments == 0 || timeout_ps == 0 || timeout_ps > LONGEST_ACK_DELAY => {
                let value = format!("{segments} segments, {timeout_ps} ps");
                let accepted = "needs at least one segment and a timeout of up to 1000 s";
                Some(Problem::new("ack", value, accepted))
            }
            AckConfig::Linux { timeout_ps, .. } if timeout_ps == 0 || timeout_ps > LONGEST_ACK_DELAY => {
                let accepted = "needs a timeout of up to 1000 s";
                Some(Problem::new("ack", format!("{timeout_ps} ps"), accepted))
            }
            AckConfig::Linux { sack_delay_ps, .. } if sack_delay_ps > LONGEST_ACK_DELAY => {
                let accepted = "needs at most 1000 s";
                Some(Problem::new("ack.sack_delay", format!("{sack_delay_ps} ps"), accepted))
            }
            AckConfig::Linux { write_every_ps, .. } if write_every_ps > LONGEST_ACK_DELAY => {
                let accepted = "needs at most 1000 s";
                Some(Problem::new(
                    "ack.write_every",
                    format!("{write_every_ps} ps"),
                    accepted,
                ))
            }
            AckConfig::Delayed { .. } | AckConfig::Linux { .. } | AckConfig::Immediate {} => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a Reno configuration with a coarse clock.
    pub fn config() -> TcpConfig {
        TcpConfig {
            recovery: RecoveryConfig::Reno(RenoConfig {
                guard: false,
                deflate_on_timeout: false,
                guard_timeouts_only: false,
                inflate_always: false,
            }),
            congestion: CongestionConfig::Aimd(AimdConfig { byte_counting: false }),
            mss_bytes: 512,
            receiver_window_bytes: 65_536,
            window_scale: 1,
            initial_window_segments: 1,
            initial_ssthresh_bytes: None,
            estimate_ssthresh: false,
            duplicate_ack_threshold: 3,
            fast_retransmit_restarts_timer: true,
            fast_retransmit_interval_ps: 0,
            silly_window_avoidance: true,
            idle_restart: false,
            initial_rtt_ps: 0,
            preconnect_ps: 0,
            handshake: false,
            pacing: false,
            pacing_burst_segments: None,
            hz: DEFAULT_HZ,
            careful_resume: CarefulResumeConfig::default(),
            timer: TimerConfig::Coarse {
                tick_ps: 100_000_000_000,
                phase: PhaseConfig::Common {},
                min_rto_ticks: 2,
                max_rto_ticks: 640,
                initial_rto_ticks: 30,
                count_from_one: true,
                expires_on_tick: true,
            },
            ack: AckConfig::Immediate {},
            ecn: EcnConfig::Off {},
        }
    }

    #[test]
    fn rfc_7323_section_2_the_window_field_has_16_bits_and_a_shift() {
        let window = |receiver_window_bytes, window_scale| {
            let config = TcpConfig {
                receiver_window_bytes,
                window_scale,
                ..config()
            };
            config.advertised_window()
        };
        assert_eq!(window(65_535, 0), 65_535);
        assert_eq!(window(65_536, 0), 65_535);
        assert_eq!(window(65_536, 1), 65_536);
        assert_eq!(window(600_000, 4), 600_000);
        assert_eq!(window(2_500_000, 6), 2_499_968);
        assert_eq!(window(1 << 30, 14), 65_535 << 14);
    }
}
