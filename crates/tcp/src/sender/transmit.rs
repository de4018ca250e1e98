//! Selection of the next segment to send.

use super::timers::Timer;
use super::writes::Writes;
use super::{opening, records, Sender, NOTHING};
use crate::congestion::control::Sent;
use crate::congestion::WindowAdjustment;
use crate::journal::EventCause;
use crate::recovery::recover::{Next, Recover};
use crate::recovery::Recovery;
use crate::retransmission_queue::RetransmissionQueue;
use crate::segment::{DataSegment, Ecn, Opening};
use longpipe_events::{MaybeTime, Time};

impl Sender {
    /// Returns whether the recovery uses per-segment records (RACK, `records.rs`).
    #[inline(always)]
    pub(super) fn uses_rack(&self) -> bool {
        matches!(self.recovery, Recovery::Rack(_))
    }

    /// Returns the next segment to send now, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        if self.fast_path {
            self.poll_new_data(now)
        } else {
            self.poll_slow_path(now)
        }
    }

    /// Returns the next segment that the window allows (fast path).
    #[inline(always)]
    fn poll_new_data(&mut self, now: Time) -> Option<DataSegment> {
        if let Some((sequence, retransmission)) = self.poll_full(now) {
            return Some(DataSegment {
                sequence,
                length: self.flight.mss,
                retransmission,
                timestamp: self.stamp(now),
                ecn: Ecn {
                    capable: self.is_capable(retransmission),
                    ..Ecn::default()
                },
                opening: Opening::Over,
                push: self.take_push(now, sequence, self.flight.mss, retransmission),
            });
        }
        if self.short_at_end_only && self.is_spent() {
            return None;
        }
        self.poll_short(now, self.flight.window())
    }

    /// Sends a full segment if the window allows it (fast path). Returns the segment's first byte, and whether it is a
    /// retransmission.
    #[inline(always)]
    pub fn poll_full(&mut self, now: Time) -> Option<(u64, bool)> {
        let flight = &self.flight;
        let (sequence, mss) = (flight.nxt, flight.mss);
        let end = sequence + u64::from(mss);
        let needed = end - flight.una;
        // This is equivalent to `needed <= flight.window()`, but takes fewer instructions.
        let full = (needed <= flight.rwnd()) & (needed as i64 as f64 <= flight.cwnd()) & (end <= self.written);
        full.then(|| {
            self.flight.nxt = end;
            (sequence, self.on_sent(now, sequence, mss))
        })
    }

    /// Returns whether, after `poll_full` has returned None, no short segment can follow, for an ACK that
    /// `try_fast_path` has processed.
    #[inline(always)]
    pub fn is_spent(&self) -> bool {
        debug_assert!(self.short_at_end_only);
        self.flight.una + self.flight.rwnd() < self.written
    }

    /// Returns a segment shorter than the MSS, if the window and silly-window avoidance allow it.
    #[inline(never)]
    fn poll_short(&mut self, now: Time, window: u64) -> Option<DataSegment> {
        let sequence = self.flight.nxt;
        let length = self.fin_segment().unwrap_or_else(|| self.room(window));
        if length == 0 || (length < self.flight.mss && !self.may_send_short(length)) {
            return None;
        }
        self.flight.nxt += u64::from(length);
        Some(self.emit(now, sequence, length))
    }

    /// Returns the next segment if a recovery is in progress or the sender may have been idle (slow path).
    #[inline(always)]
    fn poll_slow_path(&mut self, now: Time) -> Option<DataSegment> {
        if self.is_plain {
            self.poll_in_recovery(now)
        } else {
            self.poll_in_full(now)
        }
    }

    /// Returns the next segment of a sender that has ECN, a handshake, a retransmission queue or pacing.
    #[inline(never)]
    fn poll_in_full(&mut self, now: Time) -> Option<DataSegment> {
        if opening::is_on(self) {
            return opening::poll(self, now);
        }
        if !self.reports_transmissions {
            return self.poll_after_idle_check(now);
        }
        if self.uses_rack() {
            if self.waits_for_pacer(now) {
                return None;
            }
            if self.is_in_order() {
                if let Some(sequence) = self.poll_after_ack(now) {
                    self.set_timers_in_order(now);
                    return Some(self.full_segment(now, sequence));
                }
                if self.has_full_segment() {
                    return None;
                }
            }
            return records::poll(self, now);
        }
        let mss = self.flight.mss;
        if self
            .cc_state
            .as_mut()
            .is_some_and(|cc_state| cc_state.must_wait(now, mss))
        {
            return None;
        }
        let segment = self.poll_after_idle_check(now)?;
        self.report_transmission(now, &segment);
        Some(segment)
    }

    #[inline(always)]
    fn poll_after_idle_check(&mut self, now: Time) -> Option<DataSegment> {
        if self.optional.is_some() {
            self.check_idle(now);
            return self.poll_recovery(now);
        }
        self.poll_in_recovery(now)
    }

    /// Selects new data or a retransmission that the recovery requests; does not check for an idle restart.
    #[inline(never)]
    fn poll_in_recovery(&mut self, now: Time) -> Option<DataSegment> {
        if self.shortcuts & !self.resend_first & !self.recovery.is_on() {
            return self.poll_new_data(now);
        }
        self.poll_recovery(now)
    }

    #[inline(always)]
    fn poll_recovery(&mut self, now: Time) -> Option<DataSegment> {
        if self.resend_first {
            return Some(self.resend_una(now));
        }
        match self.recovery.next(&self.flight) {
            Next::Nothing => None,
            Next::Window => self.poll_short(now, self.flight.window()),
            Next::Beyond => self.poll_beyond(now),
            Next::Hole { sequence, length } => {
                Some(self.retransmit_hole(now, sequence, length, EventCause::Scoreboard))
            }
            Next::Lost { sequence, length } => {
                Some(self.retransmit_untimed(now, sequence, length, EventCause::Scoreboard))
            }
            Next::Unsent { otherwise } => self.poll_unsent(now, otherwise),
        }
    }

    /// Retransmits the segment at SND.UNA.
    #[inline(never)]
    fn resend_una(&mut self, now: Time) -> DataSegment {
        self.resend_first = false;
        let length = self.flight.outstanding().min(u64::from(self.flight.mss)) as u32;
        let sequence = self.flight.una;
        self.flight.nxt = self.flight.nxt.max(sequence + u64::from(length));
        self.emit(now, sequence, length)
    }

    /// Sends the segment at SND.NXT for the recovery, if the receiver's window allows it.
    #[inline(never)]
    fn poll_beyond(&mut self, now: Time) -> Option<DataSegment> {
        let segment = self.poll_short(now, self.flight.rwnd())?;
        self.recovery.on_sent(&self.flight, segment.length, None);
        Some(segment)
    }

    /// Sends a segment that has never been sent before, for the recovery, if the receiver's window allows it. Otherwise,
    /// retransmits the bytes given by `otherwise`.
    #[inline(never)]
    fn poll_unsent(&mut self, now: Time, otherwise: Option<(u64, u32)>) -> Option<DataSegment> {
        // All data from SND.NXT to SND.MAX have arrived.
        self.flight.nxt = self.flight.max;
        self.poll_beyond(now).or_else(|| {
            otherwise.map(|(sequence, length)| self.retransmit_untimed(now, sequence, length, EventCause::Rescue))
        })
    }

    /// Retransmits a hole.
    #[inline(never)]
    fn retransmit_hole(&mut self, now: Time, sequence: u64, length: u32, cause: EventCause) -> DataSegment {
        self.next_cause = Some(cause);
        let end = sequence + u64::from(length);
        self.recovery.on_sent(&self.flight, length, Some(end));
        self.flight.nxt = self.flight.nxt.max(end);
        self.emit(now, sequence, length)
    }

    /// Retransmits a hole without measuring its RTT, because its ACK would be ambiguous (Karn and Partridge 1987).
    #[inline(never)]
    fn retransmit_untimed(&mut self, now: Time, sequence: u64, length: u32, cause: EventCause) -> DataSegment {
        if (sequence..sequence + u64::from(length)).contains(&self.timed) {
            self.timed = NOTHING;
        }
        self.retransmit_hole(now, sequence, length, cause)
    }

    /// Resets the window if nothing was sent for longer than the RTO.
    pub(super) fn check_idle(&mut self, now: Time) {
        let Some((window, latest)) = self.optional.as_ref().and_then(|optional| optional.idle_restart()) else {
            return;
        };
        if self.flight.outstanding() == 0 && now > self.rtt.deadline(latest) {
            let before = self.flight.cwnd();
            self.handle(now).adjust(WindowAdjustment::AtMost(window));
            self.on_idle_restart(now, before);
        }
    }

    /// Returns the maximum length of a segment at SND.NXT.
    pub(super) fn room(&self, window: u64) -> u32 {
        let flight = &self.flight;
        let room = (flight.una + window).min(self.written).saturating_sub(flight.nxt);
        room.min(u64::from(flight.mss)) as u32
    }

    /// Returns whether a segment may be sent under sender-side silly-window avoidance (RFC 1122 section 4.2.3.4,
    /// without the Nagle algorithm).
    pub(super) fn may_send_short(&self, length: u32) -> bool {
        let flight = &self.flight;
        !self.silly_window_avoidance
            || flight.nxt + u64::from(length) == self.written
            || u64::from(length) >= flight.rwnd() / 2
    }

    /// Returns the length of the next segment if it is the last one, carries FIN, was never sent before, and the
    /// receiver's window has room for it. Linux sends this segment whatever the congestion window (tcp_cwnd_test).
    pub(super) fn fin_segment(&self) -> Option<u32> {
        let flight = &self.flight;
        let length = self.written - flight.nxt;
        let is_last = self.sends_fin && flight.nxt == flight.max && (1..=u64::from(flight.mss)).contains(&length);
        (is_last && self.written <= flight.una + flight.rwnd()).then_some(length as u32)
    }

    /// Returns whether a segment that is sent now carries PSH.
    #[inline(always)]
    fn take_push(&mut self, now: Time, sequence: u64, length: u32, retransmission: bool) -> bool {
        (self.writes.is_some() | self.echoes.is_some()) && self.take_push_in_full(now, sequence, length, retransmission)
    }

    /// Returns whether a segment that is sent now carries PSH, and records its transmission if the receiver measures RTTs.
    #[inline(never)]
    fn take_push_in_full(&mut self, now: Time, sequence: u64, length: u32, retransmission: bool) -> bool {
        if let Some(echoes) = &mut self.echoes {
            echoes.on_sent(now, sequence, &self.flight);
        }
        if self.writes.is_none() {
            return false;
        }
        if self.shortcuts & !retransmission & (self.flight.max <= self.plain_end) {
            return false;
        }
        let push = |writes: &Writes| writes.push(sequence, sequence + u64::from(length));
        let pushed = self.writes.as_deref().is_some_and(push);
        // Shortcut: until a segment with PSH is sent, the end of the next one stays the same.
        if (self.flight.max > self.plain_end) | !self.shortcuts {
            self.update_plain_end();
        }
        pushed
    }

    pub(super) fn emit(&mut self, now: Time, sequence: u64, length: u32) -> DataSegment {
        if let Some(optional) = &mut self.optional {
            optional.on_sent(now);
        }
        if length < self.flight.mss {
            self.counters.sent_segments += 1;
            self.counters.short_bytes += u64::from(length);
        }
        let retransmission = self.on_sent(now, sequence, length);
        let marks = self.optional.as_mut().and_then(|optional| optional.marks.as_mut());
        let ecn = Ecn {
            capable: self.capable[usize::from(retransmission)],
            marked: false,
            reduced: marks.is_some_and(|marks| marks.on_sent(retransmission)),
        };
        if ecn.reduced {
            self.update_in_order_path();
        }
        DataSegment {
            sequence,
            length,
            retransmission,
            timestamp: self.stamp(now),
            ecn,
            opening: Opening::Over,
            push: self.take_push(now, sequence, length, retransmission),
        }
    }

    /// Records a transmission. Returns whether it is a retransmission.
    #[inline(always)]
    fn on_sent(&mut self, now: Time, sequence: u64, length: u32) -> bool {
        let end = sequence + u64::from(length);
        let retransmission = sequence < self.flight.max;
        if retransmission {
            self.on_retransmission(now, sequence, end.min(self.flight.max) - sequence);
        } else if self.timed == NOTHING {
            (self.timed, self.timed_since) = (sequence, now);
        }
        self.flight.max = self.flight.max.max(end);
        if self.timers.get(Timer::Retransmission) == MaybeTime::NONE {
            let expiry = self.expiry(now);
            self.timers.set(Timer::Retransmission, expiry);
        }
        retransmission
    }

    /// Reports a transmission to the retransmission queue and the congestion controller.
    #[inline(never)]
    pub(super) fn report_transmission(&mut self, now: Time, segment: &DataSegment) {
        let (sequence, end) = (segment.sequence, segment.sequence + u64::from(segment.length));
        let Some(cc_state) = &mut self.cc_state else {
            return;
        };
        if let Some(rtx_queue) = &mut cc_state.rtx_queue {
            rtx_queue.on_sent(now, sequence, end, self.flight.max);
        }
        if cc_state.reports_transmissions {
            let sent = Sent {
                now,
                sequence,
                end,
                retransmission: segment.retransmission,
                in_flight: cc_state.in_flight(&self.flight),
                app_limited: cc_state
                    .rtx_queue
                    .as_ref()
                    .is_some_and(RetransmissionQueue::is_app_limited),
            };
            let pacing = self.congestion.on_sent(&sent, &self.flight);
            cc_state.set_pacing(pacing);
        }
        if let Some(pacer) = &mut cc_state.pacer {
            pacer.on_sent(now, end - sequence, cc_state.pacing);
        }
    }
}
