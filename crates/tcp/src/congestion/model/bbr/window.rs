//! Pacing rate and cwnd from the model of the path, as in Linux's `net/ipv4/tcp_bbr.c` (BBR version 1).

use super::*;

impl Bbr {
    /// Sets the pacing rate [bit/s] to the bandwidth times `gain`, less a margin; before the pipe is full the rate never
    /// decreases (bbr_set_pacing_rate). The first rate is based on cwnd and `srtt` (bbr_init_pacing_rate_from_rtt).
    pub(super) fn set_rate(&mut self, gain: f64, srtt: Option<Span>, flight: &Flight) {
        let paced_bps = |bandwidth: f64, gain: f64| 8.0 * MARGIN * gain * bandwidth;
        let previous = self
            .rate
            .or_else(|| srtt.map(|srtt| paced_bps(flight.cwnd() / srtt.as_seconds(), HIGH_GAIN)));
        let rate = paced_bps(self.bandwidth(), gain);
        let rate = match previous {
            Some(previous) if !self.pipe.full && rate <= previous => Some(previous),
            None if rate == 0.0 => None,
            _ => Some(rate),
        };
        if rate != self.rate {
            self.rate = rate;
            self.burst = burst(rate.unwrap_or(0.0), flight);
        }
    }

    /// Returns the pacing at the current rate; None before the first rate. Recomputes it only if the rate or the minimum
    /// RTT has changed.
    pub(super) fn pacing(&mut self, least_rtt: Option<Span>, flight: &Flight) -> Option<Pacing> {
        let rate = self.rate?;
        let least_rtt = least_rtt.or(self.min_rtt.rtt);
        match self.paced {
            Some(paced) if paced.rate_bps == rate && paced.min_rtt == least_rtt => Some(paced.pacing),
            _ => {
                let pacing = pacing::at_rate(rate, least_burst(rate), least_rtt, flight);
                self.paced = Some(Paced {
                    rate_bps: rate,
                    min_rtt: least_rtt,
                    pacing,
                });
                Some(pacing)
            }
        }
    }

