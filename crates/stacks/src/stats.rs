//! Counters of a connection, which have the same names for every stack.

use longpipe_end::NEVER;
use std::time::Duration;

/// RTT that an end assumes before its first sample (RFC 9002 section 6.2.2).
pub const INITIAL_RTT: Duration = Duration::from_millis(333);
const PS_PER_NS: u64 = 1_000;

/// State and counters of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// Congestion window [byte].
    pub cwnd: u64,
    /// Smoothed RTT; None before the first sample.
    pub rtt: Option<Duration>,
    /// Minimum RTT, if the stack reports a measured one.
    pub min_rtt: Option<Duration>,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Total length of the packets declared lost [byte].
    pub lost_bytes: u64,
    /// Number of reductions of the congestion window.
    pub congestion_events: u64,
    /// UDP datagrams sent.
    pub datagrams: u64,
    /// UDP payload sent [byte].
    pub sent_bytes: u64,
    /// Largest UDP payload in use [byte].
    pub mtu: u16,
}

/// Returns an RTT that a stack reports; None if it is the RTT that the stack assumes before its first sample.
pub fn measured(rtt: Duration) -> Option<Duration> {
    (rtt != INITIAL_RTT).then_some(rtt)
}

/// Returns a duration in picoseconds.
pub fn picoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(NEVER, |ns| ns.saturating_mul(PS_PER_NS))
}
