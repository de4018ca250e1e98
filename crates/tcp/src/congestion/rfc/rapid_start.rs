//! Rapid Start: triples the window in each round trip while RTTs show no queue, and sets the window in the first recovery
//! by the data that passed the bottleneck (draft-kazuho-ccwg-rapid-start of November 2025).
//!
//! It wraps a congestion controller. Rapid Start doubles what the controller adds to the window in slow start, and sets
//! the window from the first loss or mark in slow start until that recovery ends. The recovery ends for QUIC when a packet
//! is acknowledged that was sent in it, so only ACKs before that ACK count, and only losses of packets sent before the
//! recovery.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, LostSegment, RateSample, RecoveryPhase, Wants};
use crate::congestion::flight::{Flight, Limits};
use crate::congestion::pacing::{self, UNPACED};
use crate::congestion::sliding_minimum::SlidingMinimum;
use crate::congestion::Congestion;
use crate::described::Described;
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Determines when the window triples in each round trip of slow start, and how far the first recovery reduces it.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum RapidStartConfig {
    /// The window at most doubles in each round trip.
    #[default]
    Off,
    /// Triples while the RTT is at most min(min_rtt + 4 ms, 1.1 min_rtt); draft-kazuho-ccwg-rapid-start.
    Draft,
    /// Triples while the RTT is at most max(min_rtt + 4 ms, 35/32 min_rtt), and never if min_rtt < 4 ms; quicly.
    Quicly,
}

impl RapidStartConfig {
    /// Returns whether Rapid Start is off.
    pub fn is_off(&self) -> bool {
        *self == RapidStartConfig::Off
    }

    /// Returns the RTT up to which no queue is assumed, for a minimum RTT of `least`.
    fn threshold(self, least: Span) -> Span {
        let sum = Span(least.0 + ADDED.0);
        match self {
            RapidStartConfig::Off => Span(0),
            RapidStartConfig::Draft => sum.min(Span(least.0 + least.0 / 10)),
            RapidStartConfig::Quicly => sum.max(Span(least.0 / 32 * 35)),
        }
    }
}

/// Term of both thresholds. It is also the minimum RTT below which quicly does not use Rapid Start.
const ADDED: Span = Span::millis(4);
/// Number of intervals of quicly's minimum over the last round trip.
const SLOTS: usize = 4;
/// Share K of the reduction that the silence and the ACKs share.
const K: f64 = 11.0 / 18.0;
/// Share of losses beyond which the window is not reduced further: 2 of 3 packets at a growth to three times the window.
const MAX_LOSS: f64 = 2.0 / 3.0;
/// Minimum window [segment].
const MIN_WINDOW: f64 = 2.0;
/// Share of the initial window to which the first recovery reduces the window at most in quicly.
const MIN_OF_INITIAL: f64 = 0.5;
/// Ratios of the pacing rate to cwnd/srtt: while the window triples, otherwise, and for the first window of the draft.
const TRIPLING: f64 = 3.0;
const DOUBLING: f64 = 2.0;
const FIRST_WINDOW: f64 = 1.0;

/// Factors of the first recovery (section "Deriving the Reduction Factors").
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factors {
    /// Factor of the window at the start of the recovery.
    silence: f64,
    /// Reduction per acknowledged byte and per lost byte.
    ack: f64,
    loss: f64,
}

impl Factors {
    /// Returns the factors for a control that multiplies its window by `beta` after a loss.
    fn of(beta: f64) -> Factors {
        let silence = beta + K * (1.0 - beta);
        Factors {
            silence,
            ack: K * (1.0 - beta),
            loss: silence,
        }
    }

    /// Returns the smallest factor of the window over the whole recovery.
    fn least(self) -> f64 {
        self.silence - (1.0 - MAX_LOSS) * self.ack - MAX_LOSS * self.loss
    }
}

/// Minimum RTT of the last round trip.
#[derive(Clone, Debug)]
enum RttFloor {
    /// Exact minimum.
    Sliding(SlidingMinimum),
    /// Minima of intervals of a quarter of the minimum RTT, the latest of which ends at `until`.
    Slots { minima: [u64; SLOTS], until: Time },
}

