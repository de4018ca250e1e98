//! State for congestion controllers that need more input than the number of acknowledged bytes, or that set a pacing
//! rate.

use super::pacer::Pacer;
use crate::config::TcpConfig;
use crate::congestion::control::{Pacing, Usage, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::pacing;
use crate::retransmission_queue::RetransmissionQueue;
use longpipe_events::{Span, Time};

/// Additional inputs of a congestion controller, and the pacing rate that it has set.
#[derive(Clone, Debug)]
pub struct CcState {
    /// Per-segment records of data in flight, if the controller or the recovery needs them.
    pub rtx_queue: Option<RetransmissionQueue>,
    /// Minimum round-trip time measured by the retransmission timer.
    pub least_rtt: Option<Span>,
    /// Whether the sender has used its full window, that is, is cwnd-limited.
    pub usage: Usage,
    /// Pacing rate that the controller has set.
    pub pacing: Option<Pacing>,
    /// Pacer that spaces segments at the pacing rate, if pacing is enabled.
    pub pacer: Option<Pacer>,
    /// Whether the pacing rate is derived from cwnd and SRTT instead of set by the controller.
    by_window: bool,
    /// Whether the controller is invoked for each transmission.
    pub reports_transmissions: bool,
}

impl CcState {
    /// Returns the state of a new connection.
    pub fn new(wants: Wants, config: &TcpConfig) -> CcState {
        let max_segments = config.pacing_burst_segments.map_or(u64::MAX, u64::from);
        CcState {
            rtx_queue: (wants.records || wants.losses).then(|| RetransmissionQueue::new(wants)),
            least_rtt: None,
            usage: Usage::default(),
            pacing: None,
            pacer: (config.pacing || wants.pacing)
                .then(|| Pacer::new(max_segments.saturating_mul(u64::from(config.mss_bytes)))),
            by_window: config.pacing && !wants.pacing,
            reports_transmissions: wants.sending,
        }
    }

    /// Returns the number of bytes in flight: bytes that are neither acknowledged nor, if records are kept, reported by
    /// SACK blocks.
    #[inline]
    pub fn in_flight(&self, flight: &Flight) -> u64 {
        match &self.rtx_queue {
            Some(rtx_queue) => rtx_queue.in_flight(flight.max),
            None => flight.outstanding(),
        }
    }

    /// Returns a mutable reference to the pacing rate, which loss recovery updates when the controller changes the rate
    /// together with the window.
    pub fn pacing(&mut self) -> &mut Option<Pacing> {
        &mut self.pacing
    }

    /// Stores the pacing rate that the controller returned.
    #[inline]
    pub fn set_pacing(&mut self, pacing: Option<Pacing>) {
        if pacing.is_some() {
            self.pacing = pacing;
        }
    }

    /// Updates a window-derived pacing rate after an ACK changed cwnd.
    #[inline]
    pub fn update_window_pacing(&mut self, flight: &Flight, srtt: Option<Span>, least_rtt: Option<Span>) {
        if self.by_window {
            self.pacing = pacing::by_window(flight, srtt, least_rtt);
        }
    }

    /// Returns the time from `now` until the next segment may be sent.
    #[inline]
    pub fn pacing_delay(&self, now: Time) -> Span {
        self.pacer.as_ref().map_or(Span(0), |pacer| pacer.delay(now))
    }

    /// Returns whether a segment of `length` bytes has to wait for the pacer.
    #[inline]
    pub fn must_wait(&mut self, now: Time, length: u32) -> bool {
        self.pacer
            .as_mut()
            .is_some_and(|pacer| pacer.must_wait(now, u64::from(length)))
    }
}
