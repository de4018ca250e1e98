//! State of a BBR version 3 sender; volumes in bytes, rates in bytes per second.

use crate::congestion::control::RecoveryPhase;
use crate::congestion::model::max_filter::MaxFilter;
use longpipe_events::{Span, Stream, Time};

/// State machine (draft-ietf-ccwg-bbr section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Startup: fills the pipe.
    Startup,
    /// Drain: removes the queue that Startup has built.
    Drain,
    /// ProbeBW_DOWN: sends more slowly than the bandwidth, to drain the queue.
    Down,
    /// ProbeBW_CRUISE: sends at the bandwidth.
    Cruise,
    /// ProbeBW_REFILL: fills the pipe before the probe.
    Refill,
    /// ProbeBW_UP: probes for more bandwidth.
    Up,
    /// ProbeRTT: reduces the data in flight to measure the minimum RTT.
    ProbeRtt,
}

impl State {
    pub(super) fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    pub(super) fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => PROBE_RTT_GAIN,
            _ => 2.0,
        }
    }

    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Returns whether the state probes for bandwidth.
    pub(super) fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// Packet-timed rounds (draft-ietf-ccwg-bbr section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundCounter {
    pub(super) count: u64,
    /// The round ends when a segment is delivered that was sent after this number of bytes had been delivered.
    pub(super) until: u64,
    /// Whether the latest ACK started a round.
    pub(super) began: bool,
}

/// Delivery-rate sample of an ACK: `RS` of the draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Delivery rate [byte/s]; 0 if the sample is invalid, because ACKs were compressed.
    pub(super) rate: f64,
    /// Bytes delivered between the transmission of the segment and its ACK.
    pub(super) delivered: f64,
    /// Bytes delivered when the segment was sent.
    pub(super) prior_delivered: u64,
    /// Bytes in flight when the segment was sent.
    pub(super) tx_in_flight: f64,
    /// Bytes lost between the transmission of the segment and its ACK.
    pub(super) lost: f64,
    pub(super) app_limited: bool,
}

/// ACK aggregation (draft-ietf-ccwg-bbr section 5.5.9).
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraAcked {
    /// Start of the interval over which aggregation is measured (`extra_acked_interval_start`).
    pub(super) began: Time,
    /// Bytes delivered in this interval (`extra_acked_delivered`).
    pub(super) delivered: f64,
    /// Maximum of the data that were acknowledged beyond those expected at the bandwidth (`extra_acked`).
    pub(super) extra: MaxFilter,
}

/// State of a sender; volumes in bytes, rates in bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) draws: Stream,
    pub(super) state: State,
    /// Bytes delivered so far (`C.delivered`).
    pub(super) delivered: u64,
    /// Bytes that are already in `delivered`, because they were added when a loss was detected, but that the next ACK will
    /// report.
    pub(super) counted_ahead: u64,
    pub(super) rounds: RoundCounter,
    /// Maximum bandwidth of the current and the previous cycle of `ProbeBW`.
    pub(super) max_bw: MaxFilter,
    /// Number of cycles of `ProbeBW` (`cycle_count`).
    pub(super) cycle: u64,
    /// Bandwidth at which the sender paces: the minimum of `max_bw` and of the short-term bound.
    pub(super) bw: f64,
    pub(super) short: ShortTerm,
    /// Long-term bound on the data in flight; infinite before the first loss in a probe.
    pub(super) inflight_longterm: f64,
    pub(super) loss: LossRound,
    pub(super) undo: Undo,
    pub(super) full: FullBandwidth,
    pub(super) probe: BandwidthProbe,
    pub(super) min_rtt: ProbeRttState,
    pub(super) aggregation: ExtraAcked,
    /// Whether the sender restarts after an idle time and nothing has been delivered since.
    pub(super) idle_restart: bool,
    /// Recovery state after the previous ACK.
    pub(super) phase: RecoveryPhase,
    /// cwnd before a recovery or ProbeRTT, to which it returns afterwards.
    pub(super) prior_cwnd: f64,
    /// Whether the next ACK restores `prior_cwnd`, because ProbeRTT has ended.
    pub(super) restores_cwnd: bool,
    /// Pacing rate [byte/s]; None before the first RTT sample.
    pub(super) pacing_rate: Option<f64>,
    /// Maximum size of a burst (`send_quantum`).
    pub(super) quantum: f64,
}

