//! Loss recovery's access to the window: recovery reads the window, requests reductions from the controller, and
//! adjusts the window through `adjust`.

use super::control::{AckSample, Cause, Pacing};
use super::Congestion;
use crate::flight::Flight;
use crate::journal::{EventCause, Journal};
use longpipe_events::Time;

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

/// Access to the window of one sender at one point in time.
#[derive(Debug)]
pub struct WindowHandle<'a> {
    flight: &'a mut Flight,
    congestion: &'a mut Congestion,
    /// Pacing rate, for a controller that sets one.
    pacing: Option<&'a mut Option<Pacing>>,
    journal: &'a mut Journal,
    now: Time,
}

impl<'a> WindowHandle<'a> {
    /// Creates the handle for a sender.
    #[inline(always)]
    pub fn new(
        flight: &'a mut Flight,
        congestion: &'a mut Congestion,
        pacing: Option<&'a mut Option<Pacing>>,
        journal: &'a mut Journal,
        now: Time,
    ) -> WindowHandle<'a> {
        WindowHandle {
            flight,
            congestion,
            pacing,
            journal,
            now,
        }
    }

    /// Returns the sequence space and the window.
    #[inline(always)]
    pub fn flight(&self) -> &Flight {
        self.flight
    }

    /// Reports an ACK to the controller before the recovery processes it.
    pub fn sample(&mut self, sample: &AckSample) {
        let pacing = self.congestion.on_sample(sample, self.flight);
        self.pace(pacing);
    }

    /// Requests a reduction from the controller.
    pub fn reduce(&mut self, cause: Cause) {
        let before = self.flight.cwnd();
        let pacing = self.congestion.on_reduction(cause, self.now, self.flight);
        self.pace(pacing);
        self.journal.on_reduction(cause, self.now, before, self.flight);
    }

    /// Undoes the latest reduction, which was spurious: restores the window and the threshold [byte].
    pub fn undo(&mut self, cause: EventCause, cwnd: f64, ssthresh: f64) {
        self.adjust(WindowAdjustment::Back { cwnd, ssthresh });
        self.recovered(true);
        self.journal.on_undo(cause, self.now, self.flight);
    }

    /// Reports the end of a recovery to the controller.
    pub fn recovered(&mut self, spurious: bool) {
        let pacing = self.congestion.on_recovered(spurious, self.now, self.flight);
        self.pace(pacing);
    }

    /// Adjusts the window during loss recovery, unless the controller owns the window.
    pub fn adjust(&mut self, how: WindowAdjustment) {
        if self.congestion.owns_window() && !matches!(how, WindowAdjustment::AfterTimeout { .. }) {
            return;
        }
        let (cwnd, ssthresh, mss) = (self.flight.cwnd(), self.flight.ssthresh(), self.flight.mss());
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
        self.flight.limits.set(cwnd, ssthresh);
    }

    fn pace(&mut self, pacing: Option<Pacing>) {
        if let (Some(held), Some(_)) = (&mut self.pacing, pacing) {
            **held = pacing;
        }
    }
}