impl RttFloor {
    /// Adds an RTT sample, and returns the minimum, for a minimum RTT of the connection of `least`.
    fn put(&mut self, now: Time, rtt: Span, least: Span) -> Span {
        match self {
            RttFloor::Sliding(minimum) => Span(minimum.put(now, rtt.0 as i64, least) as u64),
            RttFloor::Slots { minima, until } => {
                if now < *until {
                    minima[0] = minima[0].min(rtt.0);
                } else {
                    let slot = (least.0 / SLOTS as u64).max(1);
                    let passed = now.since(*until).0 / slot + 1;
                    minima.rotate_right(passed.min(SLOTS as u64) as usize % SLOTS);
                    minima[..passed.min(SLOTS as u64) as usize].fill(u64::MAX);
                    minima[0] = rtt.0;
                    *until += Span(slot * passed);
                }
                Span(minima.iter().copied().min().unwrap_or(u64::MAX))
            }
        }
    }
}

/// The first recovery.
#[derive(Clone, Copy, Debug)]
struct FirstRecovery {
    factors: Factors,
    /// Minimum window [byte].
    floor: f64,
    /// Window and ssthresh before the recovery.
    before: Limits,
    /// Time of the start, and bytes delivered before the ACK that started it.
    begin: (Time, u64),
    /// Whether no packet that was sent in the recovery has been acknowledged, so that ACKs reduce the window.
    counts_acks: bool,
    /// Lost bytes by which the next ACK reduces the window.
    lost: u64,
    /// Whether the loss that started the recovery has still to be reported; it is not counted again.
    awaits_first_loss: bool,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Slow start without a loss or a mark.
    Growing,
    Recovering(FirstRecovery),
    /// The wrapped controller alone determines the window.
    Over,
}

/// A controller with a faster slow start.
#[derive(Clone, Debug)]
pub struct RapidStart {
    inner: Congestion,
    rule: RapidStartConfig,
    /// Whether the sender is paced after slow start.
    paces: bool,
    /// Initial window [byte].
    initial_window: f64,
    stage: Stage,
    floor: RttFloor,
    /// Whether the latest RTTs show no queue.
    triples: bool,
    /// Bytes delivered so far.
    delivered: u64,
    /// Smoothed and minimum RTT at the latest ACK.
    rtts: (Option<Span>, Option<Span>),
}

impl RapidStart {
    /// Wraps the controller of a new connection; `paces` is true if the sender is paced at cwnd/srtt.
    pub fn new(inner: Congestion, rule: RapidStartConfig, paces: bool, initial_window: f64) -> RapidStart {
        let floor = match rule {
            RapidStartConfig::Off | RapidStartConfig::Draft => RttFloor::Sliding(SlidingMinimum::default()),
            RapidStartConfig::Quicly => RttFloor::Slots {
                minima: [u64::MAX; SLOTS],
                until: Time::ZERO,
            },
        };
        RapidStart {
            inner,
            rule,
            paces,
            initial_window,
            stage: Stage::Growing,
            floor,
            triples: false,
            delivered: 0,
            rtts: (None, None),
        }
    }

    /// Returns whether loss recovery must not change the window.
    pub fn owns_window(&self) -> bool {
        matches!(self.stage, Stage::Recovering(_)) || self.inner.owns_window()
    }

    /// Returns the update of the wrapped controller, with the pacing rate of the current stage.
    fn paced(&self, mut update: CwndUpdate, flight: &Flight) -> CwndUpdate {
        let flight = Flight {
            limits: Limits::new(update.window, update.threshold),
            ..flight.clone()
        };
        let (srtt, least_rtt) = self.rtts;
        update.pacing = match self.stage {
            Stage::Growing if self.triples => pacing::by_factor(TRIPLING, &flight, srtt, least_rtt),
            Stage::Growing | Stage::Recovering(_) => pacing::by_factor(DOUBLING, &flight, srtt, least_rtt),
            Stage::Over if self.paces => pacing::by_window(&flight, srtt, least_rtt),
            Stage::Over => Some(UNPACED),
        };
        update
    }

    /// Returns the window that the controller sets in slow start, plus its increase once more while the window triples.
    fn grown(&mut self, mut update: CwndUpdate, ack: &Ack, flight: &Flight) -> CwndUpdate {
        if let (Some(rtt), Some(least)) = (ack.rtt, ack.least_rtt) {
            if self.rule == RapidStartConfig::Quicly && least < ADDED {
                self.stage = Stage::Over;
                return update;
            }
            self.triples = self.floor.put(ack.now, rtt, least) <= self.rule.threshold(least);
        }
        if self.triples {
            let max_window = update.threshold.min(flight.rwnd as f64).max(update.window);
            update.window = (2.0 * update.window - flight.cwnd()).clamp(update.window, max_window);
        }
        if update.window >= update.threshold {
            self.stage = Stage::Over;
        }
        update
    }

