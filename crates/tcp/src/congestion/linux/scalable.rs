//! Scalable TCP: growth and reduction are proportional to cwnd, so that recovery takes the same number of RTTs at any
//! rate (Kelly 2003, "Scalable TCP: improving performance in highspeed wide area networks", CCR 33(2)).

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::congestion::growth::Growth;
use crate::congestion::linux::{Linux, Module, Socket};
use crate::congestion::paper_or_linux::{Ruled, Rules};
use crate::congestion::rfc::aimd::{cut, halved};
use crate::described::{is_default, Described};
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_json::FromJson;
use serde::Serialize;

/// Growth and reduction proportional to cwnd, so recovery takes the same time in RTTs at any rate (Kelly 2003).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Scalable")]
#[described(fact("after_loss", "7/8 of the window (Kelly 2003)"))]
pub struct ScalableConfig {
    /// Increase of cwnd per ACK [segments]; Kelly 2003, a.
    #[field(range = "(0, 1]", default = 0.01)]
    pub increase: f64,
    /// Reduction of cwnd at a loss [fraction]; Kelly 2003, b.
    #[field(range = "(0, 1]", default = 0.125)]
    pub decrease: f64,
    /// Largest window that follows AIMD [segments]; no effect with Linux's rules; Kelly 2003, lwnd.
    #[field(range = "[1 segment, 65535 segments]", default = "16 segments")]
    pub low_window_segments: u32,
    /// Rules of the paper, or of Linux's tcp_scalable.c: Reno's growth below 100 segments, and the same reduction at
    /// any window; 'linux' in the profile linux-6.
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(default = "kelly-2003", profile("linux-6", "linux"), later)]
    pub rules: ScalableRules,
}

/// Available sets of rules.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum ScalableRules {
    /// The rules of the paper, with AIMD in small windows.
    #[default]
    #[serde(rename = "kelly-2003")]
    Kelly2003,
    /// tcp_scalable.c: windows below 100 segments grow like Reno's, larger ones by 1/100 segment per acknowledged
    /// segment; one decrease factor for all windows.
    Linux,
}

impl Rules for ScalableConfig {
    fn is_linux(&self) -> bool {
        self.rules == ScalableRules::Linux
    }
}

impl Parameters for ScalableConfig {}

/// Scalable TCP with Kelly's or with Linux's rules.
pub type Scalable = Ruled<Kelly, Linux<LinuxScalable>>;

/// Kelly's rules, which have no state other than the window.
#[derive(Clone, Debug)]
pub struct Kelly {
    config: ScalableConfig,
}

impl Variant for Kelly {
    type Config = ScalableConfig;

    fn new(config: &ScalableConfig) -> Kelly {
        Kelly { config: *config }
    }
}

impl Control for Kelly {
    /// Growth depends on delivered segments, not on the number of ACKs.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        match Growth::of(ack, flight) {
            Some(growth) if self.is_low(flight.cwnd(), flight) => growth.per_window(1.0, flight),
            Some(growth) => growth.by(growth.arrived * self.config.increase, flight),
            None => CwndUpdate::unchanged(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        let threshold = if self.is_low(flight.window() as f64, flight) {
            halved(flight)
        } else {
            cut(flight, self.config.decrease)
        };
        CwndUpdate::reduced(cause, threshold, flight)
    }
}

impl Kelly {
    /// Returns whether a window of `bytes` follows AIMD.
    fn is_low(&self, bytes: f64, flight: &Flight) -> bool {
        bytes <= f64::from(self.config.low_window_segments) * flight.mss()
    }
}

/// Linux's rules, which have no state other than the socket's.
#[derive(Clone, Debug)]
pub struct LinuxScalable {
    /// In large windows, number of segments to be acknowledged before the window grows by one segment
    /// (TCP_SCALABLE_AI_CNT = 100).
    cnt: u32,
    decrease: f64,
}

impl Module for LinuxScalable {
    type Config = ScalableConfig;

