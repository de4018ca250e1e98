//! C4: paces at the highest measured rate, which congestion signals reduce, and probes with small excesses
//! (draft-huitema-ccwg-c4-spec, text after -04).
//!
//! Flows with a higher rate react to smaller delays, losses and shares of marks, so that flows converge. An era is a round
//! trip: it ends when a packet is acknowledged that was sent in it.

mod signals;

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, LostSegment, Pacing, RateSample, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::path_model::{Model, Stage};
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;
use signals::{Shares, Signal};

/// Rules where the text of the specification and picoquic's code differ.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum C4Rules {
    /// The text after version -04.
    Specification,
    /// c4.c of picoquic: a delay signals congestion only after an era with an excess; losses also reduce the nominal
    /// maximum RTT.
    Picoquic,
}

/// Paces at the highest measured rate, which delays, losses and marks reduce (draft-huitema-ccwg-c4-spec after -04).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "C4")]
#[described(fact(
    "by_model",
    "C4 set it to the product of its rate and its maximum RTT without queues (draft-huitema-ccwg-c4-spec)"
))]
pub struct C4Config {
    /// Text of the specification, or picoquic's code where it differs.
    #[field(default = "specification")]
    pub rules: C4Rules,
    /// Share of the rate in a recovery after the initial phase or a push; section "Draining the standing queues" (a table
    /// of the draft has 0.75).
    #[field(range = "[0.5, 1]", default = 0.875)]
    pub drain: f64,
    /// Eras of cruising before a probe; section "Cruising state" (an overview in the draft has 4).
    #[field(range = "[1, 1000]", default = 2)]
    pub cruise_eras: u32,
}

impl Parameters for C4Config {
    const FACTS: Facts = Facts {
        is_model: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// Factors alpha of the rate.
const INITIAL: f64 = 2.0;
const RECOVERY: f64 = 15.0 / 16.0;
const CRUISING: f64 = 1.0;
const PROBING: f64 = 17.0 / 16.0;
const PROBING_WITH_MARKS: f64 = 33.0 / 32.0;
const PUSHING: f64 = 1.25;
/// Addition to alpha while cruising on paths with an RTT below 1 ms (section "Pacing and CPU load").
const SHORT_PATH_EXCESS: f64 = 3.0 / 64.0;
/// Minimum of the nominal maximum RTT, and RTT of a short path [s].
const SHORT_RTT: f64 = 0.001;
/// Growth of the rate in an era that continues the initial phase (picoquic), and a push.
const INITIAL_GROWTH: f64 = 1.25;
const PUSH_GROWTH: f64 = 19.0 / 16.0;
/// Number of eras without growth that ends the initial phase, and after which delays and marks may end it.
const QUIET_ERAS: u32 = 3;
const QUIET_ERAS_OF_SIGNAL: u32 = 2;
/// Number of packets after which losses may end the initial phase.
const PACKETS_BEFORE_LOSS: u64 = 20;
/// Minimum pacing rate of the initial phase [byte/s]: 1 048 576 bit/s.
const MIN_INITIAL_RATE: f64 = 131_072.0;
/// Number of eras for which a push lasts at least, and beyond which the initial phase starts again.
const MIN_PUSH: u32 = 2;
const MAX_PUSH: u32 = 3;
/// Weight of an era that does not raise a filter of RTTs.
const RTT_GAIN: f64 = 1.0 / 8.0;
/// Maximum excess of the nominal maximum RTT over the minimum [s].
const MAX_JITTER: f64 = 0.25;
/// Ratio of minimum and maximum RTT below which jitter restarts the initial phase.
const HIGH_JITTER: f64 = 0.4;
/// Limits of that restart: maximum RTT [s] and rate [byte/s].
const MIN_JITTER_RTT: f64 = 0.05;
const MAX_JITTER_RATE: f64 = 1e6;
/// Margin of the window: a share of the nominal maximum RTT, and at most this time [s].
const MARGIN_SHARE: f64 = 0.25;
const MAX_MARGIN: f64 = 0.015;
/// Quantum of the pacer: time [s] at the pacing rate, and limits [packet] and [byte].
const QUANTUM: f64 = 0.004;
const MIN_QUANTUM: f64 = 2.0;
const MAX_QUANTUM: f64 = 65_536.0;
/// Minimum window [packet].
const MIN_WINDOW: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Initial,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

/// Measurements of one era.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// Bytes delivered before the era.
    delivered: u64,
    /// Rate at the start [byte/s].
    rate: f64,
    min_rtt: f64,
    max_rtt: f64,
    /// Whether any rate sample was not limited by the application.
    fills: bool,
}

/// Measurements from the end of one recovery to the end of the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// Rate at the start [byte/s], and the highest rate sample.
    rate: f64,
    recent: f64,
    /// Whether the current recovery follows a probe, and whether a signal started it or arrived in it.
    follows_probe: bool,
    congested: bool,
    /// Whether any rate sample was not limited by the application.
    fills: bool,
}

