//! Entries that a sender writes into its journal, and access to the journal.

use super::Sender;
use crate::journal::attribution::Totals;
use crate::journal::losses::{Loss, LossCause};
use crate::journal::{EventCause, EventKind, SenderEvent};
use longpipe_events::Time;

impl Sender {
    /// Records events from now on, for `take_events`.
    pub fn record_events(&mut self) {
        self.journal.record_events();
        if let Some(rtx_queue) = self
            .cc_state
            .as_deref_mut()
            .and_then(|cc_state| cc_state.rtx_queue.as_mut())
        {
            rtx_queue.record_declared_losses();
        }
    }

    /// Returns the events since the last call, in order.
    pub fn take_events(&mut self, now: Time) -> Vec<SenderEvent> {
        self.journal.take(now, self.recovery.state(), &self.flight)
    }

    /// Records that the network lost a data segment; the time of the loss may be in the future or before the latest
    /// reductions.
    pub fn note_loss(&mut self, loss: Loss) {
        self.journal.note_loss(loss, self.flight.una);
    }

    /// Returns the totals of the window reductions until `now` for each cause.
    pub fn reductions(&self, now: Time) -> Totals {
        self.journal.reductions(now, self.flight.cwnd())
    }

    /// Records that the retransmission timer expired.
    pub(super) fn on_expiry(&mut self, now: Time) {
        self.counters.timeouts += 1;
        (self.next_cause, self.go_back_cause) = (None, EventCause::Timeout);
        self.write(
            now,
            EventKind::Timeout,
            EventCause::None,
            (self.flight.una, self.flight.outstanding()),
        );
    }

    /// Records the start of a recovery without a timeout.
    pub(super) fn on_recovery_begin(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        let outstanding = (self.flight.una, self.flight.outstanding());
        self.write(now, EventKind::FastRetransmit, EventCause::None, outstanding);
    }

    /// Records a retransmission.
    #[cold]
    #[inline(never)]
    pub(super) fn on_retransmission(&mut self, now: Time, sequence: u64, length: u64) {
        self.counters.retransmitted_segments += 1;
        self.counters.retransmitted_bytes += length;
        let cause = self.next_cause.take().unwrap_or(self.go_back_cause);
        self.write(now, EventKind::Retransmit, cause, (sequence, length));
    }

    /// Records the segments that the retransmission queue has declared lost since the last call.
    pub(super) fn write_declared_losses(&mut self, now: Time, cause: EventCause) {
        if !self.journal.records_events() {
            return;
        }
        let Some(rtx_queue) = self
            .cc_state
            .as_deref_mut()
            .and_then(|cc_state| cc_state.rtx_queue.as_mut())
        else {
            return;
        };
        for segment in rtx_queue.take_declared_losses() {
            self.write(now, EventKind::DeclaredLost, cause, segment);
        }
    }

    /// Records a window reduction after an idle period; `before` [byte] is the window before the reduction.
    pub(super) fn on_idle_restart(&mut self, now: Time, before: f64) {
        if self.flight.cwnd() < before {
            let flight = &self.flight;
            self.journal.add(|| SenderEvent {
                time: now,
                kind: EventKind::Reduction,
                cause: EventCause::Idle,
                loss: LossCause::NONE,
                sequence: flight.una,
                length: flight.outstanding(),
                cwnd: before,
                ssthresh: flight.ssthresh(),
            });
        }
    }

    fn write(&mut self, time: Time, kind: EventKind, cause: EventCause, (sequence, length): (u64, u64)) {
        let flight = &self.flight;
        self.journal.add(|| SenderEvent {
            time,
            kind,
            cause,
            loss: LossCause::NONE,
            sequence,
            length,
            cwnd: flight.cwnd(),
            ssthresh: flight.ssthresh(),
        });
    }
}
