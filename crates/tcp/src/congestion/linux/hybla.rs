//! Hybla: the window of a connection with a long RTT grows like that of a connection with an RTT of 25 ms (Caini and
//! Firrincieli 2004; tcp_hybla.c).

use crate::congestion::linux::{CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Grows as a connection with a short reference RTT would, as in Linux (Caini and Firrincieli 2004).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Hybla")]
pub struct HyblaConfig {
    /// Reference RTT [time]; Caini, Firrincieli 2004, RTT0.
    #[field(range = "[1 us, 100 s]", default = "25 ms")]
    pub reference_ps: u64,
}

impl Parameters for HyblaConfig {}

/// Hybla as in Linux's `tcp_hybla`.
pub type Hybla = Linux<HyblaModule>;

/// The module's state.
#[derive(Clone, Debug)]
pub struct HyblaModule {
    /// RTT of the reference connection, RTT0 [µs].
    reference_us: u64,
    /// Minimum SRTT, in eighths of a microsecond; u32::MAX before the first sample.
    min_srtt: u32,
    /// ρ, the RTT divided by the reference RTT, in eighths; at least 1.
    rho_eighths: u32,
    /// Accumulated growth below one segment, in 128ths (Linux: snd_cwnd_cents).
    fraction: u32,
}

/// ρ is in eighths, and the exponent of 2^ρ is at most 16.
const EIGHTHS: u32 = 8;
const MAX_EXPONENT: u32 = 16;
/// Unit of increments: 1/128 of a segment.
const ONE: u32 = 128;
/// Largest window [segment].
const CLAMP: u32 = 65_535;
/// 2^(n/8) in 128ths, rounded down except for the last value.
const POWERS: [u32; EIGHTHS as usize] = [128, 139, 152, 165, 181, 197, 215, 234];

impl Module for HyblaModule {
    type Config = HyblaConfig;

    fn new(config: &HyblaConfig) -> HyblaModule {
        HyblaModule {
            reference_us: (config.reference_ps / 1_000_000).max(1),
            min_srtt: u32::MAX,
            rho_eighths: EIGHTHS,
            fraction: 0,
        }
    }

    /// Starts with a window of ρ segments if the RTT is known from the handshake.
    fn init(&mut self, socket: &mut Socket) {
        socket.snd_cwnd_clamp = CLAMP;
        if socket.srtt_us > 0 {
            self.take_rtt(socket.srtt_us);
            socket.snd_cwnd = self.rho_eighths / EIGHTHS;
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if socket.srtt_us > 0 && socket.srtt_us < self.min_srtt {
            self.take_rtt(socket.srtt_us);
        }
        if !socket.is_cwnd_limited() {
            return;
        }
        if socket.ca_state != CaState::Open {
            socket.grow_as_reno(acked);
            return;
        }
        let starts = socket.in_slow_start();
        let increment = if starts {
            self.in_slow_start()
        } else {
            let increment = self.in_avoidance(socket.snd_cwnd);
            if increment < ONE {
                socket.snd_cwnd_cnt += 1;
            }
            increment
        };
        let mut cwnd = socket.snd_cwnd.saturating_add(increment / ONE);
        self.fraction += increment % ONE;
        if self.fraction >= ONE {
            cwnd += self.fraction / ONE;
            self.fraction %= ONE;
            socket.snd_cwnd_cnt = 0;
        }
        // An increment that rounds to 0 becomes one segment per window.
        if increment == 0 && socket.snd_cwnd_cnt >= cwnd {
            cwnd += 1;
            socket.snd_cwnd_cnt = 0;
        }
        if starts {
            cwnd = cwnd.min(socket.snd_ssthresh);
        }
        socket.snd_cwnd = cwnd.min(socket.snd_cwnd_clamp);
    }
}

impl HyblaModule {
    fn take_rtt(&mut self, srtt: u32) {
        self.min_srtt = srtt;
        self.rho_eighths = ((u64::from(srtt) / self.reference_us) as u32).max(EIGHTHS);
    }

    /// Returns the growth per ACK in slow start, 2^ρ - 1, in 128ths of a segment.
    fn in_slow_start(&self) -> u32 {
        let (whole, eighths) = (self.rho_eighths / EIGHTHS, self.rho_eighths % EIGHTHS);
        (POWERS[eighths as usize] << whole.min(MAX_EXPONENT)) - ONE
    }

    /// Returns the growth per ACK in congestion avoidance, ρ² / W, in 128ths of a segment.
    fn in_avoidance(&self, cwnd: u32) -> u32 {
        self.rho_eighths.wrapping_mul(self.rho_eighths).wrapping_mul(2) / cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Cause;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use longpipe_events::Span;

    fn config() -> CongestionConfig {
        CongestionConfig::Hybla(HyblaConfig {
            reference_ps: Span::millis(25).0,
        })
    }

    /// ns-3's test vectors for 2^ρ - 1 and ρ²: with an RTT of 100 ms, 15 segments per ACK in slow start and 16 per RTT
    /// in congestion avoidance.
    #[test]
    fn with_four_times_the_reference_rtt_growth_is_sixteen_segments_per_rtt() {
        let mut trial = Trial::new(&config(), 1000.0).over(Span::millis(100));
        // 2048 / 1000 is rounded to 2/128 of a segment per ACK.
        assert_eq!(trial.round_trip(), 1000.0 + 2.0 * 1000.0 / 128.0 - 0.625);
        let mut trial = Trial::with_threshold(&config(), 10.0, 1e6).over(Span::millis(100));
        assert_eq!(trial.ack(), 25.0);
    }

    #[test]
    fn short_rtts_grow_like_reno_and_on_a_geo_path_one_ack_opens_the_window() {
        // Each ACK adds 1/128 of a segment, so a segment takes 128 ACKs.
        let mut near = Trial::new(&config(), 100.0).over(Span::millis(10));
        let windows: Vec<f64> = (0..128).map(|_| near.ack()).collect();
        assert_eq!(windows[126..], [100.0, 101.0]);
        let mut geo = Trial::with_threshold(&config(), 10.0, 1e9).over(Span::millis(600));
        assert_eq!(geo.ack(), 65_535.0);
        assert_eq!(geo.reduce(Cause::FastRetransmit).0, 32_767.0);
    }

    #[test]
    fn rho_is_counted_in_eighths() {
        let mut trial = Trial::with_threshold(&config(), 10.0, 1e6).over(Span::micros(28_125));
        // This is 2 · 139 - 128, in units of 1/128 of a segment.
        let windows: Vec<f64> = (0..7).map(|_| trial.ack()).collect();
        assert_eq!(windows, [11.0, 12.0, 13.0, 14.0, 15.0, 17.0, 18.0]);
    }
}
