//! Pacing rate, send quantum and cwnd from the model of the path (draft-ietf-ccwg-bbr section 5.6).

use super::state::{Bbr3, State, FIRST_WINDOW, MIN_SEGMENTS, PROBE_RTT_GAIN, STARTUP_GAIN};
use crate::congestion::control::{Ack, Pacing, RecoveryPhase};
use crate::congestion::flight::Flight;
use longpipe_events::Span;

/// BBR paces at this share of the bandwidth, so that queues drain.
const MARGIN: f64 = 0.99;
/// The send quantum is the data sent in one millisecond at the pacing rate; it is bounded by a minimum [segment] and a
/// maximum [byte].
const QUANTA_PER_SECOND: f64 = 1000.0;
const MIN_QUANTUM: f64 = 2.0;
const MAX_QUANTUM: f64 = 65_536.0;
/// Number of quanta in the end hosts' queues for which cwnd leaves room.
const QUANTA: f64 = 3.0;
/// Additional window while probing up (ProbeBW_UP) [segment].
const PROBE_UP_SEGMENTS: f64 = 2.0;

impl Bbr3 {
    /// Implements `InitPacingRate` of the draft.
    pub(super) fn begin_pacing(&mut self, rtt: Span, flight: &Flight) {
        self.pacing_rate = Some(STARTUP_GAIN * flight.cwnd() / rtt.as_seconds());
        self.set_quantum(flight);
    }

    /// Implements `SetPacingRateWithGain` of the draft, and sets the send quantum. Before the pipe is full, the rate
    /// never decreases.
    pub(super) fn set_rate(&mut self, gain: f64, flight: &Flight) {
        let rate = gain * self.bw * MARGIN;
        let rises = self.pacing_rate.is_some_and(|before| rate > before);
        if rate > 0.0 && (self.full.reached || rises) {
            self.pacing_rate = Some(rate);
        }
        self.set_quantum(flight);
    }

    fn set_quantum(&mut self, flight: &Flight) {
        let rate = self.pacing_rate.unwrap_or(0.0);
        self.quantum = (rate / QUANTA_PER_SECOND)
            .min(MAX_QUANTUM)
            .max(MIN_QUANTUM * flight.mss());
    }

    /// Returns the pacing rate, with a quantum of whole segments.
    pub(super) fn pacing(&self, flight: &Flight) -> Option<Pacing> {
        let rate = self.pacing_rate?;
        let segments = (self.quantum / flight.mss()) as u32;
        Some(Pacing {
            rate_bps: (8.0 * rate) as u64,
            quantum_bytes: segments.max(1) * flight.mss,
        })
    }

    /// Implements `Inflight` of the draft: `gain` times the BDP, with room for segmentation offload.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64, flight: &Flight) -> f64 {
        self.with_budget(self.product(bandwidth, gain, flight), flight)
    }

    /// Implements `QuantizationBudget` of the draft.
    fn with_budget(&self, volume: f64, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let least = (QUANTA * self.quantum).max(MIN_SEGMENTS * mss);
        let more = if self.state == State::Up {
            PROBE_UP_SEGMENTS * mss
        } else {
            0.0
        };
        volume.max(least) + more
    }

    /// Implements `SaveCwnd` of the draft.
    pub(super) fn save_cwnd(&mut self, flight: &Flight) {
        let cwnd = flight.cwnd();
        self.prior_cwnd = if self.phase == RecoveryPhase::Open && self.state != State::ProbeRtt {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// Implements `ProbeRTTCwnd` of the draft.
    pub(super) fn probe_rtt_cwnd(&self, flight: &Flight) -> f64 {
        let half = self.product(self.bw, PROBE_RTT_GAIN, flight);
        half.max(MIN_SEGMENTS * flight.mss())
    }

    /// Returns cwnd after an ACK (`SetCwnd` of the draft).
    pub(super) fn window(&mut self, ack: &Ack, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let mut cwnd = flight.cwnd();
        if std::mem::take(&mut self.restores_cwnd) {
            cwnd = cwnd.max(self.prior_cwnd);
        }
        if ack.delivered > 0 {
            cwnd = self.grown(cwnd, ack.delivered as f64, flight);
        }
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd(flight));
        }
        cwnd.min(self.bound(flight)).min((flight.most_rwnd as f64).max(mss))
    }

    fn grown(&self, cwnd: f64, arrived: f64, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let volume = self.product(self.bw, self.state.cwnd_gain(), flight) + self.aggregation.extra.get();
        let target = self.with_budget(volume, flight);
        let grown = if self.full.reached {
            (cwnd + arrived).min(target)
        } else if cwnd < target || (self.delivered as f64) < FIRST_WINDOW * mss {
            cwnd + arrived
        } else {
            cwnd
        };
        grown.max(MIN_SEGMENTS * mss)
    }

    /// Implements `BoundCwndForModel` of the draft.
    fn bound(&self, flight: &Flight) -> f64 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(flight),
            State::Startup | State::Drain => f64::INFINITY,
        };
        long_term.min(self.short.inflight).max(MIN_SEGMENTS * flight.mss())
    }
}
