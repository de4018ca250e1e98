//! H-TCP: growth increases with the time since the last loss (Leith and Shorten 2004; tcp_htcp.c).

use crate::congestion::control::Cause;
use crate::congestion::linux::{AckedSegments, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Grows faster the longer ago the last loss was, as in Linux (Leith and Shorten 2004).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "H-TCP", name = "HTcp")]
pub struct HtcpConfig {}

impl Parameters for HtcpConfig {}

/// State of a sender that uses `tcp_htcp`.
pub type Htcp = Linux<HtcpModule>;

/// The module's state; times are in ticks of the kernel's clock.
#[derive(Clone, Debug)]
pub struct HtcpModule {
    /// Segments added per RTT, and factor by which a loss multiplies cwnd, each in units of 1/128.
    alpha: u32,
    beta: u32,
    /// Segments that the latest ACK acknowledged.
    acked: u32,
    /// Minimum and maximum RTT sample; 0 before the first sample.
    min_rtt: u32,
    max_rtt: u32,
    /// End of the latest congestion event.
    last_cong: u64,
    /// State before the reduction in progress.
    undo: Option<Undo>,
    /// Whether the ratio of RTTs determines `beta` (Linux: modeswitch).
    adapts: bool,
    throughput: Throughput,
}

/// State that an undo restores (Linux: undo_last_cong, undo_maxRTT, undo_old_maxB).
#[derive(Clone, Copy, Debug)]
struct Undo {
    last_cong: u64,
    max_rtt: u32,
    throughput_before: u32,
}

/// Throughput, measured once per round trip [segment/s].
#[derive(Clone, Debug, Default)]
struct Throughput {
    /// Segments acknowledged since the latest measurement, and the time of that measurement.
    segments: u32,
    since: Option<u64>,
    /// Smoothed throughput, its maximum since the latest reduction, and the maximum before that reduction.
    smoothed: u32,
    largest: u32,
    before: u32,
}

/// 1, 0.5 and 0.8 in units of 1/128.
const ONE: u32 = 128;
const BETA_MIN: u32 = 64;
const BETA_MAX: u32 = 102;
/// Maximum amount by which a sample may exceed the maximum RTT in order to become the new maximum [µs].
const LONGER_US: u32 = 20_000;
/// RTT above which the ratio of RTTs determines `beta` [µs].
const MIN_ADAPTED_US: u32 = 10_000;
/// Number of RTTs after a reduction during which throughput is not smoothed.
const FRESH: u64 = 3;

impl Module for HtcpModule {
    type Config = HtcpConfig;

    fn new(_config: &HtcpConfig) -> HtcpModule {
        HtcpModule {
            alpha: ONE,
            beta: BETA_MIN,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: 0,
            undo: None,
            adapts: false,
            throughput: Throughput::default(),
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.last_cong = socket.jiffies();
    }

    fn on_acked(&mut self, acked: &AckedSegments, socket: &mut Socket) {
        if socket.ca_state == CaState::Open {
            self.acked = acked.acked;
        }
        if let Some(rtt_us) = acked.rtt_us.filter(|&rtt_us| rtt_us > 0) {
            self.measure_rtt(socket.usecs_to_jiffies(rtt_us), socket);
        }
        self.measure_throughput(acked.acked, socket);
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !socket.is_cwnd_limited() {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(acked);
            return;
        }
        if socket.snd_cwnd_cnt.wrapping_mul(self.alpha) / ONE >= socket.snd_cwnd {
            socket.snd_cwnd = (socket.snd_cwnd + 1).min(socket.snd_cwnd_clamp);
            socket.snd_cwnd_cnt = 0;
            self.update_alpha(socket);
        } else {
            socket.snd_cwnd_cnt += self.acked;
        }
        self.acked = 1;
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        self.update_beta(socket);
        self.update_alpha(socket);
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            // After a reduction, lowers the maximum RTT, so that a change in the route becomes visible.
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        (socket.snd_cwnd.wrapping_mul(self.beta) / ONE).max(2)
    }

    /// At the end of a reduction, restarts the measurement of the time since the latest congestion event, from which
    /// growth is computed.
    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        match state {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last_cong = socket.jiffies();
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Some(Undo {
                    last_cong: self.last_cong,
                    max_rtt: self.max_rtt,
                    throughput_before: self.throughput.before,
                });
                self.last_cong = socket.jiffies();
            }
        }
    }

    fn undo(&mut self, _socket: &mut Socket) {
        if let Some(undo) = self.undo.take() {
            (self.last_cong, self.max_rtt) = (undo.last_cong, undo.max_rtt);
            self.throughput.before = undo.throughput_before;
        }
    }
}

