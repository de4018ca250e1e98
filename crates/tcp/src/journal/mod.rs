//! Journal of a sender: events with causes for observers, and a summary of the causes of window reductions.
//!
//! Only slow paths write to it, because all recorded events are rare.

pub mod attribution;
pub mod losses;

use crate::congestion::control::Cause;
use crate::congestion::flight::Flight;
use attribution::{Reductions, Totals};
use longpipe_events::Time;
use losses::{Loss, LossCause};
use strum::VariantNames;

/// Kind of a sender event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum EventKind {
    /// A segment is retransmitted.
    Retransmit,
    /// RACK declares a segment lost.
    DeclaredLost,
    /// A fast retransmit: a recovery starts without a timeout.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The window is reduced.
    Reduction,
    /// A reduction is undone, because it was spurious.
    Undo,
    /// The congestion state changed (Linux's `tcp_ca_state`).
    State,
}

/// Cause of a sender event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum EventCause {
    /// No cause other than the event itself.
    #[default]
    None,
    /// Duplicate ACKs, or segments that SACK blocks report, reached the threshold.
    FastRetransmit,
    /// A partial ACK revealed the next hole (RFC 6582).
    PartialAck,
    /// The SACK scoreboard has a hole that counts as lost (RFC 6675).
    Scoreboard,
    /// RACK's time limit has passed (RFC 8985).
    Rack,
    /// The retransmission timer expired.
    Timeout,
    /// No ACKs arrived, and a tail loss probe was sent (RFC 8985 section 7).
    TailLossProbe,
    /// The window had room for a segment that is not declared lost yet (RFC 6675, NextSeg rules 3 and 4).
    Rescue,
    /// The receiver echoed an ECN mark.
    Ecn,
    /// The sender was idle for longer than the retransmission timeout (RFC 5681 section 4.1).
    Idle,
    /// The ACK was triggered by the original transmission, not by the retransmission (Eifel, RFC 3522).
    Eifel,
    /// Every retransmitted segment arrived twice (D-SACK, RFC 2883).
    DSack,
    /// A segment that was not retransmitted was acknowledged after the timeout (F-RTO, RFC 5682).
    FRto,
    /// The state is Open.
    Open,
    /// The state is CWR: the window is being reduced because of ECN marks.
    Cwr,
    /// The state is Recovery.
    Recovery,
    /// The state is Loss: the retransmission timer expired.
    Loss,
}

/// Congestion state of a sender, for traces (Linux: `tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum CongestionState {
    /// No loss is being repaired.
    Open,
    /// CWR: the window is being reduced because of ECN marks.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after the retransmission timer expired.
    Loss,
}

impl From<Cause> for EventCause {
    fn from(cause: Cause) -> EventCause {
        match cause {
            Cause::FastRetransmit => EventCause::FastRetransmit,
            Cause::Timeout => EventCause::Timeout,
            Cause::Mark { .. } => EventCause::Ecn,
        }
    }
}

impl From<CongestionState> for EventCause {
    fn from(state: CongestionState) -> EventCause {
        match state {
            CongestionState::Open => EventCause::Open,
            CongestionState::Reduced => EventCause::Cwr,
            CongestionState::Recovery => EventCause::Recovery,
            CongestionState::Loss => EventCause::Loss,
        }
    }
}

/// An event of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderEvent {
    /// Time of the event.
    pub time: Time,
    /// Kind of the event.
    pub kind: EventKind,
    /// Cause of the event.
    pub cause: EventCause,
    /// Cause of the reduction: why the network dropped the first lost segment.
    pub loss: LossCause,
    /// First byte of the segment; SND.UNA for other events.
    pub sequence: u64,
    /// Bytes of the segment; the bytes outstanding for other events.
    pub length: u64,
    /// Congestion window [byte]: before the event for a reduction, after the event otherwise.
    pub cwnd: f64,
    /// Slow start threshold after the event [byte].
    pub ssthresh: f64,
}

