//! ProbeRTT: the queue drains so that the minimum RTT can be measured (draft-ietf-ccwg-bbr section
//! 5.3.4).

use super::state::{AckPhase, Bbr3, ShortTerm, State};
use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use longpipe_events::{Span, Time};

/// Length of the minimum RTT filter (MinRTTFilterLen), interval between two ProbeRTT states (ProbeRTTInterval), and
/// duration of ProbeRTT.
const LASTS: Span = Span::seconds(10);
const INTERVAL: Span = Span::seconds(5);
const PAUSE: Span = Span::millis(200);

/// Implements `UpdateMinRTT` of the draft.
pub(super) fn update_min_rtt(bbr: &mut Bbr3, ack: &Ack) {
    let min_rtt = &mut bbr.min_rtt;
    min_rtt.expired = ack.now > min_rtt.recent_since + INTERVAL;
    if let Some(rtt) = ack.rtt {
        if min_rtt.expired || min_rtt.recent.is_none_or(|recent| rtt < recent) {
            (min_rtt.recent, min_rtt.recent_since) = (Some(rtt), ack.now);
        }
    }
    let old = ack.now > min_rtt.since + LASTS;
    if let Some(recent) = min_rtt.recent {
        if old || min_rtt.rtt.is_none_or(|rtt| recent < rtt) {
            (min_rtt.rtt, min_rtt.since) = (min_rtt.recent, min_rtt.recent_since);
        }
    }
}

/// Implements `CheckProbeRTT` of the draft.
pub(super) fn check(bbr: &mut Bbr3, ack: &Ack, flight: &Flight) {
    if bbr.state != State::ProbeRtt && bbr.min_rtt.expired && !bbr.idle_restart {
        bbr.save_cwnd(flight);
        bbr.state = State::ProbeRtt;
        bbr.min_rtt.until = None;
        bbr.min_rtt.paused = Some((bbr.delivered, bbr.delivered));
        bbr.probe.ack_phase = AckPhase::Stopping;
        bbr.start_round();
    }
    if bbr.state == State::ProbeRtt {
        probe_rtt(bbr, ack, flight);
    }
    bbr.idle_restart &= ack.delivered == 0;
}

fn probe_rtt(bbr: &mut Bbr3, ack: &Ack, flight: &Flight) {
    if let Some((_, until)) = &mut bbr.min_rtt.paused {
        *until = bbr.delivered + ack.in_flight;
    }
    if bbr.min_rtt.until.is_some() {
        bbr.min_rtt.round_over |= bbr.rounds.began;
        if bbr.min_rtt.round_over {
            end_in_time(bbr, ack.now);
        }
    } else if ack.in_flight as f64 <= bbr.probe_rtt_cwnd(flight) {
        bbr.min_rtt.until = Some(ack.now + PAUSE);
        bbr.min_rtt.round_over = false;
        bbr.start_round();
    }
}

/// Implements `CheckProbeRTTDone` of the draft.
pub(super) fn end_in_time(bbr: &mut Bbr3, now: Time) {
    if bbr.min_rtt.until.is_none_or(|until| now <= until) {
        return;
    }
    bbr.min_rtt.recent_since = now;
    bbr.min_rtt.until = None;
    bbr.restores_cwnd = true;
    bbr.short = ShortTerm::default();
    if bbr.full.reached {
        bbr.start_down(now);
        bbr.state = State::Cruise;
    } else {
        bbr.state = State::Startup;
    }
}