    /// Starts the first recovery, in which the controller would reduce ssthresh to `threshold`.
    fn begin(&mut self, cause: Cause, threshold: f64, now: Time, flight: &Flight) -> f64 {
        let factors = Factors::of((threshold / flight.cwnd()).min(1.0));
        let mut floor = (factors.least() * flight.cwnd()).max(MIN_WINDOW * flight.mss());
        if self.rule == RapidStartConfig::Quicly {
            floor = floor.max(MIN_OF_INITIAL * self.initial_window);
        }
        self.stage = Stage::Recovering(FirstRecovery {
            factors,
            floor,
            before: flight.limits,
            begin: (now, self.delivered),
            counts_acks: true,
            lost: 0,
            awaits_first_loss: cause == Cause::FastRetransmit,
        });
        (factors.silence * flight.cwnd()).max(floor)
    }
}

impl FirstRecovery {
    /// Returns the window after losses, and after an ACK if one is given.
    fn window(&mut self, ack: Option<&Ack>, flight: &Flight) -> f64 {
        let mut window = flight.cwnd() - self.factors.loss * std::mem::take(&mut self.lost) as f64;
        if let Some(ack) = ack {
            let (began, delivered) = self.begin;
            let is_later = |rate: RateSample| rate.prior_delivered > delivered;
            self.counts_acks &= !ack.rate.is_some_and(is_later);
            if self.counts_acks && ack.now > began {
                window -= self.factors.ack * ack.delivered as f64;
            }
        }
        window.max(self.floor)
    }
}

impl Control for RapidStart {
    fn wrapped(&self) -> Option<&Congestion> {
        Some(&self.inner)
    }

    fn wrapped_mut(&mut self) -> Option<&mut Congestion> {
        Some(&mut self.inner)
    }

