//! Parameters of a TCP connection, with all defaults filled in.

mod flat;
mod receiver_control;
mod timer;

pub use crate::congestion::{
    AimdConfig, CarefulResumeConfig, CongestionConfig, CongestionKind, RapidStartConfig, RateLimitedConfig,
    VegasConfig, DEFAULT_HZ,
};
use crate::described::{is_default, Described};
use crate::problem::Problem;
pub use crate::recovery::{
    NewRenoConfig, PipeStart, RackConfig, RecoveryConfig, RecoveryKind, RenoConfig, Rfc6675Config, SackConfig,
    TahoeConfig, TimerRestart, VanillaConfig,
};
use crate::segment::{header_bytes, AckSegment, ByteCounts, DataSegment, SackBlock, MAX_SACK_BLOCKS};
use crate::variant::MarkFeedback;
use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_json::FromJson;
pub use receiver_control::ReceiverControlConfig;
use serde::Serialize;
use strum::VariantNames;
pub use timer::{PhaseConfig, TimerConfig, LONGEST_RTO};

/// Sender and receiver of a TCP connection.
#[derive(Clone, Debug, Serialize, Described)]
#[described(name = "Tcp", input(ProfileInput, "recovery"), input(OptionsInput, "timer"))]
#[described(rule(
    "receiver_window",
    "receiver_window < mss",
    "{receiver_window}; needs at least one segment ({mss})"
))]
#[described(rule(
    "initial_ssthresh",
    "initial_ssthresh < mss",
    "{initial_ssthresh}; needs at least one segment ({mss})"
))]
#[described(rule(
    "initial_rtt",
    "handshake is true and initial_rtt > '0 s'",
    "{initial_rtt}; needs 0 s with a handshake, which measures the RTT",
    "initial_rtt",
    "0 s"
))]
#[described(rule(
    "preconnect",
    "handshake is true and preconnect > '0 s'",
    "{preconnect}; needs 0 s with a handshake, because data follow it at once"
))]
pub struct TcpConfig {
    /// Loss recovery, by name or with its options.
    #[field(default = "reno", profile("linux-6", { kind = "rack", dsack = true, frto = true, successive = true }))]
    pub recovery: RecoveryConfig,
    /// Congestion control, by name or with its options.
    #[field(default = "aimd", profile("linux-6", { kind = "cubic", rules = "linux" }))]
    pub congestion: CongestionConfig,
    /// Payload of a full segment [bytes]; ATM Forum/96-1761 section 3.1.
    #[field(range = "[1 B, 65000 B]", default = "512 B", profile("linux-6", "1448 B"))]
    pub mss_bytes: u32,
    /// Advertised window [bytes], or 'auto': twice the sum of the path's BDP and buffer; ATM Forum/96-1761 section 3.1
    /// (LAN; 600 KB on the WAN).
    #[field(
        range = "[1 B, 1 GiB]",
        word = "auto",
        default = "64 KiB",
        profile("linux-6", "auto")
    )]
    pub receiver_window_bytes: u64,
    /// Shift of the 16-bit window field, or 'as needed'; RFC 7323 section 2.
    #[field(range = "[0, 14]", word = "as needed", default = "as needed")]
    pub window_scale: u32,
    /// Initial cwnd [segments]; RFC 2001.
    #[field(
        range = "[1 segment, 1000000 segments]",
        default = "1 segment",
        profile("linux-6", "10 segments")
    )]
    pub initial_window_segments: u32,
    /// Initial ssthresh [bytes] or 'unlimited'; RFC 5681 section 3.1.
    #[field(range = "[1 B, 1 GiB]", word = "unlimited", default = "unlimited")]
    pub initial_ssthresh_bytes: Option<u64>,
    /// Lower ssthresh to the first RTT divided by the spacing of the second and third ACK; Hoe 1996.
    #[field(default = false)]
    pub estimate_ssthresh: bool,
    /// Duplicate ACKs that trigger a fast retransmit; RFC 5681 section 3.2.
    #[field(range = "[1, 1000]", default = 3)]
    pub duplicate_ack_threshold: u32,
    /// A fast retransmit restarts the retransmission timer, as in 4.4BSD and ns-2; if false, only ACKs of new data do;
    /// RFC 6298 section 5.
    #[field(default = true)]
    pub fast_retransmit_restarts_timer: bool,
    /// Minimum time between fast retransmits [time]; earlier duplicates trigger none.
    #[field(range = "[0 s, 100000 s]", default = "0 s")]
    pub fast_retransmit_interval_ps: u64,
    /// Delay a short segment while more data waits to be sent; RFC 1122 section 4.2.3.4.
    #[field(default = true)]
    pub silly_window_avoidance: bool,
    /// Return to the initial window after an idle period of one RTO; RFC 5681 section 4.1.
    #[field(default = false, profile("linux-6", true))]
    pub idle_restart: bool,
    /// RTT known before the first segment [time], as from a handshake; '0 s': none. It initializes SRTT, BBR's rate and
    /// Hybla's window.
    #[serde(skip_serializing_if = "is_default")]
    #[field(range = "[0 s, 1000 s]", default = "0 s", later)]
    pub initial_rtt_ps: u64,
    /// Time for which the connection is established and idle before its first segment [time]; Westwood and BBR of Linux
    /// measure from the handshake.
    #[serde(skip_serializing_if = "is_default")]
    #[field(range = "[0 s, 1000 s]", default = "0 s", later)]
    pub preconnect_ps: u64,
    /// SYN and SYN-ACK cross the path before data, and give the first RTT sample; a lost one is retransmitted after the
    /// initial RTO; RFC 9293 section 3.5, RFC 6298 section 5.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = false, profile("linux-6", true), later)]
    pub handshake: bool,
    /// Pace segments at 2 cwnd/SRTT in early slow start and 1.2 cwnd/SRTT later, as in Linux; if false, transmission is
    /// ACK-clocked; BBR always paces, at its own rate.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = false, later)]
    pub pacing: bool,
    /// Maximum burst of a paced sender [segments]; 'unlimited': the data of 1/1024 s, at least two segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[field(
        range = "[1 segment, 65535 segments]",
        word = "unlimited",
        default = "unlimited",
        later
    )]
    pub pacing_burst_segments: Option<u32>,
    /// Ticks per second of the kernel clock: of congestion controls by Linux's rules (CUBIC, BIC, H-TCP, Westwood),
    /// RACK's reordering timer, delayed ACKs with ack = 'linux', and modules; Linux CONFIG_HZ.
    #[serde(skip_serializing_if = "is_default_hz")]
    #[field(range = "[24, 1024]", default = 250, later)]
    pub hz: u32,
    /// Careful Resume, a start with the window of an earlier connection: off, previous or saved; RFC 9959.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = "off", later)]
    pub careful_resume: CarefulResumeConfig,
    /// Rapid Start, growth to three times the window per RTT while RTTs show no queue: off, draft or quicly;
    /// draft-kazuho-ccwg-rapid-start.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = "off", later)]
    pub rapid_start: RapidStartConfig,
    /// Growth of the window while it is not full: by the congestion control (the default), none, linux, rfc9002 or ietf.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = "control", later)]
    pub rate_limited: RateLimitedConfig,
    /// Retransmission timer: coarse or fine.
    #[field(default = "coarse", profile("linux-6", { kind = "fine", granularity = "200 ms", min_rto = "200 ms", max_rto = "120 s", timestamps = true }))]
    pub timer: TimerConfig,
    /// ACK policy of the receiver: immediate, delayed or linux.
    #[field(default = "immediate", profile("linux-6", { kind = "linux", least_round_trip = true, sack_delay = "1.1 ms" }))]
    pub ack: AckConfig,
    /// Congestion control by the receiver, in addition to that of the sender: off or rledbat; RFC 9840.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = "off", later)]
    pub receiver_control: ReceiverControlConfig,
    /// Explicit congestion notification, and how receivers echo marks: off, classic, dctcp or accurate.
    #[serde(skip_serializing_if = "is_default")]
    #[field(default = "off", later)]
    pub ecn: EcnConfig,
}