/// State of one sender. Rates are in byte/s, times in seconds.
#[derive(Clone, Debug)]
pub struct C4 {
    config: C4Config,
    state: State,
    /// Nominal rate, and nominal maximum RTT; 0 before the first sample.
    rate: f64,
    max_rtt: f64,
    /// Running minimum RTT.
    min_rtt: f64,
    alpha: f64,
    previous_alpha: f64,
    era: Era,
    cycle: Cycle,
    shares: Shares,
    /// Window of the initial phase [byte], eras without growth in it, and packets delivered in it.
    initial_window: f64,
    quiet_eras: u32,
    packets: u64,
    /// Eras of the current state.
    eras: u32,
    /// Number of successive recoveries with congestion.
    congestions: u32,
    /// Whether jitter has restarted the initial phase.
    restarted: bool,
    /// Bytes delivered so far.
    delivered: u64,
    /// Whether the smoothed loss rate exceeded its threshold since the latest ACK.
    loses: bool,
    /// Time of the latest retransmission timeout, whose losses are no signal.
    timeout: Option<Time>,
}

impl Variant for C4 {
    type Config = C4Config;

    fn new(config: &C4Config) -> C4 {
        C4 {
            config: *config,
            state: State::Initial,
            rate: 0.0,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            alpha: INITIAL,
            previous_alpha: INITIAL,
            era: Era::new(0, 0.0),
            cycle: Cycle::default(),
            shares: Shares::default(),
            initial_window: 0.0,
            quiet_eras: 0,
            packets: 0,
            eras: 0,
            congestions: 0,
            restarted: false,
            delivered: 0,
            loses: false,
            timeout: None,
        }
    }
}

impl Era {
    fn new(delivered: u64, rate: f64) -> Era {
        Era {
            delivered,
            rate,
            min_rtt: f64::INFINITY,
            max_rtt: 0.0,
            fills: false,
        }
    }
}

impl Control for C4 {
    fn wants(&self) -> Wants {
        Wants {
            rates: true,
            pacing: true,
            each_loss: true,
            ..Wants::RECORDS
        }
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            stage: match self.state {
                State::Initial => Stage::Startup,
                State::Recovery => Stage::ProbeDown,
                State::Cruising => Stage::Cruise,
                State::Probing | State::Pushing => Stage::ProbeUp,
            },
            bandwidth_bps: 8.0 * self.rate,
        })
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if self.initial_window == 0.0 {
            self.initial_window = flight.cwnd();
        }
        self.delivered += ack.delivered;
        let packets = ack.delivered.div_ceil(u64::from(flight.mss));
        self.packets += packets;
        self.shares.on_delivered(packets);
        self.take_rtt(ack.rtt);
        if self.state == State::Initial {
            let shift = 3 * self.quiet_eras;
            self.initial_window += (ack.delivered >> shift) as f64;
        }
        if let Some(rate) = &ack.rate {
            self.take_rate(rate, ack.least_rtt);
        }
        // A signal that changes the state begins an era.
        let ends = |c4: &C4| ack.rate.is_some_and(|rate| rate.prior_delivered >= c4.era.delivered);
        let ends_era = ends(self);
        if let Some(signal) = self.signal(ack, ends_era) {
            self.on_signal(signal);
        }
        if ends(self) {
            self.end_era(ack.srtt);
        }
        self.update(flight)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, _flight: &Flight) {
        // Packets sent before the recovery are consequences of the signal that started it.
        let is_old = self.state == State::Recovery && lost.prior_delivered < self.era.delivered;
        if self.timeout != Some(now) && !is_old {
            self.loses |= self.shares.on_lost(self.sensitivity());
        }
    }

    /// A timeout is no signal of congestion, but leaves a window of one segment until the next ACK. Losses and marks are
    /// processed with the ACKs that report them.
    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        if cause == Cause::Timeout {
            self.timeout = Some(now);
            return CwndUpdate::window(flight.mss(), flight);
        }
        CwndUpdate::unchanged(flight)
    }
}

