//! SCReAMv2: the congestion control of interactive media, as if an encoder produced exactly the target bitrate
//! (draft-ietf-ccwg-rfc8298bis-screamv2, text of August 2026).
//!
//! A reference window falls with losses, marks and queueing delay, and grows by at least one segment per RTT. The media
//! rate follows from the reference window and the RTT with a margin, and three reference windows may be in flight.

mod earlier;

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::path_model::{Model, Stage};
use crate::described::{is_default, Described};
use crate::variant::{Facts, Parameters, Variant};
use earlier::Earlier;
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Texts of the draft.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
pub enum ScreamRules {
    /// August 2026 (commit d30e8b8 of the draft's repository).
    #[default]
    #[serde(rename = "2026-08")]
    August2026,
    /// March 2025 (commit 0e8dc3a): growth and reductions are small near the last maximum, and the target is 98 % of the
    /// reference window.
    #[serde(rename = "2025-03")]
    March2025,
    /// October 2024 (commit 29ff2f6): with L4S, growth and reductions do not depend on the last maximum.
    #[serde(rename = "2024-10")]
    October2024,
}

/// Sends media at a rate that losses, marks and queueing delays reduce (draft-ietf-ccwg-rfc8298bis-screamv2).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "SCReAMv2")]
#[described(fact(
    "by_model",
    "SCReAMv2 sends at its target bitrate, below the reference window per RTT (draft-ietf-ccwg-rfc8298bis-screamv2)"
))]
pub struct ScreamConfig {
    /// Version of the draft that the controller follows.
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(default = "2026-08", later)]
    pub rules: ScreamRules,
    /// Target of the queueing delay [time]; draft-ietf-ccwg-rfc8298bis-screamv2, QDELAY_TARGET_LO.
    #[field(range = "[1 us, 100 s]", default = "60 ms")]
    pub target_ps: u64,
    /// Respond to the share of marks, as L4S requires; otherwise a mark reduces the window to BETA_ECN, 0.8.
    #[field(default = true)]
    pub scalable: bool,
    /// Maximum bitrate of the encoder [bit/s]; draft-ietf-ccwg-rfc8298bis-screamv2, TARGET_BITRATE_MAX. Unlimited if
    /// absent.
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(range = "[1 kbit/s, 10 Tbit/s]", later)]
    pub max_rate_bps: Option<u64>,
    /// Duration of a burst at the target rate [time]; section "Packet Pacing" permits small bursts, and the tests of the
    /// authors' code have 0.5 ms.
    #[field(range = "[0 s, 1 s]", default = "500 us")]
    pub burst_ps: u64,
    /// Pacing rate per target bitrate: 1.5 for frames of media (draft-ietf-ccwg-rfc8298bis-screamv2, PACKET_PACING_HEADROOM);
    /// more from 80 % of max_rate on.
    #[serde(default = "unscaled", skip_serializing_if = "is_unscaled")]
    #[field(range = "[1, 10]", default = 1.0, later)]
    pub pacing_headroom: f64,
}

fn unscaled() -> f64 {
    1.0
}

fn is_unscaled(headroom: &f64) -> bool {
    *headroom == 1.0
}

