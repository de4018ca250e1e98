//! UDP Prague: Prague for datagrams and media, with the rules of the L4S team's prague_cc.cpp (February 2026).
//!
//! It differs from TCP Prague in that it has no slow start, updates all windows per virtual RTT of at least 25 ms, controls
//! a rate instead of a window if the RTT is short, and grows by a queue of 1 ms per virtual RTT after a time without marks.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::path_model::{Model, Stage};
use crate::described::Described;
use crate::variant::{Facts, MarkFeedback, Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Paces at a rate that marks and losses reduce, for media over L4S; needs tcp.ecn = {kind = 'accurate', ect = 1}.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "UDP Prague")]
#[described(fact(
    "after_mark",
    "1 - alpha/2 of the window, alpha being the share of marked data (prague_cc.cpp)"
))]
#[described(fact(
    "by_model",
    "UDP Prague set it to the product of its rate and its RTT (prague_cc.cpp)"
))]
pub struct UdpPragueConfig {
    /// Rate at the start and after a timeout [bit/s]; prague_cc.h, PRAGUE_INITRATE.
    #[field(range = "[100 kbit/s, 100 Gbit/s]", default = "100 kbit/s")]
    pub initial_rate_bps: u64,
    /// Maximum rate [bit/s]; prague_cc.h, PRAGUE_MAXRATE.
    #[field(range = "[100 kbit/s, 100 Gbit/s]", default = "100 Gbit/s")]
    pub max_rate_bps: u64,
}

impl Parameters for UdpPragueConfig {
    const FACTS: Facts = Facts {
        is_model: true,
        fills_buffers: false,
        needs_marks: MarkFeedback::Count,
        ..Facts::DEFAULT
    };
}

/// Minimum virtual RTT [s] (REF_RTT).
const REF_RTT: f64 = 0.025;
/// Minimum rate [byte/s] (PRAGUE_MINRATE).
const MIN_RATE: f64 = 12_500.0;
/// RTT [s] up to which the rate is controlled instead of the window.
const RATE_MODE_RTT: f64 = 0.002;
/// Weights of a virtual RTT in alpha, and of a sample in the smoothed RTT.
const ALPHA_GAIN: f64 = 1.0 / 16.0;
const SRTT_GAIN: f64 = 1.0 / 8.0;
/// Virtual RTTs after a mark until growth is faster: MIN_STEP, and one more per RATE_STEP [byte/s].
const MIN_STEP: f64 = 7.0;
const RATE_STEP: f64 = 1_920_000.0;
/// Growth per virtual RTT as a time [s] at the rate (QUEUE_GROWTH), and duration [s] of a burst (BURST_TIME).
const QUEUE_GROWTH: f64 = 0.001;
const BURST_TIME: f64 = 0.00025;
/// The pacing rate is higher by this factor in the first half of a virtual RTT, and lower in the second (RATE_OFFSET).
const RATE_OFFSET: f64 = 1.03;
/// Minimum window [packet] (MIN_PKT_WIN).
const MIN_WINDOW: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Initial,
    Avoidance,
    /// A loss, or marks, have reduced the window in this virtual RTT.
    Loss,
    Reduced,
}

/// End of a virtual RTT: when the data sent before it have arrived, and this time has passed.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    sent: u64,
    begin: f64,
}

/// Reduction by a loss, which is undone if nothing was lost.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    by_rate: bool,
    amount: f64,
    waits: f64,
}

/// State of one sender: rates in byte/s, windows in bytes, times in seconds.
#[derive(Clone, Debug)]
pub struct UdpPrague {
    config: UdpPragueConfig,
    phase: Phase,
    by_rate: bool,
    rate: f64,
    window: f64,
    alpha: f64,
    srtt: f64,
    /// Virtual RTTs until growth is faster (`m_rtts_to_growth`).
    waits: f64,
    /// Bytes that have arrived or were lost.
    settled: u64,
    alpha_period: Period,
    /// Bytes delivered and marked in the period of alpha.
    counted: (u64, u64),
    loss_period: Period,
    mark_period: Period,
    undo: Undo,
    is_lost: bool,
}