/// Named defaults of connections.
#[derive(Clone, Copy, Debug, Serialize, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The default of each field.
    Classic,
    /// Linux 6 over Ethernet. A granularity of 200 ms gives RTO = SRTT + max(4 RTTVAR, 200 ms).
    #[serde(rename = "linux-6")]
    Linux6,
}

/// The field that users write in place of the fields of a connection.
#[derive(Clone, Debug, Described)]
pub struct ProfileInput {
    /// Defaults of the other fields: 'linux-6' for those of Linux 6 (CUBIC, RACK-TLP, timestamps, an initial window of
    /// 10 segments), or 'classic' for the listed default of each field.
    #[field(default = "classic", profile("modern", "linux-6"))]
    pub profile: Profile,
}

/// Options of loss recoveries, which remain while another recovery is selected.
#[derive(Clone, Debug, Described)]
pub struct OptionsInput {
    /// Options of Tahoe.
    #[field(default = {}, later)]
    pub tahoe: TahoeConfig,
    /// Options of Reno.
    #[field(default = {})]
    pub reno: RenoConfig,
    /// Options of NewReno.
    #[field(default = {})]
    pub newreno: NewRenoConfig,
    /// Options of SACK.
    #[field(default = {})]
    pub sack: SackConfig,
}

fn is_default_hz(hz: &u32) -> bool {
    *hz == DEFAULT_HZ
}

/// Explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EcnConfig {
    /// Packets are not ECN-capable.
    #[described(name = "EcnOff")]
    Off {},
    /// Classic ECN: ACKs carry ECE until the sender sets CWR; one reduction per window (RFC 3168).
    #[described(name = "EcnClassic")]
    Classic {
        /// Alternative backoff: a mark multiplies the window by 0.85 (CUBIC) or 0.8 (Reno); RFC 8511.
        #[serde(default)]
        #[field(default = false)]
        abe: bool,
    },
    /// ACKs report for all data whether it was marked (RFC 8257 section 3.2).
    #[described(name = "EcnDctcp", input(CodepointInput))]
    Dctcp {},
    /// Accurate ECN: ACKs count CE packets in 3 bits; the first and every second CE is reported at once (RFC 9768).
    #[described(name = "EcnAccurate", input(CodepointInput, "option"))]
    Accurate {
        /// Alternative backoff: a mark multiplies the window by 0.85 (CUBIC) or 0.8 (Reno); RFC 8511.
        #[serde(default)]
        #[field(default = false)]
        abe: bool,
        /// ACKs also count marked bytes in the AccECN option of 12 bytes, or 8 with two SACK blocks; RFC 9768 section
        /// 3.2.3.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(default = false, later)]
        option: bool,
    },
}

/// The codepoint, which the core has as a property of the flow's packets.
#[derive(Clone, Debug, Described)]
pub struct CodepointInput {
    /// Codepoint of data packets: ECT(0), or ECT(1) for low-latency (L4S) queues; RFC 9331 section 4.1.
    #[field(values("0", "1"), default = 0, later)]
    pub ect: u32,
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

    /// Returns whether every ACK carries a counter of marked packets (Accurate ECN).
    pub fn counts_marks(&self) -> bool {
        matches!(self, EcnConfig::Accurate { .. })
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
        let starts_paced = !self.careful_resume.is_off() || !self.rapid_start.is_off();
        self.pacing || self.congestion.facts().is_model || starts_paced
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

    /// Returns whether ACKs advertise different windows.
    pub fn window_varies(&self) -> bool {
        self.advertises_growth() || !self.receiver_control.is_off()
    }

    /// Returns the receiver window [byte] that the sender assumes before the first ACK. rLEDBAT starts with the initial
    /// window of the connection.
    pub fn first_window(&self) -> u64 {
        let most = self.advertised_window();
        let window = if self.advertises_growth() {
            first_window(most, self.mss_bytes)
        } else {
            most
        };
        let initial = u64::from(self.initial_window_segments) * u64::from(self.mss_bytes);
        if self.receiver_control.is_off() {
            window
        } else {
            window.min(initial)
        }
    }

    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        self.problem_of_sizes()
            .or_else(|| self.problem_of_variants())
            .or_else(|| self.problem_of_start())
            .or_else(|| self.problem_of_clock_and_thresholds())
            .or_else(|| self.problem_of_marks())
            .or_else(|| self.ack.problem())
            .or_else(|| self.timer.problem().map(|problem| problem.within("timer")))
    }