impl C4 {
    fn sensitivity(&self) -> f64 {
        signals::sensitivity(self.rate, self.config.rules)
    }

    fn take_rtt(&mut self, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            let rtt = rtt.as_seconds();
            self.era.min_rtt = self.era.min_rtt.min(rtt);
            self.era.max_rtt = self.era.max_rtt.max(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            if self.max_rtt == 0.0 {
                self.max_rtt = rtt.max(SHORT_RTT);
            }
        }
    }

    /// Takes a rate sample, which raises the rate unless the recovery is caused by congestion. An interval shorter than the
    /// minimum RTT results from ACK compression.
    fn take_rate(&mut self, sample: &RateSample, least_rtt: Option<Span>) {
        if sample.interval.0 == 0 || least_rtt.is_some_and(|least| sample.interval < least) {
            return;
        }
        let rate = sample.delivered as f64 / sample.interval.as_seconds();
        self.cycle.recent = self.cycle.recent.max(rate);
        self.era.fills |= !sample.app_limited;
        self.cycle.fills |= !sample.app_limited;
        if !(self.state == State::Recovery && self.cycle.congested) {
            self.rate = self.rate.max(rate);
        }
    }

    /// Returns the signal of an ACK and of the losses since the previous ACK.
    fn signal(&mut self, ack: &Ack, ends_era: bool) -> Option<Signal> {
        let sensitivity = self.sensitivity();
        let marks = self.shares.on_ack(ack.delivered, ack.marked, ends_era, sensitivity);
        let loss = std::mem::take(&mut self.loses).then_some(Signal::Loss);
        let detects_delay = self.config.rules == C4Rules::Specification || self.previous_alpha > CRUISING;
        let delay = || {
            let rtt = ack.rtt.filter(|_| detects_delay && self.max_rtt > 0.0)?;
            signals::of_delay(rtt.as_seconds(), self.max_rtt, sensitivity)
        };
        loss.or(marks).or_else(delay)
    }

    fn on_signal(&mut self, signal: Signal) {
        match (self.state, signal) {
            (State::Initial, Signal::Loss) => {
                if self.packets > PACKETS_BEFORE_LOSS {
                    self.end_initial(true);
                }
            }
            (State::Initial, Signal::Delay { .. } | Signal::Marks { .. }) => {
                if self.quiet_eras >= QUIET_ERAS_OF_SIGNAL && self.rate <= self.era.rate {
                    self.end_initial(true);
                }
            }
            (State::Recovery, _) => {
                self.cycle.congested = true;
                if self.config.rules == C4Rules::Picoquic && self.alpha == RECOVERY {
                    self.alpha = self.config.drain;
                    self.era.delivered = self.delivered;
                }
            }
            (State::Cruising, _) => {
                let beta = signals::beta(signal, self.sensitivity(), &self.config);
                self.rate *= 1.0 - beta;
                if self.config.rules == C4Rules::Picoquic && signal == Signal::Loss {
                    self.max_rtt = (self.max_rtt * (1.0 - beta)).max(SHORT_RTT);
                }
                self.recover(true);
            }
            (State::Probing | State::Pushing, _) => self.recover(true),
        }
    }

    fn begin_era(&mut self) {
        self.previous_alpha = self.alpha;
        self.era = Era::new(self.delivered, self.rate);
        self.eras += 1;
    }

    fn enter(&mut self, state: State, alpha: f64) {
        self.begin_era();
        (self.state, self.alpha, self.eras) = (state, alpha, 0);
    }

    /// Ends the initial phase: half of its window filled the path at the nominal rate.
    fn end_initial(&mut self, congested: bool) {
        if self.rate > 0.0 {
            self.max_rtt = (self.initial_window / 2.0 / self.rate).max(SHORT_RTT);
            self.recover(congested);
        }
    }