/// 4 ln 2: the smallest gain that doubles the rate each round.
pub(super) const STARTUP_GAIN: f64 = 2.77;
/// Limit on the data in flight during ProbeRTT, as a multiple of the BDP.
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;
/// Maximum loss rate that a probe may cause in a round.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// A round with losses multiplies the bounds on bandwidth and data in flight by at least this factor.
pub(super) const BETA: f64 = 0.7;
/// Fraction of the long-term bound that is left for other flows.
pub(super) const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd` [segment].
pub(super) const MIN_SEGMENTS: f64 = 4.0;
/// cwnd before the first RTT sample [segment].
pub(super) const FIRST_WINDOW: f64 = 10.0;
/// Lengths of the filters, not counting the current entry: of the filter of `max_bw` [cycles], and of the filter of
/// `extra_acked` [rounds] during and after Startup.
pub(super) const CYCLES: u64 = 1;
pub(super) const EXTRA_ROUNDS_IN_STARTUP: u64 = 1;
pub(super) const EXTRA_ROUNDS: u64 = 10;

/// Detection of a full pipe (draft-ietf-ccwg-bbr section 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBandwidth {
    /// Bandwidth [byte/s] with which the latest samples are compared to detect growth.
    pub(super) bw: f64,
    /// Number of consecutive rounds in which the bandwidth did not grow.
    pub(super) count: u32,
    /// Whether a full pipe was detected since the last reset.
    pub(super) now: bool,
    /// Whether a full pipe was ever detected.
    pub(super) reached: bool,
    /// Round in which Drain started.
    pub(super) drain_round: u64,
}

/// Short-term bounds until the next probe; infinite if nothing has been lost since the last probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    pub(super) bw: f64,
    pub(super) inflight: f64,
}

impl Default for ShortTerm {
    fn default() -> ShortTerm {
        ShortTerm {
            bw: f64::INFINITY,
            inflight: f64::INFINITY,
        }
    }
}

/// Round in which losses are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    /// The round ends when a segment is delivered that was sent after this number of bytes had been delivered.
    pub(super) until: u64,
    /// Whether the latest ACK started a round.
    pub(super) round_began: bool,
    /// Whether data were lost in the round.
    pub(super) lost: bool,
    /// Number of lost ranges in the round.
    pub(super) ranges: u32,
    /// End of the last lost range [sequence number].
    pub(super) end: u64,
    /// Maximum delivery rate of the round.
    pub(super) bw_latest: f64,
    /// Maximum delivered volume of a sample of the round.
    pub(super) inflight_latest: f64,
}

impl LossRound {
    /// Implements `ResetCongestionSignals` of the draft.
    pub(super) fn reset(&mut self) {
        (self.lost, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }
}

/// State to restore if a recovery was spurious.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// State before the loss.
    pub(super) state: Option<State>,
    pub(super) short: ShortTerm,
    pub(super) inflight_longterm: f64,
}

/// Phase of the feedback on a probe (`ACKPhase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No feedback has arrived yet.
    #[default]
    Init,
    Refilling,
    /// The probe has started.
    Starting,
    /// ACKs report on the probe.
    Feedback,
    /// The probe has ended, and ACKs still report on it.
    Stopping,
}

/// State of the latest bandwidth probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct BandwidthProbe {
    pub(super) ack_phase: AckPhase,
    /// Whether samples come from a probe that has not been evaluated yet.
    pub(super) is_sample: bool,
    /// Bytes acknowledged since `inflight_longterm` last grew (`probe_up_acks`).
    pub(super) acked: f64,
    /// Bytes that must be acknowledged before `inflight_longterm` grows by one segment (`probe_up_cnt`).
    pub(super) acked_per_segment: f64,
    /// Number of rounds in which `inflight_longterm` was raised.
    pub(super) rounds: u32,
    /// Number of rounds since the last probe.
    pub(super) rounds_since_up: u64,
    /// Start of the cycle (`cycle_stamp`).
    pub(super) began: Time,
    /// Time from the start of the cycle until the next probe (`bw_probe_wait`).
    pub(super) wait: Span,
    /// Whether the latest probe caused too many losses.
    pub(super) too_high: bool,
    /// Whether the latest probe ended early, before it caused losses.
    pub(super) precautionary: bool,
}

impl Default for BandwidthProbe {
    fn default() -> BandwidthProbe {
        BandwidthProbe {
            ack_phase: AckPhase::Init,
            is_sample: false,
            acked: 0.0,
            acked_per_segment: f64::INFINITY,
            rounds: 0,
            rounds_since_up: 0,
            began: Time::ZERO,
            wait: Span(0),
            too_high: false,
            precautionary: false,
        }
    }
}

/// Minimum RTT and the state of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRttState {
    /// Minimum RTT (`min_rtt`).
    pub(super) rtt: Option<Span>,
    /// Time at which the minimum RTT was measured (`min_rtt_stamp`).
    pub(super) since: Time,
    /// Minimum RTT since the last ProbeRTT, or since ProbeRTT was last due (`probe_rtt_min_delay`).
    pub(super) recent: Option<Span>,
    /// Time at which `recent` was measured (`probe_rtt_min_stamp`).
    pub(super) recent_since: Time,
    /// Whether `recent` is so old that ProbeRTT is due (`probe_rtt_expired`).
    pub(super) expired: bool,
    /// Whether the first segment has been sent.
    started: bool,
    /// Time at which ProbeRTT ends (`probe_rtt_done_stamp`); None until the data in flight have fallen to its limit.
    pub(super) until: Option<Time>,
    /// Whether a round has passed since then (`probe_rtt_round_done`).
    pub(super) round_over: bool,
    /// Values of `delivered` at the start and the end of the latest ProbeRTT. Rate samples of data sent in between count
    /// as application-limited.
    pub(super) paused: Option<(u64, u64)>,
}

impl ProbeRttState {
    /// Records an RTT that is known before the first segment.
    pub(super) fn begin(&mut self, rtt: Span) {
        self.rtt = Some(rtt);
    }

    /// Starts both filters at the first transmission, where the draft's `OnInit` sets min_rtt_stamp and
    /// probe_rtt_min_stamp.
    pub(super) fn on_sent(&mut self, now: Time) {
        if !self.started {
            self.started = true;
            (self.since, self.recent_since) = (now, now);
        }
    }

    /// Returns whether data were sent in ProbeRTT, given the `delivered` bytes at their transmission.
    pub(super) fn paused_at(&self, delivered: u64) -> bool {
        self.paused
            .is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }
}
