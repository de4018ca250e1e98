//! Illinois: longer queueing delays cause slower growth and larger reductions (Liu, Başar and Srikant 2008;
//! tcp_illinois.c).

use crate::congestion::control::Cause;
use crate::congestion::linux::{AckedSegments, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Grows more slowly and is reduced more with longer queueing delays, as in Linux (Liu et al. 2008).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Illinois")]
pub struct IllinoisConfig {}

impl Parameters for IllinoisConfig {}

/// State of a sender that uses `tcp_illinois`.
pub type Illinois = Linux<IllinoisModule>;

/// The module's state; RTTs are in microseconds.
#[derive(Clone, Debug)]
pub struct IllinoisModule {
    /// Growth per RTT [1/128 segment], and reduction at a loss [1/64 of the window].
    alpha: u32,
    beta: u32,
    /// Segments that the latest ACK acknowledged.
    acked: u32,
    /// First byte after the current RTT, and sum and number of the RTT samples in this RTT.
    end: u64,
    sum: u64,
    count: u16,
    /// Minimum and maximum RTT sample of the connection.
    base_rtt: u32,
    max_rtt: u32,
    /// Whether queueing delays were long, and the number of RTTs with short delays since then.
    above: bool,
    short_for: u32,
}

/// Growth by 10, 0.3 and 1 segments per RTT, in units of 1/128 segment.
const ALPHA_MAX: u32 = 1280;
const ALPHA_MIN: u32 = 38;
const ALPHA_ONE: u32 = 128;
/// Reductions by an eighth and by a half, in units of 1/64.
const BETA_MIN: u32 = 8;
const BETA_MAX: u32 = 32;
/// Smallest window for which growth and reduction depend on the delay [segment] (win_thresh).
const MIN_WINDOW: u32 = 15;
/// Number of RTTs with short delays after which growth returns to its maximum (theta).
const THETA: u32 = 5;
/// Upper limit of RTT samples [µs]; with this limit, the products below fit into 32 bits.
const MAX_RTT: u32 = u32::MAX / ALPHA_MAX;

impl Module for IllinoisModule {
    type Config = IllinoisConfig;

    fn new(_config: &IllinoisConfig) -> IllinoisModule {
        IllinoisModule {
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            end: 0,
            sum: 0,
            count: 0,
            base_rtt: u32::MAX,
            max_rtt: 0,
            above: false,
            short_for: 0,
        }
    }

    fn on_acked(&mut self, acked: &AckedSegments, _socket: &mut Socket) {
        self.acked = acked.acked;
        if let Some(rtt) = acked.rtt_us {
            let rtt = rtt.min(MAX_RTT);
            (self.base_rtt, self.max_rtt) = (self.base_rtt.min(rtt), self.max_rtt.max(rtt));
            self.count = self.count.wrapping_add(1);
            self.sum += u64::from(rtt);
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if socket.snd_una > self.end {
            self.adapt(socket);
        }
        if !socket.is_cwnd_limited() {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(acked);
            return;
        }
        socket.snd_cwnd_cnt += self.acked;
        self.acked = 1;
        let grown = socket.snd_cwnd_cnt.wrapping_mul(self.alpha) / ALPHA_ONE;
        if grown >= socket.snd_cwnd {
            socket.snd_cwnd = (socket.snd_cwnd + grown / socket.snd_cwnd).min(socket.snd_cwnd_clamp);
            socket.snd_cwnd_cnt = 0;
        }
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        let cut = socket.snd_cwnd.wrapping_mul(self.beta) / 64;
        (socket.snd_cwnd - cut).max(2)
    }

    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
            (self.above, self.short_for) = (false, 0);
            self.begin(socket);
        }
    }
}

impl IllinoisModule {
    /// Sets alpha and beta for the next RTT.
    fn adapt(&mut self, socket: &Socket) {
        if socket.snd_cwnd < MIN_WINDOW {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if self.count > 0 {
            let average = (self.sum / u64::from(self.count)) as u32;
            let (delay, max_delay) = (average.wrapping_sub(self.base_rtt), self.max_rtt - self.base_rtt);
            self.alpha = self.alpha_at(delay, max_delay);
            self.beta = beta_at(delay, max_delay);
        }
        self.begin(socket);
    }

    fn begin(&mut self, socket: &Socket) {
        (self.end, self.sum, self.count) = (socket.snd_nxt, 0, 0);
    }

    /// Returns alpha: 10 at 1/100 of the maximum delay, falling to 0.3 at the maximum delay.
    fn alpha_at(&mut self, delay: u32, max_delay: u32) -> u32 {
        let short = max_delay / 100;
        if delay <= short {
            if !self.above {
                return ALPHA_MAX;
            }
            self.short_for += 1;
            if self.short_for < THETA {
                return self.alpha;
            }
            (self.above, self.short_for) = (false, 0);
            return ALPHA_MAX;
        }
        self.above = true;
        let (delay, max_delay) = (delay - short, max_delay - short);
        let steepness = delay.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN;
        max_delay.wrapping_mul(ALPHA_MAX) / max_delay.wrapping_add(steepness)
    }
}

/// Returns beta: 1/8 at 1/10 of the maximum delay, rising to 1/2 at 4/5 of the maximum delay.
fn beta_at(delay: u32, max_delay: u32) -> u32 {
    let (low, high) = (max_delay / 10, max_delay.wrapping_mul(8) / 10);
    if delay <= low {
        BETA_MIN
    } else if delay >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high - BETA_MAX * low + (BETA_MAX - BETA_MIN) * delay) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_and_beta_follow_the_delay() {
        let mut illinois = IllinoisModule::new(&IllinoisConfig {});
        let alphas = [500, 100_000].map(|delay| illinois.alpha_at(delay, 100_000));
        assert_eq!(alphas, [ALPHA_MAX, ALPHA_MIN]);
        assert_eq!(
            [10_000, 45_000, 80_000].map(|delay| beta_at(delay, 100_000)),
            [BETA_MIN, 20, BETA_MAX]
        );
    }

    #[test]
    fn growth_is_fast_again_in_the_fifth_rtt_with_short_delays() {
        let mut illinois = IllinoisModule::new(&IllinoisConfig {});
        illinois.alpha = illinois.alpha_at(100_000, 100_000);
        let alphas: Vec<u32> = (0..5)
            .map(|_| {
                illinois.alpha = illinois.alpha_at(0, 100_000);
                illinois.alpha
            })
            .collect();
        assert_eq!(alphas, [ALPHA_MIN, ALPHA_MIN, ALPHA_MIN, ALPHA_MIN, ALPHA_MAX]);
    }
}