impl HtcpModule {
    /// Updates the minimum and maximum RTT with a sample [tick] (measure_rtt).
    fn measure_rtt(&mut self, rtt: u32, socket: &Socket) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if socket.ca_state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + socket.usecs_to_jiffies(LONGER_US) {
                self.max_rtt = rtt;
            }
        }
    }

    /// Updates the throughput at the end of a round trip in which a window was acknowledged
    /// (measure_achieved_throughput).
    fn measure_throughput(&mut self, acked: u32, socket: &Socket) {
        let now = socket.jiffies();
        let throughput = &mut self.throughput;
        if !matches!(socket.ca_state, CaState::Open | CaState::Disorder) {
            (throughput.segments, throughput.since) = (0, Some(now));
            return;
        }
        throughput.segments += acked;
        let window = socket.snd_cwnd.wrapping_sub((self.alpha / ONE).max(1));
        let duration = throughput.since.map(|since| now - since);
        let is_over = duration.is_none_or(|duration| duration >= u64::from(self.min_rtt));
        if throughput.segments < window || !is_over || self.min_rtt == 0 {
            return;
        }
        // In the kernel the first measurement starts when the machine boots, so the throughput that it yields is 0.
        let sample = duration.map_or(0, |duration| {
            throughput.segments.wrapping_mul(socket.hz()) / duration as u32
        });
        if (now - self.last_cong) / u64::from(self.min_rtt) <= FRESH {
            (throughput.smoothed, throughput.largest) = (sample, sample);
        } else {
            throughput.smoothed = (3 * throughput.smoothed + sample) / 4;
            throughput.largest = throughput.largest.max(throughput.smoothed);
        }
        (throughput.segments, throughput.since) = (0, Some(now));
    }

    /// Sets `beta` to 1/2 if the throughput changed by more than 1/5 between losses, otherwise to the ratio of RTTs.
    fn update_beta(&mut self, socket: &Socket) {
        let (largest, before) = (self.throughput.largest, self.throughput.before);
        self.throughput.before = largest;
        if !(4 * before..=6 * before).contains(&(5 * largest)) {
            (self.beta, self.adapts) = (BETA_MIN, false);
        } else if self.adapts && self.min_rtt > socket.usecs_to_jiffies(MIN_ADAPTED_US) && self.max_rtt > 0 {
            // The kernel keeps the ratio in 8 bits.
            self.beta = (((self.min_rtt << 7) / self.max_rtt) & 0xff).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.adapts) = (BETA_MIN, true);
        }
    }

    /// Sets `alpha`, which is 1 in the first second after a loss, and 1 + 10 Δ + (Δ/2)² after Δ more seconds. It is
    /// scaled by RTT / 100 ms and by 2 (1 - β), and truncated to whole segments before the last factor.
    fn update_alpha(&mut self, socket: &Socket) {
        let (hz, mut factor) = (socket.hz(), 1u32);
        let since_loss = (socket.jiffies() - self.last_cong) as u32;
        if since_loss > hz {
            let delta = since_loss - hz;
            let square = (delta / 2).wrapping_mul(delta / 2) / hz;
            factor = delta.wrapping_mul(10).wrapping_add(square) / hz + 1;
        }
        if self.min_rtt > 0 {
            // 100 ms / RTT, in eighths.
            let eighths = ((hz << 3) / self.min_rtt.wrapping_mul(10)).clamp(4, 80);
            factor = ((factor << 3) / eighths).max(1);
        }
        self.alpha = (2 * factor).wrapping_mul(ONE - self.beta);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Cause;
    use longpipe_events::{Span, Time};

    const HZ: u32 = 100;

    /// Returns a module with these minimum and maximum RTTs [ticks], and its socket, `seconds` after the latest
    /// congestion event.
    fn after(min_rtt: u32, max_rtt: u32, seconds: u64) -> (HtcpModule, Socket) {
        let (mut module, mut socket) = (HtcpModule::new(&HtcpConfig {}), Socket::new());
        (module.min_rtt, module.max_rtt) = (min_rtt, max_rtt);
        socket.set_hz(HZ);
        let limits = crate::congestion::flight::Limits::new(100_000.0, 1000.0);
        socket.refresh(
            Time::ZERO + Span::seconds(seconds),
            &crate::congestion::flight::Flight::new(limits, 1 << 30, 1000),
        );
        (module, socket)
    }

    #[test]
    fn growth_increases_with_the_time_since_the_last_loss_and_with_the_rtt() {
        let alpha = |min_rtt, seconds| {
            let (mut module, socket) = after(min_rtt, min_rtt, seconds);
            module.update_alpha(&socket);
            f64::from(module.alpha) / f64::from(ONE)
        };
        assert_eq!([0, 1, 2, 3].map(|seconds| alpha(10, seconds)), [1.0, 1.0, 11.0, 22.0]);
        // An RTT of 50 ms halves the growth, which remains at least one segment; long RTTs at most double the growth.
        assert_eq!([5, 1, 60].map(|min_rtt| alpha(min_rtt, 2)), [5.0, 1.0, 22.0]);
        assert_eq!([5, 1].map(|min_rtt| alpha(min_rtt, 0)), [1.0, 1.0]);
    }

    #[test]
    fn beta_is_the_ratio_of_rtts_once_throughput_is_steady() {
        let (mut module, socket) = after(10, 16, 0);
        let mut beta = |largest, max_rtt| {
            (module.throughput.largest, module.max_rtt) = (largest, max_rtt);
            module.ssthresh(Cause::FastRetransmit, &socket);
            f64::from(module.beta) / f64::from(ONE)
        };
        assert_eq!([beta(800, 16), beta(810, 16), beta(810, 16)], [0.5, 0.5, 0.625]);
        assert_eq!([beta(810, 11), beta(400, 11)], [102.0 / 128.0, 0.5]);
    }
}
