//! ProbeRTT: the queue drains for 200 ms so that the minimum RTT can be measured.

use super::*;

impl Bbr {
    /// Updates the minimum RTT of the last ten seconds, and enters or leaves ProbeRTT (bbr_update_min_rtt). A constant
    /// RTT that is not a whole number of microseconds gives two different samples. The first sample with the lower
    /// value after one with the higher value is a new minimum, which postpones ProbeRTT.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, flight: &Flight) {
        let age = self.min_rtt.since.map_or(Span(0), |since| ack.now.since(since));
        let old = age + self.min_rtt.aged > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt.map(|rtt| self.measured(ack.now, rtt)) {
            if old || self.min_rtt.rtt.is_none_or(|min_rtt| rtt < min_rtt) {
                (self.min_rtt.rtt, self.min_rtt.since) = (Some(rtt), Some(ack.now));
                self.min_rtt.aged = Span(0);
            }
        }
        if old && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(flight);
            self.min_rtt.until = None;
            self.probe_rtt_delivered.0 = self.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack, flight);
        }
        self.restarts &= ack.delivered == 0;
    }

    /// Returns an RTT sample as measured by Linux's clock, which starts with the connection.
    pub(super) fn measured(&self, now: Time, rtt: Span) -> Span {
        Span::micros(micros(now + self.connected, rtt).into())
    }

    pub(super) fn probe_rtt(&mut self, ack: &Ack, flight: &Flight) {
        self.probe_rtt_delivered.1 = self.delivered + ack.in_flight;
        if self.min_rtt.until.is_some() {
            self.min_rtt.round_over |= self.rounds.began;
            if self.min_rtt.round_over {
                self.end_pause_in_time(ack.now);
            }
        } else if ack.in_flight as f64 <= MIN_SEGMENTS * flight.mss() {
            self.min_rtt.until = Some(ack.now + PROBE_RTT_TIME);
            self.min_rtt.round_over = false;
            self.rounds.until = self.delivered;
        }
    }

    pub(super) fn end_pause_in_time(&mut self, now: Time) {
        if self.min_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        (self.min_rtt.since, self.min_rtt.aged) = (Some(now), Span(0));
        (self.min_rtt.until, self.min_rtt.ended) = (None, true);
        if self.pipe.full {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
