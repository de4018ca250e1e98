//! BBR, version 1: it sends at the bandwidth that it measures, with two bandwidth-delay products under way at most (Cardwell et
//! al. 2016, draft-cardwell-iccrg-bbr-congestion-control-00, and Linux's numbers).

mod aggregation;
mod mode;
mod pause;
mod policer;
mod window;

use super::control::{Ack, Cause, Control, Grant, Pacing, Phase, RateSample, Sent, Wants};
use super::growth::whole_part;
use super::peak::Peak;
use super::stage::Model;
use crate::flight::Flight;
use crate::pacer;
use crate::variant::{Parameters, Variant};
use aggregation::Aggregation;
use longpipe_events::{Span, Stream, Time};
use longpipe_reading::Read;
use mode::{Mode, CYCLE};
use policer::{Finding, Point, Policer};
use serde::{Deserialize, Serialize};

/// Nothing to choose.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BbrConfig {}

impl Parameters for BbrConfig {}

/// Round trips by what is delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    /// This one ends with the delivery of what was sent after so many bytes had been delivered.
    until: u64,
    /// Whether the latest ACK began one.
    began: bool,
}

/// Whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
struct Pipe {
    bandwidth: f64,
    /// Rounds without growth.
    flat: u32,
    full: bool,
}

/// The shortest round trip, and the pause that looks for it.
#[derive(Clone, Copy, Debug, Default)]
struct Shortest {
    rtt: Option<Span>,
    since: Time,
    /// When the pause is over, and whether a round of it is.
    until: Option<Time>,
    round_over: bool,
    /// Whether it just ended: the window goes back.
    ended: bool,
}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Bbr {
    draws: Stream,
    mode: Mode,
    /// Bytes that arrived and that were lost in all.
    delivered: u64,
    lost: u64,
    rounds: Rounds,
    peak: Peak,
    pipe: Pipe,
    shortest: Shortest,
    aggregation: Aggregation,
    policer: Policer,
    cycle_began: Time,
    /// Segments sent after so many bytes were delivered, and before so many, left during a pause.
    paused: (u64, u64),
    /// Whether the application begins again.
    restarts: bool,
    /// Where the sender was after the ACK before.
    phase: Phase,
    /// Whether what leaves is what arrived: the first round of a recovery.
    conserves: bool,
    /// Window to go back to [byte].
    prior: f64,
    /// Pacing rate [bit/s]; none before a round trip is known.
    rate: Option<f64>,
    /// What leaves at once by it [segment].
    burst: f64,
    /// Its grant, and the shortest round trip that it went by.
    paced: Option<(f64, Option<Span>, Pacing)>,
}

/// 2/ln 2: the least gain at which the rate doubles each round; what drains its queue in a round (both in 256ths, as Linux has them).
const HIGH: f64 = 739.0 / 256.0;
const DRAIN: f64 = 88.0 / 256.0;
const MORE: usize = 0;
/// So many round trips are looked at beside the present one for the bandwidth.
const PEAK_ROUNDS: u64 = 10;
/// The window in bandwidth-delay products.
const WINDOW_GAIN: f64 = 2.0;
/// The pipe is full after so many rounds in which the bandwidth grew by less than a quarter.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// A round trip is looked for anew after so long, for so long, with so many segments under way, which is the least window.
const RTT_LASTS: Span = Span::seconds(10);
const PAUSE: Span = Span::millis(200);
const LEAST_SEGMENTS: f64 = 4.0;
/// The window where no round trip is known [segment].
const FIRST_WINDOW: f64 = 10.0;
/// Of the bandwidth so much is sent, so that queues drain.
const MARGIN: f64 = 0.99;
/// Below this rate single segments leave [bit/s].
const SLOW: f64 = 1.2e6;
/// A burst by the rate: a 1024th of a second, so many bytes and segments at most.
const BURSTS_PER_SECOND: f64 = 1024.0;
const MOST_BYTES: f64 = 65_215.0;
const MOST_SEGMENTS: f64 = 127.0;
/// So many bursts are under way at the end points.
const BURSTS: f64 = 3.0;

impl Variant for Bbr {
    type Config = BbrConfig;

