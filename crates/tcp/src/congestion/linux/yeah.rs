//! YeAH: grows as Scalable TCP while few segments are queued, otherwise as Reno, and removes a long queue before it
//! overflows (Baiocchi, Castellani and Vacirca 2007; tcp_yeah.c).

use crate::congestion::control::Cause;
use crate::congestion::linux::rtt_round::Round;
use crate::congestion::linux::{AckedSegments, CaEvent, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Grows as Scalable TCP while few segments are queued, otherwise as Reno, as in Linux (Baiocchi et al. 2007).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "YeAH")]
pub struct YeahConfig {}

impl Parameters for YeahConfig {}

/// YeAH as in Linux's `tcp_yeah`.
pub type Yeah = Linux<YeahModule>;

/// Number of queued segments above which the path is congested (TCP_YEAH_ALPHA).
const ALPHA: u32 = 80;
/// The path is also congested if the RTT exceeds the base RTT by more than this fraction of it (TCP_YEAH_PHY).
const PHY: u32 = 8;
/// Binary logarithms of the largest fraction of cwnd that is removed with the queue, and of the smallest that is removed
/// after a loss (TCP_YEAH_EPSILON, TCP_YEAH_DELTA).
const EPSILON: u32 = 1;
const DELTA: u32 = 3;
/// Number of successive congested RTTs from which on a loss halves the window, because other flows compete
/// (TCP_YEAH_RHO).
const RHO: u32 = 16;
/// Number of RTTs without congestion after which the competing flows' window is forgotten (TCP_YEAH_ZETA).
const ZETA: u32 = 50;
/// Scalable TCP adds a segment per this number of acknowledged segments.
const SCALABLE_SEGMENTS: u32 = 100;
/// Largest number of congested RTTs, and initial estimate of the competing flows' window [segment].
const MAX_RENO: u32 = 0x00ff_ffff;
const MIN_RENO: u32 = 2;

/// The module's state.
#[derive(Clone, Debug)]
pub struct YeahModule {
    round: Round,
    /// Number of queued segments at the end of the last RTT with enough samples.
    queue: u32,
    /// Number of successive congested RTTs (Linux: doing_reno_now).
    congested: u32,
    /// Estimate of the window that a Reno flow would have [segment].
    reno_count: u32,
    /// Number of RTTs without congestion since the last loss.
    fast_count: u32,
}

impl Module for YeahModule {
    type Config = YeahConfig;

    fn new(_config: &YeahConfig) -> YeahModule {
        YeahModule {
            round: Round::default(),
            queue: 0,
            congested: 0,
            reno_count: MIN_RENO,
            fast_count: 0,
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        socket.snd_cwnd_clamp = socket.snd_cwnd_clamp.min(u32::MAX / 128);
    }

    fn on_acked(&mut self, acked: &AckedSegments, _socket: &mut Socket) {
        self.round.on_acked(acked);
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        let remaining = socket.remaining_after_slow_start(acked);
        if remaining > 0 {
            let per = if self.congested == 0 {
                socket.snd_cwnd.min(SCALABLE_SEGMENTS)
            } else {
                socket.snd_cwnd
            };
            socket.grow_per(per, remaining);
        }
        if socket.snd_una > self.round.end {
            if self.round.has_samples() {
                self.adjust(socket);
            }
            self.round.begin(socket);
        }
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        let cwnd = socket.snd_cwnd;
        let half = (cwnd >> 1).max(2);
        let reduction = if self.congested < RHO {
            self.queue.min(half).max(cwnd >> DELTA)
        } else {
            half
        };
        self.fast_count = 0;
        self.reno_count = (self.reno_count >> 1).max(MIN_RENO);
        cwnd.saturating_sub(reduction).max(2)
    }

    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        self.round.set_state(state, socket);
    }

    fn on_event(&mut self, event: CaEvent, socket: &mut Socket) {
        self.round.on_event(event, socket);
    }
}

impl YeahModule {
    /// Estimates the queue at the end of an RTT, and removes it if it is long.
    fn adjust(&mut self, socket: &mut Socket) {
        let (cwnd, queueing_us) = (socket.snd_cwnd, self.round.queueing_us());
        let queue = (u64::from(cwnd) * u64::from(queueing_us) / u64::from(self.round.min_rtt)) as u32;
        if queue > ALPHA || queueing_us > self.round.base_rtt / PHY {
            if queue > ALPHA && cwnd > self.reno_count {
                socket.snd_cwnd = (cwnd - queue.min(cwnd >> EPSILON)).max(self.reno_count);
                socket.snd_ssthresh = socket.snd_cwnd;
            }
            self.reno_count = match self.reno_count {
                ..=MIN_RENO => (socket.snd_cwnd >> 1).max(MIN_RENO),
                count => count + 1,
            };
            self.congested = (self.congested + 1).min(MAX_RENO);
        } else {
            self.fast_count += 1;
            if self.fast_count > ZETA {
                (self.reno_count, self.fast_count) = (MIN_RENO, 0);
            }
            self.congested = 0;
        }
        self.queue = queue;
    }
}
