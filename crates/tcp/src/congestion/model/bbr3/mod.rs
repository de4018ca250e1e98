//! BBR version 3: paces at the measured bandwidth like version 1, but losses bound the data in flight and the bandwidth
//! estimate (draft-ietf-ccwg-bbr, the text after version -06).
//!
//! Names are those of the draft. The draft's C.inflight is the data in flight after the ACK, as in Linux; only the
//! decision whether a probe ends uses the data in flight before the ACK.

#[cfg(test)]
mod cases;
mod loss;
mod probe;
mod probe_rtt;
mod startup;
mod state;
mod window;

use crate::congestion::control::{
    Ack, Cause, Control, CwndUpdate, LostSegment, Pacing, RateSample, RecoveryPhase, Sent, Wants,
};
use crate::congestion::flight::Flight;
use crate::congestion::model::max_filter::MaxFilter;
use crate::congestion::path_model::{Model, Stage};
use crate::described::Described;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Stream, Time};
use longpipe_json::FromJson;
use serde::Serialize;
pub use state::Bbr3;
use state::{
    BandwidthProbe, ExtraAcked, FullBandwidth, LossRound, ProbeRttState, RoundCounter, Sample, ShortTerm, State, Undo,
    CYCLES, EXTRA_ROUNDS, EXTRA_ROUNDS_IN_STARTUP, FIRST_WINDOW,
};

/// BBR version 3: losses also bound the rate and the data in flight (draft-ietf-ccwg-bbr, its text after -06).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "BBRv3")]
#[described(fact("by_model", "BBRv3 set it to what its model of the path, the product of bottleneck bandwidth and minimum RTT, allows in this phase (draft-ietf-ccwg-bbr)"))]
pub struct Bbr3Config {}

impl Parameters for Bbr3Config {
    const FACTS: Facts = Facts {
        is_model: true,
        draws: true,
        fills_buffers: false,
        ..Facts::DEFAULT
    };
}

impl Variant for Bbr3 {
    type Config = Bbr3Config;

    fn new(_config: &Bbr3Config) -> Bbr3 {
        Bbr3 {
            draws: Stream::new(0, "control", 0),
            state: State::Startup,
            delivered: 0,
            counted_ahead: 0,
            rounds: RoundCounter::default(),
            max_bw: MaxFilter::default(),
            cycle: 0,
            bw: 0.0,
            short: ShortTerm::default(),
            inflight_longterm: f64::INFINITY,
            loss: LossRound::default(),
            undo: Undo::default(),
            full: FullBandwidth::default(),
            probe: BandwidthProbe::default(),
            min_rtt: ProbeRttState::default(),
            aggregation: ExtraAcked::default(),
            idle_restart: false,
            phase: RecoveryPhase::Open,
            prior_cwnd: 0.0,
            restores_cwnd: false,
            pacing_rate: None,
            quantum: 0.0,
        }
    }
}

