//! A controller with every hook, whose windows and rates depend on all arguments: a difference of one bit in any of them
//! changes the run.
//!
//! SPDX-License-Identifier: Apache-2.0

use longpipe_plugin::{
    export_control, wants, Ack, Cause, Control, Flight, Grant, Lost, Random, Sample, Sent, Setting, Setup, SAME_RATE,
};

static SHARE: Setting<f64> = Setting::real(0.01, |share| 0.0 < share && share < 1.0);

struct Mine {
    random: Random,
    /// Digest of the arguments of all hooks so far.
    digest: u64,
}

impl Mine {
    fn mix(&mut self, words: &[u64]) {
        for word in words {
            self.digest = (self.digest ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        }
    }

    fn mix_flight(&mut self, flight: &Flight) {
        self.mix(&[flight.now_ps, flight.una, flight.nxt, flight.max, flight.rwnd, u64::from(flight.mss)]);
        self.mix(&[flight.cwnd.to_bits(), flight.ssthresh.to_bits()]);
    }

    /// A share of a segment, which follows from the digest.
    fn bit_of(&self, flight: &Flight) -> f64 {
        SHARE.get() * f64::from(flight.mss) * (self.digest >> 40) as f64 / (1u64 << 24) as f64
    }
}

impl Control for Mine {
    const WANTS: u32 = wants::RATES | wants::SENDING | wants::LOSSES | wants::PACING;

    fn new(setup: &Setup) -> Mine {
        let digest = u64::from(setup.ecn) + setup.preconnect_ps;
        Mine { random: setup.random, digest }
    }

    fn on_start(&mut self, rtt_ps: u64, flight: &Flight, grant: &mut Grant) {
        self.mix(&[rtt_ps]);
        self.mix_flight(flight);
        grant.window += self.bit_of(flight);
    }

    fn on_acked(&mut self, sample: &Sample, flight: &Flight, grant: &mut Grant) {
        self.mix(&[sample.delivered_since_sent, u64::from(sample.has_sack_blocks), u64::from(sample.paced)]);
        self.mix_flight(flight);
        grant.ssthresh = (grant.ssthresh - self.bit_of(flight)).max(f64::from(flight.mss));
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant) {
        self.mix(&[ack.acked, ack.delivered, ack.marked, ack.lost, ack.in_flight_before, ack.in_flight]);
        self.mix(&[ack.rtt_ps as u64, ack.srtt_ps as u64, ack.min_rtt_ps as u64, ack.held_ps]);
        self.mix(&[ack.rate_delivered, ack.rate_interval_ps as u64, ack.rate_in_flight, ack.rate_lost]);
        self.mix(&[u64::from(ack.phase), u64::from(ack.window_limited), u64::from(ack.rate_app_limited)]);
        self.mix_flight(flight);
        let drawn = [self.random.below(0), self.random.below(6)];
        self.mix(&drawn.map(u64::from));
        if ack.grows != 0 {
            grant.window += f64::from(flight.mss) * ack.acked as f64 / flight.cwnd + self.bit_of(flight);
        }
        grant.pacing_bps = if ack.srtt_ps > 0 {
            9.6e12 * grant.window / ack.srtt_ps as f64 + self.bit_of(flight)
        } else {
            SAME_RATE
        };
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight, _: &mut Grant) {
        self.mix(&[sent.sequence, sent.end, sent.in_flight, u64::from(sent.retransmission), u64::from(sent.app_limited)]);
        self.mix_flight(flight);
    }

    fn on_lost(&mut self, lost: &Lost, flight: &Flight) {
        self.mix(&[lost.sequence, lost.end, lost.in_flight, lost.lost, lost.prior_delivered, lost.delivered]);
        self.mix_flight(flight);
    }

    fn on_reduction(&mut self, cause: Cause, flight: &Flight, grant: &mut Grant) {
        self.mix(&[cause as u64]);
        self.mix_flight(flight);
        grant.ssthresh = flight.cwnd * 0.7 + self.bit_of(flight);
        grant.window = grant.ssthresh;
    }

    fn on_recovered(&mut self, spurious: bool, flight: &Flight, grant: &mut Grant) {
        self.mix(&[u64::from(spurious)]);
        self.mix_flight(flight);
        grant.window += self.bit_of(flight);
    }
}

export_control!(Mine, "every-hook", share: real = SHARE);
