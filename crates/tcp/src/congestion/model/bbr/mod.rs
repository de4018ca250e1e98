//! BBR version 1: paces at the measured bandwidth, with at most two BDP in flight (Cardwell et al. 2016,
//! draft-cardwell-iccrg-bbr-congestion-control-00, with Linux's constants).

mod aggregation;
mod lt_bw;
mod mode;
mod probe_rtt;
mod window;

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, RateSample, RecoveryPhase, Sent, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::growth::whole_part;
use crate::congestion::linux::micros;
use crate::congestion::model::max_filter::MaxFilter;
use crate::congestion::pacing;
use crate::congestion::path_model::Model;
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use aggregation::Aggregation;
use longpipe_events::{Span, Stream, Time};
use longpipe_json::FromJson;
use lt_bw::{Finding, LongTermBandwidth, Point};
use mode::{Mode, CYCLE};
use serde::Serialize;
use std::ops::RangeInclusive;

/// BBR version 1: paces at the measured bandwidth, with at most two BDP in flight (Cardwell et al. 2016).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "BBR")]
#[described(fact("by_model", "BBR set it to what its model of the path, the product of bottleneck bandwidth and minimum RTT, allows in this phase (Cardwell et al. 2016)"))]
pub struct BbrConfig {}

impl Parameters for BbrConfig {
    const FACTS: Facts = Facts {
        is_model: true,
        draws: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// Packet-timed rounds (RTTs).
#[derive(Clone, Copy, Debug, Default)]
struct RoundCount {
    count: u64,
    /// The round ends when a segment is delivered that was sent after this number of bytes had been delivered
    /// (next_rtt_delivered).
    until: u64,
    /// Whether the latest ACK started a round.
    began: bool,
}

/// Detection of a full pipe (full_bw, full_bw_cnt, full_bw_reached).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    /// Bandwidth [byte/s] after the latest round in which it grew.
    bandwidth: f64,
    /// Number of consecutive rounds in which the bandwidth did not grow.
    rounds_without_growth: u32,
    full: bool,
}

/// Minimum RTT and the state of ProbeRTT (min_rtt_us, min_rtt_stamp, probe_rtt_done_stamp).
#[derive(Clone, Copy, Debug, Default)]
struct MinRttState {
    rtt: Option<Span>,
    /// Time at which the age of the RTT sample starts: that of the sample, of the end of a ProbeRTT, or of the first
    /// transmission until there is a lower sample; None before the first transmission.
    since: Option<Time>,
    /// Age that the RTT sample already had at `since`, if it comes from the handshake.
    age_at_since: Span,
    /// Time at which ProbeRTT ends, once the data in flight have decreased (probe_rtt_done_stamp).
    until: Option<Time>,
    /// Whether a round has passed since `until` was set (probe_rtt_round_done).
    round_over: bool,
    /// Whether ProbeRTT has just ended, so that cwnd is restored.
    restores_cwnd: bool,
}

/// State of a BBR sender.
#[derive(Clone, Debug)]
pub struct Bbr {
    draws: Stream,
    /// Time from the handshake to the first segment, if the handshake is not simulated.
    connected: Span,
    mode: Mode,
    /// Total delivered and total lost bytes.
    delivered: u64,
    lost: u64,
    rounds: RoundCount,
    max_bw: MaxFilter,
    pipe: FullPipe,
    min_rtt: MinRttState,
    aggregation: Aggregation,
    lt_bw: LongTermBandwidth,
    cycle_began: Time,
    /// Values of `delivered` from the start to the end of the latest ProbeRTT, if there was one. Segments sent in between
    /// give no bandwidth samples.
    probe_rtt_delivered: Option<RangeInclusive<u64>>,
    /// Whether the application has resumed after being idle.
    restarts: bool,
    /// Recovery state after the previous ACK.
    phase: RecoveryPhase,
    /// Whether packet conservation applies (one segment sent per segment delivered), in the first round of a recovery.
    packet_conservation: bool,
    /// cwnd to restore after a recovery or ProbeRTT [byte].
    prior_cwnd: f64,
    /// Pacing rate [bit/s]; None before the first RTT sample.
    rate: Option<f64>,
    /// Size of a burst at this rate [segment].
    burst: f64,
    /// Pacing last returned.
    paced: Option<Paced>,
}

/// A pacing, and the inputs from which it was computed.
#[derive(Clone, Copy, Debug)]
struct Paced {
    rate_bps: f64,
    min_rtt: Option<Span>,
    pacing: Pacing,
}

/// bbr_high_gain = 2/ln 2, the smallest gain that doubles the rate each round, and bbr_drain_gain, its inverse; in
/// 256ths, as in Linux.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const PROBE_UP: usize = 0;
/// Length of the bandwidth filter [rounds], not counting the current round.
const PEAK_ROUNDS: u64 = 10;
/// cwnd as a multiple of the BDP (bbr_cwnd_gain).
const WINDOW_GAIN: f64 = 2.0;
/// The pipe is full after `FULL_ROUNDS` rounds in which the bandwidth grew by less than `FULL_GROWTH`.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// ProbeRTT starts when the minimum RTT is `MIN_RTT_WINDOW` old, lasts for `PROBE_RTT_TIME`, and limits the data in
/// flight to `MIN_SEGMENTS`, which is also the minimum cwnd.
const MIN_RTT_WINDOW: Span = Span::seconds(10);
const PROBE_RTT_TIME: Span = Span::millis(200);
const MIN_SEGMENTS: f64 = 4.0;
/// cwnd before the first RTT sample [segment].
const FIRST_WINDOW: f64 = 10.0;
/// BBR paces at this share of the bandwidth, so that queues drain (bbr_pacing_margin_percent).
const MARGIN: f64 = 0.99;
/// Rate below which bursts are single segments [bit/s] (bbr_min_tso_rate).
const SLOW: f64 = 1.2e6;
/// Maximum size of a burst in bytes and in segments. A burst contains the data sent in 1/1024 s.
const BURSTS_PER_SECOND: f64 = 1024.0;
const MAX_BYTES: f64 = 65_215.0;
const MAX_SEGMENTS: f64 = 127.0;
/// Number of bursts in the end hosts' queues for which cwnd leaves room.
const BURSTS: f64 = 3.0;

impl Variant for Bbr {
    type Config = BbrConfig;

