//! BIC: binary search for the window at which the last loss occurred, then probing beyond it (Xu, Harfoush and Rhee
//! 2004; tcp_bic.c).

use crate::congestion::control::Cause;
use crate::congestion::linux::{AckedSegments, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Binary search for the window of the last loss, as in Linux (Xu, Harfoush and Rhee 2004).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "BIC")]
#[described(fact("after_loss", "0.8 of the window (Xu et al. 2004, and Linux)"))]
pub struct BicConfig {}

impl Parameters for BicConfig {}

/// State of a sender that uses `tcp_bic`.
pub type Bic = Linux<BicModule>;

/// The module's state.
#[derive(Clone, Debug)]
pub struct BicModule {
    /// Number of segments to be acknowledged before cwnd grows by one segment (`cnt`).
    cnt: u32,
    /// What `cnt` was computed for; None before the first computation.
    computed: Option<Computed>,
    /// Window at the last loss [segment] (Linux: last_max_cwnd); 0 before the first loss.
    last_max: u32,
    /// Average number of segments per ACK, in sixteenths (Linux: delayed_ack). With one segment per ACK the average
    /// settles at 31, because the moving average rounds down.
    per_ack: u32,
}

/// Inputs of the latest computation of `cnt`.
#[derive(Clone, Copy, Debug)]
struct Computed {
    cwnd: u32,
    tick: u64,
}

/// Largest window that grows as Reno's does [segment].
const LOW_WINDOW: u32 = 14;
/// Largest growth per round trip (S_max) [segment].
const MAX_INCREMENT: u32 = 16;
/// cwnd grows per RTT by its distance to `last_max`, divided by this value (BICTCP_B).
const SHARE: u32 = 4;
/// Number of RTTs in which the window finally approaches `last_max` (smooth_part).
const SMOOTH: u32 = 20;
/// Factor by which a loss multiplies cwnd, in units of 1/1024.
const BETA: u32 = 819;
const BETA_SCALE: u32 = 1024;
const SIXTEENTHS: u32 = 16;
/// Maximum of `cnt` before the first loss, which makes cwnd grow by at least 5 % per RTT.
const MAX_CNT_BEFORE_LOSS: u32 = 20;
/// `cnt` is recomputed for an unchanged window after 1/32 s.
const UPDATES_PER_SECOND: u32 = 32;

impl Module for BicModule {
    type Config = BicConfig;

    fn new(_config: &BicConfig) -> BicModule {
        BicModule {
            cnt: 0,
            computed: None,
            last_max: 0,
            per_ack: 2 * SIXTEENTHS,
        }
    }

    fn on_acked(&mut self, acked: &AckedSegments, socket: &mut Socket) {
        if socket.ca_state == CaState::Open {
            self.per_ack = self.per_ack - self.per_ack / SIXTEENTHS + acked.acked;
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        let remaining = socket.remaining_after_slow_start(acked);
        if remaining > 0 {
            self.update_cnt(socket);
            socket.grow_per(self.cnt, remaining);
        }
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        let cwnd = socket.snd_cwnd;
        self.last_max = if cwnd < self.last_max {
            cwnd.wrapping_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        if cwnd <= LOW_WINDOW {
            socket.halved()
        } else {
            (cwnd.wrapping_mul(BETA) / BETA_SCALE).max(2)
        }
    }

    fn set_state(&mut self, state: CaState, _socket: &mut Socket) {
        if state == CaState::Loss {
            *self = BicModule::new(&BicConfig {});
        }
    }
}

impl BicModule {
    /// Updates `cnt`, unless the window is unchanged and the latest update was at most 1/32 s ago (`bictcp_update`).
    fn update_cnt(&mut self, socket: &Socket) {
        let now = socket.jiffies();
        let is_current = |computed: Computed| {
            computed.cwnd == socket.snd_cwnd && now - computed.tick <= u64::from(socket.hz() / UPDATES_PER_SECOND)
        };
        if !self.computed.is_some_and(is_current) {
            self.computed = Some(Computed {
                cwnd: socket.snd_cwnd,
                tick: now,
            });
            self.cnt = self.cnt(socket.snd_cwnd);
        }
    }

    /// Returns the number of segments to be acknowledged before a window grows by one segment.
    fn cnt(&self, cwnd: u32) -> u32 {
        if cwnd <= LOW_WINDOW {
            return cwnd;
        }
        let (max, smooth) = (self.last_max, cwnd * SMOOTH / SHARE);
        let mut cnt = if cwnd < max {
            match (max - cwnd) / SHARE {
                0 | 1 => smooth,
                distance => cwnd / distance.min(MAX_INCREMENT),
            }
        } else if cwnd < max + SHARE {
            smooth
        } else if cwnd < max + MAX_INCREMENT * (SHARE - 1) {
            cwnd * (SHARE - 1) / (cwnd - max)
        } else {
            cwnd / MAX_INCREMENT
        };
        if max == 0 {
            cnt = cnt.min(MAX_CNT_BEFORE_LOSS);
        }
        (cnt * SIXTEENTHS / self.per_ack).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn bic(last_max: u32) -> BicModule {
        BicModule {
            last_max,
            per_ack: SIXTEENTHS,
            ..BicModule::new(&BicConfig {})
        }
    }

    #[test]
    fn growth_is_a_quarter_of_the_distance_up_to_16() {
        let cnt = |cwnd| bic(1000).cnt(cwnd);
        assert_eq!([800, 960, 990, 997].map(cnt), [50, 96, 495, 4985]);
        assert_eq!([1003, 1012, 2000, 10].map(cnt), [5015, 253, 125, 10]);
    }

    #[test]
    fn loss_reduces_large_windows_to_0_8_and_small_to_0_5() {
        let reduce =
            |window: f64| Trial::new(&CongestionConfig::Bic(BicConfig {}), window).reduce(Cause::FastRetransmit);
        assert_eq!([1000.0, 14.0].map(|window| reduce(window).0), [799.0, 7.0]);
    }

    #[test]
    fn with_one_segment_per_ack_the_delayed_ack_estimate_doubles_growth() {
        let mut trial = Trial::new(&CongestionConfig::Bic(BicConfig {}), 1000.0);
        trial.reduce(Cause::FastRetransmit);
        assert_eq!(trial.round_trip() - 799.0, 31.0);
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_five_percent_per_rtt() {
        assert_eq!(bic(0).cnt(1000), 20);
    }
}
