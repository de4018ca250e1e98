//! CUBIC: after slow start cwnd is a cubic function of the time since the last reduction (RFC 9438; Ha, Rhee and Xu
//! 2008).

mod config;
mod epoch;
mod linux;

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::growth::is_limited;
use crate::congestion::linux::hystart::{whole_micros, Hystart, Start};
use crate::congestion::linux::Linux;
use crate::congestion::paper_or_linux::Ruled;
use crate::variant::Variant;
use config::MARK_BETA;
pub use config::{CubicConfig, CubicRules};
use epoch::Epoch;
use linux::LinuxCubic;
use longpipe_events::{Span, Time};

/// CUBIC with the rules of RFC 9438 or of Linux.
pub type Cubic = Ruled<Rfc9438, Linux<LinuxCubic>>;

/// State of a sender that follows RFC 9438; windows are in segments.
#[derive(Clone, Debug)]
pub struct Rfc9438 {
    config: CubicConfig,
    hystart: Hystart,
    /// W_max, the plateau of the cubic; None before the first loss.
    w_max: Option<f64>,
    /// Window before the latest reduction (cwnd_prior).
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// State before the latest reduction: W_max, cwnd_prior and the epoch.
    before: (Option<f64>, f64, Option<Epoch>),
    /// Time since which no data have been in flight; None while data are in flight.
    emptied: Option<Time>,
    /// Time of the latest ACK that found the window full.
    full: Time,
}

/// Minimum window after a reduction [segment] (RFC 9438 section 4.6).
const MIN_CWND_SEGMENTS: f64 = 2.0;

impl Variant for Rfc9438 {
    type Config = CubicConfig;

    fn new(config: &CubicConfig) -> Rfc9438 {
        Rfc9438 {
            config: *config,
            hystart: Hystart::new(config.hystart),
            w_max: None,
            cwnd_prior: 0.0,
            epoch: None,
            before: (None, 0.0, None),
            emptied: None,
            full: Time::ZERO,
        }
    }
}

impl Control for Rfc9438 {
    /// Requests an RTT sample of every segment, and deliveries reported by SACK blocks.
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.exclude_idle_time(ack, flight);
        let mss = flight.mss();
        let (cwnd, ssthresh) = (flight.cwnd() / mss, flight.ssthresh());
        let mut update = CwndUpdate::unchanged(flight);
        let starts = flight.cwnd() < ssthresh && (ack.grows || self.hystart.counts_duplicates());
        let start = starts.then(|| self.hystart.on_ack(ack, flight));
        if start == Some(Start::Leave) {
            // The data that this ACK acknowledges count towards congestion avoidance.
            update.threshold = flight.cwnd();
        }
        if let Some(Start::Drain { window, leaves }) = start {
            update.window = window;
            update.threshold = if leaves { window } else { flight.ssthresh() };
            return update;
        }
        if !ack.grows {
            return update;
        }
        let mut arrived = ack.delivered as f64 / mss;
        let mut window = cwnd;
        if let Some(Start::Grow(share)) = start {
            let room = ssthresh / mss - cwnd;
            let more = share * arrived.min(self.hystart.most_per_ack());
            if is_limited(ack, flight) {
                window += more.min(room);
            }
            arrived = if share > 0.0 {
                (more - room).max(0.0) / share
            } else {
                0.0
            };
        }
        if ack.window_limited && arrived > 0.0 {
            window = self.avoid(ack, window, arrived);
        }
        update.window = (window * mss).min(flight.rwnd as f64);
        update
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let cwnd = flight.cwnd().min(flight.rwnd as f64) / flight.mss();
        let beta = match cause {
            Cause::Mark { abe: true } => MARK_BETA,
            _ => self.config.beta,
        };
        self.before = (self.w_max, self.cwnd_prior, self.epoch);
        let converges = self.config.fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if converges { cwnd * (1.0 + beta) / 2.0 } else { cwnd });
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.hystart.on_reduction();
        if cause == Cause::Timeout {
            // The plateau becomes the window at which slow start ends (section 4.8).
            self.w_max = None;
            self.hystart.on_timeout(whole_micros(now), flight.nxt);
        }
        CwndUpdate::reduced(cause, (beta * cwnd).max(MIN_CWND_SEGMENTS) * flight.mss(), flight)
    }

    /// Restores the state before a spurious reduction (section 4.9).
    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> CwndUpdate {
        if spurious {
            (self.w_max, self.cwnd_prior, self.epoch) = self.before;
        }
        CwndUpdate::unchanged(flight)
    }
}

