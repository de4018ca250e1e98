//! Veno: a loss that occurs while few segments are queued is attributed to the link, and reduces cwnd less (Fu and Liew
//! 2003; tcp_veno.c).

use crate::congestion::control::Cause;
use crate::congestion::linux::{AckedSegments, CaEvent, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Reduces less at losses while few segments are queued, as in Linux (Fu and Liew 2003).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Veno")]
pub struct VenoConfig {
    /// Queued data that indicate congestion [segments], in halves; Fu, Liew 2003, β.
    #[field(range = "(0, 1e6]", default = 3.0)]
    pub backlog: f64,
}

impl Parameters for VenoConfig {}

/// Veno as in Linux's `tcp_veno`.
pub type Veno = Linux<VenoModule>;

/// The module's state; RTTs are in microseconds.
#[derive(Clone, Debug)]
pub struct VenoModule {
    /// Threshold β of the backlog, in half segments.
    beta: u32,
    /// Latest estimate of the backlog, in half segments.
    backlog: u32,
    /// Whether the estimate is valid: no loss and no reordering (Linux: doing_veno_now).
    enabled: bool,
    /// Number of RTT samples that the connection has taken, modulo 2^16.
    count: u16,
    /// Minimum RTT sample since cwnd last grew.
    min_rtt: u32,
    /// Minimum RTT sample of the connection.
    base_rtt: u32,
    /// Whether the next RTT of a congested path adds a segment.
    adds: bool,
}

/// Unit of the estimate: half a segment.
const HALVES: u32 = 2;
/// An estimate is made only if there are more RTT samples than this number.
const FEW: u16 = 2;
/// No RTT sample.
const UNKNOWN: u32 = 0x7fff_ffff;

impl Module for VenoModule {
    type Config = VenoConfig;

    fn new(config: &VenoConfig) -> VenoModule {
        VenoModule {
            beta: ((config.backlog * f64::from(HALVES)).round() as u32).max(1),
            backlog: 0,
            enabled: true,
            count: 0,
            min_rtt: UNKNOWN,
            base_rtt: UNKNOWN,
            adds: true,
        }
    }

    fn on_acked(&mut self, acked: &AckedSegments, _socket: &mut Socket) {
        if let Some(rtt) = acked.rtt_us {
            let rtt = rtt + 1;
            (self.base_rtt, self.min_rtt) = (self.base_rtt.min(rtt), self.min_rtt.min(rtt));
            self.count = self.count.wrapping_add(1);
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !self.enabled {
            socket.grow_as_reno(acked);
            return;
        }
        if !socket.is_cwnd_limited() {
            return;
        }
        if self.count <= FEW {
            socket.grow_as_reno(acked);
        } else {
            self.estimate(socket.snd_cwnd);
            let remaining = if socket.in_slow_start() {
                socket.slow_start(acked)
            } else {
                acked
            };
            if remaining > 0 {
                self.avoid_congestion(remaining, socket);
            }
            socket.snd_cwnd = socket.snd_cwnd.max(2).min(socket.snd_cwnd_clamp);
        }
        self.min_rtt = UNKNOWN;
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        if self.backlog < self.beta {
            (socket.snd_cwnd * 4 / 5).max(2)
        } else {
            socket.halved()
        }
    }

    fn set_state(&mut self, state: CaState, _socket: &mut Socket) {
        self.enabled = state == CaState::Open;
        if self.enabled {
            self.min_rtt = UNKNOWN;
        }
    }

    fn on_event(&mut self, event: CaEvent, _socket: &mut Socket) {
        if event == CaEvent::TransmitStart {
            (self.base_rtt, self.min_rtt) = (UNKNOWN, UNKNOWN);
            (self.adds, self.enabled) = (true, true);
        }
    }
}

impl VenoModule {
    /// Estimates how much of the window is queued.
    fn estimate(&mut self, cwnd: u32) {
        let halves = u64::from(cwnd * HALVES);
        let without_queue = u64::from(cwnd) * u64::from(self.base_rtt) * u64::from(HALVES) / u64::from(self.min_rtt);
        self.backlog = halves.wrapping_sub(without_queue) as u32;
    }

    /// Adds one segment per window, or one per two windows if the path is congested.
    fn avoid_congestion(&mut self, acked: u32, socket: &mut Socket) {
        if self.backlog < self.beta {
            socket.grow_per(socket.snd_cwnd, acked);
        } else if socket.snd_cwnd_cnt >= socket.snd_cwnd {
            self.adds = !(self.adds && socket.snd_cwnd < socket.snd_cwnd_clamp);
            socket.snd_cwnd += u32::from(!self.adds);
            socket.snd_cwnd_cnt = 0;
        } else {
            socket.snd_cwnd_cnt += acked;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use longpipe_events::Span;

    /// Returns a trial after slow start; its RTT is 100 ms, increased by `longer` milliseconds of queueing.
    fn queued(longer: u64) -> Trial {
        let config = CongestionConfig::Veno(VenoConfig { backlog: 3.0 });
        let mut trial = Trial::new(&config, 100.0).over(Span::millis(100));
        trial.round_trip();
        trial.over(Span::millis(100 + longer))
    }

    #[test]
    fn three_queued_segments_halve_growth_and_a_loss_halves_the_window() {
        // The backlogs are 101 · 4/104 = 3.9 and 101 · 2/102 = 2 segments.
        for (longer, growth, left) in [(4, 1.0, 51.0), (2, 2.0, 82.0)] {
            let mut trial = queued(longer);
            let before = trial.window();
            trial.round_trip();
            trial.round_trip();
            // The window grows by one segment per two RTTs; the additional segment also needs one more ACK.
            trial.round_trip();
            let grown = trial.window() - before;
            assert!((growth..=growth + 1.0).contains(&grown), "{longer} ms: {grown}");
            let after = trial.reduce(Cause::FastRetransmit).0;
            assert!((left..=left + 1.0).contains(&after), "{longer} ms: {after}");
        }
    }

    /// In tcp_veno.c, `diff` is 0 until it is first computed, in congestion avoidance with three RTT samples.
    #[test]
    fn a_loss_before_any_estimate_keeps_four_fifths() {
        let config = CongestionConfig::Veno(VenoConfig { backlog: 3.0 });
        assert_eq!(Trial::new(&config, 100.0).reduce(Cause::FastRetransmit).0, 80.0);
    }
}