    /// Returns the target for the data in flight [byte]: `gain` times the BDP plus a few bursts, rounded up to an even
    /// number of segments.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64, flight: &Flight) -> f64 {
        self.with_bursts(self.bdp(bandwidth, gain, flight)) * flight.mss()
    }

    /// Returns the data in flight [byte] at the time when the next burst leaves, which is `held` from now (Linux:
    /// bbr_packets_in_net_at_edt). Until then, whole segments are delivered at the estimated bandwidth. With a gain
    /// above 1 the burst itself is included.
    pub(super) fn in_flight_at_departure(&self, in_flight: u64, held: Span, flight: &Flight) -> f64 {
        let burst = if self.pacing_gain() > 1.0 { self.burst } else { 0.0 };
        let arrives = whole_part(self.bandwidth() * held.as_seconds() / flight.mss());
        (in_flight as f64 + (burst - arrives) * flight.mss()).max(0.0)
    }

    /// Returns `gain` times the BDP [segment], rounded up; the initial window before the first RTT sample (bbr_bdp).
    pub(super) fn bdp(&self, bandwidth: f64, gain: f64, flight: &Flight) -> f64 {
        match self.min_rtt.rtt {
            Some(rtt) => rounded_up(gain * bandwidth * rtt.as_seconds() / flight.mss()),
            None => FIRST_WINDOW,
        }
    }

    /// Returns `segments` plus an allowance for bursts, rounded up to an even number, plus two if the gain is above 1
    /// (bbr_quantization_budget).
    pub(super) fn with_bursts(&self, segments: f64) -> f64 {
        let pairs = 2.0 * rounded_up((segments + BURSTS * self.burst) / 2.0);
        pairs + if self.mode == Mode::ProbeBw(PROBE_UP) { 2.0 } else { 0.0 }
    }

    /// Saves cwnd for the end of a recovery or ProbeRTT (bbr_save_cwnd).
    pub(super) fn save_cwnd(&mut self, flight: &Flight) {
        let cwnd = flight.cwnd();
        self.prior_cwnd = if self.phase == RecoveryPhase::Open && self.mode != Mode::ProbeRtt {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// Returns cwnd [byte] after an ACK: restored, conserved or grown, and bounded in ProbeRTT and by the receive window.
    pub(super) fn window(&mut self, ack: &Ack, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let arrived = ack.delivered as f64;
        let mut cwnd = flight.cwnd();
        if std::mem::take(&mut self.min_rtt.restores_cwnd) {
            cwnd = cwnd.max(self.prior_cwnd);
        }
        if ack.delivered > 0 {
            let conserved = self.in_recovery(&mut cwnd, ack, mss);
            cwnd = conserved.unwrap_or_else(|| self.grown(cwnd, arrived, flight));
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_SEGMENTS * mss);
        }
        cwnd.min((flight.most_rwnd as f64).max(mss))
    }

    /// Subtracts losses from cwnd, and restores it at the end of a recovery. Returns cwnd during packet conservation
    /// (bbr_set_cwnd_to_recover_or_restore).
    pub(super) fn in_recovery(&mut self, cwnd: &mut f64, ack: &Ack, mss: f64) -> Option<f64> {
        let in_flight_before = (ack.in_flight + ack.delivered) as f64;
        *cwnd = (*cwnd - ack.lost as f64).max(mss);
        let previous = std::mem::replace(&mut self.phase, ack.phase);
        if ack.phase == RecoveryPhase::Recovery && previous != RecoveryPhase::Recovery {
            self.packet_conservation = true;
            self.rounds.until = self.delivered;
            *cwnd = in_flight_before;
        } else if ack.phase == RecoveryPhase::Open && previous != RecoveryPhase::Open {
            self.packet_conservation = false;
            *cwnd = cwnd.max(self.prior_cwnd);
        }
        self.packet_conservation.then(|| cwnd.max(in_flight_before))
    }

    /// Returns cwnd [byte], increased towards the target by the `arrived` bytes that an ACK reports (bbr_set_cwnd).
    pub(super) fn grown(&self, cwnd: f64, arrived: f64, flight: &Flight) -> f64 {
        let mss = flight.mss();
        let bandwidth = self.bandwidth();
        let room = if self.pipe.full {
            whole_part(self.aggregation.room(bandwidth) / mss)
        } else {
            0.0
        };
        let target = self.with_bursts(self.bdp(bandwidth, self.window_gain(), flight) + room) * mss;
        let grown = if self.pipe.full {
            (cwnd + arrived).min(target)
        } else if cwnd < target || (self.delivered as f64) < FIRST_WINDOW * mss {
            cwnd + arrived
        } else {
            cwnd
        };
        grown.max(MIN_SEGMENTS * mss)
    }
}

/// Returns the size of a burst [segment] at a pacing rate [bit/s]: what TSO sends at once (bbr_tso_segs_goal).
fn burst(rate: f64, flight: &Flight) -> f64 {
    let bytes = (rate / 8.0 / BURSTS_PER_SECOND).min(MAX_BYTES);
    whole_part(bytes / flight.mss()).clamp(least_burst(rate) as f64, MAX_SEGMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;

    #[test]
    fn whole_segments_are_delivered_until_the_next_burst_leaves() {
        let mut bbr = Bbr::new(&BbrConfig {});
        bbr.max_bw.add(0, 1e6, PEAK_ROUNDS);
        let flight = Flight::new(Limits::new(1e5, 1e5), 1 << 30, 1000);
        let next = |bbr: &Bbr, micros| bbr.in_flight_at_departure(10_000, Span::micros(micros), &flight);
        bbr.mode = Mode::ProbeBw(1);
        let in_flight = [0, 999, 1000, 2500, 60_000].map(|micros| next(&bbr, micros));
        assert_eq!(in_flight, [10_000.0, 10_000.0, 9000.0, 8000.0, 0.0]);
        // With a gain above 1, the burst itself is included.
        (bbr.mode, bbr.burst) = (Mode::ProbeBw(PROBE_UP), 2.0);
        assert_eq!([0, 1000].map(|micros| next(&bbr, micros)), [12_000.0, 11_000.0]);
    }
}