impl Parameters for ScreamConfig {
    const FACTS: Facts = Facts {
        is_model: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

/// RTT [s] below which flows get equal rates (VIRTUAL_RTT).
const VIRTUAL_RTT: f64 = 0.025;
/// Minimum reference window [byte] (MIN_REF_WND).
const MIN_REF_WND: f64 = 3000.0;
/// Factors of the reference window after a loss, and after a mark of classic ECN (BETA_LOSS, BETA_ECN).
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
/// Weights of the share of marks if it rises and if it falls, and of the queueing delay if it rises.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const QDELAY_AVG_G: f64 = 0.25;
/// Maximum interval [s] between updates of the share of marks.
const ALPHA_INTERVAL: f64 = 0.01;
/// Number of RTTs after congestion until the multiplicative growth is complete, and after which a congestion event also
/// limits the window to the data in flight (POST_CONGESTION_DELAY_RTTS).
const POST_CONGESTION_RTTS: f64 = 100.0;
/// Multiplicative growth per RTT (MUL_INCREASE_FACTOR).
const MUL_INCREASE: f64 = 0.02;
/// The reference window is at most this multiple of the data in flight, plus a segment (BYTES_IN_FLIGHT_HEAD_ROOM).
const HEAD_ROOM: f64 = 1.5;
/// Data in flight per reference window of each text (REF_WND_OVERHEAD_MAX, for which the delay jitter is not measured, and
/// REF_WND_OVERHEAD).
const OVERHEAD_2026: f64 = 3.0;
const OVERHEAD_2025: f64 = 5.0;
const OVERHEAD_2024: f64 = 1.5;
/// Packetization overhead [byte].
const PACKET_OVERHEAD: f64 = 20.0;
/// Divisor of the target rate, to which an encoder adds its compensations.
pub const RATE_MARGIN: f64 = 1.2;
/// Minimum pacing rate [bit/s] (RATE_PACE_MIN).
const MIN_RATE_BPS: f64 = 50e3;
/// Share of the maximum bitrate from which a pacing rate with headroom rises, and the factor by which it rises at most
/// (RELAXED_PACING_LIMIT_LOW, MAX_RELAXED_PACING_FACTOR).
const RELAXED_PACING_LIMIT: f64 = 0.8;
const MAX_RELAXED_PACING: f64 = 4.0;
/// Factor and bounds of the distance from the inflection point.
const INFLECTION_SLOPE: f64 = 8.0;
const MIN_SCALE: f64 = 0.1;
const MIN_STEP_SCALE: f64 = 0.25;

/// State of one sender. Times are in seconds, windows in bytes.
#[derive(Clone, Debug)]
pub struct Scream {
    config: ScreamConfig,
    /// Reference window; 0 before the first ACK.
    ref_wnd: f64,
    /// Time from which times count: the transmission of the segment that the first ACK measures.
    origin: Option<Time>,
    /// Inflection point, and whether the next reduction moves it.
    ref_wnd_i: f64,
    moves_inflection: bool,
    l4s_alpha: f64,
    qdelay_avg: f64,
    /// Bytes delivered and marked since `alpha_at`.
    share: (u64, u64),
    alpha_at: f64,
    qdelay_at: f64,
    reaction_at: f64,
    congestion_at: f64,
    /// Losses and marks since the last reaction.
    is_lost: bool,
    is_marked: bool,
    /// Maximum data in flight in this RTT and in the previous one.
    in_flight: (u64, u64),
    round_at: f64,
    /// Target bitrate of the encoder.
    target_bps: f64,
    /// State that only the earlier texts need.
    earlier: Earlier,
}

/// Measurements of an ACK: times in seconds, data in bytes.
#[derive(Clone, Copy)]
struct Feedback {
    now: f64,
    srtt: f64,
    qdelay: f64,
    delivered: u64,
    marked: u64,
    in_flight: u64,
    mss: f64,
}

impl Variant for Scream {
    type Config = ScreamConfig;

    fn new(config: &ScreamConfig) -> Scream {
        Scream {
            config: *config,
            ref_wnd: 0.0,
            origin: None,
            ref_wnd_i: 1.0,
            moves_inflection: true,
            l4s_alpha: 0.0,
            qdelay_avg: 0.0,
            share: (0, 0),
            alpha_at: 0.0,
            qdelay_at: 0.0,
            reaction_at: 0.0,
            congestion_at: 0.0,
            is_lost: false,
            is_marked: false,
            in_flight: (0, 0),
            round_at: 0.0,
            target_bps: 0.0,
            earlier: Earlier::default(),
        }
    }
}

impl Control for Scream {
    fn wants(&self) -> Wants {
        Wants {
            pacing: true,
            losses: true,
            ..Wants::RECORDS
        }
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            stage: Stage::Cruise,
            bandwidth_bps: self.target_bps,
        })
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.begin(flight);
        self.update(rtt.as_seconds(), flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.begin(flight);
        let (Some(srtt), Some(least_rtt)) = (ack.srtt, ack.least_rtt) else {
            return CwndUpdate::unchanged(flight);
        };
        let origin = *self.origin.get_or_insert(Time(ack.now.0.saturating_sub(srtt.0)));
        self.is_lost |= ack.lost > 0;
        let qdelay = ack
            .rtt
            .map_or(0.0, |rtt| Span(rtt.0.saturating_sub(least_rtt.0)).as_seconds());
        self.on_feedback(&Feedback {
            now: (ack.now - origin).as_seconds(),
            srtt: srtt.as_seconds(),
            qdelay: if ack.rtt.is_some() { qdelay } else { self.qdelay_avg },
            delivered: ack.delivered,
            marked: ack.marked,
            in_flight: ack.in_flight_before,
            mss: flight.mss(),
        });
        self.update(srtt.as_seconds(), flight)
    }

    /// Records losses, to which the next ACK reacts. A timeout leaves one segment until the next ACK. Marks are processed
    /// with the ACKs that report them.
    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        self.is_lost |= !matches!(cause, Cause::Mark { .. });
        if cause == Cause::Timeout {
            CwndUpdate::window(flight.mss(), flight)
        } else {
            CwndUpdate::unchanged(flight)
        }
    }
}

