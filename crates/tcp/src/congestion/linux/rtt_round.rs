//! RTT samples of a round trip, from which Vegas and YeAH estimate the queue.

use crate::congestion::linux::{AckedSegments, CaEvent, CaState, Socket};

/// RTT samples of one round trip, as tcp_vegas.c and tcp_yeah.c take them; RTTs are in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Whether the samples are valid: no loss and no reordering (Linux: doing_vegas_now).
    pub(super) enabled: bool,
    /// First byte after the current RTT.
    pub(super) end: u64,
    /// Number and minimum of the samples in this RTT.
    count: u32,
    pub(super) min_rtt: u32,
    /// Minimum RTT sample since the connection was last idle.
    pub(super) base_rtt: u32,
}

/// If an RTT has at most this number of RTT samples, they are ignored, because all of them may come from delayed ACKs.
const FEW: u32 = 2;
/// No RTT sample.
const UNKNOWN: u32 = 0x7fff_ffff;

impl Default for Round {
    fn default() -> Round {
        Round {
            enabled: true,
            end: 0,
            count: 0,
            min_rtt: UNKNOWN,
            base_rtt: UNKNOWN,
        }
    }
}

impl Round {
    pub(super) fn on_acked(&mut self, acked: &AckedSegments) {
        if let Some(rtt) = acked.rtt_us {
            let rtt = rtt + 1;
            (self.base_rtt, self.min_rtt) = (self.base_rtt.min(rtt), self.min_rtt.min(rtt));
            self.count += 1;
        }
    }

    /// Returns whether the RTT has enough samples.
    pub(super) fn has_samples(&self) -> bool {
        self.count > FEW
    }

    /// Returns the queueing delay of the RTT.
    pub(super) fn queueing_us(&self) -> u32 {
        self.min_rtt - self.base_rtt
    }

    /// Begins an RTT.
    pub(super) fn begin(&mut self, socket: &Socket) {
        (self.end, self.count, self.min_rtt) = (socket.snd_nxt, 0, UNKNOWN);
    }

    pub(super) fn set_state(&mut self, state: CaState, socket: &Socket) {
        self.enabled = state == CaState::Open;
        if self.enabled {
            self.begin(socket);
        }
    }

    pub(super) fn on_event(&mut self, event: CaEvent, socket: &Socket) {
        if event == CaEvent::TransmitStart {
            (self.base_rtt, self.enabled) = (UNKNOWN, true);
            self.begin(socket);
        }
    }
}