    fn new(_config: &BbrConfig) -> Bbr {
        Bbr {
            draws: Stream::new(0, "control", 0),
            connected: Span(0),
            mode: Mode::Startup,
            delivered: 0,
            lost: 0,
            rounds: RoundCount::default(),
            max_bw: MaxFilter::default(),
            pipe: FullPipe::default(),
            min_rtt: MinRttState::default(),
            aggregation: Aggregation::default(),
            lt_bw: LongTermBandwidth::default(),
            cycle_began: Time::ZERO,
            probe_rtt_delivered: None,
            restarts: false,
            phase: RecoveryPhase::Open,
            packet_conservation: false,
            prior_cwnd: 0.0,
            rate: None,
            burst: least_burst(0.0) as f64,
            paced: None,
        }
    }
}

impl Control for Bbr {
    fn wants(&self) -> Wants {
        Wants {
            rates: true,
            sending: true,
            pacing: true,
            ..Wants::RECORDS
        }
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            stage: self.mode.stage(),
            bandwidth_bps: 8.0 * self.bandwidth(),
        })
    }

    fn draw_from(&mut self, draws: Stream) {
        self.draws = draws;
    }

    fn set_preconnect(&mut self, idle: Span) {
        (self.min_rtt.age_at_since, self.connected) = (idle, idle);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.min_rtt.rtt = Some(Span::micros(micros(Time(rtt.0), rtt).into()));
        self.set_rate(HIGH_GAIN, Some(rtt), flight);
        CwndUpdate {
            pacing: self.pacing(None, flight),
            ..CwndUpdate::unchanged(flight)
        }
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.min_rtt.since.get_or_insert(sent.now);
        // Only the first segment after an idle period restarts (bbr_cwnd_event, CA_EVENT_TX_START).
        if sent.in_flight > sent.end - sent.sequence || !sent.app_limited {
            return None;
        }
        self.restarts = true;
        self.aggregation.restart(sent.now);
        match self.mode {
            Mode::ProbeBw(_) => {
                self.set_rate(1.0, None, flight);
                self.pacing(None, flight)
            }
            Mode::ProbeRtt => {
                self.end_probe_rtt(sent.now);
                None
            }
            Mode::Startup | Mode::Drain => None,
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.delivered += ack.delivered;
        self.lost += ack.lost;
        let mut threshold = flight.ssthresh();
        let sample = ack
            .rate
            .filter(|rate| rate.interval.0 > 0 && ack.least_rtt.is_none_or(|least| rate.interval >= least));
        self.rounds.began = false;
        if let Some(sample) = &sample {
            self.measure(ack, sample, flight);
        }
        self.update_cycle_phase(ack, flight);
        if let Some(sample) = &sample {
            self.check_full_pipe(self.is_limited(sample));
        }
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
            threshold = self.inflight(self.max_bw.get(), 1.0, flight);
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_flight_at_departure(ack.in_flight, ack.held, flight);
            if in_flight <= self.inflight(self.max_bw.get(), 1.0, flight) {
                self.probe_bandwidth(ack.now);
            }
        }
        self.update_min_rtt(ack, flight);
        self.set_rate(self.pacing_gain(), ack.srtt, flight);
        CwndUpdate {
            window: self.window(ack, flight),
            threshold,
            pacing: self.pacing(ack.least_rtt, flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        if matches!(cause, Cause::Mark { .. }) {
            return CwndUpdate::unchanged(flight);
        }
        self.save_cwnd(flight);
        if cause == Cause::FastRetransmit {
            return CwndUpdate::unchanged(flight);
        }
        // After a timeout, the detection of a full pipe starts again.
        self.phase = RecoveryPhase::Loss;
        self.pipe.bandwidth = 0.0;
        self.rounds.began = true;
        self.check_policer(now, true, false);
        CwndUpdate::window(flight.mss(), flight)
    }

    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> CwndUpdate {
        if spurious {
            (self.pipe.bandwidth, self.pipe.rounds_without_growth) = (0.0, 0);
            self.lt_bw.forget();
        }
        CwndUpdate::unchanged(flight)
    }
}

impl Bbr {
    /// Returns the bandwidth estimate [byte/s].
    fn bandwidth(&self) -> f64 {
        self.lt_bw.rate().unwrap_or_else(|| self.max_bw.get())
    }

    /// Returns the pacing rate as a multiple of the bandwidth (bbr_update_gains).
    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw(_) if self.lt_bw.rate().is_some() => 1.0,
            Mode::ProbeBw(phase) => CYCLE[phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Returns cwnd as a multiple of the BDP (bbr_update_gains).
    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(_) => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Returns whether the application or ProbeRTT limited a sample, so that it underestimates the bandwidth.
    fn is_limited(&self, sample: &RateSample) -> bool {
        let in_probe_rtt = self.probe_rtt_delivered.as_ref();
        sample.app_limited || in_probe_rtt.is_some_and(|range| range.contains(&sample.prior_delivered))
    }

    /// Records a delivery-rate sample: counts rounds, and updates the maximum bandwidth and the ACK aggregation
    /// (bbr_update_bw, bbr_update_ack_aggregation).
    fn measure(&mut self, ack: &Ack, sample: &RateSample, flight: &Flight) {
        if sample.prior_delivered >= self.rounds.until {
            self.rounds = RoundCount {
                count: self.rounds.count + 1,
                until: self.delivered,
                began: true,
            };
            self.packet_conservation = false;
        }
        let limited = self.is_limited(sample);
        self.check_policer(ack.now, ack.lost > 0, limited);
        let rate = sample.delivered as f64 / sample.interval.as_seconds();
        if !limited || rate >= self.max_bw.get() {
            self.max_bw.add(self.rounds.count, rate, PEAK_ROUNDS);
        }
        if ack.delivered > 0 {
            let (bandwidth, began) = (self.bandwidth(), self.rounds.began);
            let arrived = ack.delivered as f64;
            let window = (flight.cwnd(), flight.mss());
            self.aggregation.on_ack(ack.now, arrived, bandwidth, began, window);
        }
    }

    /// Updates the detection of a policer, and enters ProbeBW when the use of its rate ends.
    fn check_policer(&mut self, now: Time, loses: bool, app_limited: bool) {
        let finding = self.lt_bw.update(&Point {
            now,
            delivered: self.delivered,
            lost: self.lost,
            loses,
            round_began: self.rounds.began,
            app_limited,
            probes: matches!(self.mode, Mode::ProbeBw(_)),
        });
        if finding == Finding::Expired {
            self.probe_bandwidth(now);
        }
    }

    /// Enters ProbeBW in a random phase other than the one with a gain of 0.75.
    fn probe_bandwidth(&mut self, now: Time) {
        let phases = CYCLE.len();
        let previous = phases - 1 - self.draws.below(phases as u64 - 1) as usize;
        self.mode = Mode::ProbeBw((previous + 1) % phases);
        self.cycle_began = now;
    }

    /// Advances to the next phase of ProbeBW if the current phase is over (bbr_is_next_cycle_phase).
    fn update_cycle_phase(&mut self, ack: &Ack, flight: &Flight) {
        let Mode::ProbeBw(phase) = self.mode else {
            return;
        };
        let lasted_rtt = self.min_rtt.rtt.is_none_or(|rtt| ack.now.since(self.cycle_began) > rtt);
        let in_flight = || self.in_flight_at_departure(ack.in_flight_before, ack.held, flight);
        let gain = self.pacing_gain();
        let is_over = if gain > 1.0 {
            lasted_rtt && (ack.lost > 0 || in_flight() >= self.inflight(self.max_bw.get(), gain, flight))
        } else if gain < 1.0 {
            lasted_rtt || in_flight() <= self.inflight(self.max_bw.get(), 1.0, flight)
        } else {
            lasted_rtt
        };
        if is_over {
            self.mode = Mode::ProbeBw((phase + 1) % CYCLE.len());
            self.cycle_began = ack.now;
        }
    }

    /// Detects a full pipe at the start of a round: the bandwidth has stopped growing (bbr_check_full_bw_reached).
    fn check_full_pipe(&mut self, limited: bool) {
        if self.pipe.full || !self.rounds.began || limited {
            return;
        }
        if self.max_bw.get() >= self.pipe.bandwidth * FULL_GROWTH {
            (self.pipe.bandwidth, self.pipe.rounds_without_growth) = (self.max_bw.get(), 0);
            return;
        }
        self.pipe.rounds_without_growth += 1;
        self.pipe.full = self.pipe.rounds_without_growth >= FULL_ROUNDS;
    }
}

/// Rounds a nonnegative number up to an integer.
fn rounded_up(number: f64) -> f64 {
    let whole = whole_part(number);
    if whole < number {
        whole + 1.0
    } else {
        whole
    }
}

/// Returns the minimum number of segments per burst at a given rate [bit/s].
fn least_burst(rate: f64) -> u64 {
    if rate < SLOW {
        1
    } else {
        2
    }
}