impl Scream {
    /// Starts with the initial window of the connection.
    fn begin(&mut self, flight: &Flight) {
        if self.ref_wnd == 0.0 {
            self.ref_wnd = flight.cwnd().max(MIN_REF_WND);
        }
    }

    /// Updates the averages, and reduces and increases the reference window.
    fn on_feedback(&mut self, feedback: &Feedback) {
        let &Feedback { now, srtt, qdelay, .. } = feedback;
        let is_earlier = self.is_earlier();
        if is_earlier {
            self.earlier.on_feedback(feedback, self.ref_wnd);
        }
        if now - self.round_at >= srtt {
            self.in_flight = (0, self.in_flight.0);
            self.round_at = now;
        }
        self.in_flight.0 = self.in_flight.0.max(feedback.in_flight);
        self.share.0 += feedback.delivered;
        self.share.1 += feedback.marked;
        self.is_marked |= feedback.marked > 0;
        if now - self.alpha_at >= ALPHA_INTERVAL.min(srtt) && self.share.0 > 0 {
            let fraction = self.share.1 as f64 / self.share.0 as f64;
            if is_earlier {
                self.l4s_alpha += (fraction - self.l4s_alpha) * earlier::L4S_AVG_G;
            } else if fraction >= self.l4s_alpha {
                self.l4s_alpha += (fraction - self.l4s_alpha) * L4S_AVG_G_UP;
            } else {
                self.l4s_alpha *= 1.0 - L4S_AVG_G_DOWN;
            }
            (self.alpha_at, self.share) = (now, (0, 0));
        }
        let qdelay_interval = if is_earlier { srtt } else { VIRTUAL_RTT.min(srtt) };
        if now - self.qdelay_at >= qdelay_interval {
            if qdelay < self.qdelay_avg {
                self.qdelay_avg = qdelay;
            } else {
                self.qdelay_avg += (qdelay - self.qdelay_avg) * QDELAY_AVG_G;
            }
            self.qdelay_at = now;
        }
        if is_earlier {
            self.react_by_earlier_text(feedback);
            return;
        }
        let scale = self.scale(INFLECTION_SLOPE);
        self.reduce(feedback, scale);
        self.increase(feedback, scale);
    }

    /// Returns the data in flight per reference window.
    fn overhead(&self) -> f64 {
        match self.config.rules {
            ScreamRules::August2026 => OVERHEAD_2026,
            ScreamRules::March2025 => OVERHEAD_2025,
            ScreamRules::October2024 => OVERHEAD_2024,
        }
    }

    fn is_earlier(&self) -> bool {
        self.config.rules != ScreamRules::August2026
    }

    /// Returns the factor of growth and reductions, which is small near the inflection point.
    fn scale(&self, slope: f64) -> f64 {
        let distance = slope * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(MIN_SCALE, 1.0)
    }