impl Rfc9438 {
    /// Excludes periods without transmissions, or with an unused window, from the epoch (sections 4.2 and 5.8).
    fn exclude_idle_time(&mut self, ack: &Ack, flight: &Flight) {
        let now = ack.now;
        let idle = match (self.emptied, ack.rtt) {
            (Some(emptied), Some(rtt)) => Span(now.0.saturating_sub(rtt.0)).0.saturating_sub(emptied.0),
            _ => 0,
        };
        let unused = if ack.window_limited { 0 } else { now.since(self.full).0 };
        if let Some(epoch) = &mut self.epoch {
            epoch.began = Time((epoch.began.0 + idle.max(unused)).min(now.0));
        }
        self.full = now;
        self.emptied = (flight.outstanding() == 0).then_some(now);
    }

    /// Returns the window in congestion avoidance after the delivery of `arrived` segments.
    fn avoid(&mut self, ack: &Ack, cwnd: f64, arrived: f64) -> f64 {
        let (w_max, config) = (self.w_max, &self.config);
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::begin(ack.now, cwnd, w_max, config.scaling));
        epoch.grow(config, ack, cwnd, arrived, self.cwnd_prior)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::linux::hystart::HystartConfig;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use crate::variant::Parameters;

    const RFC: CubicConfig = CubicConfig {
        scaling: 0.4,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: true,
        hystart: HystartConfig::None,
        rules: CubicRules::Rfc9438,
    };

    fn trial(config: CubicConfig, window: f64, rtt: Span) -> Trial {
        Trial::new(&CongestionConfig::Cubic(config), window).over(rtt)
    }

    /// With W_max = 100 the window is reduced to 70, reaches 100 again after K = 4.2172 s, and continues as 100 + C(t -
    /// K)³. While Linux's window is not below the cubic, as on the plateau, it grows by one segment per 100 RTTs, and
    /// this period has hundreds of RTTs.
    #[test]
    fn rfc_9438_section_4_2_the_window_follows_the_cubic() {
        let without = CubicConfig {
            reno_friendly: false,
            ..RFC
        };
        for rules in [CubicRules::Rfc9438, CubicRules::Linux] {
            let mut trial = trial(CubicConfig { rules, ..without }, 100.0, Span::millis(10));
            assert_eq!(trial.reduce(Cause::FastRetransmit), (70.0, 70.0));
            let expected = [86.681, 95.640, 99.279, 99.996, 100.192, 102.267, 108.620, 121.653];
            for (second, expected) in (1..).zip(expected) {
                let window = trial.until(Span::seconds(second));
                let off = if rules == CubicRules::Linux { 2.0 } else { 0.4 };
                assert!((window - expected).abs() < off, "{second} s: {window} {expected}");
            }
        }
    }

