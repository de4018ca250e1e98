//! Parameters of a TCP connection, fully resolved.

use crate::segment::{AckSegment, DataSegment, SackBlock};
use longpipe_events::Time;
use serde::Deserialize;
use strum::{EnumIter, VariantNames};

/// Everything that shapes one connection's two end points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpConfig {
    /// What is resent after a loss.
    pub recovery: RecoveryKind,
    /// How much may be in flight.
    pub congestion: CongestionKind,
    /// Payload of a full segment [byte].
    pub mss_bytes: u32,
    /// Window the receiver advertises [byte].
    pub receiver_window_bytes: u64,
    /// Shift of the window field (RFC 7323 section 2); the field itself holds 16 bits.
    pub window_scale: u32,
    /// cwnd at the start and after idle restart [segment].
    pub initial_window_segments: u32,
    /// ssthresh at the start [byte]; none: unbounded.
    pub initial_ssthresh_bytes: Option<u64>,
    /// Lower ssthresh to the bandwidth-delay product that the first three ACKs show (Hoe 1996).
    pub estimate_ssthresh: bool,
    /// Number of duplicate ACKs that triggers a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// A fast retransmit restarts the retransmission timer (4.4BSD), else ACKs of new data alone do (RFC 6298 section 5).
    pub fast_retransmit_restarts_timer: bool,
    /// Least time from one fast retransmit to the next [ps]; duplicates that come earlier trigger none.
    pub fast_retransmit_interval_ps: u64,
    /// An ACK opens the window by the bytes it acknowledges, a segment at most (RFC 5681 (2)), else by a segment (4.4BSD).
    pub byte_counting: bool,
    /// Hold back a short segment while more data waits (RFC 1122 4.2.3.4).
    pub silly_window_avoidance: bool,
    /// Thresholds of Vegas.
    pub vegas: VegasConfig,
    /// Back to the initial window after an RTO without sending (RFC 5681 4.1).
    pub idle_restart: bool,
    /// Choices left open by Reno.
    pub reno: RenoConfig,
    /// Choices left open by NewReno.
    pub newreno: NewRenoConfig,
    /// Choices left open by SACK.
    pub sack: SackConfig,
    /// Retransmission timer.
    pub timer: TimerConfig,
    /// When the receiver acknowledges.
    pub ack: AckConfig,
}

impl TcpConfig {
    /// The least shift with which the receiver's window fits its field; 1 GiB misses by one unit, which is let pass.
    pub fn least_window_scale(receiver_window_bytes: u64) -> u32 {
        (0..MAX_WINDOW_SCALE)
            .find(|scale| receiver_window_bytes >> scale <= MAX_WINDOW_FIELD)
            .unwrap_or(MAX_WINDOW_SCALE)
    }

    /// Whether every segment carries a timestamp option.
    pub fn timestamps(&self) -> bool {
        matches!(self.timer, TimerConfig::Fine { timestamps: true, .. })
    }

    /// Longest IP packets with data and with an ACK [byte].
    pub fn largest_packets_bytes(&self) -> (u32, u32) {
        let timestamp = self.timestamps().then_some(Time::ZERO);
        let data = DataSegment {
            length: self.mss_bytes,
            timestamp,
            ..DataSegment::default()
        };
        let mut ack = AckSegment {
            echo: timestamp,
            ..AckSegment::default()
        };
        if self.recovery == RecoveryKind::Sack {
            ack.blocks.fill(SackBlock { start: 1, end: 2 });
        }
        (data.packet_bytes(), ack.packet_bytes())
    }

    /// Window that the sender sees [byte]: a field of 16 bits, shifted.
    pub fn advertised_window(&self) -> u64 {
        (self.receiver_window_bytes >> self.window_scale).min(MAX_WINDOW_FIELD) << self.window_scale
    }
}

/// Largest value of the window field.
pub const MAX_WINDOW_FIELD: u64 = 65_535;
/// Largest shift of the window field (RFC 7323 section 2.3).
pub const MAX_WINDOW_SCALE: u32 = 14;

/// Loss recovery variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, EnumIter, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RecoveryKind {
    /// Timeout only.
    Vanilla,
    /// Fast retransmit into slow start.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno,
    /// Fast recovery through partial ACKs.
    Newreno,
    /// Selective acknowledgements.
    Sack,
}

/// Choices left open by Reno.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RenoConfig {
    /// No second fast retransmit for data sent before the first one or a timeout (RFC 2582 section 5).
    pub guard: bool,
    /// A timeout halves the window as it was before duplicate ACKs inflated it.
    pub deflate_on_timeout: bool,
    /// The guard forbids after a timeout alone, so that fast retransmits may follow each other (ns-2 until 2001).
    pub guard_timeouts_only: bool,
    /// Duplicates past the threshold inflate the window whether or not they came with a fast retransmit, and the next ACK
    /// of new data deflates it (the order of 4.4BSD's tests).
    pub inflate_always: bool,
}