    fn recover(&mut self, congested: bool) {
        self.cycle.follows_probe = self.state == State::Probing;
        self.cycle.congested = congested && !(self.config.rules == C4Rules::Picoquic && self.state == State::Initial);
        let drains = matches!(self.state, State::Initial | State::Pushing);
        self.enter(State::Recovery, if drains { self.config.drain } else { RECOVERY });
    }

    fn restart(&mut self) {
        self.enter(State::Initial, INITIAL);
        self.initial_window = self.rate * self.max_rtt;
        (self.quiet_eras, self.packets) = (0, 0);
    }

    fn end_era(&mut self, srtt: Option<Span>) {
        if self.state != State::Initial && self.previous_alpha <= CRUISING {
            self.update_rtts();
        }
        match self.state {
            State::Initial => {
                if self.rate >= INITIAL_GROWTH * self.era.rate && self.rate > 0.0 {
                    self.quiet_eras = 0;
                } else if self.era.fills {
                    self.quiet_eras += 1;
                }
                if self.quiet_eras >= QUIET_ERAS {
                    self.end_initial(false);
                } else {
                    self.begin_era();
                }
            }
            State::Recovery => self.end_recovery(srtt),
            State::Cruising => {
                let fills = self.era.fills;
                self.begin_era();
                if self.eras >= self.config.cruise_eras && fills {
                    let marked = self.shares.saw_marks;
                    self.enter(State::Probing, if marked { PROBING_WITH_MARKS } else { PROBING });
                }
            }
            State::Probing => self.recover(false),
            State::Pushing => {
                let grew = self.rate >= PUSH_GROWTH * self.era.rate;
                self.begin_era();
                if !grew && self.eras >= MIN_PUSH {
                    self.recover(false);
                } else if self.eras > MAX_PUSH && self.config.rules == C4Rules::Specification {
                    self.restart();
                }
            }
        }
    }

    /// Updates running minimum and nominal maximum RTT at the end of an era whose packets were sent at most at the nominal
    /// rate.
    fn update_rtts(&mut self) {
        let Era { min_rtt, max_rtt, .. } = self.era;
        if max_rtt == 0.0 {
            return;
        }
        self.min_rtt = min_rtt.min(self.min_rtt + RTT_GAIN * (min_rtt - self.min_rtt));
        let max_rtt = max_rtt.min(self.min_rtt + MAX_JITTER);
        let decayed = self.max_rtt + RTT_GAIN * (max_rtt - self.max_rtt);
        self.max_rtt = max_rtt.max(decayed).max(SHORT_RTT);
    }

    fn end_recovery(&mut self, srtt: Option<Span>) {
        let cycle = self.cycle;
        let grew = self.rate > cycle.rate;
        self.congestions = if cycle.congested { self.congestions + 1 } else { 0 };
        if self.congestions > 1 && cycle.recent > 0.0 {
            self.rate = self.rate.min(cycle.recent);
        } else if !grew && !cycle.congested && cycle.fills && cycle.recent > 0.0 {
            self.rate = (self.rate + cycle.recent) / 2.0;
        }
        self.shares.marked = 0.0;
        if self.config.rules == C4Rules::Picoquic {
            self.shares.lost = 0.0;
        }
        self.cycle = Cycle {
            rate: self.rate,
            ..Cycle::default()
        };
        if self.has_high_jitter() {
            self.restarted = true;
            self.restart();
        } else if cycle.follows_probe && grew && !cycle.congested {
            self.enter(State::Pushing, PUSHING);
        } else {
            let is_short = srtt.is_some_and(|srtt| srtt.as_seconds() < SHORT_RTT);
            self.enter(
                State::Cruising,
                CRUISING + if is_short { SHORT_PATH_EXCESS } else { 0.0 },
            );
        }
    }

    /// Returns whether jitter restarts the initial phase (section "Restarting Initial if High Jitter"). The text has no limit;
    /// picoquic restarts once, at a long RTT and a low rate.
    fn has_high_jitter(&self) -> bool {
        let permits = !self.restarted && self.max_rtt > MIN_JITTER_RTT && self.rate < MAX_JITTER_RATE;
        permits && self.min_rtt < HIGH_JITTER * self.max_rtt
    }

