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
    /// Number of reductions of the congestion window by losses and marks.
    pub reductions: u64,
    /// UDP datagrams sent.
    pub datagrams: u64,
    /// UDP payload sent [byte].
    pub sent_bytes: u64,
    /// Largest UDP payload in use [byte].
    pub mtu: u16,
}

/// Counts the reductions of a congestion window by losses and marks.
///
/// quinn and noq count each ACK and each timer that reports losses as a congestion event, although at most one of them
/// per round trip reduces the window of CUBIC and Reno. Reductions are therefore counted from the window itself, which
/// is observed after each datagram and each timer that the stack has processed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reductions {
    /// Number of reductions.
    pub count: u64,
    window: u64,
    /// Congestion events of the stack at the latest reduction.
    events: u64,
}

impl Reductions {
    /// Observes the congestion window [byte], and the number of congestion events that the stack has counted so far.
    ///
    /// A smaller window is a reduction if there were congestion events since the previous one. BBR reduces its window
    /// without losses, too.
    pub fn observe(&mut self, window: u64, events: u64) {
        if window < self.window && events > self.events {
            self.count += 1;
            self.events = events;
        }
        self.window = window;
    }
}

/// Returns an RTT that a stack reports; None if it is the RTT that the stack assumes before its first sample.
pub fn measured(rtt: Duration) -> Option<Duration> {
    (rtt != INITIAL_RTT).then_some(rtt)
}

/// Returns a duration in picoseconds.
pub fn picoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(NEVER, |ns| ns.saturating_mul(PS_PER_NS))
}

#[cfg(test)]
mod tests {
    use super::Reductions;

    #[test]
    fn several_congestion_events_of_one_recovery_are_one_reduction() {
        let mut seen = Reductions::default();
        for (window, events) in [
            (12_000, 0),
            (24_000, 0),
            (16_800, 1),
            (16_800, 2),
            (16_800, 9),
            (18_000, 9),
            (12_600, 10),
        ] {
            seen.observe(window, events);
        }
        assert_eq!(seen.count, 2);
    }

    #[test]
    fn smaller_window_without_congestion_event_is_not_a_reduction() {
        let mut seen = Reductions::default();
        for (window, events) in [(24_000, 0), (12_000, 0), (24_000, 1), (20_000, 1), (16_000, 1)] {
            seen.observe(window, events);
        }
        assert_eq!(seen.count, 1);
    }
}