/// The journal of one sender; a null pointer before the first entry.
#[derive(Clone, Debug, Default)]
pub struct Journal(Option<Box<Pages>>);

#[derive(Clone, Debug, Default)]
struct Pages {
    reductions: Reductions,
    /// Events since `take` was last called, if an observer requested them.
    events: Option<Vec<SenderEvent>>,
    state: Option<CongestionState>,
}

impl Journal {
    /// Records events from now on.
    pub fn record_events(&mut self) {
        self.pages().events.get_or_insert_with(Vec::new);
    }

    /// Returns whether events are recorded.
    #[inline]
    pub fn records_events(&self) -> bool {
        self.0.as_ref().is_some_and(|pages| pages.events.is_some())
    }

    /// Adds an event, if an observer requested events.
    #[inline]
    pub fn add(&mut self, event: impl FnOnce() -> SenderEvent) {
        if let Some(events) = self.0.as_mut().and_then(|pages| pages.events.as_mut()) {
            events.push(event());
        }
    }

    /// Records that the controller responded to a congestion event at `now`. `before` is the previous window [byte];
    /// `flight` has the new one. If the window and the threshold are unchanged, as with BBR, this is not a reduction.
    #[cold]
    pub fn on_reduction(&mut self, cause: Cause, now: Time, before: f64, flight: &Flight) {
        if flight.cwnd() >= before && flight.ssthresh() >= before && cause != Cause::Timeout {
            return;
        }
        let pages = self.pages();
        let marked = matches!(cause, Cause::Mark { .. });
        pages.reductions.on_reduction(marked, now, flight, before);
        if let Some(events) = &mut pages.events {
            events.push(SenderEvent {
                time: now,
                kind: EventKind::Reduction,
                cause: cause.into(),
                loss: pages.reductions.latest_cause(),
                sequence: flight.una,
                length: flight.outstanding(),
                cwnd: before,
                ssthresh: flight.ssthresh(),
            });
        }
    }

    /// Records that the latest reduction is undone.
    #[cold]
    pub fn on_undo(&mut self, cause: EventCause, now: Time, flight: &Flight) {
        self.pages().reductions.on_undo(now);
        self.add(|| SenderEvent {
            time: now,
            kind: EventKind::Undo,
            cause,
            loss: LossCause::NONE,
            sequence: flight.una,
            length: flight.outstanding(),
            cwnd: flight.cwnd(),
            ssthresh: flight.ssthresh(),
        });
    }

    /// Records that the network lost a data segment; `una` is SND.UNA.
    #[cold]
    pub fn note_loss(&mut self, loss: Loss, una: u64) {
        self.pages().reductions.note_loss(loss, una);
    }

    /// Returns the totals of the window reductions until `now`, by cause. `window` [byte] is the current window.
    pub fn reductions(&self, now: Time, window: f64) -> Totals {
        self.0
            .as_ref()
            .map(|pages| pages.reductions.until(now, window))
            .unwrap_or_default()
    }

    /// Returns the events since the last call; the last one reports the congestion state, if it changed.
    pub fn take(&mut self, now: Time, state: CongestionState, flight: &Flight) -> Vec<SenderEvent> {
        let Some(pages) = &mut self.0 else { return Vec::new() };
        let Some(events) = &mut pages.events else {
            return Vec::new();
        };
        let before = pages.state.replace(state);
        if before.unwrap_or(CongestionState::Open) != state {
            events.push(SenderEvent {
                time: now,
                kind: EventKind::State,
                cause: state.into(),
                loss: LossCause::NONE,
                sequence: flight.una,
                length: flight.outstanding(),
                cwnd: flight.cwnd(),
                ssthresh: flight.ssthresh(),
            });
        }
        std::mem::take(events)
    }

    fn pages(&mut self) -> &mut Pages {
        self.0.get_or_insert_with(Box::default)
    }
}
