//! Response to losses: bounds on the data in flight and on the bandwidth (draft-ietf-ccwg-bbr sections 5.5.10 and
//! 5.5.11).

use super::startup::{self, is_too_high};
use super::state::{Bbr3, Sample, State, Undo, BETA, LOSS_THRESHOLD};
use crate::congestion::control::{LostSegment, RecoveryPhase};
use crate::congestion::flight::Flight;
use longpipe_events::Time;

impl Bbr3 {
    /// Raises the maximum delivery rate and the delivered data of this round (`UpdateLatestDeliverySignals` of the draft).
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        let loss = &mut self.loss;
        loss.bw_latest = loss.bw_latest.max(sample.rate);
        loss.inflight_latest = loss.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= loss.until {
            (loss.until, loss.round_began) = (self.delivered, true);
        }
    }

    /// Starts these maxima again at the start of a round (`AdvanceLatestDeliverySignals` of the draft).
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss.round_began {
            (self.loss.bw_latest, self.loss.inflight_latest) = (sample.rate, sample.delivered);
        }
    }

    /// Lowers the short-term bounds at the end of a round with losses outside of a probe
    /// (`AdaptLowerBoundsFromCongestion` of the draft).
    pub(super) fn adapt_to_losses(&mut self, flight: &Flight) {
        if !self.loss.round_began {
            return;
        }
        if std::mem::take(&mut self.loss.lost) && !self.state.probes() {
            if self.short.bw == f64::INFINITY {
                self.short.bw = self.max_bw.get();
            }
            if self.short.inflight == f64::INFINITY {
                self.short.inflight = flight.cwnd();
            }
            self.short.bw = self.loss.bw_latest.max(BETA * self.short.bw);
            self.short.inflight = self.loss.inflight_latest.max(BETA * self.short.inflight);
        }
    }

    /// Counts a lost segment, saves the state before the first loss, and ends a probe with too many losses
    /// (`HandleLostPacket` of the draft).
    pub(super) fn handle_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        if !self.loss.lost {
            self.loss.until = self.delivered;
            // The state is saved once per recovery, as the text of the draft requires; the draft's pseudocode saves it
            // again in each round with losses.
            if self.phase == RecoveryPhase::Open {
                self.save_state(flight);
            } else {
                self.save_cwnd(flight);
            }
        }
        self.loss.lost = true;
        if self.loss.ranges == 0 || lost.sequence != self.loss.end {
            self.loss.ranges += 1;
        }
        self.loss.end = lost.end;
        if self.probe.is_sample && is_too_high(lost.lost as f64, lost.tx_in_flight as f64) {
            let limited = lost.app_limited || self.min_rtt.paused_at(lost.prior_delivered);
            self.handle_too_high(inflight_at_loss(lost), limited, now, flight);
        }
    }

    /// Bounds the data in flight to `inflight_at_loss` [byte], and ends the probe (`HandleInflightTooHigh` of the draft);
    /// invoked at most once per probe with too many losses.
    fn handle_too_high(&mut self, inflight_at_loss: f64, app_limited: bool, now: Time, flight: &Flight) {
        self.probe.too_high = true;
        self.probe.is_sample = false;
        if !app_limited {
            self.inflight_longterm = inflight_at_loss.max(BETA * self.target(flight));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// Saves what a spurious loss detection restores (`SaveStateUponLoss` of the draft).
    pub(super) fn save_state(&mut self, flight: &Flight) {
        self.save_cwnd(flight);
        self.undo = Undo {
            state: None,
            short: self.short,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// Restores bounds and state after a spurious loss detection (`HandleSpuriousLossDetection` of the draft, without the
    /// change of cwnd).
    pub(super) fn undo_recovery(&mut self) {
        self.loss.lost = false;
        startup::reset_full_pipe(self, 0.0);
        self.short.bw = self.short.bw.max(self.undo.short.bw);
        self.short.inflight = self.short.inflight.max(self.undo.short.inflight);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let left_state = self.undo.state.take().filter(|&state| state != self.state);
        if left_state == Some(State::Startup) {
            self.full.reached = false;
        }
        match left_state.filter(|_| self.state != State::ProbeRtt) {
            Some(State::Startup) => self.state = State::Startup,
            Some(_) => self.start_refill(),
            None => {}
        }
    }
}

/// Returns the data in flight [byte] at which the loss rate exceeded the threshold of a probe (`InflightAtLoss` of the
/// draft). If x bytes of this segment are lost, the loss rate is (lost_before + x) / (before + x); it equals the threshold
/// θ at x = (θ before - lost_before) / (1 - θ), and the result is before + x.
fn inflight_at_loss(lost: &LostSegment) -> f64 {
    let size = (lost.end - lost.sequence) as f64;
    let (before, lost_before) = (lost.tx_in_flight as f64 - size, lost.lost as f64 - size);
    before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflight_at_two_percent_loss_lies_within_the_segment_that_exceeds_it() {
        // Two of 98 segments in flight, including this one, are lost, which is more than 2 %. The result is the data in
        // flight at which the loss rate exceeded 2 %.
        let lost = LostSegment {
            sequence: 0,
            end: 1000,
            tx_in_flight: 98_000,
            lost: 2000,
            prior_delivered: 0,
            app_limited: false,
            delivered: 0,
        };
        let in_flight = inflight_at_loss(&lost);
        assert!((97_000.0..98_000.0).contains(&in_flight), "{in_flight}");
        let lost_by_then = 1000.0 + (in_flight - 97_000.0);
        assert!((lost_by_then / in_flight - LOSS_THRESHOLD).abs() < 1e-9);
    }
}
