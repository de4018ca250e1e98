//! Parameters of a TCP connection, fully resolved.

use serde::Deserialize;
use strum::VariantNames;

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
    /// cwnd at the start and after idle restart [segment].
    pub initial_window_segments: u32,
    /// ssthresh at the start [byte]; none: unbounded.
    pub initial_ssthresh_bytes: Option<u64>,
    /// Number of duplicate ACKs that triggers a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// Hold back a short segment while more data waits (RFC 1122 4.2.3.4).
    pub silly_window_avoidance: bool,
    /// Retransmission timer.
    pub timer: TimerConfig,
    /// When the receiver acknowledges.
    pub ack: AckConfig,
}

/// Loss recovery variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RecoveryKind {
    /// Timeout only.
    Vanilla,
    /// Fast retransmit into slow start.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno,
}

/// Congestion control variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CongestionKind {
    /// Slow start and congestion avoidance (RFC 5681 3.1).
    Aimd,
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
