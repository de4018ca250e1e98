//! RACK-TLP: loss detection by time, and tail loss probes (RFC 8985), with proportional rate reduction (PRR, RFC 9937),
//! as in Linux.
//!
//! It uses the retransmission queue, so it knows exactly which segments are lost and how much data are in flight. A
//! sender with RACK first retransmits lost segments and then sends new data, while the data in flight are below the
//! window.

mod config;
mod phase;
mod probe;
mod prr;
mod spurious;

use super::recover::Recover;

use crate::congestion::control::{self, Cause, Wants};
use crate::congestion::{WindowAdjustment, DEFAULT_HZ};
use crate::journal::{CongestionState, EventCause};
use crate::recovery::window_handle::WindowHandle;
use crate::retransmission_queue::{AckSummary, DetectedLosses, LatestDelivery, RetransmissionQueue};
use crate::segment::AckSegment;
use crate::variant::Variant;
pub use config::RackConfig;
use longpipe_events::{MaybeTime, Span, Time, PS_PER_SECOND};
use phase::Phase;
use prr::Prr;
use spurious::{FRto, ReorderingWindow, UndoState};

/// Consequences of an ACK or a timer expiration, other than a change in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStep {
    /// Whether the window may grow.
    pub grows: bool,
    /// Whether no data are known to be lost or reordered.
    pub open: bool,
    /// Whether a recovery starts.
    pub begins: bool,
    /// Whether the recovery reduces the window; false if it shares the reduction that an ECN mark has caused.
    pub reduces: bool,
    /// Congestion state after the ACK or the timer expiration.
    pub phase: control::RecoveryPhase,
}

/// A tail loss probe that has not been acknowledged.
#[derive(Clone, Copy, Debug)]
struct TailLossProbe {
    /// SND.MAX when the probe was sent.
    end: u64,
    /// Whether the probe was a retransmission.
    retransmitted: bool,
}

/// State of one sender.
#[derive(Clone, Debug)]
pub struct Rack {
    config: RackConfig,
    phase: Phase,
    /// RACK.rtt and RACK.segment (RFC 8985 section 5.2); None before the first delivery.
    latest: Option<LatestDelivery>,
    /// Whether reordering has been observed on this connection (RACK.reordering_seen).
    reordered: bool,
    prr: Prr,
    /// State before the latest reduction, from which it can be undone; None if there is nothing to undo.
    undo: Option<UndoState>,
    frto_state: FRto,
    reordering_window: ReorderingWindow,
    /// Probe in flight.
    probe: Option<TailLossProbe>,
    /// Whether the probe timer has expired and the probe has not been sent yet.
    probe_pending: bool,
    /// Expiration time of the retransmission timer.
    pub rto_deadline: MaybeTime,
    /// Expiration time of the reordering timer.
    reorder_deadline: MaybeTime,
    /// Expiration time of the probe timer.
    probe_deadline: MaybeTime,
    /// Number of retransmission timeouts since SND.UNA last advanced (`icsk_retransmits`).
    retransmits: u32,
    /// Smoothed RTT, which is the upper bound on the reordering window.
    srtt: Option<Span>,
    /// Tick of the kernel's clock [ps].
    tick: u64,
}

/// DupThresh: if no reordering has been seen, this number of segments delivered beyond a hole indicates a loss (RFC
/// 8985 section 6.2, step 4).
const DUP_THRESH: usize = 3;
/// Minimum duration of the reordering timer (TCP_TIMEOUT_MIN_US).
const MIN_TIMEOUT: Span = Span::millis(2);
/// Allowance in the probe timer for a delayed ACK if a single segment is in flight (Linux).
const ACK_DELAY_ALLOWANCE: Span = Span::millis(200);
/// Duration added to two RTTs in the probe timer if several segments are in flight (Linux).
const PROBE_MARGIN: Span = Span::millis(2);
/// Duration of the probe timer if there is no RTT sample (RFC 8985 section 7.2).
const PROBE_WITHOUT_RTT: Span = Span::seconds(1);

impl Variant for Rack {
    type Config = RackConfig;