/// Measurements of an ACK: times in seconds, data in bytes.
#[derive(Clone, Copy)]
struct Feedback {
    now: f64,
    rtt: Option<f64>,
    delivered: u64,
    marked: u64,
    lost: u64,
    in_flight: u64,
    mss: f64,
}

impl Variant for UdpPrague {
    type Config = UdpPragueConfig;

    fn new(config: &UdpPragueConfig) -> UdpPrague {
        let rate = config.initial_rate_bps as f64 / 8.0;
        UdpPrague {
            config: *config,
            phase: Phase::Initial,
            by_rate: false,
            rate,
            window: 0.0,
            alpha: 0.0,
            srtt: 0.0,
            waits: waits_after_mark(rate),
            settled: 0,
            alpha_period: Period::default(),
            counted: (0, 0),
            loss_period: Period::default(),
            mark_period: Period::default(),
            undo: Undo::default(),
            is_lost: false,
        }
    }
}

/// Returns the number of virtual RTTs after a mark until growth is faster.
fn waits_after_mark(rate: f64) -> f64 {
    (rate / RATE_STEP).floor() + MIN_STEP
}

impl Control for UdpPrague {
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
            bandwidth_bps: 8.0 * self.rate,
        })
    }

    fn on_start(&mut self, _rtt: Span, flight: &Flight) -> CwndUpdate {
        self.update(0.0, flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        let now = (ack.now - Time::ZERO).as_seconds();
        self.on_feedback(&Feedback {
            now,
            rtt: ack.rtt.map(Span::as_seconds),
            delivered: ack.delivered,
            marked: ack.marked,
            lost: ack.lost,
            in_flight: ack.in_flight,
            mss: flight.mss(),
        });
        self.update(now, flight)
    }

    /// Records losses, to which the next ACK reacts. A timeout restarts with the initial rate.
    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        match cause {
            Cause::Mark { .. } => CwndUpdate::unchanged(flight),
            Cause::FastRetransmit => {
                self.is_lost = true;
                CwndUpdate::unchanged(flight)
            }
            Cause::Timeout => {
                *self = UdpPrague {
                    settled: self.settled,
                    ..UdpPrague::new(&self.config)
                };
                self.update((now - Time::ZERO).as_seconds(), flight)
            }
        }
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        if spurious {
            self.undo();
        }
        self.update((now - Time::ZERO).as_seconds(), flight)
    }
}

impl UdpPrague {
    /// Returns the virtual RTT.
    fn vrtt(&self) -> f64 {
        self.srtt.max(REF_RTT)
    }

    /// Returns whether the data sent before a period have arrived, and a virtual RTT has passed.
    fn is_over(&self, period: Period, now: f64) -> bool {
        self.settled > period.sent && now - period.begin >= self.vrtt()
    }

    /// Processes an ACK (`ACKReceived`).
    fn on_feedback(&mut self, feedback: &Feedback) {
        let &Feedback { now, mss, .. } = feedback;
        let is_first = self.phase == Phase::Initial;
        match feedback.rtt {
            Some(rtt) if is_first => self.srtt = rtt,
            Some(rtt) => self.srtt += (rtt - self.srtt) * SRTT_GAIN,
            None => (),
        }
        if self.srtt == 0.0 {
            return;
        }
        if is_first {
            self.window = self.srtt * self.rate;
            self.phase = Phase::Avoidance;
        }
        let was_by_rate = std::mem::replace(
            &mut self.by_rate,
            self.srtt <= RATE_MODE_RTT || self.srtt <= mss / self.rate,
        );
        if was_by_rate && !self.by_rate {
            self.window = self.srtt * self.rate;
        }
        self.settled += feedback.delivered + feedback.lost;
        let next = Period {
            sent: self.settled + feedback.in_flight,
            begin: now,
        };
        self.counted.0 += feedback.delivered;
        self.counted.1 += feedback.marked;
        if self.is_over(self.alpha_period, now) && self.counted.0 > 0 {
            self.alpha += (self.counted.1 as f64 / self.counted.0 as f64 - self.alpha) * ALPHA_GAIN;
            (self.alpha_period, self.counted) = (next, (0, 0));
            self.waits = (self.waits - 1.0).max(0.0);
        }
        if self.phase == Phase::Loss && self.is_over(self.loss_period, now) {
            self.phase = Phase::Avoidance;
        }
        self.is_lost |= feedback.lost > 0;
        if std::mem::take(&mut self.is_lost) && self.phase != Phase::Loss {
            self.reduce_for_loss(mss);
            (self.phase, self.loss_period) = (Phase::Loss, next);
        }
        self.increase(feedback);
        if self.phase == Phase::Reduced && self.is_over(self.mark_period, now) {
            self.phase = Phase::Avoidance;
        }
        if self.phase == Phase::Avoidance && feedback.marked > 0 {
            self.waits = waits_after_mark(self.rate);
            self.scale(1.0 - self.alpha / 2.0);
            (self.phase, self.mark_period) = (Phase::Reduced, next);
        }
        if !self.by_rate {
            self.rate = self.window / self.srtt;
        }
        self.rate = self.rate.min(self.config.max_rate_bps as f64 / 8.0).max(MIN_RATE);
        self.window = self.rate * self.srtt;
    }