    fn new(_config: &BbrConfig) -> Bbr {
        Bbr {
            draws: Stream::new(0, "control", 0),
            mode: Mode::Startup,
            delivered: 0,
            lost: 0,
            rounds: Rounds::default(),
            peak: Peak::default(),
            pipe: Pipe::default(),
            shortest: Shortest::default(),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            cycle_began: Time::ZERO,
            paused: (u64::MAX, 0),
            restarts: false,
            phase: Phase::Open,
            conserves: false,
            prior: 0.0,
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

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> Grant {
        (self.shortest.rtt, self.shortest.since) = (Some(rtt), Time::ZERO);
        self.set_rate(HIGH, Some(rtt), flight);
        Grant {
            pacing: self.pacing(None, flight),
            ..Grant::as_it_is(flight)
        }
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
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
                self.end_pause_in_time(sent.now);
                None
            }
            Mode::Startup | Mode::Drain => None,
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant {
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
        self.go_round(ack, flight);
        if let Some(sample) = &sample {
            self.look_whether_full(self.is_limited(sample));
        }
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
            threshold = self.inflight(self.peak.get(), 1.0, flight);
        }
        let under_way = self.under_way_next(ack.in_flight, ack.held, flight);
        if self.mode == Mode::Drain && under_way <= self.inflight(self.peak.get(), 1.0, flight) {
            self.probe_bandwidth(ack.now);
        }
        self.look_at_round_trip(ack, flight);
        self.set_rate(self.pacing_gain(), ack.srtt, flight);
        Grant {
            window: self.window(ack, flight),
            threshold,
            pacing: self.pacing(ack.least_rtt, flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> Grant {
        if matches!(cause, Cause::Mark { .. }) {
            return Grant::as_it_is(flight);
        }
        self.remember(flight);
        if cause == Cause::FastRetransmit {
            return Grant::as_it_is(flight);
        }
        // A timeout: what the pipe holds is found anew.
        self.phase = Phase::Loss;
        self.pipe.bandwidth = 0.0;
        self.rounds.began = true;
        self.look_for_policer(now, true, false);
        Grant::window(flight.mss(), flight)
    }

    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> Grant {
        if spurious {
            (self.pipe.bandwidth, self.pipe.flat) = (0.0, 0);
            self.policer.forget();
        }
        Grant::as_it_is(flight)
    }
}

impl Bbr {
    /// Bandwidth [byte/s].
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.peak.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::ProbeBw(_) if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBw(phase) => CYCLE[phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::ProbeBw(_) => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Whether a sample says little of the path: the application, or a pause, left it half empty.
    fn is_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || (self.paused.0..=self.paused.1).contains(&sample.prior_delivered)
    }

    /// Takes in a sample of the rate.
    fn measure(&mut self, ack: &Ack, sample: &RateSample, flight: &Flight) {
        if sample.prior_delivered >= self.rounds.until {
            self.rounds = Rounds {
                count: self.rounds.count + 1,
                until: self.delivered,
                began: true,
            };
            self.conserves = false;
        }
        let limited = self.is_limited(sample);
        self.look_for_policer(ack.now, ack.lost > 0, limited);
        let rate = sample.delivered as f64 / sample.interval.as_seconds();
        if !limited || rate >= self.peak.get() {
            self.peak.add(self.rounds.count, rate, PEAK_ROUNDS);
        }
        if ack.delivered > 0 {
            let (bandwidth, began) = (self.bandwidth(), self.rounds.began);
            let arrived = ack.delivered as f64;
            let window = (flight.cwnd(), flight.mss());
            self.aggregation.on_ack(ack.now, arrived, bandwidth, began, window);
        }
    }

    fn look_for_policer(&mut self, now: Time, loses: bool, app_limited: bool) {
        let finding = self.policer.look(&Point {
            now,
            delivered: self.delivered,
            lost: self.lost,
            loses,
            round_began: self.rounds.began,
            app_limited,
            probes: matches!(self.mode, Mode::ProbeBw(_)),
        });
        if finding == Finding::Over {
            self.probe_bandwidth(now);
        }
    }

    /// The cycle begins, anywhere but where it makes up for more.
    fn probe_bandwidth(&mut self, now: Time) {
        let phases = CYCLE.len();
        let before = phases - 1 - self.draws.below(phases as u64 - 1) as usize;
        self.mode = Mode::ProbeBw((before + 1) % phases);
        self.cycle_began = now;
    }

    /// The next phase of the cycle, if it is time.
    fn go_round(&mut self, ack: &Ack, flight: &Flight) {
        let Mode::ProbeBw(phase) = self.mode else {
            return;
        };
        let lasted = self
            .shortest
            .rtt
            .is_none_or(|rtt| ack.now.since(self.cycle_began) > rtt);
        let in_flight = self.under_way_next(ack.in_flight_before, ack.held, flight);
        let gain = self.pacing_gain();
        let over = if gain > 1.0 {
            lasted && (ack.lost > 0 || in_flight >= self.inflight(self.peak.get(), gain, flight))
        } else if gain < 1.0 {
            lasted || in_flight <= self.inflight(self.peak.get(), 1.0, flight)
        } else {
            lasted
        };
        if over {
            self.mode = Mode::ProbeBw((phase + 1) % CYCLE.len());
            self.cycle_began = ack.now;
        }
    }

    fn look_whether_full(&mut self, limited: bool) {
        if self.pipe.full || !self.rounds.began || limited {
            return;
        }
        if self.peak.get() >= self.pipe.bandwidth * FULL_GROWTH {
            (self.pipe.bandwidth, self.pipe.flat) = (self.peak.get(), 0);
            return;
        }
        self.pipe.flat += 1;
        self.pipe.full = self.pipe.flat >= FULL_ROUNDS;
    }
}

/// The next whole number that is not below what is not negative.
fn rounded_up(number: f64) -> f64 {
    let whole = whole_part(number);
    if whole < number {
        whole + 1.0
    } else {
        whole
    }
}

/// Least segments of a burst at that rate [bit/s].
fn least_burst(rate: f64) -> u64 {
    if rate < SLOW {
        1
    } else {
        2
    }
}
