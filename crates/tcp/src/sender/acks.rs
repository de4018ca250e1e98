//! Processing of ACKs by the sender.

use super::timers::Timer;
use super::{opening, records, Sender, NOTHING};
use crate::congestion::control::{Ack, AckSample, Cause};
use crate::congestion::flight::Flight;
use crate::congestion::{with_usual, Controller, WindowAdjustment};
use crate::journal::EventCause;
use crate::recovery::rack::RecoveryStep;
use crate::recovery::recover::{Advance, Recover, Resend};
use crate::recovery::window_handle::WindowHandle;
use crate::retransmission_queue::AckSummary;
use crate::segment::AckSegment;
use crate::sender::cc_state::CcState;
use crate::sender::ecn::Marks;
use longpipe_events::{MaybeTime, Span, Time};

/// State of the sender at the arrival of an ACK, before the ACK is processed.
#[derive(Clone, Copy)]
pub(super) struct BeforeAck {
    pub una: u64,
    pub in_flight: u64,
    pub cwnd: f64,
    /// Maximum number of bytes that the ACK reporting a mark can have delivered.
    pub marked: u64,
    /// Send time of the segment whose RTT the ACK measures, if the recovery keeps no records.
    pub sent: Option<Time>,
    /// One-way delay that the ACK reports.
    pub delay: Option<Span>,
}

impl BeforeAck {
    /// Returns an ACK sample for the congestion controller, before loss recovery has processed the ACK; `summary` comes
    /// from the retransmission queue.
    #[inline(always)]
    pub fn sample(
        &self,
        now: Time,
        flight: &Flight,
        summary: &AckSummary,
        (has_sack_blocks, paced): (bool, bool),
    ) -> AckSample {
        AckSample {
            now,
            acked: flight.una - self.una,
            delivered: summary.delivered,
            marked: summary.delivered.min(self.marked),
            rtt: summary.rtt,
            has_sack_blocks,
            paced,
            delay: self.delay,
            delivered_since_sent: summary.rate.map(|rate| rate.delivered),
        }
    }

    /// Returns the properties of an ACK for the congestion controller, after loss recovery has processed it.
    /// `in_flight` is the number of bytes in flight after the ACK.
    #[inline(always)]
    pub fn report(
        &self,
        now: Time,
        (flight, in_flight): (&Flight, u64),
        (summary, step): (&AckSummary, RecoveryStep),
        srtt: Option<Span>,
        cc_state: &mut CcState,
    ) -> Ack {
        let window_limited = (self.in_flight + u64::from(flight.mss)) as i64 as f64 > self.cwnd;
        cc_state
            .usage
            .on_ack(self.una, flight.max, flight.max - self.una, window_limited);
        Ack {
            now,
            acked: flight.una - self.una,
            grows: step.grows,
            open: step.open,
            phase: step.phase,
            delivered: summary.delivered,
            lost: summary.lost,
            marked: summary.delivered.min(self.marked),
            in_flight_before: self.in_flight,
            in_flight,
            cwnd: self.cwnd,
            window_limited,
            usage: cc_state.usage,
            rtt: summary.rtt,
            seq_rtt: summary.seq_rtt,
            srtt,
            least_rtt: summary.least_rtt,
            delay: self.delay,
            rate: summary.rate,
            held: cc_state.pacing_delay(now),
            paced: cc_state.pacer.is_some(),
            reordered: summary.reordered,
        }
    }
}

