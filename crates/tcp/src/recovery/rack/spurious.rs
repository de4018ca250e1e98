//! Detection of spurious reductions, as in Linux. A reduction is spurious if an ACK was triggered by a transmission
//! made before any retransmission (Eifel, RFC 3522), if each retransmission arrived as a duplicate (D-SACK, RFC 2883),
//! or if data that were never retransmitted are acknowledged after a timeout (F-RTO, RFC 5682 section 3).

use super::*;
use crate::journal::EventCause;

/// Number of retransmissions since a reduction that were not reported as duplicates (`undo_retrans`); None if
/// nothing has been retransmitted.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoRetrans(Option<u64>);

impl UndoRetrans {
    /// Counts retransmitted segments.
    fn add(&mut self, segments: u64) {
        self.0 = Some(self.0.unwrap_or(0) + segments);
    }

    /// Subtracts segments that were reported as duplicates.
    fn subtract_duplicates(&mut self, segments: u64) {
        self.0 = self.0.map(|count| count.saturating_sub(segments));
    }

    /// Returns whether all retransmissions were reported as duplicates.
    fn all_were_duplicates(self) -> bool {
        self.0 == Some(0)
    }
}

/// State to restore if a reduction proves spurious (Linux: `prior_cwnd`, `prior_ssthresh`, `undo_marker`,
/// `undo_retrans`).
#[derive(Clone, Copy, Debug)]
pub struct UndoState {
    /// Congestion window and threshold before the reduction; None if they must not be restored because the recovery did
    /// not reduce the window or an ECN mark justified the reduction.
    limits: Option<(f64, f64)>,
    /// SND.UNA at the reduction.
    una: u64,
    /// Time of the first retransmission (`retrans_stamp`).
    retrans_stamp: Option<Time>,
    /// Number of retransmissions since the reduction that were not reported as duplicates.
    undo_retrans: UndoRetrans,
}

impl UndoState {
    /// Records a retransmission.
    pub fn on_retransmitted(&mut self, now: Time) {
        self.retrans_stamp.get_or_insert(now);
        self.undo_retrans.add(1);
    }
}

/// State of F-RTO after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FRto {
    /// F-RTO is not used, or has decided that the timeout was due to a loss.
    #[default]
    Over,
    /// F-RTO waits for the ACK of the first retransmission, which may leave data outstanding.
    AwaitingFirstAck,
    /// The sender sends new data first, and waits for an ACK of data that were never retransmitted.
    SendingNewData,
}

/// State of RACK's reordering window: its size in quarters of the minimum RTT, and the number of recoveries for which
/// it persists (`reo_wnd_steps`, `reo_wnd_persist`; RFC 8985 section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub struct ReorderingWindow {
    steps: u64,
    persists: u32,
    /// The reordering window does not grow again before this byte is acknowledged.
    round: u64,
}

/// Maximum number of steps of the reordering window (Linux).
const MAX_STEPS: u64 = 255;
/// Number of recoveries for which the reordering window persists.
const RECOVERY_THRESH: u32 = 16;

impl Default for ReorderingWindow {
    fn default() -> ReorderingWindow {
        ReorderingWindow {
            steps: 1,
            persists: 0,
            round: 0,
        }
    }
}

impl ReorderingWindow {
    /// Returns the reordering window: the number of steps times a quarter of the minimum RTT, at most SRTT
    /// (`tcp_rack_reo_wnd`).
    pub fn of(self, least_rtt: Span, srtt: Option<Span>) -> Span {
        let window = Span((least_rtt.0 / 4).saturating_mul(self.steps));
        srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Adds a step, but at most one per RTT, because a segment that had been declared lost arrived as a duplicate.
    pub(super) fn grow(&mut self, una: u64, max: u64) {
        if una >= self.round {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            (self.round, self.persists) = (max, RECOVERY_THRESH);
        }
    }

    /// Ages the reordering window after a recovery that was not undone (`reo_wnd_persist`).
    pub fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.steps = 1;
        }
    }
}

impl Rack {
    /// Saves the state to undo a recovery that starts while `retransmissions_in_flight` retransmissions are in flight
    /// (`tcp_init_undo`).
    ///
    /// The previous window is saved if the recovery `reduces` it. In Linux's congestion avoidance the saved threshold
    /// is at least three quarters of the window (`tcp_current_ssthresh`).
    pub(super) fn save_undo(&mut self, retransmissions_in_flight: u64, reduces: bool, handle: &WindowHandle) {
        let flight = handle.flight();
        let (cwnd, mss) = ((flight.cwnd() / flight.mss()).floor(), flight.mss());
        let ssthresh = ((cwnd / 2.0).floor() + (cwnd / 4.0).floor()) * mss;
        let mut undo = UndoState {
            limits: reduces.then_some((flight.cwnd(), flight.ssthresh().max(ssthresh))),
            una: flight.una,
            retrans_stamp: None,
            undo_retrans: UndoRetrans::default(),
        };
        if retransmissions_in_flight > 0 {
            undo.retrans_stamp = self.undo.and_then(|previous| previous.retrans_stamp);
            undo.undo_retrans.add(retransmissions_in_flight);
        }
        self.undo = Some(undo);
    }