/// Choices left open by NewReno.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct NewRenoConfig {
    /// One new segment for every two duplicate ACKs (Hoe 1996), else as the inflated window allows.
    pub flywheel: bool,
    /// Most segments that one ACK lets out during recovery, besides a resent one; none: as the window allows.
    pub max_burst: Option<u32>,
    /// A partial ACK takes what it acknowledges off the window, less one segment (RFC 2582), else sets it to ssthresh.
    pub partial_deflation: bool,
    /// No second fast retransmit for data sent before the first one or a timeout (RFC 2582 section 5).
    pub guard: bool,
    /// Which partial ACKs restart the retransmission timer.
    pub timer_restart: TimerRestart,
}

/// Which partial ACKs restart the retransmission timer (RFC 2582 section 4).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TimerRestart {
    /// The first one of a recovery ("impatient").
    First,
    /// All ("slow but steady").
    Every,
}

/// Choices left open by SACK.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SackConfig {
    /// Most blocks in an ACK; 1 to 3, which leaves room for timestamps (RFC 2018 section 3).
    pub blocks: u32,
    /// From what PIPE starts.
    pub pipe: PipeStart,
    /// No second fast retransmit for data sent before a timeout.
    pub guard: bool,
    /// Which partial ACKs restart the retransmission timer.
    pub timer_restart: TimerRestart,
}

/// PIPE at a fast retransmit, before the duplicate ACKs are taken off.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PipeStart {
    /// The window in whole segments (Fall and Floyd 1996; ATM Forum/98-0876 section 3.2).
    Window,
    /// What is sent and not acknowledged.
    Outstanding,
}

/// Congestion control variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CongestionKind {
    /// Slow start and congestion avoidance (RFC 5681 3.1).
    Aimd,
    /// By the queueing that round trips show (Brakmo and Peterson 1995).
    Vegas,
}

/// Thresholds of Vegas: data in queues, in the estimate of the sender [segment].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VegasConfig {
    /// The window grows below.
    pub alpha: f64,
    /// The window shrinks above.
    pub beta: f64,
    /// Slow start ends above.
    pub gamma: f64,
}

/// Retransmission timers.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum TimerConfig {
    /// BSD's slow timer: whole ticks, one segment timed at a time, scaled integers.
    Coarse {
        /// Length of a tick [ps].
        tick_ps: u64,
        /// When the ticks fall.
        phase: PhaseConfig,
        /// Smallest RTO [tick].
        min_rto_ticks: u32,
        /// Largest RTO [tick].
        max_rto_ticks: u32,
        /// RTO before the first measurement [tick].
        initial_rto_ticks: u32,
        /// The first measurement counts a tick more (BSD), else each counts at least one.
        count_from_one: bool,
        /// Expires on a tick (BSD), else whole ticks after it was armed.
        expires_on_tick: bool,
    },
    /// RFC 6298 with a fine clock.
    Fine {
        /// Clock granularity G [ps].
        granularity_ps: u64,
        /// Smallest RTO [ps].
        min_rto_ps: u64,
        /// Largest RTO [ps].
        max_rto_ps: u64,
        /// RTO before the first measurement [ps].
        initial_rto_ps: u64,
        /// Time every segment by the timestamp option (RFC 7323), else one at a time.
        timestamps: bool,
    },
}

/// When the ticks of a coarse clock fall.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum PhaseConfig {
    /// First tick at a given instant, the same for all hosts.
    Fixed {
        /// Below one tick [ps].
        at_ps: u64,
    },
    /// Uniform in a tick, one draw for all hosts of a run.
    Common {},
    /// Uniform in a tick, one draw for each flow.
    PerFlow {},
}

/// When a receiver acknowledges.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum AckConfig {
    /// At once, for each segment.
    Immediate {},
    /// Every so many segments, or after a delay (RFC 1122 4.2.3.2).
    Delayed {
        /// Segments that force an ACK.
        segments: u32,
        /// Longest delay [ps].
        timeout_ps: u64,
    },
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Reno on a coarse clock.
    pub fn config() -> TcpConfig {
        TcpConfig {
            recovery: RecoveryKind::Reno,
            congestion: CongestionKind::Aimd,
            mss_bytes: 512,
            receiver_window_bytes: 65_536,
            window_scale: 1,
            initial_window_segments: 1,
            initial_ssthresh_bytes: None,
            estimate_ssthresh: false,
            duplicate_ack_threshold: 3,
            fast_retransmit_restarts_timer: true,
            fast_retransmit_interval_ps: 0,
            byte_counting: false,
            silly_window_avoidance: true,
            vegas: VegasConfig {
                alpha: 1.0,
                beta: 3.0,
                gamma: 1.0,
            },
            idle_restart: false,
            reno: RenoConfig {
                guard: false,
                deflate_on_timeout: false,
                guard_timeouts_only: false,
                inflate_always: false,
            },
            newreno: NewRenoConfig {
                flywheel: true,
                max_burst: None,
                partial_deflation: false,
                guard: false,
                timer_restart: TimerRestart::Every,
            },
            sack: SackConfig {
                blocks: 3,
                pipe: PipeStart::Window,
                guard: true,
                timer_restart: TimerRestart::Every,
            },
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
        }
    }

    #[test]
    fn rfc_7323_section_2_a_window_is_16_bits_shifted() {
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