impl Sender {
    /// Processes an ACK.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment) {
        debug_assert!(ack.acknowledgement <= self.flight.max, "an ACK for data never sent");
        let is_plain = !ack.blocks[0].is_some() & (ack.ace == 0) & (ack.acknowledgement > self.flight.una);
        if !self.fast_path | !is_plain {
            return self.on_slow_path_ack(now, ack);
        }
        self.on_fast_path_ack(now, ack.acknowledgement, ack.echo.get());
    }

    /// Fast path: processes an ACK without options and ECN flags if it only enlarges the window and restarts the timer;
    /// `poll_full` then returns what to send. Otherwise, it returns false and changes nothing; the caller must then call
    /// `on_ack`.
    #[inline(always)]
    pub fn try_fast_path(&mut self, now: Time, acknowledgement: u64) -> bool {
        let fast = self.fast_path & self.uniform_segments & (acknowledgement > self.flight.una);
        if fast {
            self.on_fast_path_ack(now, acknowledgement, None);
        }
        fast
    }

    #[inline(always)]
    fn on_fast_path_ack(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) {
        let acked = self.acknowledge(now, acknowledgement, echo);
        self.congestion.on_plain_ack(acked, &mut self.flight);
        let expiry = self.expiry(now);
        self.set_deadline(if self.flight.max == self.flight.una {
            MaybeTime::NONE
        } else {
            expiry
        });
    }

    /// Slow path of `on_ack`.
    #[inline(never)]
    fn on_slow_path_ack(&mut self, now: Time, ack: &AckSegment) {
        if !self.is_plain {
            return self.on_ack_in_full(now, ack);
        }
        if ack.acknowledgement < self.flight.una {
            return;
        }
        let counts = self.recovery.on_ack(ack);
        self.on_ack_by_bytes(now, ack, counts);
        self.update_fast_path();
    }

    /// Processes an ACK if the sender has ECN, a handshake, a retransmission queue or pacing.
    #[inline(never)]
    fn on_ack_in_full(&mut self, now: Time, ack: &AckSegment) {
        if ack.opening.is_syn() && opening::on_answer(self, now, ack) {
            return;
        }
        if let Some(segments) = self.optional.as_mut().and_then(|optional| optional.on_ack(now)) {
            let threshold = segments.max(2) as f64 * self.flight.mss();
            self.handle(now).adjust(WindowAdjustment::ThresholdAtMost(threshold));
        }
        if ack.acknowledgement < self.flight.una {
            return;
        }
        // Shortcut: an earlier ACK lets the application write nothing.
        if !self.shortcuts | (ack.acknowledgement >= self.refill_at) {
            self.on_ack_of_writes(now, ack.acknowledgement);
        }
        if ack.window > 0 {
            self.take_window(ack);
        }
        let may_mark = self.optional.is_some();
        if may_mark {
            self.on_marks_reported(ack);
        }
        self.on_news(now, ack);
        // RACK processes marks together with the rest of the ACK.
        if may_mark && !self.uses_rack() {
            if let Some(cause) = self.first_mark() {
                self.on_mark(now, cause);
            }
        }
        self.update_fast_path();
    }

    /// Adopts the receiver's window from an ACK; only an ACK of new data can make the window smaller
    /// (tcp_may_update_window).
    fn take_window(&mut self, ack: &AckSegment) {
        if ack.acknowledgement > self.flight.una || ack.window > self.flight.rwnd {
            self.set_window(ack.window);
        }
    }

    /// Processes the ECN fields of an ACK.
    #[inline(never)]
    fn on_marks_reported(&mut self, ack: &AckSegment) {
        if let Some(marks) = self.optional.as_mut().and_then(|optional| optional.marks.as_mut()) {
            marks.on_ack(ack, &self.flight);
        }
    }

    /// Returns the maximum number of bytes that the latest ACK reporting a mark can have delivered.
    fn marked(&self) -> u64 {
        let marks = self.optional.as_ref().and_then(|optional| optional.marks.as_ref());
        marks.map_or(0, Marks::marked)
    }

    /// Returns the number of marked packets that ACKs have reported, with Accurate ECN.
    #[cfg(test)]
    pub(crate) fn reported_marks(&self) -> u64 {
        let marks = self.optional.as_ref().and_then(|optional| optional.marks.as_ref());
        marks.map_or(0, Marks::marked_packets)
    }

    /// Returns the number of marked bytes that AccECN options have reported.
    #[cfg(test)]
    pub(crate) fn reported_marked_bytes(&self) -> u64 {
        let marks = self.optional.as_ref().and_then(|optional| optional.marks.as_ref());
        marks.map_or(0, Marks::marked_bytes)
    }

    /// Returns the cause of a window reduction if the ACK reports ECN marks.
    #[inline(never)]
    pub(super) fn mark(&mut self) -> Option<Cause> {
        let marks = self.optional.as_mut().and_then(|optional| optional.marks.as_mut())?;
        (marks.marked() > 0).then_some(Cause::Mark { abe: marks.abe })
    }

    /// Returns the cause of a window reduction if the ACK reports ECN marks; there is at most one such reduction per
    /// window.
    fn first_mark(&mut self) -> Option<Cause> {
        let cause = self.mark()?;
        let marks = self.optional.as_mut().and_then(|optional| optional.marks.as_mut())?;
        marks.on_echo(&self.flight).then_some(cause)
    }

    /// Reduces the window because of ECN marks, unless a loss recovery has already reduced it.
    fn on_mark(&mut self, now: Time, cause: Cause) {
        if self.recovery.repairs() {
            return;
        }
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            self.cc_state.as_deref_mut().map(CcState::pacing),
            &mut self.journal,
            now,
        );
        handle.reduce(cause);
        self.counters.mark_reductions += 1;
    }

    #[inline(always)]
    fn on_news(&mut self, now: Time, ack: &AckSegment) {
        let counts = self.recovery.on_ack(ack);
        if self.cc_state.is_some() {
            if self.uses_rack() {
                let in_order = !ack.blocks[0].is_some()
                    && self.marked() == 0
                    && ack.clock == MaybeTime::NONE
                    && ack.acknowledgement > self.flight.una;
                if in_order && self.take_without_marks(now, ack.acknowledgement, ack.echo.get()) {
                    self.set_timers_in_order(now);
                } else {
                    records::on_ack(self, now, ack);
                }
                return;
            }
            self.on_ack_with_sample(now, ack, counts);
        } else {
            self.on_ack_by_bytes(now, ack, counts);
        }
    }

    /// Slow-path processing of an ACK when the congestion controller needs only the number of acknowledged bytes.
    #[inline(always)]
    fn on_ack_by_bytes(&mut self, now: Time, ack: &AckSegment, counts: bool) {
        if ack.acknowledgement > self.flight.una {
            let acked = ack.acknowledgement - self.flight.una;
            let advance = self.on_advance(now, ack);
            if advance.grows {
                self.congestion.on_plain_ack(acked, &mut self.flight);
            }
            self.resend(advance.resend, advance.begins);
        } else if self.flight.outstanding() > 0 {
            let resend = self.on_duplicate(now, counts);
            self.resend(resend, true);
        }
    }

    /// Slow-path processing of an ACK when the congestion controller needs an ACK sample.
    #[inline(never)]
    fn on_ack_with_sample(&mut self, now: Time, ack: &AckSegment, counts: bool) {
        let before = self.before(ack);
        let (resend, begins, grows) = if ack.acknowledgement > self.flight.una {
            let advance = self.on_advance(now, ack);
            (advance.resend, advance.begins, advance.grows)
        } else if self.flight.outstanding() > 0 {
            (self.on_duplicate(now, counts), true, false)
        } else {
            return;
        };
        self.report_to_controller(now, ack, before, grows);
        self.resend(resend, begins);
    }

    fn on_advance(&mut self, now: Time, ack: &AckSegment) -> Advance {
        let acked = self.acknowledge(now, ack.acknowledgement, ack.echo.get());
        let trigger = self.triggers.at(now);
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            self.cc_state.as_deref_mut().map(CcState::pacing),
            &mut self.journal,
            now,
        );
        let advance = self.recovery.on_advance(&mut handle, acked, trigger);
        if advance.ends {
            // Recovery algorithms without per-segment records cannot detect spurious retransmissions.
            handle.recovered(false);
        }
        if advance.begins {
            self.on_fast_retransmit(now);
        }
        if self.flight.max == self.flight.una {
            self.set_deadline(MaybeTime::NONE);
        } else if advance.restart_timer {
            let expiry = self.expiry(now);
            self.set_deadline(expiry);
        }
        advance
    }

    #[inline(always)]
    fn on_duplicate(&mut self, now: Time, counts: bool) -> Resend {
        self.counters.duplicate_acks += 1;
        if !counts {
            return Resend::Nothing;
        }
        self.flight.duplicates += 1;
        let trigger = self.triggers.at(now);
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            self.cc_state.as_deref_mut().map(CcState::pacing),
            &mut self.journal,
            now,
        );
        let resend = self.recovery.on_duplicate(&mut handle, trigger);
        if resend != Resend::Nothing {
            self.on_fast_retransmit(now);
            if self.fast_retransmit_restarts_timer {
                let expiry = self.expiry(now);
                self.set_deadline(expiry);
            }
        }
        resend
    }

    fn on_fast_retransmit(&mut self, now: Time) {
        self.triggers.on_fast_retransmit(now);
        self.on_recovery_begin(now);
        self.timed = NOTHING;
    }

    pub(super) fn before(&self, ack: &AckSegment) -> BeforeAck {
        let timed = (ack.acknowledgement > self.timed).then_some(self.timed_since);
        BeforeAck {
            una: self.flight.una,
            in_flight: self
                .cc_state
                .as_ref()
                .map_or(self.flight.outstanding(), |cc_state| cc_state.in_flight(&self.flight)),
            cwnd: self.flight.cwnd(),
            marked: self.marked(),
            delay: ack.one_way_delay(),
            sent: ack
                .echo
                .get()
                .or(timed)
                .filter(|_| ack.acknowledgement > self.flight.una),
        }
    }

    /// Advances SND.UNA and measures the RTT of the timed segment. Returns the number of bytes acknowledged.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) -> u64 {
        if let Some(echo) = echo {
            self.measure(echo, now);
        } else if acknowledgement > self.timed {
            self.measure(self.timed_since, now);
            self.timed = NOTHING;
        }
        let flight = &mut self.flight;
        let acked = acknowledgement - flight.una;
        flight.una = acknowledgement;
        flight.nxt = flight.nxt.max(flight.una);
        flight.duplicates = 0;
        acked
    }

    /// This function is out of line because RTT samples are rare on the fast path.
    #[cold]
    pub(super) fn measure(&mut self, sent: Time, now: Time) {
        self.rtt.measure(sent, now);
        self.rto = self.rtt.constant_rto();
        self.measured = Some(now - sent);
    }

    /// Reports an ACK to the congestion controller, which updates the window.
    fn report_to_controller(&mut self, now: Time, ack: &AckSegment, before: BeforeAck, grows: bool) {
        let Some(cc_state) = &mut self.cc_state else {
            return;
        };
        let flight = &self.flight;
        let acked = flight.una - before.una;
        let rtt = before.sent.map(|sent| now - sent);
        cc_state.least_rtt = [cc_state.least_rtt, rtt].into_iter().flatten().min();
        let summary = match &mut cc_state.rtx_queue {
            Some(rtx_queue) => rtx_queue.on_ack(now, ack.acknowledgement, ack.echo.get(), ack.blocks_beyond()),
            None => AckSummary {
                rtt,
                seq_rtt: rtt,
                least_rtt: cc_state.least_rtt,
                delivered: acked,
                ..AckSummary::default()
            },
        };
        let kind = (ack.blocks[0].is_some(), cc_state.pacer.is_some());
        let sample = before.sample(now, &self.flight, &summary, kind);
        cc_state.set_pacing(self.congestion.on_sample(&sample, &mut self.flight));
        let turn = RecoveryStep {
            grows,
            open: self.recovery.is_idle() && acked > 0,
            ..RecoveryStep::default()
        };
        self.report_ack(now, &summary, before, turn);
    }

    /// Reports an ACK to the congestion controller, with `summary` from the retransmission queue.
    pub(super) fn report_ack(&mut self, now: Time, summary: &AckSummary, before: BeforeAck, turn: RecoveryStep) {
        let Some(cc_state) = &mut self.cc_state else {
            return;
        };
        let (in_flight, srtt) = (cc_state.in_flight(&self.flight), self.rtt.exact_srtt());
        let flight = &mut self.flight;
        with_usual!(&mut self.congestion, controller => {
            let ack = before.report(now, (flight, in_flight), (summary, turn), srtt, cc_state);
            cc_state.set_pacing(controller.take_ack(&ack, flight));
        });
        cc_state.update_window_pacing(&self.flight, srtt, summary.least_rtt);
    }

    /// Performs a retransmission; if `begins` is true, it starts a recovery.
    fn resend(&mut self, resend: Resend, begins: bool) {
        match resend {
            Resend::Nothing => {}
            Resend::First => {
                self.resend_first = true;
                self.next_cause = Some(match begins {
                    true => EventCause::FastRetransmit,
                    false => EventCause::PartialAck,
                });
            }
            Resend::FromUna => {
                self.flight.nxt = self.flight.una;
                self.go_back_cause = EventCause::FastRetransmit;
            }
        }
    }

    #[inline(always)]
    fn set_deadline(&mut self, at: MaybeTime) {
        self.timers.set(Timer::Retransmission, at);
    }
}