    fn new(config: &RackConfig) -> Rack {
        Rack {
            config: *config,
            phase: Phase::Open,
            latest: None,
            reordered: false,
            prr: Prr::default(),
            undo: None,
            frto_state: FRto::Over,
            reordering_window: ReorderingWindow::default(),
            probe: None,
            probe_pending: false,
            rto_deadline: MaybeTime::NONE,
            reorder_deadline: MaybeTime::NONE,
            probe_deadline: MaybeTime::NONE,
            retransmits: 0,
            srtt: None,
            tick: PS_PER_SECOND / u64::from(DEFAULT_HZ),
        }
    }
}

impl Recover for Box<Rack> {
    fn wants(&self) -> Wants {
        Wants {
            losses: true,
            ..Wants::default()
        }
    }

    fn is_on(&self) -> bool {
        true
    }
}

impl Rack {
    /// Processes an ACK. `summary` comes from the retransmission queue; `advanced` is true if SND.UNA advanced.
    ///
    /// The order is Linux's: undo a spurious reduction, end the current recovery or CWR episode, detect losses, begin a
    /// recovery, and let PRR set cwnd.
    pub fn on_ack(
        &mut self,
        now: Time,
        summary: &AckSummary,
        ack: &AckSegment,
        advanced: bool,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) -> RecoveryStep {
        let (echo, phase_before) = (ack.echo.get(), self.phase);
        if advanced {
            self.retransmits = 0;
        }
        self.reordered |= summary.reordered;
        self.take_latest(summary.latest);
        let una = handle.flight().una;
        let dsack_range = if self.config.dsack { ack.duplicate() } else { None };
        if let Some(dsack_range) = dsack_range {
            self.on_duplicate(dsack_range, una, handle);
        }
        self.update_probe(una, summary, advanced, handle);
        if advanced && self.is_spurious(echo, una, rtx_queue) {
            self.undo_reduction(EventCause::Eifel, una, rtx_queue, handle);
        }
        if self.config.dsack {
            self.undo_if_duplicates(advanced, rtx_queue, handle);
        }
        self.update_frto(summary, advanced, dsack_range.is_some(), rtx_queue, handle);
        let undone = phase_before != self.phase && matches!(phase_before, Phase::Recovery(_));
        // Whether a recovery has ended, by an undo or by the acknowledgement of all data that it covers.
        let recovered = match self.phase {
            Phase::Recovery(end) if una >= end => {
                self.reordering_window.on_recovered();
                handle.adjust(WindowAdjustment::ToThreshold);
                self.end(handle);
                true
            }
            // CWR ends when data sent after the reduction are acknowledged (Linux).
            Phase::Cwr(end) if una > end => {
                handle.adjust(WindowAdjustment::ToThreshold);
                self.end(handle);
                false
            }
            Phase::Loss(end) if una >= end => {
                self.reordering_window.on_recovered();
                self.end(handle);
                true
            }
            _ => undone,
        };
        let detected = self.detect_losses(now, rtx_queue, summary.least_rtt, handle);
        // Segments lost since the recovery started have also been retransmitted, but not delivered yet.
        let follows = recovered && self.config.successive && rtx_queue.retransmissions_in_flight() > 0;
        let start = self.begin(&detected, follows, rtx_queue, handle);
        if self.is_reducing() {
            let safe = advanced && detected.lost == 0;
            self.prr.adjust(
                summary.delivered,
                safe,
                rtx_queue.in_flight(handle.flight().max),
                handle,
            );
        }
        RecoveryStep {
            grows: advanced && !self.is_reducing(),
            open: self.phase == Phase::Open && !rtx_queue.has_holes(),
            phase: self.phase.name(),
            ..start
        }
    }

    /// Returns the congestion state.
    pub fn state(&self) -> CongestionState {
        self.phase.state()
    }

