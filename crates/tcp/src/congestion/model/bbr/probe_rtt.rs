//! ProbeRTT: the queue drains for 200 ms so that the minimum RTT can be measured.

use super::{Bbr, Mode, MIN_RTT_WINDOW, MIN_SEGMENTS, PROBE_RTT_TIME};
use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::micros;
use longpipe_events::{Span, Time};

impl Bbr {
    /// Updates the minimum RTT of the last ten seconds, and enters or leaves ProbeRTT (bbr_update_min_rtt). A constant
    /// RTT that is not a whole number of microseconds gives two different samples. The first sample with the lower
    /// value after one with the higher value is a new minimum, which postpones ProbeRTT.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, flight: &Flight) {
        let since_sample = self.min_rtt.since.map_or(Span(0), |since| ack.now.since(since));
        let is_expired = since_sample + self.min_rtt.age_at_since > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt.map(|rtt| self.rtt_by_clock(ack.now, rtt)) {
            if is_expired || self.min_rtt.rtt.is_none_or(|min_rtt| rtt < min_rtt) {
                (self.min_rtt.rtt, self.min_rtt.since) = (Some(rtt), Some(ack.now));
                self.min_rtt.age_at_since = Span(0);
            }
        }
        if is_expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.begin_probe_rtt(flight);
        }
        if self.mode == Mode::ProbeRtt {
            self.continue_probe_rtt(ack, flight);
        }
        self.restarts &= ack.delivered == 0;
    }

    /// Returns an RTT sample as measured by Linux's clock, which starts with the connection.
    fn rtt_by_clock(&self, now: Time, rtt: Span) -> Span {
        Span::micros(micros(now + self.connected, rtt).into())
    }

    fn begin_probe_rtt(&mut self, flight: &Flight) {
        self.mode = Mode::ProbeRtt;
        self.save_cwnd(flight);
        self.min_rtt.until = None;
        self.probe_rtt_delivered = Some(self.delivered..=self.delivered);
    }

    /// Sets the end of ProbeRTT when the data in flight have decreased, and ends it when its time and a round are over.
    fn continue_probe_rtt(&mut self, ack: &Ack, flight: &Flight) {
        if let Some(range) = &mut self.probe_rtt_delivered {
            *range = *range.start()..=self.delivered + ack.in_flight;
        }
        if self.min_rtt.until.is_some() {
            self.min_rtt.round_over |= self.rounds.began;
            if self.min_rtt.round_over {
                self.end_probe_rtt(ack.now);
            }
        } else if ack.in_flight as f64 <= MIN_SEGMENTS * flight.mss() {
            self.min_rtt.until = Some(ack.now + PROBE_RTT_TIME);
            self.min_rtt.round_over = false;
            self.rounds.until = self.delivered;
        }
    }

    /// Ends ProbeRTT if its time is over (bbr_check_probe_rtt_done).
    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.min_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        (self.min_rtt.since, self.min_rtt.age_at_since) = (Some(now), Span(0));
        (self.min_rtt.until, self.min_rtt.restores_cwnd) = (None, true);
        if self.pipe.full {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