    /// Reduces the reference window at most once per min(VIRTUAL_RTT, srtt), by the most severe signal.
    fn reduce(&mut self, feedback: &Feedback, scale: f64) {
        let &Feedback { now, srtt, qdelay, .. } = feedback;
        if self.is_lost || self.is_marked {
            self.congestion_at = now;
        }
        let target = Span(self.config.target_ps).as_seconds();
        let is_queued = self.qdelay_avg > target / 2.0;
        let may_react = now - self.reaction_at >= VIRTUAL_RTT.min(srtt);
        if !may_react || !(self.is_lost || self.is_marked || is_queued) {
            return;
        }
        if self.moves_inflection {
            (self.ref_wnd_i, self.moves_inflection) = (self.ref_wnd, false);
        }
        let per_rtt = (srtt / VIRTUAL_RTT).max(1.0);
        let factor = if self.is_lost {
            BETA_LOSS
        } else if self.is_marked && self.config.scalable {
            let mut backoff = self.l4s_alpha / 2.0 / per_rtt;
            if qdelay < target / 4.0 {
                backoff *= scale.max(MIN_STEP_SCALE);
            }
            if now - self.reaction_at > POST_CONGESTION_RTTS * VIRTUAL_RTT.max(srtt) {
                self.ref_wnd = self.ref_wnd.min(self.in_flight.1 as f64);
            }
            1.0 - backoff
        } else if self.is_marked {
            BETA_ECN
        } else {
            let virtual_alpha = ((self.qdelay_avg - target / 2.0) / (target / 2.0)).min(1.0);
            1.0 - virtual_alpha / 2.0 / per_rtt
        };
        self.ref_wnd = (self.ref_wnd * factor).max(MIN_REF_WND);
        (self.reaction_at, self.is_lost, self.is_marked) = (now, false, false);
    }

    /// Increases the reference window by about one segment per RTT, and by up to 2 % more after a time without
    /// congestion, if enough data are in flight and the encoder's rate is not at its maximum.
    fn increase(&mut self, feedback: &Feedback, scale: f64) {
        let &Feedback { now, srtt, mss, .. } = feedback;
        let since = now - self.congestion_at;
        let post = (since / (POST_CONGESTION_RTTS * VIRTUAL_RTT.max(srtt))).clamp(0.0, 1.0);
        let unmarked = feedback.delivered.saturating_sub(feedback.marked) as f64;
        let additive =
            unmarked * (mss / self.ref_wnd).min(1.0) * (srtt / VIRTUAL_RTT).min(1.0) * scale.max(MIN_STEP_SCALE);
        let increment = additive * (1.0 + MUL_INCREASE * self.ref_wnd / mss * post * scale);
        if self.grow(increment, HEAD_ROOM, feedback) {
            self.moves_inflection = true;
        }
    }

    /// Adds an increment, if enough data are in flight and the encoder's rate is not at its maximum, and returns whether
    /// it did.
    fn grow(&mut self, increment: f64, head_room: f64, feedback: &Feedback) -> bool {
        let &Feedback { srtt, mss, .. } = feedback;
        let most = mss + head_room * self.in_flight.0.max(self.in_flight.1) as f64;
        let is_at_maximum = self
            .config
            .max_rate_bps
            .is_some_and(|most_bps| self.rate_bps(srtt, mss) >= most_bps as f64);
        let grows = increment > 0.0 && self.ref_wnd + increment <= most && !is_at_maximum;
        if grows {
            self.ref_wnd += increment;
        }
        grows
    }

    /// Returns the target bitrate that the reference window permits, without the encoder's maximum.
    fn rate_bps(&self, srtt: f64, mss: f64) -> f64 {
        let small = 1.0 - ((mss / self.ref_wnd).min(1.0) - 0.1).clamp(0.0, 0.2);
        let margin = if self.is_earlier() {
            self.earlier_margin()
        } else {
            RATE_MARGIN
        };
        small * mss / (mss + PACKET_OVERHEAD) / margin * 8.0 * self.ref_wnd / srtt
    }

    /// Returns the pacing rate per target bitrate.
    fn pacing_factor(&self, most_bps: f64) -> f64 {
        if is_unscaled(&self.config.pacing_headroom) {
            return 1.0;
        }
        let beyond = (self.target_bps / most_bps - RELAXED_PACING_LIMIT) / (1.0 - RELAXED_PACING_LIMIT);
        self.config.pacing_headroom / (1.0 - beyond).clamp(1.0 / MAX_RELAXED_PACING, 1.0)
    }