    /// Returns whether nothing is being repaired, so that only the retransmission and probe timers may be running.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Open
            && self.probe.is_none()
            && !self.probe_pending
            && self.reorder_deadline == MaybeTime::NONE
    }

    /// Updates RACK.rtt, and RACK.segment if an ACK delivered a later transmission (RFC 8985 section 6.2, step 2).
    #[inline]
    pub fn take_latest(&mut self, latest: Option<LatestDelivery>) {
        if let Some(latest) = latest {
            let number = self.latest.map_or(0, |before| before.number);
            self.latest = Some(LatestDelivery {
                number: latest.number.max(number),
                ..latest
            });
        }
    }

    /// Returns whether PRR is reducing the window.
    fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_) | Phase::Cwr(_))
    }

    /// Returns whether an ECN mark reduces the window; it does so only if the window is not already being reduced.
    pub fn reacts_to_marks(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Reduces the window because an ACK that revealed no loss reports ECN marks.
    pub fn on_mark(
        &mut self,
        cause: Cause,
        summary: &AckSummary,
        advanced: bool,
        rtx_queue: &RetransmissionQueue,
        handle: &mut WindowHandle,
    ) {
        self.prr = Prr::new(handle.flight());
        self.phase = Phase::Cwr(handle.flight().max);
        handle.reduce(cause);
        self.prr.adjust(
            summary.delivered,
            advanced,
            rtx_queue.in_flight(handle.flight().max),
            handle,
        );
    }

    /// Detects losses and sets the reordering timer (RFC 8985 section 6.2, step 5).
    ///
    /// Runs for every ACK on the slow path, even one that leaves no SACKed segment and no recovery in progress: new
    /// data sent before the retransmission that this ACK delivered may be lost.
    fn detect_losses(
        &mut self,
        now: Time,
        rtx_queue: &mut RetransmissionQueue,
        least_rtt: Option<Span>,
        handle: &WindowHandle,
    ) -> DetectedLosses {
        self.reorder_deadline = MaybeTime::NONE;
        let Some(latest) = self.latest else {
            return DetectedLosses::default();
        };
        let detected = rtx_queue.detect_losses(now, &latest, self.reo_wnd(rtx_queue, least_rtt.unwrap_or(latest.rtt)));
        debug_assert!(detected.lost <= handle.flight().outstanding());
        self.reorder_deadline = detected.wait.map(|wait| self.reorder_deadline_after(now, wait)).into();
        detected
    }

    /// Returns whether losses are being repaired (Linux: states Recovery and Loss).
    fn repairs(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_) | Phase::Loss(_))
    }

    /// Returns the reordering window: the time by which a segment may be delivered later than segments sent after it
    /// (RFC 8985 section 6.2, step 4).
    fn reo_wnd(&self, rtx_queue: &RetransmissionQueue, least_rtt: Span) -> Span {
        let certain = self.repairs() || rtx_queue.sacked_segments() >= DUP_THRESH;
        if !self.reordered && certain {
            return Span(0);
        }
        self.reordering_window.of(least_rtt, self.srtt)
    }

    /// Returns the expiration time of a reordering timer that starts at `now` and waits for `wait`
    /// (`tcp_rack_mark_lost`). Linux adds 2 ms and rounds up to n ticks. Because `now` may lie within a tick, the timer
    /// expires at the start of tick n + 1 after the current one, so that at least n ticks have passed.
    fn reorder_deadline_after(&self, now: Time, wait: Span) -> Time {
        let ticks = (wait + MIN_TIMEOUT).0.div_ceil(self.tick);
        Time((now.0 / self.tick + ticks + 1) * self.tick)
    }

    /// Sets the ticks per second of the kernel's clock (`CONFIG_HZ`).
    pub fn set_hz(&mut self, hz: u32) {
        self.tick = PS_PER_SECOND / u64::from(hz);
    }

    /// Sets the smoothed RTT, which bounds the reordering window.
    pub fn set_srtt(&mut self, srtt: Option<Span>) {
        self.srtt = srtt;
    }

    /// Starts a recovery if segments are lost, or if it directly `follows` another recovery; after a timeout, only if
    /// retransmitted segments are lost. Returns a step of which only `begins` and `reduces` are set.
    fn begin(
        &mut self,
        detected: &DetectedLosses,
        follows: bool,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) -> RecoveryStep {
        let begins = match self.phase {
            Phase::Open | Phase::Cwr(_) => follows || rtx_queue.lost() > 0,
            Phase::Recovery(_) => false,
            Phase::Loss(_) => detected.retransmitted,
        };
        let cwr_end = match self.phase {
            Phase::Cwr(end) => Some(end),
            _ => None,
        };
        if begins {
            // If another recovery may follow, this recovery ends with the CWR episode whose reduction it shares
            // (Linux).
            let shared = cwr_end.filter(|_| self.config.successive);
            self.phase = Phase::Recovery(shared.unwrap_or(handle.flight().max));
            (self.probe, self.probe_deadline) = (None, MaybeTime::NONE);
            self.save_undo(rtx_queue.retransmissions_in_flight() as u64, cwr_end.is_none(), handle);
            // Marks and losses within one RTT cause a single reduction.
            if cwr_end.is_none() {
                self.prr = Prr::new(handle.flight());
                handle.reduce(Cause::FastRetransmit);
            }
        }
        RecoveryStep {
            begins,
            reduces: begins && cwr_end.is_none(),
            ..RecoveryStep::default()
        }
    }

    /// Returns to the Open state.
    fn end(&mut self, handle: &mut WindowHandle) {
        self.phase = Phase::Open;
        self.frto_state = FRto::Over;
        handle.recovered(false);
    }

    /// Records a transmission.
    #[inline]
    pub fn on_sent(&mut self, now: Time, length: u64, retransmitted: bool) {
        if self.is_reducing() {
            self.prr.on_sent(length);
        }
        if let (true, Some(undo)) = (retransmitted, &mut self.undo) {
            undo.on_retransmitted(now);
        }
    }

    /// Processes a retransmission timeout (Linux: `tcp_enter_loss`).
    ///
    /// Reduces ssthresh once per window of data, that is, unless it was already reduced for losses or marks in this
    /// window or the same segment is being retransmitted again (RFC 5681 section 3.1).
    pub fn on_retransmission_timeout(
        &mut self,
        now: Time,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) {
        let una = handle.flight().una;
        // F-RTO (RFC 5682) tests whether the timeout is spurious.
        let tests_timeout = self.config.frto && (self.retransmits > 0 || !self.repairs());
        self.frto_state = if tests_timeout {
            FRto::AwaitingFirstAck
        } else {
            FRto::Over
        };
        let reduces = match self.phase {
            Phase::Open => true,
            Phase::Cwr(end) | Phase::Recovery(end) => una >= end,
            Phase::Loss(end) => una >= end || self.retransmits == 0,
        };
        self.retransmits += 1;
        rtx_queue.lose_by_timeout(now, self.latest.map_or(Span(0), |latest| latest.rtt));
        if reduces {
            self.save_undo(rtx_queue.retransmissions_in_flight() as u64, true, handle);
        }
        self.phase = Phase::Loss(handle.flight().max);
        (self.probe, self.probe_pending) = (None, false);
        (self.reorder_deadline, self.probe_deadline) = (MaybeTime::NONE, MaybeTime::NONE);
        if reduces {
            handle.reduce(Cause::Timeout);
        }
        let in_flight = rtx_queue.in_flight(handle.flight().max);
        handle.adjust(WindowAdjustment::AfterTimeout { in_flight });
    }

    /// Processes the expiration of the reordering timer.
    pub fn on_reorder_timeout(
        &mut self,
        now: Time,
        rtx_queue: &mut RetransmissionQueue,
        least_rtt: Option<Span>,
        handle: &mut WindowHandle,
    ) -> RecoveryStep {
        let detected = self.detect_losses(now, rtx_queue, least_rtt, handle);
        let start = self.begin(&detected, false, rtx_queue, handle);
        if start.begins {
            let mss = u64::from(handle.flight().mss);
            self.prr
                .adjust(mss, false, rtx_queue.in_flight(handle.flight().max), handle);
        }
        start
    }

    /// Stops all timers, because nothing is in flight.
    pub fn stop_timers(&mut self) {
        (self.rto_deadline, self.reorder_deadline, self.probe_deadline) =
            (MaybeTime::NONE, MaybeTime::NONE, MaybeTime::NONE);
    }

    /// Returns the expiration time of the timer that expires first.
    #[inline]
    pub fn next_timeout(&self) -> MaybeTime {
        self.rto_deadline.min(self.reorder_deadline).min(self.probe_deadline)
    }

    /// Returns whether the reordering timer expires by `now`.
    pub fn reorder_is_due(&self, now: Time) -> bool {
        self.reorder_deadline <= now.into()
    }
}

#[cfg(test)]
mod tests;
