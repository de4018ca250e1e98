//! What a sender by BBR, version 3, keeps; volumes in bytes, rates in bytes per second.

use crate::congestion::control::Phase;
use crate::congestion::peak::Peak;
use longpipe_events::{Span, Stream, Time};

/// What it is about (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Fills the pipe.
    Startup,
    /// Lets the queue drain that this left.
    Drain,
    /// The phases of `ProbeBW`.
    Down,
    Cruise,
    Refill,
    Up,
    /// Empties the path to see its round trip.
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

    /// Whether it tries for more than it knows of.
    pub(super) fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// Round trips by what is delivered (section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// This one ends with the delivery of what was sent after so many bytes had been delivered.
    pub(super) until: u64,
    /// Whether the latest ACK began one.
    pub(super) began: bool,
}

/// A delivery rate, as far as an ACK tells it: `RS` of the draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Delivery rate [byte/s]; 0 where the path can't have delivered that fast.
    pub(super) rate: f64,
    pub(super) delivered: f64,
    pub(super) prior_delivered: u64,
    pub(super) tx_in_flight: f64,
    pub(super) lost: f64,
    pub(super) app_limited: bool,
}

/// How much more than expected arrives at once (section 5.5.9).
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    pub(super) began: Time,
    pub(super) delivered: f64,
    pub(super) extra: Peak,
}

/// The state of one sender; volumes in bytes, rates in bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) draws: Stream,
    pub(super) state: State,
    pub(super) delivered: u64,
    /// Bytes of `delivered` that the next ACK will tell of, known by a loss before it.
    pub(super) ahead: u64,
    pub(super) rounds: Rounds,
    /// Of this cycle of `ProbeBW` and of the one before.
    pub(super) max_bw: Peak,
    pub(super) cycle: u64,
    pub(super) bw: f64,
    pub(super) short: ShortTerm,
    /// What was found to be too much in flight; infinite before.
    pub(super) inflight_longterm: f64,
    pub(super) loss: LossRound,
    pub(super) undo: Undo,
    pub(super) full: FullPipe,
    pub(super) probe: Probe,
    pub(super) min_rtt: MinRtt,
    pub(super) aggregation: Aggregation,
    pub(super) idle_restart: bool,
    /// Where the sender was after the ACK before.
    pub(super) phase: Phase,
    /// Window to go back to, and whether it is time to.
    pub(super) prior_cwnd: f64,
    pub(super) restores: bool,
    /// Pacing rate [byte/s]; none before a round trip is known.
    pub(super) pacing_rate: Option<f64>,
    pub(super) quantum: f64,
}

/// 4 ln 2: the least gain at which the rate doubles each round.
pub(super) const STARTUP_GAIN: f64 = 2.77;
/// Of the bandwidth-delay product so much is in flight while the round trip is looked for.
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;
/// Share of losses in a round trip that a probe may cost.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// What losses in a round leave of bandwidth and volume at least.
pub(super) const BETA: f64 = 0.7;
/// Of the volume that was too much so much is left to others.
pub(super) const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd` [segment].
pub(super) const LEAST_SEGMENTS: f64 = 4.0;
/// The window where no round trip is known [segment].
pub(super) const FIRST_WINDOW: f64 = 10.0;
/// Cycles looked at for `max_bw` beside the present one; rounds for `extra_acked`, in Startup and later.
pub(super) const CYCLES: u64 = 1;
pub(super) const EXTRA_ROUNDS_IN_STARTUP: u64 = 1;
pub(super) const EXTRA_ROUNDS: u64 = 10;

/// Whether more brings nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth to grow from [byte/s].
    pub(super) bw: f64,
    /// Rounds without growth.
    pub(super) count: u32,
    /// Whether the pipe was found full since it was last looked for, and ever.
    pub(super) now: bool,
    pub(super) reached: bool,
    /// The round in which Drain began.
    pub(super) drain_round: u64,
}

/// Bounds that hold until the next probe; infinite where nothing was lost since the latest.
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

/// A round trip in which losses are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    /// It ends with the delivery of what was sent after so many bytes had been delivered.
    pub(super) until: u64,
    /// Whether the latest ACK began one.
    pub(super) round_began: bool,
    /// Whether anything was lost in it, in how many ranges, and where the last one ends.
    pub(super) lost: bool,
    pub(super) ranges: u32,
    pub(super) end: u64,
    /// Most that was delivered in it: bandwidth, and volume.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
}

impl LossRound {
    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        (self.lost, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }
}

/// What to go back to if nothing had been lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that a loss ended.
    pub(super) state: Option<State>,
    pub(super) short: ShortTerm,
    pub(super) inflight_longterm: f64,
}

/// What ACKs tell of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    Refilling,
    /// It began.
    Starting,
    /// How it goes.
    Feedback,
    /// It ended, and ACKs still tell of it.
    Stopping,
}

/// The latest probe for bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// Whether what arrives, or is lost, was sent by a probe that nothing answered yet.
    pub(super) is_sample: bool,
    /// Bytes acknowledged since `inflight_longterm` grew, and how many let it grow by a segment.
    pub(super) acked: f64,
    pub(super) acked_per_segment: f64,
    /// Rounds in which it grew.
    pub(super) rounds: u32,
    /// Rounds since the latest probe.
    pub(super) rounds_since_up: u64,
    /// When the cycle began, and how long to wait from then on for the next probe.
    pub(super) began: Time,
    pub(super) wait: Span,
    /// Whether the latest one lost too much, and whether it stopped before that could happen.
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe {
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

/// The shortest round trip, and the pauses that look for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    pub(super) rtt: Option<Span>,
    pub(super) since: Time,
    /// The shortest since the latest pause, or since it was due.
    pub(super) recent: Option<Span>,
    pub(super) recent_since: Time,
    pub(super) expired: bool,
    /// When the pause is over, and whether a round of it is.
    pub(super) until: Option<Time>,
    pub(super) round_over: bool,
    /// Rates of what was sent after so many bytes were delivered, and before so many, say nothing of the path.
    pub(super) paused: Option<(u64, u64)>,
}

impl MinRtt {
    /// A round trip is known before the first segment.
    pub(super) fn begin(&mut self, rtt: Span) {
        self.rtt = Some(rtt);
    }

    /// Whether what left when so many bytes had been delivered left in a pause.
    pub(super) fn paused_at(&self, delivered: u64) -> bool {
        self.paused
            .is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }
}
