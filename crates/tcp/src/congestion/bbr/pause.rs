//! ProbeRTT: the queue drains for 200 ms so that the minimum RTT can be measured.

use super::*;

impl Bbr {
    /// Updates the minimum RTT of the last ten seconds, and enters or leaves ProbeRTT (bbr_update_min_rtt).
    pub(super) fn look_at_round_trip(&mut self, ack: &Ack, flight: &Flight) {
        let old = ack.now.since(self.shortest.since) > RTT_LASTS;
        if let Some(rtt) = ack.rtt {
            if old || self.shortest.rtt.is_none_or(|shortest| rtt < shortest) {
                (self.shortest.rtt, self.shortest.since) = (Some(rtt), ack.now);
            }
        }
        if old && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.remember(flight);
            self.shortest.until = None;
            self.paused.0 = self.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.pause(ack, flight);
        }
        self.restarts &= ack.delivered == 0;
    }

    pub(super) fn pause(&mut self, ack: &Ack, flight: &Flight) {
        self.paused.1 = self.delivered + ack.in_flight;
        if self.shortest.until.is_some() {
            self.shortest.round_over |= self.rounds.began;
            if self.shortest.round_over {
                self.end_pause_in_time(ack.now);
            }
        } else if ack.in_flight as f64 <= LEAST_SEGMENTS * flight.mss() {
            self.shortest.until = Some(ack.now + PAUSE);
            self.shortest.round_over = false;
            self.rounds.until = self.delivered;
        }
    }

    pub(super) fn end_pause_in_time(&mut self, now: Time) {
        if self.shortest.until.is_none_or(|until| now <= until) {
            return;
        }
        self.shortest.since = now;
        (self.shortest.until, self.shortest.ended) = (None, true);
        if self.pipe.full {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
