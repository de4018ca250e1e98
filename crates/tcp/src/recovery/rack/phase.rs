//! Congestion state of a sender (Linux: `tcp_ca_state`).

use crate::congestion::control;
use crate::journal::CongestionState;

/// Congestion state, and the end of the data to which it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// CWR: the window is being reduced because of ECN marks on data before this byte.
    Cwr(u64),
    /// Fast recovery of losses before this byte.
    Recovery(u64),
    /// Recovery, after the retransmission timer expired, of losses before this byte.
    Loss(u64),
}

impl Phase {
    /// Returns the state as reported to congestion controllers.
    pub fn name(self) -> control::RecoveryPhase {
        match self {
            Phase::Open | Phase::Cwr(_) => control::RecoveryPhase::Open,
            Phase::Recovery(_) => control::RecoveryPhase::Recovery,
            Phase::Loss(_) => control::RecoveryPhase::Loss,
        }
    }

    /// Returns the state for traces, as Linux reports it.
    pub fn state(self) -> CongestionState {
        match self {
            Phase::Open => CongestionState::Open,
            Phase::Cwr(_) => CongestionState::Reduced,
            Phase::Recovery(_) => CongestionState::Recovery,
            Phase::Loss(_) => CongestionState::Loss,
        }
    }
}