    /// Returns the first problem of the segment size, the receiver window and its scale.
    fn problem_of_sizes(&self) -> Option<Problem> {
        if !(1..=65_000).contains(&self.mss_bytes) {
            return Some(Problem::new("mss", self.mss_bytes, "needs 1 to 65 000 bytes"));
        }
        if !(u64::from(self.mss_bytes)..=MAX_WINDOW_BYTES).contains(&self.receiver_window_bytes) {
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
        None
    }

    /// Returns the first problem of congestion control and loss recovery, of what starts or limits the window in their
    /// place, and of the timer that the control needs.
    fn problem_of_variants(&self) -> Option<Problem> {
        let congestion = self.congestion.invalid().map(|problem| problem.within("congestion"));
        if let Some(problem) = congestion.or_else(|| self.recovery.invalid().map(|problem| problem.within("recovery")))
        {
            return Some(problem);
        }
        let (control, recovery) = (self.congestion.facts(), self.recovery.facts());
        if control.is_model && !recovery.detects_each_loss {
            let recovery = RecoveryKind::VARIANTS[self.recovery.kind() as usize];
            let accepted = "needs 'rack' with this congestion control, which requires each loss to be detected";
            return Some(Problem::new("recovery", recovery, accepted));
        }
        let has_window = !matches!(self.congestion, CongestionConfig::Module(_)) && !control.is_model;
        let starts = [
            ("careful_resume", self.careful_resume.is_off()),
            ("rapid_start", self.rapid_start.is_off()),
        ];
        for (field, is_off) in starts {
            if !(is_off || has_window && recovery.detects_each_loss) {
                let accepted = "needs recovery = rack and a congestion control that sets only a window";
                return Some(Problem::new(field, "on", accepted));
            }
        }
        if starts.iter().all(|(_, is_off)| !is_off) {
            let accepted = "needs off with rapid_start, because each sets the window in the first recovery";
            return Some(Problem::new("careful_resume", "on", accepted));
        }
        if !self.rate_limited.is_by_control() && !has_window {
            let accepted = "needs control, because this congestion control sets more than a window";
            return Some(Problem::new("rate_limited", "another rule", accepted));
        }
        if let Some(problem) = self.careful_resume.problem() {
            return Some(problem);
        }
        if !self.receiver_control.is_off() && !self.timestamps() {
            let accepted = "needs fine, with timestamps, for receiver_control = rledbat, which measures RTTs";
            return Some(Problem::new("timer", "a timer without timestamps", accepted));
        }
        if control.measures_delay && !self.timestamps() {
            let name = self.congestion_name();
            let accepted =
                format!("needs fine, with timestamps, for congestion = {name}, which measures one-way delays");
            return Some(Problem::new("timer", "a timer without timestamps", accepted));
        }
        None
    }

    /// Returns the first problem of the initial window, and of the RTT and the time before the first segment.
    fn problem_of_start(&self) -> Option<Problem> {
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
        None
    }

    /// Returns the first problem of the kernel clock, the burst of the pacer and the duplicate threshold.
    fn problem_of_clock_and_thresholds(&self) -> Option<Problem> {
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
        None
    }

    /// Returns a problem if ACKs report fewer marks than the congestion control needs.
    fn problem_of_marks(&self) -> Option<Problem> {
        let counts_marks = self.ecn.counts_marks();
        let reports_share = counts_marks || matches!(self.ecn, EcnConfig::Dctcp {});
        let (mode, needed_modes) = match self.congestion.facts().needs_marks {
            MarkFeedback::Count if !counts_marks => ("a mode without Accurate ECN", "accurate"),
            MarkFeedback::Share if !reports_share => ("a mode without feedback for each packet", "dctcp or accurate"),
            _ => return None,
        };
        let accepted = format!("needs {needed_modes} for congestion = {}", self.congestion_name());
        Some(Problem::new("ecn", mode, accepted))
    }

    /// Returns the name of the congestion control's kind.
    fn congestion_name(&self) -> &'static str {
        CongestionKind::VARIANTS[self.congestion.kind() as usize]
    }
}

/// Half of a socket's initial buffer [byte] (tcp_rmem). The initial window leaves room for one segment
/// (tcp_init_buffer_space).
pub const INITIAL_BOUND: u64 = 65_536;
/// Returns the window of the SYN-ACK, in whole segments [byte] (tcp_select_initial_window). `limit` is the largest
/// window [byte].
pub fn first_window(limit: u64, mss: u32) -> u64 {
    let (first, mss) = (INITIAL_BOUND.min(limit), u64::from(mss));
    (first / mss * mss).max(mss)
}