    /// Returns the window and the pacing rate (section "Setting pacing rate, congestion window and quantum").
    fn update(&mut self, flight: &Flight) -> CwndUpdate {
        let mss = flight.mss();
        if self.rate == 0.0 || self.max_rtt == 0.0 {
            return CwndUpdate::unchanged(flight);
        }
        let mut rate = self.alpha * self.rate;
        let mut window = rate * self.max_rtt;
        match self.state {
            State::Initial => {
                self.initial_window = self.initial_window.max(window);
                window = self.initial_window;
                rate = rate.max(MIN_INITIAL_RATE);
            }
            State::Recovery | State::Cruising => window += rate * margin(self.max_rtt),
            State::Probing | State::Pushing => {
                let excess = (self.alpha - 1.0) * self.rate * self.max_rtt;
                window += rate * margin(self.max_rtt) + (mss - excess).max(0.0);
            }
        }
        let quantum = (rate * QUANTUM).min(MAX_QUANTUM).max(MIN_QUANTUM * mss);
        let max_window = (f64::from(flight.most_rwnd)).max(mss);
        CwndUpdate {
            window: window.max(MIN_WINDOW * mss).min(max_window),
            threshold: flight.ssthresh(),
            pacing: Some(Pacing {
                rate_bps: (8.0 * rate) as u64,
                quantum_bytes: quantum as u32,
            }),
        }
    }
}