    fn new(config: &ScalableConfig) -> LinuxScalable {
        LinuxScalable {
            cnt: (1.0 / config.increase).round() as u32,
            decrease: config.decrease,
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        let remaining = socket.remaining_after_slow_start(acked);
        if remaining > 0 {
            socket.grow_per(socket.snd_cwnd.min(self.cnt), remaining);
        }
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        let cut = (f64::from(socket.snd_cwnd) * self.decrease) as u32;
        (socket.snd_cwnd - cut).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    const KELLY: ScalableConfig = ScalableConfig {
        increase: 0.01,
        decrease: 0.125,
        low_window_segments: 16,
        rules: ScalableRules::Kelly2003,
    };

    fn trial(window: f64) -> Trial {
        Trial::new(&CongestionConfig::Scalable(KELLY), window)
    }

    #[test]
    fn an_ack_adds_a_hundredth_of_a_segment_to_windows_above_the_legacy_window() {
        let after = |window| trial(window).ack();
        assert_eq!([17.0, 100.0, 10_000.0].map(after), [17.01, 100.01, 10_000.01]);
        assert_eq!([10.0, 16.0].map(after), [10.1, 16.0625]);
        let mut slow_start = Trial::with_threshold(&CongestionConfig::Scalable(KELLY), 100.0, 200.0);
        assert_eq!(slow_start.ack(), 101.0);
    }

    #[test]
    fn a_loss_reduces_large_windows_by_an_eighth_and_small_ones_by_half() {
        let after = |window| trial(window).reduce(Cause::FastRetransmit).0;
        assert_eq!([1000.0, 17.0, 16.0, 3.0].map(after), [875.0, 14.0, 8.0, 2.0]);
        assert_eq!(trial(1000.0).reduce(Cause::Timeout), (1.0, 875.0));
    }

    /// According to Kelly, recovery from a loss takes log(1 - b) / log(1 + a) RTTs, which is 13.4 RTTs.
    #[test]
    fn a_recovery_takes_fourteen_rtts_at_any_window() {
        for window in [800.0, 8_000.0, 80_000.0] {
            let mut trial = trial(window);
            trial.reduce(Cause::FastRetransmit);
            let round_trips = (1..).find(|_| trial.round_trip() >= window);
            assert_eq!(round_trips, Some(14), "{window}");
        }
    }

    /// The mean window is a / log(1 / (1 - b)) divided by the loss rate, or about Kelly's a / b divided by the loss
    /// rate if b is small. AIMD's mean window is inversely proportional to the square root of the loss rate.
    #[test]
    fn the_mean_window_is_proportional_to_the_loss_interval() {
        for period in [1_000, 10_000, 100_000] {
            let expected = KELLY.increase / -(1.0 - KELLY.decrease).ln() * period as f64;
            let ratio = trial(100.0).mean_window(period) / expected;
            assert!((0.98..1.02).contains(&ratio), "{period}: {ratio}");
        }
    }

    /// Checks the constants of tcp_scalable.c: TCP_SCALABLE_AI_CNT = 100, TCP_SCALABLE_MD_SCALE = 3.
    #[test]
    fn linux_grows_like_reno_below_100_segments_and_always_reduces_by_an_eighth() {
        let linux = |window| {
            let rules = ScalableRules::Linux;
            Trial::new(&CongestionConfig::Scalable(ScalableConfig { rules, ..KELLY }), window)
        };
        assert_eq!(
            [10.0, 99.0, 400.0].map(|window| linux(window).round_trip()),
            [11.0, 100.0, 404.0]
        );
        let after = |window| linux(window).reduce(Cause::FastRetransmit).0;
        assert_eq!(
            [1000.0, 17.0, 16.0, 7.0, 3.0, 2.0].map(after),
            [875.0, 15.0, 14.0, 7.0, 3.0, 2.0]
        );
    }

    #[test]
    fn growth_and_reduction_are_fractions_of_the_window() {
        assert_eq!(KELLY.problem(), None);
        for config in [
            ScalableConfig { increase: 0.0, ..KELLY },
            ScalableConfig {
                increase: f64::NAN,
                ..KELLY
            },
            ScalableConfig { decrease: 1.5, ..KELLY },
            ScalableConfig {
                low_window_segments: 0,
                ..KELLY
            },
        ] {
            assert!(config.problem().is_some(), "{config:?}");
        }
    }
}