    /// Returns the window and the pacing rate, which is the encoder's target bitrate without headroom.
    fn update(&mut self, srtt: f64, flight: &Flight) -> CwndUpdate {
        let most_bps = self.config.max_rate_bps.map_or(f64::INFINITY, |most| most as f64);
        self.target_bps = self.rate_bps(srtt, flight.mss()).min(most_bps).max(MIN_RATE_BPS);
        let pacing_bps = self.target_bps * self.pacing_factor(most_bps);
        let burst = self.target_bps / 8.0 * Span(self.config.burst_ps).as_seconds();
        CwndUpdate {
            pacing: Some(Pacing {
                rate_bps: pacing_bps as u64,
                quantum_bytes: burst.clamp(flight.mss(), f64::from(u32::MAX)) as u32,
            }),
            ..CwndUpdate::window(self.overhead() * self.ref_wnd, flight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows, averages and rates that an independent program (tests/scream_witness.py) computes by the pseudocode of the
    /// draft's texts, for L4S and classic ECN and base RTTs of 10, 25 and 100 ms.
    const WITNESS: &str = include_str!("witness.csv");

    fn config(scalable: bool) -> ScreamConfig {
        ScreamConfig {
            rules: ScreamRules::August2026,
            target_ps: Span::millis(60).0,
            scalable,
            max_rate_bps: None,
            burst_ps: Span::micros(500).0,
            pacing_headroom: 1.0,
        }
    }

    fn sender(scalable: bool, ref_wnd: f64) -> Scream {
        Scream {
            ref_wnd,
            ..Scream::new(&config(scalable))
        }
    }

    #[test]
    fn windows_averages_and_rates_equal_those_of_the_independent_program() {
        let (mut case, mut scream) = ("", sender(true, 0.0));
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<f64>().expect(row);
            if fields[0] != case {
                (case, scream) = (fields[0], sender(fields[2] == "1", 10_000.0));
                scream.config.rules = match fields[1] {
                    "2024-10" => ScreamRules::October2024,
                    "2025-03" => ScreamRules::March2025,
                    _ => ScreamRules::August2026,
                };
            }
            // The queueing delay is the RTT minus the base RTT of the case.
            let base_us = [10e3, 25e3, 100e3][fields[0].parse::<usize>().expect(row) % 3];
            let srtt = number(7) / 1e6;
            scream.is_lost |= fields[6] == "1";
            scream.on_feedback(&Feedback {
                now: number(3) / 1e6,
                srtt,
                qdelay: (number(7) - base_us) / 1e6,
                delivered: number(4) as u64,
                marked: number(5) as u64,
                in_flight: number(8) as u64,
                mss: 1000.0,
            });
            let found = [
                scream.ref_wnd,
                scream.l4s_alpha,
                scream.qdelay_avg,
                scream.rate_bps(srtt, 1000.0),
            ];
            scream.target_bps = scream.rate_bps(srtt, 1000.0);
            for (value, column) in found.into_iter().zip(9..) {
                let expected = number(column);
                assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{row}: {value}");
            }
        }
    }

    /// Returns the share by which one reaction reduces the window.
    fn backoff(srtt: f64, qdelay: f64, mut scream: Scream) -> f64 {
        let feedback = Feedback {
            now: 100.0,
            srtt,
            qdelay,
            delivered: 0,
            marked: 0,
            in_flight: 0,
            mss: 1000.0,
        };
        (scream.reaction_at, scream.ref_wnd_i) = (99.8, 1.0);
        let before = scream.ref_wnd;
        scream.reduce(&feedback, 1.0);
        1.0 - scream.ref_wnd / before
    }

    #[test]
    fn reductions_equal_those_of_the_equations() {
        let queued = Scream {
            qdelay_avg: 0.045,
            ..sender(true, 1e6)
        };
        assert!((backoff(0.05, 0.045, queued) - 0.125).abs() < 1e-12);
        let marked = || Scream {
            is_marked: true,
            l4s_alpha: 0.2,
            ..sender(true, 1e6)
        };
        assert!((backoff(0.025, 0.02, marked()) - 0.1).abs() < 1e-12);
        assert!((backoff(0.1, 0.02, marked()) - 0.025).abs() < 1e-12);
        let classic = Scream {
            config: config(false),
            ..marked()
        };
        assert!((backoff(0.1, 0.02, classic) - 0.2).abs() < 1e-12);
    }
}