/// Returns the time [s] by which the window exceeds the product of rate and nominal maximum RTT.
fn margin(max_rtt: f64) -> f64 {
    (MARGIN_SHARE * max_rtt).min(MAX_MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::ack_of;

    const MSS: u32 = 1250;
    /// 2.5 MB/s.
    const RATE: f64 = 2.5e6;
    const RTT: Span = Span::millis(80);

    /// A connection over a link of 20 Mbit/s and 80 ms whose queue holds `queue_s` seconds.
    struct Link {
        control: C4,
        flight: Flight,
        now: Time,
        /// Rate that the samples report [byte/s].
        rate: f64,
        rtt: Span,
    }

    impl Link {
        fn new(rules: C4Rules) -> Link {
            let window = f64::from(10 * MSS);
            Link {
                control: C4::new(&C4Config {
                    rules,
                    drain: 0.875,
                    cruise_eras: 2,
                }),
                flight: Flight::new(Limits::new(window, f64::INFINITY), 1 << 30, MSS),
                now: Time(RTT.0),
                rate: 1.0,
                rtt: RTT,
            }
        }

        fn cruising() -> Link {
            let mut link = Link::new(C4Rules::Specification);
            link.rate = RATE;
            (0..8).for_each(|_| link.era());
            assert_eq!(link.control.state, State::Cruising, "{:?}", link.control);
            link
        }

        fn ack(&mut self, prior: u64, marked: bool) {
            self.flight.una += u64::from(MSS);
            self.flight.max = self.flight.una + self.flight.window();
            let interval = Span((f64::from(MSS) / self.rate * 1e12) as u64 * 100);
            let rate = RateSample {
                delivered: 100 * u64::from(MSS),
                interval: interval.max(self.rtt),
                prior_delivered: prior,
                tx_in_flight: 0,
                lost: 0,
                app_limited: false,
            };
            let ack = Ack {
                rate: Some(RateSample {
                    delivered: (self.rate * rate.interval.as_seconds()) as u64,
                    ..rate
                }),
                marked: if marked { u64::from(MSS) } else { 0 },
                least_rtt: Some(RTT),
                ..ack_of(u64::from(MSS), self.now, Some(self.rtt), &self.flight)
            };
            let update = self.control.on_ack(&ack, &self.flight);
            self.flight.limits = Limits::new(update.window, update.threshold);
        }

        /// Reports the loss of a packet that was sent in the current era.
        fn lose(&mut self) {
            let lost = LostSegment {
                sequence: 0,
                end: u64::from(MSS),
                tx_in_flight: 0,
                lost: 0,
                prior_delivered: u64::MAX,
                app_limited: false,
                delivered: 0,
            };
            self.control.on_lost(&lost, self.now, &self.flight);
        }

        /// Acknowledges packets until one era has passed.
        fn era(&mut self) {
            let begin = self.control.era.delivered;
            self.now += self.rtt;
            for _ in 0..10 {
                self.ack(begin.saturating_sub(1), false);
            }
            self.ack(u64::MAX, false);
        }

        fn states(&mut self, eras: usize) -> Vec<(State, f64)> {
            let state = |link: &mut Link| {
                link.era();
                (link.control.state, link.control.alpha)
            };
            (0..eras).map(|_| state(self)).collect()
        }
    }

    /// The initial phase ends after three eras without growth, with a drain; then two eras of cruising, a probe and a
    /// recovery alternate: 4 RTTs per cycle.
    #[test]
    fn states_follow_the_diagram_of_the_specification() {
        let mut link = Link::new(C4Rules::Specification);
        link.rate = RATE;
        let cycle = [
            (State::Cruising, 1.0),
            (State::Cruising, 1.0),
            (State::Probing, PROBING),
            (State::Recovery, RECOVERY),
        ];
        // The first ACK ends the first era, in which the rate grew.
        let mut expected = vec![(State::Initial, INITIAL); 2];
        expected.push((State::Recovery, 0.875));
        expected.extend(cycle.iter().cycle().take(8));
        assert_eq!(link.states(11), expected);
    }

    #[test]
    fn a_successful_probe_starts_a_push_that_ends_without_growth() {
        let mut link = Link::cruising();
        while link.control.state != State::Probing {
            link.era();
        }
        link.era();
        link.rate = 1.05 * RATE;
        let states: Vec<State> = link.states(4).into_iter().map(|(state, _)| state).collect();
        assert_eq!(
            states,
            [State::Pushing, State::Pushing, State::Recovery, State::Cruising]
        );
    }

    /// 2.5 MB/s times 95 ms.
    #[test]
    fn the_cruising_window_has_a_margin_of_15_ms() {
        let link = Link::cruising();
        let window = link.flight.cwnd();
        assert!((window - 237_500.0).abs() < 5_000.0, "{window}");
        assert!((link.control.max_rtt - 0.08).abs() < 0.002, "{}", link.control.max_rtt);
    }

    #[test]
    fn losses_and_marks_reduce_the_cruising_rate_by_a_quarter_at_most() {
        for marked in [false, true] {
            let mut link = Link::cruising();
            link.rate = 1.0;
            if marked {
                (0..20).for_each(|_| link.ack(0, true));
            } else {
                (0..2).for_each(|_| link.lose());
                link.ack(0, false);
            }
            assert_eq!(link.control.state, State::Recovery);
            assert_eq!(link.control.rate, 0.75 * RATE, "marked: {marked}");
        }
    }

    /// In the text, a delay reduces the rate while cruising. In picoquic, it does not.
    #[test]
    fn delay_reduces_the_cruising_rate_only_with_draft_rules() {
        for (rules, expected) in [(C4Rules::Specification, 0.75), (C4Rules::Picoquic, 1.0)] {
            let mut link = Link::cruising();
            link.control.config.rules = rules;
            link.rate = 1.0;
            link.rtt = Span::millis(120);
            link.ack(0, false);
            assert_eq!(link.control.rate, expected * RATE);
        }
    }

    #[test]
    fn a_second_recovery_with_congestion_resets_the_rate_to_recent_samples() {
        let mut link = Link::cruising();
        link.rate = 0.25 * RATE;
        for expected in [0.75, 0.25] {
            (0..2).for_each(|_| link.lose());
            link.ack(0, false);
            link.era();
            assert_eq!(link.control.state, State::Cruising);
            assert!(
                (link.control.rate / RATE - expected).abs() < 1e-6,
                "{}",
                link.control.rate / RATE
            );
        }
    }

    #[test]
    fn timeout_losses_are_ignored_as_signals() {
        let mut link = Link::cruising();
        let update = link.control.on_reduction(Cause::Timeout, link.now, &link.flight);
        assert_eq!(update.window, f64::from(MSS));
        let before = link.control.rate;
        (0..100).for_each(|_| link.lose());
        link.ack(0, false);
        assert_eq!((link.control.state, link.control.rate), (State::Cruising, before));
    }
}
