//! Pauses in which the queue drains, so that the shortest round trip shows (ProbeRTT: section 5.3.4).

use super::*;

/// The shortest round trip, and the pauses that look for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    pub rtt: Option<Span>,
    since: Time,
    /// The shortest since the latest pause, or since it was due.
    recent: Option<Span>,
    recent_since: Time,
    expired: bool,
    /// When the pause is over, and whether a round of it is.
    until: Option<Time>,
    round_over: bool,
    /// Rates of what was sent after so many bytes were delivered, and before so many, say nothing of the path.
    paused: Option<(u64, u64)>,
}

/// A round trip is remembered so long; a pause is due so long after the latest that was shorter, and lasts so long.
const LASTS: Span = Span::seconds(10);
const INTERVAL: Span = Span::seconds(5);
const PAUSE: Span = Span::millis(200);

impl MinRtt {
    /// A round trip is known before the first segment.
    pub fn begin(&mut self, rtt: Span) {
        self.rtt = Some(rtt);
    }

    /// Whether what left when so many bytes had been delivered left in a pause.
    pub fn paused_at(&self, delivered: u64) -> bool {
        self.paused
            .is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let found = &mut self.min_rtt;
        found.expired = ack.now > found.recent_since + INTERVAL;
        if let Some(rtt) = ack.rtt {
            if found.expired || found.recent.is_none_or(|recent| rtt < recent) {
                (found.recent, found.recent_since) = (Some(rtt), ack.now);
            }
        }
        let old = ack.now > found.since + LASTS;
        if let Some(recent) = found.recent {
            if old || found.rtt.is_none_or(|rtt| recent < rtt) {
                (found.rtt, found.since) = (found.recent, found.recent_since);
            }
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, flight: &Flight) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd(flight);
            self.state = State::ProbeRtt;
            self.min_rtt.until = None;
            self.min_rtt.paused = Some((self.delivered, self.delivered));
            self.probe.ack_phase = probe::AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.pause(ack, flight);
        }
        self.idle_restart &= ack.delivered == 0;
    }

    fn pause(&mut self, ack: &Ack, flight: &Flight) {
        if let Some((_, until)) = &mut self.min_rtt.paused {
            *until = self.delivered + ack.in_flight;
        }
        if self.min_rtt.until.is_some() {
            self.min_rtt.round_over |= self.rounds.began;
            if self.min_rtt.round_over {
                self.end_pause_in_time(ack.now);
            }
        } else if ack.in_flight as f64 <= self.probe_rtt_cwnd(flight) {
            self.min_rtt.until = Some(ack.now + PAUSE);
            self.min_rtt.round_over = false;
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone`.
    pub(super) fn end_pause_in_time(&mut self, now: Time) {
        if self.min_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt.recent_since = now;
        self.min_rtt.until = None;
        self.restores = true;
        self.short = ShortTerm::default();
        if self.full.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