impl Control for Bbr3 {
    fn wants(&self) -> Wants {
        Wants {
            rates: true,
            sending: true,
            pacing: true,
            each_loss: true,
            ..Wants::RECORDS
        }
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            stage: match self.state {
                State::Startup => Stage::Startup,
                State::Drain => Stage::Drain,
                State::Down => Stage::ProbeDown,
                State::Cruise => Stage::Cruise,
                State::Refill => Stage::Refill,
                State::Up => Stage::ProbeUp,
                State::ProbeRtt => Stage::ProbeRtt,
            },
            bandwidth_bps: 8.0 * self.bw,
        })
    }

    fn draw_from(&mut self, draws: Stream) {
        self.draws = draws;
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.min_rtt.begin(rtt);
        self.begin_pacing(rtt, flight);
        CwndUpdate {
            pacing: self.pacing(flight),
            ..CwndUpdate::unchanged(flight)
        }
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.min_rtt.on_sent(sent.now);
        if sent.in_flight > sent.end - sent.sequence || !sent.app_limited {
            return None;
        }
        self.idle_restart = true;
        self.aggregation.began = sent.now;
        if self.state.is_probe_bw() {
            self.set_rate(1.0, flight);
            return self.pacing(flight);
        }
        if self.state == State::ProbeRtt {
            probe_rtt::end_in_time(self, sent.now);
        }
        None
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        let ahead = lost.delivered - self.delivered;
        self.delivered += ahead;
        self.counted_ahead += ahead;
        self.handle_lost(lost, now, flight);
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.delivered += ack.delivered - std::mem::take(&mut self.counted_ahead);
        self.phase = ack.phase;
        self.rounds.began = false;
        self.loss.round_began = false;
        let sample = ack.rate.as_ref().map(|rate| self.sample(rate, ack));
        if let Some(sample) = &sample {
            self.update_model(ack, sample, flight);
        }
        probe_rtt::update_min_rtt(self, ack);
        probe_rtt::check(self, ack, flight);
        if let Some(sample) = &sample {
            self.advance_latest(sample);
        }
        self.bw = self.max_bw.get().min(self.short.bw);
        if self.pacing_rate.is_none() {
            if let Some(srtt) = ack.srtt {
                self.begin_pacing(srtt, flight);
            }
        }
        self.set_rate(self.state.pacing_gain(), flight);
        CwndUpdate {
            window: self.window(ack, flight),
            threshold: flight.ssthresh(),
            pacing: self.pacing(flight),
        }
    }

    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        if matches!(cause, Cause::Mark { .. }) {
            // The draft defines no response to ECN marks yet.
            return CwndUpdate::unchanged(flight);
        }
        self.save_state(flight);
        if cause == Cause::FastRetransmit {
            self.phase = RecoveryPhase::Recovery;
            return CwndUpdate::unchanged(flight);
        }
        self.phase = RecoveryPhase::Loss;
        CwndUpdate::window(flight.mss(), flight)
    }

    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> CwndUpdate {
        if spurious {
            self.undo_recovery();
        }
        CwndUpdate::window(flight.cwnd().max(self.prior_cwnd), flight)
    }
}

impl Bbr3 {
    fn sample(&self, rate: &RateSample, ack: &Ack) -> Sample {
        // An interval shorter than the minimum RTT results from ACK compression.
        let fine = rate.interval.0 > 0 && ack.least_rtt.is_none_or(|least| rate.interval >= least);
        Sample {
            rate: if fine {
                rate.delivered as f64 / rate.interval.as_seconds()
            } else {
                0.0
            },
            delivered: rate.delivered as f64,
            prior_delivered: rate.prior_delivered,
            tx_in_flight: rate.tx_in_flight as f64,
            lost: rate.lost as f64,
            app_limited: rate.app_limited || self.min_rtt.paused_at(rate.prior_delivered),
        }
    }

    /// Implements `UpdateModelAndState` of the draft up to the update of the minimum RTT (section 5.2.3).
    fn update_model(&mut self, ack: &Ack, sample: &Sample, flight: &Flight) {
        self.update_latest(sample);
        self.update_max_bw(sample);
        self.adapt_to_losses(flight);
        self.update_aggregation(ack, flight);
        startup::check_full_pipe(self, sample);
        startup::check_done(self, sample);
        startup::check_drain_done(self, ack, flight);
        self.update_cycle(ack, sample, flight);
    }

    fn update_max_bw(&mut self, sample: &Sample) {
        if sample.prior_delivered >= self.rounds.until {
            self.start_round();
            self.rounds.count += 1;
            self.probe.rounds_since_up += 1;
            self.rounds.began = true;
        }
        if sample.rate > 0.0 && (sample.rate >= self.max_bw.get() || !sample.app_limited) {
            self.max_bw.add(self.cycle, sample.rate, CYCLES);
        }
    }

    fn start_round(&mut self) {
        self.rounds.until = self.delivered;
    }

    fn update_aggregation(&mut self, ack: &Ack, flight: &Flight) {
        let aggregation = &mut self.aggregation;
        let mut expected = self.bw * ack.now.since(aggregation.began).as_seconds();
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.began) = (0.0, ack.now);
            expected = 0.0;
        }
        aggregation.delivered += ack.delivered as f64;
        let extra = (aggregation.delivered - expected).min(flight.cwnd());
        let rounds = if self.full.reached {
            EXTRA_ROUNDS
        } else {
            EXTRA_ROUNDS_IN_STARTUP
        };
        aggregation.extra.add(self.rounds.count, extra, rounds);
    }

    /// Returns `gain` times the BDP [byte], or the initial window before the first RTT sample.
    fn product(&self, bandwidth: f64, gain: f64, flight: &Flight) -> f64 {
        match self.min_rtt.rtt {
            Some(rtt) => gain * bandwidth * rtt.as_seconds(),
            None => FIRST_WINDOW * flight.mss(),
        }
    }
}
