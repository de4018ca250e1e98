//! Vegas: keeps between α and β segments in the path's queues (Brakmo and Peterson 1995).
//!
//! Once per RTT it compares the expected and the actual rate, from which the number of queued segments is estimated:
//! diff = cwnd · (1 − base RTT / RTT).

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::linux::rtt_round::Round;
use crate::congestion::linux::{AckedSegments, CaEvent, CaState, Linux, Module, Socket};
use crate::congestion::paper_or_linux::{Ruled, Rules};
use crate::congestion::rfc::aimd::halved;
use crate::described::{is_default, Described};
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::Time;
use longpipe_json::FromJson;
use serde::Serialize;

/// Keeps between alpha and beta segments in the path's queues (Brakmo and Peterson 1995).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Vegas")]
#[described(fact("is_flat", true))]
#[described(fact(
    "by_model",
    "Vegas estimated that more than β of its segments are queued (Brakmo and Peterson 1995)"
))]
#[described(rule("beta", "beta < alpha", "{beta}; needs at least alpha, {alpha}"))]
pub struct VegasConfig {
    /// Queued data below which cwnd grows [segments]; Brakmo, Peterson 1995.
    #[field(range = "(0, 1e6]", default = 1.0, profile("linux-6", 2.0))]
    pub alpha: f64,
    /// Queued data above which cwnd shrinks [segments]; Brakmo, Peterson 1995.
    #[field(range = "(0, 1e6]", default = 3.0, profile("linux-6", 4.0))]
    pub beta: f64,
    /// Queued data above which slow start ends [segments]; Brakmo, Peterson 1995.
    #[field(range = "(0, 1e6]", default = 1.0, profile("linux-6", 1.0))]
    pub gamma: f64,
    /// Rules of the paper, as in ns-2, or of Linux's tcp_vegas.c, which uses the minimum RTT sample of each RTT and
    /// doubles cwnd in every RTT of slow start; 'linux', with alpha 2 and beta 4, in the profile linux-6.
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(default = "brakmo-1995", profile("linux-6", "linux"), later)]
    pub rules: VegasRules,
}

/// Available sets of rules.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRules {
    /// Rules of the paper, as in ns-2.
    #[default]
    #[serde(rename = "brakmo-1995")]
    Brakmo1995,
    /// Rules of tcp_vegas.c: uses the minimum RTT sample of each RTT; slow start doubles every RTT and ends at the
    /// window that the path holds without queues.
    Linux,
}

impl Rules for VegasConfig {
    fn is_linux(&self) -> bool {
        self.rules == VegasRules::Linux
    }
}

/// Vegas with the rules of its paper or of Linux.
pub type Vegas = Ruled<Brakmo, Linux<LinuxVegas>>;

impl Parameters for VegasConfig {
    const FACTS: Facts = Facts {
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// Growth of cwnd during the current RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GrowthMode {
    /// One segment per ACK.
    Double,
    /// cwnd grows by one segment in the whole RTT.
    Linear,
    /// No growth.
    None,
}

/// State of a sender with the rules of Brakmo and Peterson (1995).
#[derive(Clone, Debug)]
pub struct Brakmo {
    config: VegasConfig,
    /// Sum [ps] and number of RTT samples since the tagged segment was sent.
    sum: u64,
    count: u64,
    /// First byte of the tagged segment; the acknowledgment of this segment ends the current RTT.
    tagged: u64,
    growth: GrowthMode,
}

/// Change in the window caused by one ACK, other than growth.
#[derive(Clone, Copy, Default)]
struct WindowChange {
    /// Reduction of cwnd [byte].
    cut: f64,
    /// Whether slow start ends.
    leaves_slow_start: bool,
}

/// Minimum cwnd [segment]; ssthresh has this value, too, after slow start (ns-2).
const MIN_SEGMENTS: f64 = 2.0;

impl Variant for Brakmo {
    type Config = VegasConfig;

    fn new(config: &VegasConfig) -> Brakmo {
        Brakmo {
            config: *config,
            sum: 0,
            count: 0,
            tagged: 0,
            growth: GrowthMode::Double,
        }
    }
}

impl Control for Brakmo {
    /// Requests an RTT sample of every segment.
    fn wants(&self) -> Wants {
        Wants::RECORDS
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let change = self.measure(ack, flight);
        if ack.grows {
            self.grown(flight, change)
        } else {
            CwndUpdate::unchanged(flight)
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        CwndUpdate::reduced(cause, halved(flight), flight)
    }
}

impl Brakmo {
    /// Records the RTT sample of an ACK and, at the end of an RTT, sets the growth for the next one.
    fn measure(&mut self, ack: &Ack, flight: &Flight) -> WindowChange {
        if let Some(round_trip) = ack.rtt {
            self.sum += round_trip.0;
            self.count += 1;
        }
        if flight.una <= self.tagged {
            return WindowChange::default();
        }
        let change = match ack.least_rtt {
            Some(base) if self.count > 0 => {
                let window = (flight.outstanding() + ack.acked) as f64 / flight.mss();
                let round_trip = self.sum as f64 / self.count as f64;
                self.adjust(ack.cwnd, flight, window * (1.0 - base.0 as f64 / round_trip))
            }
            _ => WindowChange::default(),
        };
        (self.sum, self.count) = (0, 0);
        self.tagged = flight.nxt;
        change
    }