    /// Multiplies the window, or the rate.
    fn scale(&mut self, factor: f64) {
        if self.by_rate {
            self.rate *= factor;
        } else {
            self.window *= factor;
        }
    }

    /// Halves the window or the rate, and waits with faster growth until the rate may be reached again.
    fn reduce_for_loss(&mut self, mss: f64) {
        let vrtt = self.vrtt();
        let waits = (self.rate / 2.0 / mss * REF_RTT / vrtt * REF_RTT).floor();
        self.undo = Undo {
            by_rate: self.by_rate,
            amount: if self.by_rate { self.rate } else { self.window } / 2.0,
            waits: (self.undo.waits + waits - self.waits).min(waits),
        };
        self.waits = waits;
        self.scale(0.5);
    }

    /// Undoes the last reduction by a loss.
    fn undo(&mut self) {
        let undo = std::mem::take(&mut self.undo);
        if undo.amount == 0.0 {
            return;
        }
        self.by_rate = undo.by_rate;
        if undo.by_rate {
            self.rate += undo.amount;
        } else {
            self.window += undo.amount;
            self.rate = self.window / self.srtt;
        }
        self.waits = (self.waits - undo.waits).max(0.0);
        self.phase = Phase::Avoidance;
    }

    /// Grows by a packet per virtual RTT, or, after a time without marks, by a queue of 1 ms.
    fn increase(&mut self, feedback: &Feedback) {
        let unmarked = feedback.delivered.saturating_sub(feedback.marked) as f64;
        if self.phase == Phase::Loss || unmarked == 0.0 {
            return;
        }
        let mss = feedback.mss;
        let increment = if self.waits > 0.0 {
            mss
        } else {
            (self.rate * QUEUE_GROWTH).max(mss)
        };
        let vrtt = self.vrtt();
        if self.by_rate {
            self.rate += unmarked * increment / (vrtt * vrtt) / self.rate;
        } else {
            let scale = self.srtt / vrtt;
            self.window += unmarked * scale * scale * increment / self.window;
        }
    }

    /// Returns the window and the pacing rate.
    fn update(&self, now: f64, flight: &Flight) -> CwndUpdate {
        let mss = flight.mss();
        let packets = (self.window * RATE_OFFSET / mss + 1.0).floor().max(MIN_WINDOW);
        let rate = if now - self.alpha_period.begin >= self.vrtt() / 2.0 {
            self.rate / RATE_OFFSET
        } else {
            self.rate * RATE_OFFSET
        };
        let burst = (self.rate * BURST_TIME / mss).floor().max(1.0);
        CwndUpdate {
            pacing: Some(Pacing {
                rate_bps: (8.0 * rate) as u64,
                quantum_bytes: (burst * mss).min(f64::from(u32::MAX)) as u32,
            }),
            ..CwndUpdate::window(packets * mss, flight)
        }
    }
}

#[cfg(test)]
mod tests;