/// Values of CONFIG_HZ for which Linux's arithmetic is valid.
const HZ: std::ops::RangeInclusive<u32> = 24..=1024;
/// Upper limit [ps] of the idle time between the handshake and the first segment.
const LONGEST_PRECONNECT: u64 = 1_000 * PS_PER_SECOND;
/// Maximum timeout of a delayed ACK [ps].
pub const LONGEST_ACK_DELAY: u64 = 1_000 * PS_PER_SECOND;
/// Largest receiver window [byte]: 1 GiB.
pub const MAX_WINDOW_BYTES: u64 = 1 << 30;
/// Largest value of the window field.
pub const MAX_WINDOW_FIELD: u64 = 65_535;
/// Largest shift of the window field (RFC 7323 section 2.3).
pub const MAX_WINDOW_SCALE: u32 = 14;

/// Rule that determines when ACKs are sent.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AckConfig {
    /// An immediate ACK for each segment.
    Immediate {},
    /// Delayed ACKs: one for every n-th segment, or after a timeout (RFC 1122 4.2.3.2).
    Delayed {
        /// Number of segments after which an ACK is sent [segments]; RFC 1122 4.2.3.2.
        #[field(range = "[1 segment, 65535 segments]", unit = "segments", default = "2 segments")]
        segments: u32,
        /// Maximum delay of an ACK [time]; BSD's fast timer.
        #[field(range = "[1 ps, 1000 s]", default = "200 ms")]
        timeout_ps: u64,
        /// Number of initial segments with immediate ACKs (quick ACKs); 16 in Linux.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(range = "[0, 1000000]", default = 0, later)]
        quick: u32,
    },
    /// Linux's ACK policy: immediate at the start and while the receive window grows, otherwise every second segment.
    ///
    /// The receive window starts at 64 KiB and grows by two segments per arriving segment, up to a limit that follows
    /// the data read per RTT (tcp_input.c, 6.1). The policy needs timestamps. The growing window limits the sender only
    /// with `growing_window`; otherwise `receiver_window` is advertised from the start.
    #[described(name = "LinuxAcks")]
    Linux {
        /// Minimum timeout of a delayed ACK, rounded up to the next tick of `tcp.hz` [time]; doubles up to the RTT
        /// whenever no second segment arrives; Linux TCP_ATO_MIN.
        #[field(range = "[1 ps, 1000 s]", default = "40 ms")]
        timeout_ps: u64,
        /// Number of initial segments with immediate ACKs (quick ACKs); Linux.
        #[field(range = "[0, 1000000]", default = 16)]
        quick: u32,
        /// ACK compression: after four ACKs at a new hole, one ACK with SACK blocks is sent per interval, the smaller
        /// of this time and RTT/20, or earlier after 44 segments or when data fill a third range beyond the hole
        /// [time]; 1.1 ms in Linux including timer slack; '0 s' disables it.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(range = "[0 s, 1000 s]", default = "0 s", later)]
        sack_delay_ps: u64,
        /// Whether the receiver-side RTT estimate adopts a smaller sample at once, and moves by 1/8 of the difference
        /// towards a larger one; Linux 6.1.176.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(default = false, later)]
        least_round_trip: bool,
        /// Interval at which the sender's application fills its buffer of at least 1538 segments, in calls of 64 KiB
        /// [time]; '0 s' means that one call waits until a third of the buffer is free. It belongs to the ACK policy
        /// because receivers acknowledge the last segment of each call (PSH) at once; Linux 6.1.176.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(range = "[0 s, 1000 s]", default = "0 s", later)]
        write_every_ps: u64,
        /// Whether ACKs advertise the receive window while it grows from 64 KiB up to `receiver_window`, so that it
        /// limits the sender; otherwise, they advertise `receiver_window` from the start; Linux tcp_moderate_rcvbuf.
        #[serde(default, skip_serializing_if = "is_default")]
        #[field(default = false, later)]
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
            rapid_start: RapidStartConfig::default(),
            rate_limited: RateLimitedConfig::default(),
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
            receiver_control: ReceiverControlConfig::Off,
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