    /// Forbids restoring the window, because an ECN mark justifies the reduction.
    pub fn keep_reduction(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.limits = None;
        }
    }

    /// Returns whether an ACK that advanced SND.UNA was triggered by a transmission made before the first
    /// retransmission, according to its timestamp echo (Eifel).
    pub(super) fn is_spurious(&self, echo: Option<Time>, una: u64, rtx_queue: &RetransmissionQueue) -> bool {
        let Some(undo) = self.undo.as_ref().filter(|_| self.config.undo) else {
            return false;
        };
        let echoes_original = echo.zip(undo.retrans_stamp).is_some_and(|(echo, first)| echo < first);
        let can_be_undone = || match self.phase {
            // No transmission was declared lost in these phases.
            Phase::Open | Phase::Cwr(_) => false,
            // Linux undoes a recovery once it is complete, or once all retransmissions have been acknowledged.
            Phase::Recovery(end) => una >= end || rtx_queue.retransmissions_in_flight() == 0,
            Phase::Loss(_) => true,
        };
        echoes_original && una > undo.una && can_be_undone()
    }

    /// Undoes the reduction, because `cause` proves it spurious: restores the saved window and threshold, and enters the
    /// Open state.
    pub(super) fn undo_reduction(
        &mut self,
        cause: EventCause,
        una: u64,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) {
        if let Some(undo) = self.undo.take() {
            // When all data of the recovery have arrived, Linux ends the episode, but keeps the loss marks of other
            // segments.
            let have_all_data_arrived = match self.phase {
                Phase::Recovery(end) => una >= end || undo.undo_retrans.all_were_duplicates(),
                phase => phase == Phase::Open,
            };
            if !(have_all_data_arrived && self.config.successive) {
                rtx_queue.unmark_lost();
            }
            // The segments declared lost were only delayed.
            self.reordered |= matches!(self.phase, Phase::Recovery(_));
            self.phase = Phase::Open;
            self.frto_state = FRto::Over;
            match undo.limits {
                Some((cwnd, ssthresh)) => handle.undo(cause, cwnd, ssthresh),
                None => handle.recovered(false),
            }
        }
    }

    /// Processes a D-SACK block, which reports that the bytes from `start` up to `end` arrived twice.
    pub(super) fn on_duplicate(&mut self, (start, end): (u64, u64), una: u64, handle: &mut WindowHandle) {
        let mss = u64::from(handle.flight().mss);
        let reports_probe = self.probe.is_some_and(|probe| probe.retransmitted && probe.end == end);
        if reports_probe {
            // Both the probe and the original arrived: nothing was lost (RFC 8985 section 7.4.2).
            self.probe = None;
        } else if self.reordered {
            self.reordering_window.grow(una, handle.flight().max);
        }
        // Data acknowledged before the reduction were not retransmitted because of it.
        if let Some(undo) = self.undo.as_mut().filter(|undo| end > undo.una) {
            undo.undo_retrans.subtract_duplicates((end - start).div_ceil(mss));
        }
    }

    /// Undoes a reduction if all of its retransmissions were reported as duplicates and the congestion state allows it
    /// (Linux: tcp_try_undo_dsack). `advanced` states whether the ACK advanced SND.UNA.
    pub(super) fn undo_if_duplicates(
        &mut self,
        advanced: bool,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) {
        let all_were_duplicates = self
            .undo
            .as_ref()
            .is_some_and(|undo| undo.undo_retrans.all_were_duplicates());
        let can_be_undone = match self.phase {
            Phase::Open | Phase::Recovery(_) => true,
            Phase::Cwr(_) => false,
            Phase::Loss(_) => advanced,
        };
        if self.config.undo && all_were_duplicates && can_be_undone {
            self.undo_reduction(EventCause::DSack, handle.flight().una, rtx_queue, handle);
        }
    }

    /// After a timeout, checks whether an ACK reports data that were never retransmitted (RFC 5682 section 3.1, with
    /// SACK). `advanced` states whether the ACK advanced SND.UNA, and `has_dsack` whether it carries a D-SACK block.
    pub(super) fn update_frto(
        &mut self,
        summary: &AckSummary,
        advanced: bool,
        has_dsack: bool,
        rtx_queue: &mut RetransmissionQueue,
        handle: &mut WindowHandle,
    ) {
        let (Phase::Loss(end), true) = (self.phase, self.frto_state != FRto::Over) else {
            return;
        };
        let (una, max) = (handle.flight().una, handle.flight().max);
        if summary.original_end <= end {
            return self.undo_reduction(EventCause::FRto, una, rtx_queue, handle);
        }
        if max > end {
            // New data have been sent (step 2b). An ACK that reports a hole, by a SACK block or as a plain duplicate, shows
            // that the timeout was genuine (step 3a). A D-SACK block alone shows only that a segment arrived twice.
            let is_plain_duplicate = !advanced && !has_dsack;
            if is_plain_duplicate || summary.sacked {
                self.frto_state = FRto::Over;
            }
        } else if advanced && una < end {
            // The retransmission was acknowledged, but not all data: the sender tests with new data (step 2b).
            self.frto_state = FRto::SendingNewData;
        }
    }

    /// Returns whether the sender sends new data before lost segments.
    #[inline]
    pub fn sends_new_first(&self) -> bool {
        self.frto_state == FRto::SendingNewData
    }

    /// Treats the timeout as genuine if no new data could be sent; returns false if new data were sent.
    pub fn end_frto_without_new_data(&mut self, max: u64) -> bool {
        let is_without_new_data = matches!(self.phase, Phase::Loss(end) if max <= end);
        self.frto_state = if is_without_new_data {
            FRto::Over
        } else {
            FRto::AwaitingFirstAck
        };
        is_without_new_data
    }
}
