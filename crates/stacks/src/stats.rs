//! Counters of a connection, which have the same names for every stack.

use std::time::Duration;

/// State and counters of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// Congestion window [byte].
    pub cwnd: u64,
    /// Smoothed RTT.
    pub rtt: Duration,
    /// Minimum RTT, if the stack reports it.
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
