//! Startup and Drain (draft-ietf-ccwg-bbr sections 5.3.1 and 5.3.2).

use super::state::{Bbr3, Sample, State, LOSS_THRESHOLD};
use crate::congestion::control::{Ack, RecoveryPhase};
use crate::congestion::flight::Flight;

/// The pipe is full after `FULL_ROUNDS` rounds in which the bandwidth grew by less than `FULL_GROWTH`.
const FULL_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;
/// Number of lost ranges in one round at which Startup ends.
const LOSS_RANGES: u32 = 6;
/// Maximum length of Drain [rounds].
const DRAIN_ROUNDS: u64 = 3;

pub(super) fn reset_full_pipe(bbr: &mut Bbr3, bandwidth: f64) {
    (bbr.full.bw, bbr.full.count, bbr.full.now) = (bandwidth, 0, false);
}

pub(super) fn check_full_pipe(bbr: &mut Bbr3, sample: &Sample) {
    if bbr.full.now || !bbr.rounds.began || sample.app_limited {
        return;
    }
    if sample.rate >= bbr.full.bw * GROWTH {
        reset_full_pipe(bbr, sample.rate);
        return;
    }
    bbr.full.count += 1;
    bbr.full.now = bbr.full.count >= FULL_ROUNDS;
    bbr.full.reached |= bbr.full.now;
}

pub(super) fn check_done(bbr: &mut Bbr3, sample: &Sample) {
    if bbr.state == State::Startup {
        check_high_loss(bbr, sample);
        if bbr.full.reached {
            bbr.state = State::Drain;
            bbr.full.drain_round = bbr.rounds.count;
        }
    }
    if bbr.loss.round_began {
        bbr.loss.ranges = 0;
    }
}

/// Ends Startup if too much data, in several ranges, was lost in a whole round of a recovery.
fn check_high_loss(bbr: &mut Bbr3, sample: &Sample) {
    let many = bbr.loss.round_began && bbr.phase == RecoveryPhase::Recovery && bbr.loss.ranges >= LOSS_RANGES;
    if many && is_too_high(sample.lost, sample.tx_in_flight) {
        bbr.undo.state = Some(State::Startup);
        (bbr.full.now, bbr.full.reached) = (true, true);
        let product = bbr.min_rtt.rtt.map_or(0.0, |rtt| bbr.bw * rtt.as_seconds());
        bbr.inflight_longterm = product.max(bbr.loss.inflight_latest);
    }
}

pub(super) fn check_drain_done(bbr: &mut Bbr3, ack: &Ack, flight: &Flight) {
    if bbr.state != State::Drain {
        return;
    }
    let late = bbr.rounds.count > bbr.full.drain_round + DRAIN_ROUNDS;
    if late || ack.in_flight as f64 <= bbr.inflight(bbr.bw, 1.0, flight) {
        bbr.start_down(ack.now);
    }
}

/// Returns whether a loss rate exceeds the acceptable loss rate of a probe (`IsInflightTooHigh`).
pub(super) fn is_too_high(lost: f64, tx_in_flight: f64) -> bool {
    lost > tx_in_flight * LOSS_THRESHOLD
}