    /// Determines the change in the window in the next RTT. `cwnd` is the window in the last RTT, and `diff` is the
    /// number of queued segments.
    fn adjust(&mut self, cwnd: f64, flight: &Flight, diff: f64) -> WindowChange {
        let VegasConfig { alpha, beta, gamma, .. } = self.config;
        let mut change = WindowChange::default();
        if cwnd < flight.ssthresh() {
            // The queue reflects the window only if the window did not grow during the RTT.
            if self.growth == GrowthMode::Double {
                self.growth = GrowthMode::None;
            } else if diff > gamma {
                // At this point, cwnd is too large by an eighth (as in Brakmo's code and in ns-2's).
                self.growth = GrowthMode::None;
                change = WindowChange {
                    cut: cwnd / 8.0,
                    leaves_slow_start: true,
                };
            } else {
                self.growth = GrowthMode::Double;
            }
        } else if diff > beta {
            (change.cut, self.growth) = (flight.mss(), GrowthMode::None);
        } else if diff < alpha {
            self.growth = GrowthMode::Linear;
        } else {
            self.growth = GrowthMode::None;
        }
        change
    }

    fn grown(&self, flight: &Flight, change: WindowChange) -> CwndUpdate {
        let (cwnd, mss) = (flight.cwnd(), flight.mss());
        let growth = match self.growth {
            GrowthMode::Double if cwnd < flight.ssthresh() => mss,
            GrowthMode::Double | GrowthMode::Linear => mss * mss / cwnd,
            GrowthMode::None => 0.0,
        };
        let least = MIN_SEGMENTS * mss;
        let window = if change.cut > 0.0 {
            (cwnd - change.cut).max(least)
        } else {
            cwnd + growth
        };
        let update = CwndUpdate::window(window.min(flight.rwnd as f64), flight);
        if change.leaves_slow_start {
            CwndUpdate {
                threshold: least,
                ..update
            }
        } else {
            update
        }
    }
}

/// State of a sender with Linux's rules.
#[derive(Clone, Debug)]
pub struct LinuxVegas {
    config: VegasConfig,
    round: Round,
}

impl Module for LinuxVegas {
    type Config = VegasConfig;

    fn new(config: &VegasConfig) -> LinuxVegas {
        LinuxVegas {
            config: *config,
            round: Round::default(),
        }
    }

    fn on_acked(&mut self, acked: &AckedSegments, _socket: &mut Socket) {
        self.round.on_acked(acked);
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !self.round.enabled {
            socket.grow_as_reno(acked);
        } else if socket.snd_una > self.round.end {
            if self.round.has_samples() {
                self.adjust(acked, socket);
            } else {
                socket.grow_as_reno(acked);
            }
            self.round.begin(socket);
        } else if socket.in_slow_start() {
            socket.slow_start(acked);
        }
    }

    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        self.round.set_state(state, socket);
    }

    fn on_event(&mut self, event: CaEvent, socket: &mut Socket) {
        self.round.on_event(event, socket);
    }
}

impl LinuxVegas {
    /// Sets cwnd for the next RTT.
    fn adjust(&mut self, acked: u32, socket: &mut Socket) {
        let VegasConfig { alpha, beta, gamma, .. } = self.config;
        let cwnd = socket.snd_cwnd;
        let Round { min_rtt, base_rtt, .. } = self.round;
        let without_queue = u64::from(cwnd) * u64::from(base_rtt) / u64::from(min_rtt);
        let queued = f64::from(cwnd.wrapping_mul(self.round.queueing_us()) / base_rtt);
        if socket.in_slow_start() {
            if queued > gamma {
                socket.snd_cwnd = cwnd.min(without_queue as u32 + 1);
                socket.snd_ssthresh = socket.snd_ssthresh.min(socket.snd_cwnd);
            } else {
                socket.slow_start(acked);
            }
        } else if queued > beta {
            socket.snd_cwnd -= 1;
            socket.snd_ssthresh = socket.snd_ssthresh.min(socket.snd_cwnd);
        } else if queued < alpha {
            socket.snd_cwnd += 1;
        }
        socket.snd_cwnd = socket.snd_cwnd.max(2).min(socket.snd_cwnd_clamp);
        // ssthresh is at least three quarters of cwnd.
        let quarters = socket.snd_cwnd / 2 + socket.snd_cwnd / 4;
        socket.snd_ssthresh = socket.snd_ssthresh.max(quarters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use longpipe_events::Span;

    fn linux() -> CongestionConfig {
        CongestionConfig::Vegas(VegasConfig {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            rules: VegasRules::Linux,
        })
    }

    /// In the integer arithmetic of tcp_vegas.c, with a window of 100 segments and an RTT of 10 ms, an increase of 0.1
    /// ms in the RTT indicates 1 queued segment, 0.3 ms indicate 2 segments, and 0.6 ms indicate 5 segments.
    #[test]
    fn linux_changes_cwnd_by_a_segment_per_rtt_below_alpha_and_above_beta() {
        for (longer, moved) in [(100, 1.0), (300, 0.0), (600, -1.0)] {
            let mut trial = Trial::new(&linux(), 100.0).over(Span::millis(10));
            trial.ack();
            let mut trial = trial.over(Span(Span::millis(10).0 + Span::micros(longer).0));
            let windows: Vec<f64> = (0..100).map(|_| trial.ack()).collect();
            let before = windows[0];
            assert_eq!(windows[99] - before, moved, "{longer} us: {windows:?}");
        }
    }
}
