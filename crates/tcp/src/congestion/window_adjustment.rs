//! Adjustments of the window by loss recovery.

use super::flight::Flight;
use super::Congestion;

/// An adjustment of the window by loss recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowAdjustment {
    /// Adds segments that have left the network (RFC 2001).
    Inflate(u32),
    /// Subtracts the data that a partial ACK acknowledged, and adds one segment; the window remains at least one
    /// segment (RFC 2582).
    Deflate {
        /// Acknowledged bytes.
        acked: u64,
    },
    /// Sets cwnd to ssthresh.
    ToThreshold,
    /// Sets cwnd to ssthresh unless cwnd is lower already.
    ToThresholdAtMost,
    /// Sets cwnd to one segment, which starts slow start.
    ToSegment,
    /// Sets cwnd to this value [byte] unless it is lower.
    AtMost(f64),
    /// Sets ssthresh to this value [byte] unless it is lower; cwnd is unchanged.
    ThresholdAtMost(f64),
    /// Sets cwnd to this value [byte].
    To(f64),
    /// Sets cwnd to the data in flight plus one segment, so that the first lost segment can be retransmitted, even if
    /// the controller owns the window (Linux: `tcp_enter_loss`).
    AfterTimeout {
        /// Bytes in flight.
        in_flight: u64,
    },
    /// After a spurious reduction, restores both values [byte] unless they are larger already (Linux:
    /// `tcp_undo_cwnd_reduction`).
    Back {
        /// Congestion window.
        cwnd: f64,
        /// Slow start threshold.
        ssthresh: f64,
    },
}

impl Congestion {
    /// Adjusts the window during loss recovery, unless the controller owns the window.
    pub fn adjust(&self, how: WindowAdjustment, flight: &mut Flight) {
        if self.owns_window() && !matches!(how, WindowAdjustment::AfterTimeout { .. }) {
            return;
        }
        let (cwnd, ssthresh, mss) = (flight.cwnd(), flight.ssthresh(), flight.mss());
        let (cwnd, ssthresh) = match how {
            WindowAdjustment::Inflate(segments) => (cwnd + f64::from(segments) * mss, ssthresh),
            WindowAdjustment::Deflate { acked } => ((cwnd - acked as f64 + mss).max(mss), ssthresh),
            WindowAdjustment::ToThreshold => (ssthresh, ssthresh),
            WindowAdjustment::ToThresholdAtMost => (ssthresh.min(cwnd), ssthresh),
            WindowAdjustment::ToSegment => (mss, ssthresh),
            WindowAdjustment::AtMost(bytes) => (cwnd.min(bytes), ssthresh),
            WindowAdjustment::ThresholdAtMost(bytes) => (cwnd, ssthresh.min(bytes)),
            WindowAdjustment::To(bytes) => (bytes, ssthresh),
            WindowAdjustment::AfterTimeout { in_flight } => (in_flight as f64 + mss, ssthresh),
            WindowAdjustment::Back {
                cwnd: prior_cwnd,
                ssthresh: prior_ssthresh,
            } => (cwnd.max(prior_cwnd), ssthresh.max(prior_ssthresh)),
        };
        flight.limits.set(cwnd, ssthresh);
    }
}