    fn wants(&self) -> Wants {
        self.inner.wants().or(Wants {
            rates: true,
            pacing: true,
            each_loss: true,
            ..Wants::RECORDS
        })
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        let mut update = self.inner.update(flight, |inner, flight| inner.on_start(rtt, flight));
        self.rtts = (Some(rtt), Some(rtt));
        let factor = match self.rule {
            RapidStartConfig::Draft => FIRST_WINDOW,
            RapidStartConfig::Off | RapidStartConfig::Quicly => DOUBLING,
        };
        update.pacing = pacing::by_factor(factor, flight, Some(rtt), Some(rtt));
        update
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.rtts = (ack.srtt, ack.least_rtt);
        let mut update = self.inner.update(flight, |inner, flight| inner.on_ack(ack, flight));
        match &mut self.stage {
            Stage::Growing => update = self.grown(update, ack, flight),
            // A timeout ends the first recovery without another reduction.
            Stage::Recovering(_) if ack.phase == RecoveryPhase::Loss => self.stage = Stage::Over,
            Stage::Recovering(recovery) => {
                let window = recovery.window(Some(ack), flight);
                (update.window, update.threshold) = (window, window);
            }
            Stage::Over => {}
        }
        self.delivered += ack.delivered;
        self.paced(update, flight)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        self.inner.on_lost(lost, now, flight);
        if let Stage::Recovering(recovery) = &mut self.stage {
            let is_first = std::mem::take(&mut recovery.awaits_first_loss);
            if !is_first && lost.prior_delivered <= recovery.begin.1 {
                recovery.lost += lost.end - lost.sequence;
            }
        }
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let mut update = self
            .inner
            .update(flight, |inner, flight| inner.on_reduction(cause, now, flight));
        let is_first = matches!(self.stage, Stage::Growing) && flight.cwnd() < flight.ssthresh();
        if is_first && cause != Cause::Timeout {
            let window = self.begin(cause, update.threshold, now, flight);
            (update.window, update.threshold) = (window, window);
        } else {
            self.stage = Stage::Over;
        }
        self.paced(update, flight)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        let mut update = self
            .inner
            .update(flight, |inner, flight| inner.on_recovered(spurious, now, flight));
        if let Stage::Recovering(recovery) = &mut self.stage {
            if spurious {
                (update.window, update.threshold) = (recovery.before.cwnd(), recovery.before.ssthresh());
                self.stage = Stage::Growing;
            } else {
                let window = recovery.window(None, flight);
                (update.window, update.threshold) = (window, window);
                self.stage = Stage::Over;
            }
        }
        self.paced(update, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::ack_of;
    use crate::congestion::{CongestionConfig, CubicConfig, CubicRules, HystartConfig, LinuxRenoConfig};

    const MSS: u64 = 1000;
    const RTT: Span = Span::millis(100);
    const DRAFT: RapidStartConfig = RapidStartConfig::Draft;
    const QUICLY: RapidStartConfig = RapidStartConfig::Quicly;

    fn reno() -> CongestionConfig {
        CongestionConfig::LinuxReno(LinuxRenoConfig::default())
    }

    fn cubic() -> CongestionConfig {
        CongestionConfig::Cubic(CubicConfig {
            scaling: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            hystart: HystartConfig::None,
            rules: CubicRules::Rfc9438,
        })
    }

    /// A connection in slow start. All windows are in segments of 1000 bytes.
    struct Connection {
        control: Congestion,
        flight: Flight,
        now: Time,
        delivered: u64,
    }

    impl Connection {
        fn new(config: &CongestionConfig, rule: RapidStartConfig, window: u64) -> Connection {
            let bytes = (window * MSS) as f64;
            Connection {
                control: Congestion::new(config).starting_rapidly(&rule, false, bytes),
                flight: Flight::new(Limits::new(bytes, f64::INFINITY), 1 << 40, MSS as u32),
                now: Time(RTT.0),
                delivered: 0,
            }
        }

        fn window(&self) -> f64 {
            self.flight.cwnd() / MSS as f64
        }

        /// Acknowledges a segment that was sent before `prior` bytes were delivered.
        fn ack(&mut self, rtt: Span, prior: u64) {
            self.now += Span::micros(1);
            self.flight.una += MSS;
            self.flight.max = self.flight.max.max(self.flight.una);
            let rate = RateSample {
                delivered: MSS,
                interval: RTT,
                prior_delivered: prior,
                tx_in_flight: MSS,
                lost: 0,
                app_limited: false,
            };
            let ack = Ack {
                rate: Some(rate),
                least_rtt: Some(RTT),
                ..ack_of(MSS, self.now, Some(rtt), &self.flight)
            };
            self.delivered += MSS;
            self.control.on_ack(&ack, &mut self.flight);
        }

        /// Sends a window and acknowledges each of its segments, with the given RTT. Returns the number of segments.
        fn round_trip(&mut self, rtt: Span) -> u64 {
            let (sent, prior) = (self.window() as u64, self.delivered);
            (0..sent).for_each(|_| self.ack(rtt, prior));
            self.now += RTT;
            sent
        }

        fn lose(&mut self, sent_before: u64) {
            let lost = LostSegment {
                sequence: self.flight.una,
                end: self.flight.una + MSS,
                tx_in_flight: MSS,
                lost: MSS,
                prior_delivered: sent_before,
                app_limited: false,
                delivered: self.delivered,
            };
            self.control.on_lost(&lost, self.now, &self.flight);
        }

        /// Starts the first recovery with the loss of a segment, and returns the window.
        fn reduce(&mut self) -> f64 {
            let sent_before = self.delivered;
            self.control
                .on_reduction(Cause::FastRetransmit, self.now, &mut self.flight);
            self.lose(sent_before);
            self.window()
        }

        /// Ends the recovery, and returns the window.
        fn recover(&mut self) -> f64 {
            self.control.on_recovered(false, self.now, &mut self.flight);
            self.window()
        }
    }

    /// Section "Deriving the Reduction Factors".
    #[test]
    fn factors_equal_those_of_the_draft() {
        for (beta, silence, ack) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
            let factors = Factors::of(beta);
            for (factor, expected) in [
                (factors.silence, silence),
                (factors.ack, ack),
                (factors.loss, silence),
                (factors.least(), beta / 3.0),
            ] {
                assert!((factor - expected).abs() < 1e-12, "{factors:?}");
            }
        }
    }

    /// min versus max: the rules are equal only near 40 ms.
    #[test]
    fn thresholds_of_draft_and_quicly_differ() {
        for (least, draft, quicly) in [
            (20_000, 22_000, 24_000),
            (40_000, 44_000, 44_000),
            (100_000, 104_000, 109_375),
        ] {
            assert_eq!(DRAFT.threshold(Span::micros(least)), Span::micros(draft));
            assert_eq!(QUICLY.threshold(Span::micros(least)), Span::micros(quicly));
        }
    }

    #[test]
    fn windows_triple_without_a_queue_and_double_with_one() {
        for rule in [DRAFT, QUICLY] {
            let mut connection = Connection::new(&reno(), rule, 10);
            assert_eq!([(); 4].map(|()| connection.round_trip(RTT)), [10, 30, 90, 270]);
            // The round trip before this one had no queue, so the first samples triple the window.
            connection.now += Span::seconds(1);
            let full = connection.window();
            connection.round_trip(Span::millis(110));
            assert_eq!(connection.window(), 2.0 * full);
        }
    }

    /// Each of 3 W segments but a third is lost: the window is beta W after the recovery.
    #[test]
    fn tail_drops_of_two_thirds_leave_beta_of_the_delivered_window() {
        for (config, beta) in [(reno(), 0.5), (cubic(), 0.7)] {
            let mut connection = Connection::new(&config, DRAFT, 900);
            let silent = connection.reduce();
            assert!((silent - Factors::of(beta).silence * 900.0).abs() < 1.0, "{silent}");
            let before = connection.delivered;
            (0..300).for_each(|_| connection.ack(RTT, before));
            (0..599).for_each(|_| connection.lose(before));
            let window = connection.recover();
            assert!((window - beta * 300.0).abs() < 1.0, "{window}");
            assert_eq!(connection.flight.ssthresh(), connection.flight.cwnd());
        }
    }

    #[test]
    fn a_single_loss_reduces_the_window_to_beta() {
        for (config, beta) in [(reno(), 0.5), (cubic(), 0.7)] {
            let mut connection = Connection::new(&config, DRAFT, 900);
            connection.reduce();
            let before = connection.delivered;
            (0..900).for_each(|_| connection.ack(RTT, before));
            let window = connection.recover();
            assert!((window - beta * 900.0).abs() < 1.0, "{window}");
        }
    }

    #[test]
    fn segments_sent_in_the_recovery_do_not_reduce_the_window() {
        let mut connection = Connection::new(&reno(), DRAFT, 900);
        let before = connection.delivered;
        let window = connection.reduce();
        (0..10).for_each(|_| connection.ack(RTT, before + MSS));
        (0..10).for_each(|_| connection.lose(before + MSS));
        assert_eq!(connection.recover(), window);
    }

    /// In quicly, the first recovery leaves at least half of the initial window; the draft leaves two segments.
    #[test]
    fn windows_after_many_losses_are_at_least_the_minimum() {
        for (rule, least) in [(DRAFT, 2.0), (QUICLY, 5.0)] {
            let mut connection = Connection::new(&reno(), rule, 10);
            connection.reduce();
            (0..10).for_each(|_| connection.lose(0));
            assert_eq!(connection.recover(), least);
        }
    }

    #[test]
    fn a_spurious_recovery_restores_the_window() {
        let mut connection = Connection::new(&reno(), DRAFT, 90);
        connection.reduce();
        let (now, flight) = (connection.now, &mut connection.flight);
        connection.control.on_recovered(true, now, flight);
        assert_eq!((flight.cwnd(), flight.ssthresh()), (90_000.0, f64::INFINITY));
    }

    #[test]
    fn quicly_does_not_triple_windows_on_paths_below_4_ms() {
        let mut start = RapidStart::new(Congestion::new(&reno()), QUICLY, false, (10 * MSS) as f64);
        let mut flight = Flight::new(Limits::new((10 * MSS) as f64, f64::INFINITY), 1 << 40, MSS as u32);
        (flight.una, flight.max) = (MSS, 10 * MSS);
        let ack = ack_of(MSS, Time(RTT.0), Some(Span::micros(3_999)), &flight);
        assert_eq!(start.on_ack(&ack, &flight).window, (11 * MSS) as f64);
        assert!(matches!(start.stage, Stage::Over));
    }
}
