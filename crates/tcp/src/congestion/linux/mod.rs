//! The interface of Linux's congestion control modules (`struct tcp_congestion_ops`, 6.1), on top of [`Control`].
//!
//! A module computes in whole segments, microseconds and ticks, with the kernel's truncations and in the kernel's
//! order: an ACK is reported to the module first, then the congestion state changes, then the window grows. Loss
//! recovery uses the window and the threshold that the module sets when the ACK is reported.

pub mod bic;
pub mod dctcp;
pub mod htcp;
pub mod hybla;
pub mod hystart;
pub mod illinois;
pub mod reno;
mod rtt_round;
pub mod scalable;
mod search;
pub mod slow_start;
mod socket;
pub mod vegas;
pub mod veno;
pub mod westwood;
#[cfg(test)]
mod witness;
pub mod yeah;

use crate::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, RecoveryPhase, Wants};
use crate::congestion::flight::Flight;
use crate::variant::{Parameters, Variant};
use longpipe_events::{Span, Time};
pub use socket::{micros, AckedSegments, CaState, Socket, DEFAULT_HZ};

/// One congestion control module.
pub trait Module: Sized {
    /// Parameters of the module.
    type Config: Parameters;

    /// Returns the module's state before the connection is established.
    fn new(config: &Self::Config) -> Self;

    /// Invoked when the connection is established; `socket.srtt_us` is known if a handshake was simulated (`init`).
    fn init(&mut self, _socket: &mut Socket) {}

    /// Invoked for every ACK, before loss recovery processes it (`pkts_acked`, then `in_ack_event`, as in 6.1.192).
    fn on_acked(&mut self, _acked: &AckedSegments, _socket: &mut Socket) {}

    /// Invoked for every ACK after loss recovery has processed it and before the window grows, for rules that the
    /// kernel's modules do not have.
    fn on_ack(&mut self, _ack: &Ack, _flight: &Flight, _socket: &mut Socket) {}

    /// Increases cwnd for `acked` delivered segments (`cong_avoid`).
    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        socket.grow_as_reno(acked);
    }

    /// Returns the slow-start threshold after a congestion event (`ssthresh`).
    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        socket.halved()
    }

    /// Invoked when the congestion state changes (`set_state`); `socket.ca_state` still has the old state.
    fn set_state(&mut self, _state: CaState, _socket: &mut Socket) {}

    /// Invoked for events of the window (`cwnd_event`).
    fn on_event(&mut self, _event: CaEvent, _socket: &mut Socket) {}

    /// Invoked when a reduction turns out to be spurious (`undo_cwnd`), before the state returns to Open.
    fn undo(&mut self, _socket: &mut Socket) {}
}

/// An event of the window (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// A segment is sent while nothing is in flight (`CA_EVENT_TX_START`).
    TransmitStart,
    /// The window has reached the threshold after a reduction (`CA_EVENT_COMPLETE_CWR`).
    CompleteCwr,
    /// The retransmission timer expired (`CA_EVENT_LOSS`).
    Loss,
}

/// A module and the socket that it controls.
#[derive(Clone, Debug)]
pub struct Linux<M> {
    module: M,
    socket: Socket,
    /// Whether the module was initialized.
    established: bool,
    /// Whether nothing is in flight, so that the next segment triggers `CA_EVENT_TX_START`.
    idle: bool,
    /// Window that the latest ACK advertised [byte]. It is 0 before the first ACK, which has another window field than the
    /// SYN-ACK, because only that of the SYN-ACK is not scaled.
    window: u64,
}

impl<M: Module> Variant for Linux<M> {
    type Config = M::Config;

    fn new(config: &M::Config) -> Linux<M> {
        Linux {
            module: M::new(config),
            socket: Socket::new(),
            established: false,
            idle: false,
            window: 0,
        }
    }
}

/// Returns the time at which the segment was sent whose RTT an ACK reports.
#[inline(always)]
fn sent(sample: &AckSample) -> Time {
    Time(sample.now.0.saturating_sub(sample.rtt.unwrap_or_default().0))
}

impl<M: Module> Linux<M> {
    /// Initializes the module of a connection that is not `established`. `una` is SND.UNA before the first segment, which
    /// was sent at `sent`.
    #[cold]
    fn establish(&mut self, sent: Time, una: u64, flight: &Flight) {
        self.established = true;
        self.socket.refresh(sent, flight);
        (self.socket.snd_una, self.socket.snd_nxt) = (una, una);
        // The connection was established this long before the first segment was sent.
        let idle = std::mem::take(&mut self.socket.preconnect);
        self.module.init(&mut self.socket);
        self.socket.preconnect = idle;
    }

    /// Prepares the socket for an ACK. Returns the windows before the ACK.
    #[inline(always)]
    fn begin(&mut self, sample: &AckSample, flight: &Flight) -> (u32, u32) {
        let una = flight.una - sample.acked;
        if !self.established {
            self.establish(sent(sample), una, flight);
        }
        if self.idle {
            self.idle = false;
            self.socket.refresh(sent(sample), flight);
            (self.socket.snd_una, self.socket.snd_nxt) = (una, una);
            self.module.on_event(CaEvent::TransmitStart, &mut self.socket);
        }
        self.socket.refresh(sample.now, flight);
        self.socket.is_paced = sample.paced;
        self.socket.windows()
    }