    /// Tables 1 (RTT 0.1 s) and 2 (RTT 0.01 s) of RFC 9438. With deterministic losses, the mean window is 1.054
    /// (RTT/p)^¾ in the CUBIC region; below this region it is Reno's mean window. Fast convergence is off. Each run
    /// starts from the maximum of the steady state, because a run that starts from a loss at the plateau needs
    /// thousands of losses to approach the steady state.
    #[test]
    fn rfc_9438_section_5_1_the_mean_window_at_given_loss_rates() {
        let config = CubicConfig {
            fast_convergence: false,
            ..RFC
        };
        for (rtt, period) in [100, 10]
            .into_iter()
            .flat_map(|rtt| (2..6).map(move |digits| (rtt, 10u64.pow(digits))))
        {
            let cubic = 1.054 * (rtt as f64 / 1000.0 * period as f64).powf(0.75);
            let expected = cubic.max((1.5 * period as f64).sqrt());
            let mean = trial(config, 1.08 * expected, Span::millis(rtt)).mean_window(period);
            assert!(
                (mean / expected - 1.0).abs() < 0.05,
                "{rtt} ms, 1/{period}: {mean} {expected}"
            );
        }
    }

    #[test]
    fn rfc_9438_section_4_7_a_loss_below_the_old_maximum_lowers_w_max_further() {
        let k = |fast_convergence| {
            let mut trial = trial(
                CubicConfig {
                    fast_convergence,
                    reno_friendly: false,
                    ..RFC
                },
                100.0,
                Span::millis(10),
            );
            trial.reduce(Cause::FastRetransmit);
            trial.reduce(Cause::FastRetransmit);
            trial.until(Span::seconds(20))
        };
        // The second reduction is from 70 to 49 segments, below the first plateau of 100 segments. The second plateau
        // is at 70 segments without fast convergence, and at 59.5 segments with it.
        let plateau = |w_max: f64| 0.4 * (20.0 - ((w_max - 49.0) / 0.4).cbrt()).powi(3) + w_max;
        assert!((k(false) / plateau(70.0) - 1.0).abs() < 0.01);
        assert!((k(true) / plateau(59.5) - 1.0).abs() < 0.01);
    }

    #[test]
    fn rfc_9438_section_4_8_after_a_timeout_the_plateau_is_the_end_of_slow_start() {
        let mut trial = trial(
            CubicConfig {
                reno_friendly: false,
                ..RFC
            },
            100.0,
            Span::millis(10),
        );
        assert_eq!(trial.reduce(Cause::Timeout), (1.0, 70.0));
        let begin = trial.reach(70.0);
        let window = trial.until(Span(begin.0) + Span::seconds(5));
        assert!((window / (70.0 + 0.4 * 125.0) - 1.0).abs() < 0.01, "{window}");
    }

    #[test]
    fn idle_and_application_limited_periods_are_excluded_from_the_epoch() {
        let mut trial = trial(RFC, 100.0, Span::millis(100));
        trial.reduce(Cause::FastRetransmit);
        let before = trial.until(Span::seconds(4));
        // When the previous ACK arrives, the sender has no data to send.
        trial.ack_after(Span::millis(1), false);
        trial.ack_after(Span::seconds(60), true);
        let after = trial.round_trip();
        assert!(after < before + 1.0, "{before} {after}");
        for _ in 0..600 {
            trial.ack_after(Span::millis(100), false);
        }
        assert!(trial.round_trip() < after + 1.0, "{after}");
    }

    /// cwnd may be less than a segment if the receiver's window is less than a segment.
    #[test]
    fn linux_a_window_below_a_segment_grows_like_one_segment() {
        let linux = CubicConfig {
            rules: CubicRules::Linux,
            ..RFC
        };
        let grown = |window| {
            let mut trial = trial(linux, window, Span::millis(10));
            (0..100).map(|_| trial.ack()).fold(0.0, f64::max)
        };
        let (below, one) = (grown(0.9), grown(1.0));
        assert!(below > 1.0 && (below - one).abs() <= 1.0, "{below} {one}");
    }

    #[test]
    fn a_beta_outside_zero_to_one_is_rejected() {
        assert_eq!(RFC.problem(), None);
        for config in [
            CubicConfig { beta: 1.0, ..RFC },
            CubicConfig { beta: f64::NAN, ..RFC },
            CubicConfig { scaling: 0.0, ..RFC },
        ] {
            assert!(config.problem().is_some(), "{config:?}");
        }
    }
}