    /// Reports an ACK to the module, before loss recovery processes it.
    #[inline(always)]
    fn report(&mut self, sample: &AckSample, flight: &Flight) {
        let mss = flight.mss;
        let window = std::mem::replace(&mut self.window, flight.rwnd());
        let acked = AckedSegments {
            acked: socket::segments(sample.acked, mss),
            delivered: socket::segments(sample.delivered, mss),
            marked: socket::segments(sample.marked, mss),
            acked_bytes: sample.acked,
            rtt_us: sample.rtt.map(|rtt| socket::micros(sample.now, rtt)),
            // Header prediction fails if the window field has changed, which is also the case when an ACK fills a hole.
            slow_path: window != flight.rwnd()
                || sample.has_sack_blocks
                || sample.acked == 0
                || self.socket.ca_state != CaState::Open,
        };
        self.module.on_acked(&acked, &mut self.socket);
        if flight.outstanding() == 0 {
            (self.idle, self.socket.lsndtime) = (true, sent(sample));
        }
    }

    /// Updates the congestion state and the window, after loss recovery has processed an ACK.
    #[inline(always)]
    fn conclude(&mut self, ack: &Ack, flight: &Flight) {
        self.socket.take(ack);
        let state = self.state_after(ack);
        if state != self.socket.ca_state {
            self.set_state(state);
        }
        self.module.on_ack(ack, flight, &mut self.socket);
        if ack.grows {
            self.module
                .grow(socket::segments(ack.delivered, flight.mss), &mut self.socket);
        }
        self.socket.set_pacing_rate(flight);
    }

    fn set_state(&mut self, state: CaState) {
        self.module.set_state(state, &mut self.socket);
        self.socket.ca_state = state;
    }

    /// Derives the congestion state after an ACK from the state of loss recovery and the reduction in progress.
    fn state_after(&self, ack: &Ack) -> CaState {
        match (ack.phase, self.socket.ca_state) {
            (RecoveryPhase::Recovery, _) => CaState::Recovery,
            (RecoveryPhase::Loss, _) => CaState::Loss,
            (RecoveryPhase::Open, _) if ack.open => CaState::Open,
            (RecoveryPhase::Open, state @ (CaState::Cwr | CaState::Recovery)) => state,
            (RecoveryPhase::Open, _) => CaState::Disorder,
        }
    }
}

impl<M: Module> Control for Linux<M> {
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn set_hz(&mut self, hz: u32) {
        self.socket.set_hz(hz);
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.socket.preconnect = idle;
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.socket.refresh(Time::ZERO, flight);
        self.socket.srtt_us = (rtt.0 * 8 / 1_000_000) as u32;
        let before = self.socket.windows();
        // The module is initialized again at the first ACK, which determines when the connection started.
        self.module.init(&mut self.socket);
        self.socket.set_pacing_rate(flight);
        self.socket.update(before, flight)
    }

    #[inline(always)]
    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        let before = self.begin(sample, flight);
        self.report(sample, flight);
        self.socket.update(before, flight)
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.socket.refresh(ack.now, flight);
        let before = self.socket.windows();
        self.conclude(ack, flight);
        self.socket.update(before, flight)
    }

    #[inline(always)]
    fn merges_reports(&self) -> bool {
        true
    }

    #[inline(always)]
    fn on_in_order_ack(&mut self, sample: &AckSample, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let before = self.begin(sample, flight);
        self.report(sample, flight);
        self.conclude(ack, flight);
        self.socket.update(before, flight)
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        if !self.established {
            self.establish(now, flight.una, flight);
        }
        self.socket.refresh(now, flight);
        self.socket.snd_cwnd_cnt = 0;
        self.socket.snd_ssthresh = self.module.ssthresh(cause, &self.socket);
        if cause == Cause::Timeout {
            self.module.on_event(CaEvent::Loss, &mut self.socket);
            self.set_state(CaState::Loss);
            // All data in flight are declared lost, so the retransmission triggers `CA_EVENT_TX_START`.
            self.module.on_event(CaEvent::TransmitStart, &mut self.socket);
        } else {
            self.set_state(match cause {
                Cause::Mark { .. } => CaState::Cwr,
                _ => CaState::Recovery,
            });
        }
        let threshold = f64::from(self.socket.snd_ssthresh) * flight.mss();
        CwndUpdate::reduced(cause, threshold, flight)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        self.socket.refresh(now, flight);
        let before = self.socket.windows();
        let reduced = matches!(self.socket.ca_state, CaState::Cwr | CaState::Recovery);
        if spurious {
            self.module.undo(&mut self.socket);
        }
        self.set_state(CaState::Open);
        if reduced && !spurious {
            self.module.on_event(CaEvent::CompleteCwr, &mut self.socket);
        }
        self.socket.update(before, flight)
    }
}
